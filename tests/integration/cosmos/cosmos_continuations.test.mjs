// Continuations of results in the order of long values: they fit a header, and hold while items come and go.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

const textOf = (n) => 'x'.repeat(20_000) + String(1000 + n);
const numberOf = (text) => Number(text.slice(-4)) - 1000;
const itemOf = (n) => ({ id: String(n), pk: `k${n % 3}`, n, x: textOf(n) });
const range = (from, to, step = 1) => Array.from({ length: Math.ceil((to - from) / step) }, (_, at) => from + at * step);

const shapes = [
  ['SELECT VALUE c.x FROM c ORDER BY c.x', numberOf],
  ['SELECT c.n, c.x FROM c ORDER BY c.x', (row) => row.n],
  ['SELECT DISTINCT VALUE c.x FROM c', numberOf],
  ['SELECT DISTINCT VALUE c.x FROM c ORDER BY c.x', numberOf],
  ['SELECT c.x, COUNT(1) AS count FROM c GROUP BY c.x', (row) => numberOf(row.x)],
];

describe('continuations of long values', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  async function filled(numbers) {
    const container = await newContainer(client, { throughput: 30_000 });
    for (const n of numbers) await container.items.create(itemOf(n));
    return container;
  }

  /// All pages by plain HTTP; `between` after each. `query`: a text, or what makes the body of each request.
  async function pagesOf(container, query, size, between = async () => {}) {
    const rows = [];
    let continuation;
    do {
      const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, {
        body: typeof query === 'string' ? { query } : query(),
        headers: {
          'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', 'x-ms-max-item-count': String(size),
          'x-ms-documentdb-query-enablecrosspartition': 'True', 'x-ms-documentdb-responsecontinuationtokenlimitinkb': '1',
          ...(continuation ? { 'x-ms-continuation': continuation } : {}),
        },
      });
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      rows.push(...reply.body.Documents);
      continuation = reply.headers['x-ms-continuation'];
      assert.ok((continuation ?? '').length < 1024, `${continuation?.length} characters`);
      await between(rows);
    } while (continuation);
    return rows;
  }

  test('sorted, distinct and grouped results come by pages, whole and once', async () => {
    const container = await filled(range(0, 40).toReversed());
    for (const [query, numberIn] of shapes) {
      for (const size of [1, 7, 39]) assert.deepEqual((await pagesOf(container, query, size)).map(numberIn), range(0, 40), `${query} by ${size}`);
    }
    const descending = await pagesOf(container, 'SELECT VALUE c.n FROM c ORDER BY c.x DESC OFFSET 5 LIMIT 30', 8);
    assert.deepEqual(descending, range(5, 35).toReversed());
  });

  test('the same by the client, which continues where another one stopped', async () => {
    const container = await filled(range(0, 25));
    for (const [query, numberIn] of shapes) {
      const { resources } = await container.items.query(query, { maxItemCount: 4 }).fetchAll();
      assert.deepEqual(resources.map(numberIn).sort((a, b) => a - b), range(0, 25), query);
    }
    const seen = [];
    let continuationToken;
    do {
      const other = cosmosClient(server).database(container.database.id).container('items');
      const page = await other.items.query('SELECT VALUE c.x FROM c ORDER BY c.x', { maxItemCount: 4, continuationToken }).fetchNext();
      seen.push(...(page.resources ?? []).map(numberOf));
      continuationToken = page.continuationToken;
    } while (continuationToken);
    assert.deepEqual(seen, range(0, 25));
  });

  test('items that come and go between the pages are seen as their place says', async () => {
    for (const [query, numberIn] of shapes) {
      const container = await filled(range(0, 400, 10));
      const expected = new Set(range(0, 400, 10));
      let pages = 0;
      const rows = await pagesOf(container, query, 9, async (so_far) => {
        if (++pages > 2) return;
        const last = numberIn(so_far.at(-1));
        await container.items.create(itemOf(last - 5));
        await container.items.create(itemOf(last + 5));
        await container.item(String(last + 20), `k${(last + 20) % 3}`).delete();
        expected.add(last + 5).delete(last + 20);
        await container.item(String(last - 5), `k${(last - 5) % 3}`).read();
      });
      assert.deepEqual(rows.map(numberIn), [...expected].sort((a, b) => a - b), query);
    }
  });

  // azure-spring-data-cosmos 3.7 puts a random number into the name of each parameter.
  test('a continuation holds where each request names the parameters otherwise', async () => {
    const container = await filled(range(0, 30));
    let requests = 0;
    for (const order of ['', ' ORDER BY c.n']) {
      const rows = await pagesOf(container, () => {
        const name = `@n${++requests}`;
        return { query: `SELECT VALUE c.n FROM c WHERE c.n >= ${name} AND c.n < @end${order}`,
          parameters: requests % 2 ? [{ name, value: 5 }, { name: '@end', value: 20 }] : [{ name: '@end', value: 20 }, { name, value: 5 }] };
      }, 4);
      assert.deepEqual(rows.sort((a, b) => a - b), range(5, 20));
    }
    assert.ok(requests >= 8, `${requests} requests`);
  });

  test('where the last item of a page goes, none is lost', async () => {
    for (const [query, numberIn] of shapes) {
      const container = await filled(range(0, 40));
      let pages = 0;
      const rows = await pagesOf(container, query, 9, async (so_far) => {
        if (++pages > 2) return;
        const last = numberIn(so_far.at(-1));
        await container.item(String(last), `k${last % 3}`).delete();
      });
      // A continuation has only the beginning of such long values: those that begin alike come once more.
      assert.deepEqual([...new Set(rows.map(numberIn))].sort((a, b) => a - b), range(0, 40), query);
    }
  });
});
