// Loads items in bulk by the CouchDB API: items are documents `key:id` of the database `database/container`. Indexes are
// built afterwards, from sorted runs, which takes a fraction of the time that growing them item by item does.
import { sleep } from '../progress.mjs';

const BODY_BYTES = 8 << 20; // every bulk is one commit of each physical partition: few large ones are cheaper
const REQUESTS_AT_ONCE = 3;
const PROGRESS_HEADER = 'x-ms-documentdb-collection-index-transformation-progress';

export class BulkLoader {
  /// `url`: of the CouchDB API of the server that has the containers.
  constructor(url) {
    this.url = url;
  }

  /// Stores items, an array for each `{ key, items }` of `groups`, whose partition keys are plain strings such as UUIDs.
  /// Items that are there already stay as they are. `progress(count)`: groups that are stored.
  async load(container, groups, progress) {
    await this.#withoutIndexes(container, async () => {
      const target = `${this.url}/${encodeURIComponent(`${container.database.id}/${container.id}`)}/_bulk_docs`;
      const running = new Set();
      const send = async (documents, count) => {
        const work = storeAll(target, documents).then(() => progress?.(count));
        running.add(work);
        work.finally(() => running.delete(work)).catch(() => {});
        if (running.size >= REQUESTS_AT_ONCE) await Promise.race(running);
      };
      let documents = [];
      let bytes = 0;
      let count = 0;
      for (const { key, items } of groups) {
        for (const item of items) {
          const document = documentOf(key, item);
          documents.push(document);
          bytes += document.length;
        }
        ++count;
        if (bytes < BODY_BYTES) continue;
        await send(documents, count);
        [documents, bytes, count] = [[], 0, 0];
      }
      if (documents.length > 0) await send(documents, count);
      await Promise.all(running);
    });
  }

  async #withoutIndexes(container, work) {
    const { resource: definition } = await container.read();
    await container.replace({ ...definition, indexingPolicy: { indexingMode: 'none', automatic: false } });
    await work();
    await container.replace(definition);
    while (Number((await container.read()).headers[PROGRESS_HEADER]) < 100) await sleep(200);
  }
}

// The item's text with the document's id before it, so that the body is stored as the item came.
function documentOf(key, item) {
  return `{"_id":${JSON.stringify(`${key}:${item.id}`)},${JSON.stringify(item).slice(1)}`;
}

// Rows that the container's throughput does not allow yet are sent again, as Microsoft's client does with items.
async function storeAll(target, documents) {
  for (let rest = documents; rest.length > 0;) {
    const reply = await fetch(target, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: `{"docs":[${rest.join(',')}]}`,
    });
    if (reply.status !== 201) throw new Error(`a bulk of ${rest.length} documents failed: ${reply.status} ${await reply.text()}`);
    const rows = await reply.json();
    const failed = rows.find(({ error }) => error !== undefined && error !== 'conflict' && error !== 'too_many_requests');
    if (failed) throw new Error(`a document was not stored: ${JSON.stringify(failed)}`);
    rest = rest.filter((_, i) => rows[i].error === 'too_many_requests');
    if (rest.length > 0) await sleep(50);
  }
}
