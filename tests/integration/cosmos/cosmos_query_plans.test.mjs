// Queries that Microsoft's client runs by a plan: it asks each range of partition keys, and merges the answers.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

const planned = { forceQueryPlan: true, enableQueryControl: true };

describe('queries by a plan', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  async function filled(ranges, count = 60) {
    const container = await newContainer(client, {}, { offerThroughput: ranges * 10_000 });
    const operations = Array.from({ length: count }, (_, n) => {
      const pk = `k${n % 7}`;
      return { operationType: 'Create', partitionKey: pk, resourceBody: { id: `i${n}`, pk, n, age: n % 10, cat: n % 3 } };
    });
    for (const result of await container.items.executeBulkOperations(operations)) assert.equal(result.response?.statusCode, 201);
    return container;
  }
  const all = async (container, query, options) => (await container.items.query(query, options).fetchAll()).resources;
  /// Each page by a new client, from the token of the page before; `between` gets the rows of the page.
  async function resumed(container, query, options, between = async () => {}) {
    const rows = [];
    let continuationToken;
    for (let pages = 1; ; ++pages) {
      assert.ok(pages < 100, 'the pages end');
      const other = cosmosClient(server).database(container.database.id).container('items');
      const page = await other.items.query(query, { ...options, continuationToken }).fetchNext();
      rows.push(...(page.resources ?? []));
      continuationToken = page.continuationToken;
      if (!continuationToken) return { rows, pages };
      await between(page.resources);
    }
  }

  test('DISTINCT with ORDER BY counts what it tells apart', async () => {
    for (const ranges of [1, 2]) {
      const container = await filled(ranges);
      for (const options of [{}, { forceQueryPlan: true }, { enableQueryControl: true }, { ...planned, maxItemCount: 3 }]) {
        const ages = async (query) => (await all(container, query, options)).map((row) => row.age);
        assert.deepEqual(await ages('SELECT DISTINCT TOP 10 c.age FROM c ORDER BY c.age'), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert.deepEqual(await ages('SELECT DISTINCT c.age FROM c ORDER BY c.age OFFSET 2 LIMIT 8'), [2, 3, 4, 5, 6, 7, 8, 9]);
        assert.deepEqual(await ages('SELECT DISTINCT TOP 3 c.age FROM c ORDER BY c.n DESC'), [9, 8, 7]);
      }
    }
  });

  test('ORDER BY continues among equal values where it stopped', async () => {
    for (const ranges of [1, 2, 4]) {
      const container = await filled(ranges);
      for (const direction of ['', ' DESC']) {
        for (const maxItemCount of [1, 9, 60]) {
          const { rows } = await resumed(container, `SELECT c.n, c.cat FROM c ORDER BY c.cat${direction}`, { ...planned, maxItemCount });
          const what = `${ranges} ranges${direction} by ${maxItemCount}`;
          assert.equal(new Set(rows.map((row) => row.n)).size, 60, what);
          assert.equal(rows.length, 60, what);
          const cats = rows.map((row) => row.cat);
          assert.deepEqual(cats, cats.toSorted((a, b) => (direction ? b - a : a - b)), what);
        }
      }
    }
  });

  test('replies say in which order rows come that ORDER BY treats as equal', async () => {
    const container = await filled(1, 9);
    for (const [order, reverseIndexScan] of [['', undefined], ['ORDER BY c.cat', false], ['ORDER BY c.cat DESC', true], ['ORDER BY c.cat, c.age DESC', true]]) {
      const headers = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' };
      const body = { query: `SELECT c._rid FROM c ${order}` };
      const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, { body, headers });
      assert.equal(reply.status, 200, reply.text);
      const info = reply.headers['x-ms-cosmos-query-execution-info'];
      assert.deepEqual(info && JSON.parse(info), order ? { reverseRidEnabled: false, reverseIndexScan } : undefined);
    }
  });

  test('ORDER BY over a subquery continues among equal values where it stopped', async () => {
    for (const ranges of [1, 4]) {
      const container = await filled(ranges);
      for (const from of ['(SELECT c.n, c.cat FROM c)', '(SELECT VALUE s FROM (SELECT c.n, c.cat FROM c) s)']) {
        for (const maxItemCount of [1, 9]) {
          const { rows } = await resumed(container, `SELECT * FROM ${from} s ORDER BY s.cat`, { ...planned, maxItemCount });
          const what = `${from}, ${ranges} ranges by ${maxItemCount}`;
          assert.equal(new Set(rows.map((row) => row.n)).size, 60, what);
          assert.equal(rows.length, 60, what);
        }
      }
    }
  });

  test('ORDER BY loses no item where those that were read are deleted', async () => {
    const container = await filled(2);
    const { rows } = await resumed(container, 'SELECT c.id, c.pk FROM c ORDER BY c.cat', { ...planned, maxItemCount: 7 }, async (page) => {
      for (const { id, pk } of page) await container.item(id, pk).delete();
    });
    assert.equal(new Set(rows.map((row) => row.id)).size, 60);
    assert.equal(rows.length, 60);
  });

  test('a full last page has no continuation', async () => {
    const container = await filled(1, 20);
    for (const query of ['SELECT * FROM c', 'SELECT c.n FROM c WHERE c.n >= 0', 'SELECT c.n FROM c ORDER BY c.n']) {
      for (const options of [{}, { enableQueryControl: true }, planned]) {
        const { rows, pages } = await resumed(container, query, { ...options, maxItemCount: 5 });
        assert.equal(rows.length, 20, query);
        // With a plan the client itself has a token after the last page, and then an empty one.
        assert.equal(pages, options.forceQueryPlan ? 5 : 4, `${query} ${JSON.stringify(options)}`);
      }
    }
    const iterator = container.items.readAll({ maxItemCount: 4 });
    let pages = 0;
    for (; iterator.hasMoreResults(); ++pages) await iterator.fetchNext();
    assert.equal(pages, 5);
    const { pages: single } = await resumed(container, 'SELECT * FROM c WHERE c.n < 15', { partitionKey: 'k1', maxItemCount: 1 });
    assert.equal(single, 2);  // 1 and 8
  });

  test('distinct results are counted by the server, not by a plan', async () => {
    const container = await filled(2);
    const query = 'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.age FROM c)';
    assert.deepEqual(await all(container, query), [10]);
    const error = await errorOf(all(container, query, { forceQueryPlan: true }));
    assert.equal(error.code, 400);
  });
});
