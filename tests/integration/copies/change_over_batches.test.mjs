// Batches, bulk operations and simultaneous writes by the partition key that a container had before a change-over.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest } from '../cosmos.mjs';
import { expectStatus, Server } from '../harness.mjs';
import { batchBody, batchResults } from '../hybrid_row.mjs';
import { changedOver } from './changed_over.mjs';

describe('batches by the key of before a change-over', () => {
  let server;
  before(async () => {
    server = await Server.start();
    await cosmosClient(server).databases.create({ id: 'shop' });
  });
  after(() => server?.stop());

  // Orders by their region before, and by their user afterwards. Two physical partitions, so that keys lead to either.
  const orders = Array.from({ length: 12 }, (_, n) => ({ id: `o${n}`, region: `r${n % 2}`, user: `u${n % 6}`, n }));
  const byUser = (documents = orders) => changedOver(server, ['/region'], ['/user'], documents, { throughput: 20_000 });

  const codes = (reply) => reply.result.map((one) => one.statusCode);
  const all = async (container, what = '*') => (await container.items.query(`SELECT ${what} FROM c ORDER BY c.id`).fetchAll()).resources;
  const create = (resourceBody) => ({ operationType: 'Create', resourceBody });
  const requestsOf = async ({ name }) => expectStatus(await server.get(`/${encodeURIComponent(name)}`), 200).props.former_key.requests;

  function sendBatch({ name }, body, headers, partition) {
    return cosmosRequest(server, 'POST', `/dbs/${name.replace('/', '/colls/')}/docs`, { partition, body,
      headers: { 'x-ms-cosmos-is-batch-request': 'True', ...headers } });
  }
  const atomic = { 'x-ms-cosmos-batch-atomic': 'True' };

  test('a transactional batch goes to the one key that its items have now', async () => {
    const orders = await byUser();
    const { former, present } = orders;
    const reply = await former.items.batch([
      { operationType: 'Read', id: 'o2' },
      { operationType: 'Patch', id: 'o8', resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] } },
      { operationType: 'Replace', id: 'o2', resourceBody: { id: 'o2', region: 'r0', user: 'u2', n: 20 } },
      create({ id: 'new', region: 'r0', user: 'u2' }),
      { operationType: 'Upsert', resourceBody: { id: 'newer', region: 'r0', user: 'u2' } },
      { operationType: 'Read', id: 'new' },
      { operationType: 'Delete', id: 'new' },
    ], 'r0');
    assert.equal(reply.code, 200, JSON.stringify(reply.result));
    assert.deepEqual(codes(reply), [200, 200, 200, 201, 201, 200, 204]);
    assert.equal(reply.result[0].resourceBody.n, 2);
    const items = await present.items.query('SELECT c.id, c.n FROM c ORDER BY c.id', { partitionKey: 'u2' }).fetchAll();
    assert.deepEqual(items.resources, [{ id: 'newer' }, { id: 'o2', n: 20 }, { id: 'o8', n: 9 }]);
    assert.equal(await requestsOf(orders), 1);
  });

  test('one that fails changes nothing', async () => {
    const { former, present } = await byUser();
    const before = await all(present);
    for (const failing of [{ operationType: 'Delete', id: 'none' }, create({ id: 'o2', region: 'r0', user: 'u2' })]) {
      const reply = await former.items.batch([create({ id: 'new', region: 'r0', user: 'u2' }), failing], 'r0');
      assert.deepEqual(codes(reply), [424, failing.id ? 404 : 409]);
    }
    const reply = await former.items.batch([{ operationType: 'Read', id: 'none' }], 'r0');
    assert.deepEqual(codes(reply), [404]);
    assert.deepEqual(await all(present), before);
  });

  test('one whose items have several keys now is refused as a whole', async () => {
    const orders = await byUser();
    const before = await all(orders.present);
    for (const operations of [
      [create({ id: 'a', region: 'r0', user: 'u2' }), create({ id: 'b', region: 'r0', user: 'u4' })],
      [create({ id: 'a', region: 'r0', user: 'u2' }), { operationType: 'Delete', id: 'o4' }],
      [{ operationType: 'Read', id: 'o2' }, { operationType: 'Read', id: 'o4' }],
      // This one has the key in the header as its present one.
      [{ operationType: 'Read', id: 'o2' }, create({ id: 'c', region: 'r1', user: 'r0' })],
    ]) {
      const reply = await sendBatch(orders, operations, atomic, ['r0']);
      assert.equal(reply.status, 400, reply.text);
      assert.equal(reply.headers['x-ms-substatus'], '1001');
      assert.match(reply.text, /several partition keys.* is \/user now/);
    }
    assert.deepEqual(await all(orders.present), before);
  });

  test('bodies and ids decide which key the header has', async () => {
    const { former, present } = await byUser([...orders, { id: 'x', region: 'u2', user: 'u9' }]);
    const reply = await former.items.batch([create({ id: 'new', region: 'u2', user: 'u9' }), { operationType: 'Read', id: 'x' }], 'u2');
    assert.deepEqual(codes(reply), [201, 200]);
    const own = await present.items.batch([create({ id: 'own', region: 'any', user: 'u2' }), { operationType: 'Read', id: 'o2' }], 'u2');
    assert.deepEqual(codes(own), [201, 200]);
    const neither = await former.items.batch([create({ id: 'no', region: 'r0', user: 'u9' })], 'u2');
    assert.deepEqual(codes(neither), [400]);
    assert.equal((await all(present)).length, 12 + 1 + 2);
  });

  test('a batch makes no second item', async () => {
    const { former, present } = await byUser();
    const reply = await former.items.batch([create({ id: 'o2', region: 'r0', user: 'other' })], 'r0');
    assert.deepEqual(codes(reply), [409]);
    const upsert = await former.items.batch([{ operationType: 'Upsert', resourceBody: { id: 'o2', region: 'r0', user: 'other' } }], 'r0');
    assert.deepEqual(codes(upsert), [400]);
    assert.equal((await all(present)).length, 12);
  });

  test('a batch of the .NET client', async () => {
    const orders = await byUser();
    const body = batchBody([
      { operationType: 'Read', id: 'o2' },
      { operationType: 'Create', resourceBody: { id: 'new', region: 'r0', user: 'u2' }, minimalReturnPreference: true },
    ]);
    const reply = await sendBatch(orders, body, atomic, ['r0']);
    assert.equal(reply.status, 200);
    assert.deepEqual(batchResults(reply.bytes).map((one) => one.statusCode), [200, 201]);
    assert.equal((await orders.present.item('new', 'u2').read()).resource.region, 'r0');
    const bulk = batchBody([
      { operationType: 'Create', partitionKey: '["r1"]', resourceBody: { id: 'newer', region: 'r1', user: 'u5' } },
      { operationType: 'Delete', partitionKey: '["r0"]', id: 'new' },
      { operationType: 'Delete', partitionKey: '["r0"]', id: 'new' },
    ]);
    const [range] = (await orders.present.readPartitionKeyRanges().fetchAll()).resources;
    const headers = { 'x-ms-documentdb-partitionkeyrangeid': range.id };
    const done = await sendBatch(orders, bulk, headers);
    assert.deepEqual(batchResults(done.bytes).map((one) => one.statusCode), [201, 204, 404]);
  });

  test('bulk operations go to the key of each item', async () => {
    const orders = await byUser();
    const { former, present } = orders;
    const key = (n) => `r${n % 2}`;
    const results = await former.items.executeBulkOperations([
      { operationType: 'Read', id: 'o1', partitionKey: 'r1' },
      { operationType: 'Patch', id: 'o3', partitionKey: 'r1', resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] } },
      { operationType: 'Replace', id: 'o4', partitionKey: 'r0', resourceBody: { id: 'o4', region: 'r0', user: 'u4', n: 40 } },
      { operationType: 'Delete', id: 'o5', partitionKey: 'r1' },
      { operationType: 'Create', partitionKey: 'r0', resourceBody: { id: 'o6', region: 'r0', user: 'other' } },
      ...Array.from({ length: 20 }, (_, n) => ({ operationType: n % 3 ? 'Create' : 'Upsert', partitionKey: key(n),
        resourceBody: { id: `new${n}`, region: key(n), user: `v${n}` } })),
    ]);
    assert.deepEqual(results.map(({ response, error }) => response?.statusCode ?? error.code),
      [200, 200, 200, 204, 409, ...Array.from({ length: 20 }, () => 201)]);
    const numbers = (await all(present, 'c.id, c.n')).filter(({ n }) => n !== undefined).map(({ n }) => n);
    assert.deepEqual(numbers, [0, 1, 10, 11, 2, 4, 40, 6, 7, 8, 9]);
    // Without the one that is refused.
    assert.equal(await requestsOf(orders), 24);
  });

  test('of simultaneous writes with one id and former key, one makes an item', async () => {
    const { former, present } = await byUser();
    const rounds = 4;
    const ways = [
      (item) => former.items.create(item),
      (item) => former.items.upsert(item),
      async (item) => assert.deepEqual(codes(await former.items.batch([create(item)], 'r')), [201]),
      async (item) => {
        const [{ response }] = await former.items.executeBulkOperations([{ ...create(item), partitionKey: 'r' }]);
        assert.equal(response?.statusCode, 201);
      },
    ];
    for (let round = 0; round < rounds; ++round) {
      const writes = ways.flatMap((write, way) => [0, 1, 2, 3].map((n) => write({ id: `x${round}`, region: 'r', user: `u${way}-${n}` })));
      const outcomes = await Promise.allSettled(writes);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    }
    assert.equal((await all(present)).length, orders.length + rounds);
  });
});
