// Queries of the Cosmos DB API, by @azure/cosmos: one key, all keys, pages, plans, metrics, mistakes.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('queries of the Cosmos DB API', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { throughput: 30_000 });
    const operations = Array.from({ length: 200 }, (_, n) => ({
      operationType: 'Create', partitionKey: `k${n % 8}`,
      resourceBody: { id: `i${n}`, pk: `k${n % 8}`, n, even: n % 2 === 0, group: `g${n % 5}`, tags: [`t${n % 3}`, 'all'], nested: { deep: { value: n * 2 } } },
    }));
    for (const result of await container.items.executeBulkOperations(operations)) assert.equal(result.response?.statusCode, 201);
  });
  after(() => server?.stop());

  const all = async (query, options) => (await container.items.query(query, options).fetchAll()).resources;

  test('all items, and those of one key', async () => {
    const items = (await container.items.readAll().fetchAll()).resources;
    assert.equal(items.length, 200);
    assert.ok(items[0]._etag && items[0]._rid && items[0]._ts && items[0].id);
    assert.equal((await all('SELECT * FROM c', { partitionKey: 'k3' })).length, 25);
    assert.equal((await all("SELECT * FROM c WHERE c.pk = 'k3'")).length, 25);
    assert.deepEqual(await all("SELECT VALUE c.n FROM c WHERE c.pk = 'k3' AND c.id = 'i3'"), [3]);
  });

  test('parameters of every type', async () => {
    const query = { query: 'SELECT VALUE c.id FROM c WHERE c.n = @n AND c.even = @even AND c.group = @group', parameters: [{ name: '@n', value: 10 }, { name: '@even', value: true }, { name: '@group', value: 'g0' }] };
    assert.deepEqual(await all(query), ['i10']);
    assert.deepEqual(await all({ query: 'SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(@list, c.n) ORDER BY c.n', parameters: [{ name: '@list', value: [5, 7, 900] }] }), [5, 7]);
  });

  test('bounds of effective keys may lie between keys with the same first value', async () => {
    const places = await newContainer(client, { partitionKey: { paths: ['/state', '/city', '/zip'], kind: 'MultiHash', version: 2 } });
    for (const [id, state, city] of [['1', 'CA', 'Oxnard'], ['2', 'CA', 'Oxnard'], ['3', 'CA', 'Irvine'], ['4', 'WA', 'Redmond']]) {
      await places.items.create({ id, state, city, zip: id });
    }
    // As clients in Python send a prefix of the key.
    const within = async (min, max, query = 'SELECT VALUE c.id FROM c') => {
      const reply = await cosmosRequest(server, 'POST', `/${places.url}/docs`, { body: { query, parameters: [] }, headers: {
        'Content-Type': 'application/query+json', 'x-ms-documentdb-isquery': 'true', 'x-ms-documentdb-query-enablecrosspartition': 'true',
        'x-ms-documentdb-partitionkeyrangeid': '0', 'x-ms-read-key-type': 'EffectivePartitionKeyRange', 'x-ms-start-epk': min, 'x-ms-end-epk': max } });
      assert.equal(reply.status, 200, reply.text);
      return reply.body.Documents.toSorted();
    };
    const california = '2F442D3F30B24D244283F3B36B4CB88B';
    const oxnard = `${california}3BCEFBDDC93E6B92BBF05E9CF2116729`;
    assert.deepEqual(await within(california, `${california}FF`), ['1', '2', '3']);
    assert.deepEqual(await within(oxnard, `${oxnard}FF`), ['1', '2']);
    assert.deepEqual(await within(oxnard, `${oxnard}FF`, 'SELECT VALUE COUNT(1) FROM c'), [2]);
    assert.deepEqual((await Promise.all([within('', oxnard), within(oxnard, 'FF')])).flat().toSorted(), ['1', '2', '3', '4']);
    assert.deepEqual(await within(oxnard, oxnard), []);
  });

  test('order, top, offset and limit across all partitions', async () => {
    assert.deepEqual(await all('SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 10 LIMIT 5'), [189, 188, 187, 186, 185]);
    assert.deepEqual(await all('SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n'), [0, 1, 2]);
    const sorted = await all('SELECT c.n FROM c ORDER BY c.n', { maxItemCount: 13 });
    assert.deepEqual(sorted.map((row) => row.n), Array.from({ length: 200 }, (_, n) => n));
  });

  test('aggregates, groups and distinct values across all partitions', async () => {
    assert.deepEqual(await all('SELECT VALUE COUNT(1) FROM c'), [200]);
    assert.deepEqual(await all('SELECT VALUE SUM(c.n) FROM c WHERE c.even'), [9900]);
    assert.deepEqual(await all('SELECT VALUE AVG(c.n) FROM c'), [99.5]);
    assert.deepEqual((await all('SELECT DISTINCT VALUE c.group FROM c')).sort(), ['g0', 'g1', 'g2', 'g3', 'g4']);
    const groups = await all('SELECT c.group, COUNT(1) AS count, MAX(c.n) AS max FROM c GROUP BY c.group');
    assert.deepEqual(groups.sort((a, b) => (a.group < b.group ? -1 : 1))[1], { group: 'g1', count: 40, max: 196 });
  });

  test('joins, nested paths and shapes of one\'s own', async () => {
    assert.equal((await all("SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n < 3")).length, 6);
    assert.deepEqual(await all('SELECT {"a": c.nested.deep["value"], "b": [c.id]} AS o FROM c WHERE c.n = 4'), [{ o: { a: 8, b: ['i4'] } }]);
    assert.deepEqual((await all("SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 't2') AND c.n < 6")).sort(), ['i2', 'i5']);
  });

  test('a page of far more than a slice of output, in any order, comes whole', async () => {
    const large = await newContainer(client);
    const text = 'x'.repeat(2000);
    for (let n = 0; n < 100; n++) await large.items.create({ id: String(n), pk: n % 3, n, text });
    for (const query of ['SELECT * FROM c', 'SELECT * FROM c ORDER BY c.n DESC', 'SELECT DISTINCT c.n, c.text FROM c']) {
      const page = await large.items.query(query, { maxItemCount: 100 }).fetchNext();
      assert.equal(page.resources.length, 100, query);
      assert.equal(new Set(page.resources.map(({ n }) => n)).size, 100, query);
      assert.ok(page.resources.every((item) => item.text === text), query);
    }
  });

  test('a page has 100 items unless more are asked for, and with -1 as many as fit', async () => {
    for (const [maxItemCount, count] of [[undefined, 100], [150, 150], [-1, 200]]) {
      const page = await container.items.query('SELECT VALUE c.n FROM c ORDER BY c.n', { maxItemCount }).fetchNext();
      assert.equal(page.resources.length, count, String(maxItemCount));
    }
  });

  test('pages continue where they stopped, also in a restarted client', async () => {
    const seen = [];
    let continuationToken;
    do {
      const page = await container.items.query('SELECT VALUE c.n FROM c', { maxItemCount: 7, continuationToken }).fetchNext();
      assert.ok(page.resources.length <= 7);
      seen.push(...page.resources);
      continuationToken = page.continuationToken;
    } while (continuationToken);
    assert.equal(new Set(seen).size, 200);
    assert.equal(seen.length, 200);
  });

  test('a client that plans for itself merges what the partitions answer', async () => {
    const options = { forceQueryPlan: true, maxItemCount: 9 };
    assert.deepEqual(await all('SELECT VALUE c.n FROM c ORDER BY c.n', options), Array.from({ length: 200 }, (_, n) => n));
    assert.deepEqual(await all('SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 5 LIMIT 3', options), [194, 193, 192]);
    assert.deepEqual(await all('SELECT VALUE COUNT(1) FROM c', options), [200]);
    assert.deepEqual(await all('SELECT VALUE AVG(c.n) FROM c', options), [99.5]);
    assert.equal((await all('SELECT * FROM c WHERE c.even', options)).length, 100);
    assert.deepEqual((await all('SELECT DISTINCT VALUE c.group FROM c', options)).sort(), ['g0', 'g1', 'g2', 'g3', 'g4']);
    const groups = await all('SELECT c.group, SUM(c.n) AS sum FROM c GROUP BY c.group', options);
    assert.equal(groups.find((row) => row.group === 'g0').sum, 3900);
  });

  test('the beginning of a hierarchical key', async () => {
    const tenants = await newContainer(client, { partitionKey: { paths: ['/a', '/b', '/c'], kind: 'MultiHash', version: 2 }, throughput: 20_000 });
    for (const a of ['x', 'y']) for (const b of [1, 2]) for (const c of ['p', 'q', 'r']) await tenants.items.create({ id: 'i', a, b, c });
    const count = async (partitionKey) => (await tenants.items.query('SELECT VALUE COUNT(1) FROM c', { partitionKey }).fetchAll()).resources[0];
    assert.equal(await count(['x']), 6);
    assert.equal(await count(['x', 2]), 3);
    assert.equal(await count(['x', 2, 'q']), 1);
    assert.equal(await count(['z']), 0);
  });

  test('the client for Python shows no value of an aggregate as None, as it makes it of the results of ranges', async () => {
    const ask = async (query, agent, partition) => {
      const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, { partition, body: { query }, headers: {
        'x-ms-documentdb-isquery': 'True', 'content-type': 'application/query+json', 'x-ms-documentdb-query-enablecrosspartition': 'True', 'user-agent': agent,
      } });
      assert.equal(reply.body._count, reply.body.Documents?.length, reply.text);
      return reply.body.Documents;
    };
    const python = 'azsdk-python-cosmos/4.9.0 Python/3.11.2 (Linux)';
    for (const aggregate of ['MAX(c.none)', 'MIN(c.none)', 'AVG(c.group)', 'SUM(c.group)']) {
      assert.deepEqual(await ask(`SELECT VALUE ${aggregate} FROM c`, python), [null], aggregate);
      assert.deepEqual(await ask(`SELECT VALUE ${aggregate} FROM c`, 'curl'), [], aggregate);
    }
    assert.deepEqual(await ask('SELECT VALUE MAX(c.none) FROM c', python, ['g0']), []);
    assert.deepEqual(await ask('SELECT VALUE c.none FROM c', python), []);
    assert.deepEqual(await ask('SELECT VALUE MAX(c.none) FROM c GROUP BY c.none', python), []);
  });

  test('the plan of a query', async () => {
    const { result } = await container.getQueryPlan('SELECT * FROM c ORDER BY c.n');
    assert.equal(result.partitionedQueryExecutionInfoVersion, 2);
    assert.deepEqual(result.queryInfo.orderBy, ['Ascending']);
    assert.ok(result.queryRanges.length >= 1);
  });

  test('metrics and charges', async () => {
    const page = await container.items.query('SELECT * FROM c WHERE c.n < 10', { populateQueryMetrics: true }).fetchNext();
    const metrics = page.headers['x-ms-documentdb-query-metrics']['0'];
    assert.equal(metrics.outputDocumentCount, 10);
    assert.ok(page.requestCharge > 2);
  });

  test('a patch with a condition', async () => {
    const { resource } = await container.items.create({ id: 'patch', pk: 'k0', state: 'new', n: 1000 });
    const item = container.item('patch', 'k0');
    const patch = (condition) => item.patch({ condition, operations: [{ op: 'set', path: '/state', value: 'done' }] });
    assert.equal((await errorOf(patch("from c where c.state = 'other'"))).code, 412);
    assert.equal((await item.read()).resource._etag, resource._etag);
    assert.equal((await patch("from c where c.state = 'new' and c.n > 5 -- it is")).resource.state, 'done');
    for (const condition of ['c.state = 1', 'from c', 'from c where c.n = 1) or (1 = 1', 'from c where c.n = 1 order by c.n']) {
      assert.equal((await errorOf(patch(condition))).code, 400, condition);
    }
    assert.equal((await errorOf(container.item('none', 'k0').patch({ condition: 'from c where true', operations: [{ op: 'set', path: '/a', value: 1 }] }))).code, 404);
    await item.delete();
  });

  test('the condition of a patch sees the item as it is in the moment of the write', async () => {
    const { resource } = await container.items.create({ id: 'stock', pk: 'k0', left: 20 });
    const item = container.item('stock', 'k0');
    const buy = (options = {}) => item.patch({ condition: 'FROM products p WHERE p.left > 0', operations: [{ op: 'incr', path: '/left', value: -1 }] }, options);
    const replies = await Promise.allSettled(Array.from({ length: 30 }, () => buy()));
    assert.equal(replies.filter((reply) => reply.status === 'fulfilled').length, 20);
    for (const reply of replies) if (reply.status === 'rejected') assert.equal(reply.reason.code, 412);
    assert.equal((await item.read()).resource.left, 0);
    await item.patch([{ op: 'set', path: '/left', value: 5 }]);
    assert.equal((await errorOf(buy({ accessCondition: { type: 'IfMatch', condition: resource._etag } }))).code, 412);
    await item.delete();
  });

  test('a condition in a batch sees what the operations before it did', async () => {
    const patch = (id, value, condition) => ({ operationType: 'Patch', id, resourceBody: { condition, operations: [{ op: 'set', path: '/state', value }] } });
    const done = await container.items.batch([
      { operationType: 'Create', resourceBody: { id: 'order', pk: 'k0', state: 1 } },
      patch('order', 2, 'from c where c.state = 1'),
      patch('order', 3, 'from c where c.state = 2'),
    ], 'k0');
    assert.deepEqual(done.result.map((one) => one.statusCode), [201, 200, 200]);
    const refused = await container.items.batch([patch('order', 4, 'from c where c.state = 3'), patch('order', 5, 'from c where c.state = 3')], 'k0');
    assert.deepEqual(refused.result.map((one) => one.statusCode), [424, 412]);
    assert.equal((await container.item('order', 'k0').read()).resource.state, 3);
    await container.item('order', 'k0').delete();
  });

  test('mistakes in a query say where', async () => {
    const error = await errorOf(container.items.query('SELECT * FRM c').fetchAll());
    assert.equal(error.code, 400);
    assert.match(error.message + JSON.stringify(error.body ?? ''), /SC1001/);
    const send = (body) => cosmosRequest(server, 'POST', `/${container.url}/docs`, { body, headers: { 'x-ms-documentdb-isquery': 'True', 'Content-Type': 'application/query+json' } });
    assert.equal((await send({})).status, 400);
    assert.equal((await send({ query: 5 })).status, 400);
    assert.equal((await send('{')).status, 400);
    assert.equal((await send({ query: 'SELECT * FROM c', parameters: 'none' })).status, 400);
    assert.equal((await send({ query: 'SELECT VALUE udf.f(c) FROM c' })).status, 400);
  });
});
