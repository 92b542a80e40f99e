// Listing items and following their changes through the Cosmos DB API, by @azure/cosmos and plain HTTP.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { Server, sleep } from '../harness.mjs';

describe('feeds of the Cosmos DB API', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  const fill = async (container, count, pk = (n) => `k${n % 10}`) => {
    const operations = Array.from({ length: count }, (_, n) => ({ operationType: 'Create', partitionKey: pk(n), resourceBody: { id: `i${n}`, pk: pk(n), n } }));
    for (const result of await container.items.executeBulkOperations(operations)) assert.equal(result.response?.statusCode, 201, JSON.stringify(result.error));
  };

  /// All pages until the feed says that there is nothing new.
  const drain = async (iterator) => {
    const items = [];
    for (;;) {
      const page = await iterator.readNext();
      if (page.statusCode === 304) return { items, continuation: page.continuationToken };
      items.push(...page.result);
    }
  };
  const list = async (container, headers = {}) => {
    const items = [];
    let continuation;
    do {
      const reply = await cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers: { 'x-ms-max-item-count': '7', ...headers, 'x-ms-continuation': continuation } });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.body._count, reply.body.Documents.length);
      assert.ok(reply.body._count <= 7);
      items.push(...reply.body.Documents);
      continuation = reply.headers['x-ms-continuation'];
    } while (continuation);
    return items;
  };

  test('items are listed page by page: all, of a key, of a range', async () => {
    const container = await newContainer(client, { throughput: 30_000 });
    await fill(container, 100);
    await container.item('i5', 'k5').delete();
    const all = await list(container);
    assert.equal(new Set(all.map((item) => item.id)).size, 99);
    const one = await list(container, { 'x-ms-documentdb-partitionkey': '["k3"]' });
    assert.deepEqual(one.map((item) => item.n).sort((a, b) => a - b), [3, 13, 23, 33, 43, 53, 63, 73, 83, 93]);
    let sum = 0;
    for (const range of ['0', '1', '2']) sum += (await list(container, { 'x-ms-documentdb-partitionkeyrangeid': range })).length;
    assert.equal(sum, 99);
  });

  test('the beginning of a hierarchical key lists what begins so', async () => {
    const container = await newContainer(client, { partitionKey: { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 }, throughput: 20_000 });
    for (const a of ['x', 'xy']) for (let b = 0; b < 5; b++) await container.items.create({ id: 'i', a, b });
    assert.equal((await list(container, { 'x-ms-documentdb-partitionkey': '["x"]' })).length, 5);
    assert.equal((await list(container, { 'x-ms-documentdb-partitionkey': '["x",3]' })).length, 1);
    assert.equal((await list(container, { 'x-ms-documentdb-partitionkey': '[]' })).length, 10);
  });

  test('changes from the beginning, and on from a continuation', async () => {
    const container = await newContainer(client, { throughput: 30_000 });
    await fill(container, 60);
    const first = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning(), maxItemCount: 9 }));
    assert.equal(new Set(first.items.map((item) => item.id)).size, 60);
    assert.ok(first.items[0]._etag && first.items[0]._ts);
    const positions = first.items.map((item) => item._lsn);
    assert.ok(positions.every((position) => Number.isInteger(position) && position > 0));
    assert.equal(new Set(positions).size, 60);
    assert.equal((await container.item('i1', 'k1').read()).resource._lsn, undefined);
    // What the feed shows may be written back.
    await container.item('i2', 'k2').replace(first.items.find((item) => item.id === 'i2'));
    assert.equal((await container.item('i2', 'k2').read()).resource._lsn, undefined);
    await container.item('i7', 'k7').replace({ id: 'i7', pk: 'k7', changed: true });
    await container.item('i8', 'k8').delete();
    await container.items.create({ id: 'new', pk: 'k1' });
    const next = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Continuation(first.continuation) }));
    assert.deepEqual(next.items.map((item) => item.id).sort(), ['i2', 'i7', 'new']);
    assert.deepEqual((await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Continuation(next.continuation) }))).items, []);
  });

  test('changes with separate metadata, as the processors of the client for Java ask for them', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'a', pk: 'x', n: 1 });
    const headers = { 'a-im': 'Incremental Feed', 'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15' };
    const [change, ...others] = (await cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers })).body.Documents;
    assert.deepEqual(others, []);
    assert.deepEqual(Object.keys(change), ['current', 'metadata']);
    assert.deepEqual([change.current.id, change.current.n, change.current._lsn], ['a', 1, undefined]);
    assert.equal(change.metadata.crts, change.current._ts);
    assert.ok(change.metadata.lsn > 0);
  });

  test('changes from now on, of one key, of a feed range', async () => {
    const container = await newContainer(client, { throughput: 20_000 });
    await fill(container, 40);
    const now = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Now() });
    assert.deepEqual((await drain(now)).items, []);
    await container.items.create({ id: 'later', pk: 'k2' });
    assert.deepEqual((await drain(now)).items.map((item) => item.id), ['later']);

    const ofKey = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning('k2'), maxItemCount: 3 }));
    assert.deepEqual(ofKey.items.map((item) => item.id), ['i2', 'i12', 'i22', 'i32', 'later']);

    const ranges = await container.getFeedRanges();
    assert.equal(ranges.length, 2);
    let sum = 0;
    for (const range of ranges) sum += (await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range) }))).items.length;
    assert.equal(sum, 41);
  });

  test('changes since a moment', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'early', pk: 'x' });
    await sleep(2100);
    const moment = new Date();
    await sleep(1100);
    await container.items.create({ id: 'late', pk: 'x' });
    const { items } = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Time(moment) }));
    assert.deepEqual(items.map((item) => item.id), ['late']);
  });

  test('an item that changed twice is seen once, as it is now', async () => {
    const container = await newContainer(client);
    for (let n = 0; n < 3; n++) await container.items.upsert({ id: 'a', pk: 'x', n });
    const { items } = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() }));
    assert.deepEqual(items.map((item) => item.n), [2]);
  });

  test('changes of the beginning of a hierarchical key', async () => {
    const container = await newContainer(client, { partitionKey: { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 }, throughput: 20_000 });
    for (const a of ['x', 'y', 'z']) for (let b = 0; b < 4; b++) await container.items.create({ id: `${a}${b}`, a, b });
    const { items } = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning(['y']) }));
    assert.deepEqual(items.map((item) => item.id).sort(), ['y0', 'y1', 'y2', 'y3']);
  });

  test('the older iterator reads the changes of a key until there are no more', async () => {
    const container = await newContainer(client);
    await fill(container, 20);
    const iterator = container.items.changeFeed('k4', { startFromBeginning: true, maxItemCount: 1 });
    const seen = [];
    while (iterator.hasMoreResults) seen.push(...((await iterator.fetchNext()).result ?? []));
    assert.deepEqual(seen.map((item) => item.id), ['i4', 'i14']);
  });

  test('a change that was acknowledged is in the feed at once', async () => {
    const container = await newContainer(client, { throughput: 30_000 });
    const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
    for (let round = 0; round < 30; round++) {
      await Promise.all([1, 2, 3].map((n) => container.items.create({ id: `r${round}-${n}`, pk: `p${round * n}` })));
      const { items } = await drain(iterator);
      assert.equal(items.length, 3, `round ${round}`);
    }
  });

  test('a position beyond the end is of another container: the changes start from the beginning', async () => {
    const container = await newContainer(client);
    for (let n = 0; n < 20; n++) await container.items.create({ id: String(n), pk: 'x' });
    const changes = (tag) => cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers: { 'A-IM': 'Incremental Feed', 'If-None-Match': tag } });
    const { etag } = (await changes('*')).headers;
    assert.equal((await changes(etag)).status, 304);
    await container.delete();
    await container.database.containers.create({ id: 'items', partitionKey: { paths: ['/pk'] } });
    assert.equal((await changes(etag)).status, 304);
    await container.items.create({ id: 'new', pk: 'x' });
    const first = await changes(etag);
    assert.deepEqual(first.body.Documents.map((item) => item.id), ['new']);
    assert.equal((await changes(first.headers.etag)).status, 304);
    await container.items.create({ id: 'newer', pk: 'x' });
    assert.deepEqual((await changes(first.headers.etag)).body.Documents.map((item) => item.id), ['newer']);
  });

  test('mistakes are refused', async () => {
    const container = await newContainer(client);
    const get = (headers) => cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers });
    assert.equal((await get({ 'x-ms-max-item-count': 'many' })).status, 400);
    assert.equal((await get({ 'x-ms-continuation': '!!' })).status, 400);
    assert.equal((await get({ 'A-IM': 'Whatever' })).status, 400);
    assert.equal((await get({ 'A-IM': 'Incremental Feed', 'If-None-Match': 'abc' })).status, 400);
    assert.equal((await get({ 'x-ms-start-epk': 'xyz' })).status, 400);
    const gone = await get({ 'x-ms-documentdb-partitionkeyrangeid': '7' });
    assert.equal(gone.status, 410);
    assert.equal(gone.headers['x-ms-substatus'], '1002');
    const missing = await errorOf(container.database.container('none').items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() }).readNext());
    assert.equal(missing.code, 404);
  });

  test('refusals have the words that clients look for', async () => {
    const container = await newContainer(client, { changeFeedPolicy: { retentionDuration: 5 } });
    const ask = async (headers, method = 'GET', body) => {
      const reply = await cosmosRequest(server, method, `/${container.url}/docs`, { headers, body });
      assert.equal(reply.status, 400, reply.text);
      return reply.body.message;
    };
    assert.match(await ask({ 'x-ms-continuation': '*' }), /^Invalid Continuation Token: /);
    assert.match(await ask({ 'x-ms-continuation': Buffer.from('99 x').toString('base64url') }), /^Invalid Continuation Token: /);
    const query = { 'x-ms-documentdb-isquery': 'True', 'content-type': 'application/query+json' };
    assert.match(await ask({ ...query, 'x-ms-continuation': 'nonsense' }, 'POST', { query: 'SELECT * FROM c' }), /^Invalid Continuation Token: /);
    const retention = /You must read the change feed from within the retention period\./;
    assert.match(await ask({ 'A-IM': 'Full-Fidelity Feed' }), retention);
    assert.match(await ask({ 'A-IM': 'Full-Fidelity Feed', 'If-Modified-Since': 'Thu, 01 Jan 2015 00:00:00 GMT' }), retention);
  });
});
