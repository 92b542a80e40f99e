// A projection and a copy of the history's database, which follow it from its beginning. At the end, when nothing moves,
// they have what their definitions say of the documents as they are then.
import { copied, beginCopy, contentOf, copiedContent, finish, assertSameContent } from '../integration/copies/copy_support.mjs';
import { expectStatus } from '../integration/harness.mjs';
import { assertSameRows, createProjection, current, documentsOf, projected } from '../integration/projections/projection_support.mjs';

const encoded = (text) => text.replaceAll('%', '%25').replaceAll(':', '%3A');

/// What the copy is made with, and which id it gives to a document: another partition key, but for a partitioned database.
function layoutOf({ container, partitioned }) {
  if (container) {
    const create = { partitionKey: { paths: ['/tag'], kind: 'Hash', version: 2 } };
    return { definition: { create }, idOf: ({ tag, id }) => `${encoded(tag)}:${id}` };
  }
  const definition = { create: { partitioned: true, q: 2 } };
  if (partitioned) return { definition, idOf: ({ _id }) => _id };
  return { definition: { ...definition, key: 'hot{hot}', id: '{_id}' }, idOf: ({ _id, hot }) => `hot!${hot}:${encoded(_id)}` };
}

export class Derived {
  constructor({ server, shape, number }) {
    Object.assign(this, { server, source: shape.name, rows: `history-${number}-rows`, layout: layoutOf(shape) });
    this.copy = shape.container ? `${shape.owner}/copy` : `history-${number}-copy`;
  }

  async begin() {
    const { server, source } = this;
    expectStatus(await server.put(`/${this.rows}?partitioned=true&q=3`), 201);
    await createProjection(server, source, 'hot', {
      selector: { hot: 1 }, target: { db: this.rows }, key: 'n{n}', id: '{_id}', fields: { '*': true },
    });
    this.copyId = await beginCopy(server, source, { target: this.copy, ...this.layout.definition });
  }

  /// What is wrong, as text.
  async check() {
    const problems = [];
    const looks = async (what, look) => look().catch((error) => problems.push(`at rest: ${what}: ${error.message}`));
    await looks('the projection', async () => {
      const { skipped } = await current(this.server, this.source, 'hot');
      const rows = projected(await documentsOf(this.server, this.source), { select: ({ hot }) => hot === 1, key: ({ n }) => `n!${n}` });
      assertSameRows(await documentsOf(this.server, this.rows), rows);
      if (skipped.errors || skipped.occupied) problems.push(`at rest: the projection skipped documents: ${JSON.stringify(skipped)}`);
    });
    await looks('the copy', async () => {
      await copied(this.server, this.source, this.copyId);
      await finish(this.server, this.source, this.copyId);
      const expected = copiedContent(await contentOf(this.server, this.source), this.layout.idOf);
      assertSameContent(await contentOf(this.server, this.copy), expected);
    });
    return problems;
  }
}
