// Transactional batches and bulk operations of the Cosmos DB API, by @azure/cosmos.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('batches of the Cosmos DB API', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { throughput: 30_000 });
  });
  after(() => server?.stop());

  const codes = (reply) => reply.result.map((one) => one.statusCode);

  test('a batch reads and changes large items only as far as it may', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'large', pk: 'large', text: 'x'.repeat(1_000_000), n: 0 });
    const reads = await container.items.batch(Array.from({ length: 6 }, () => ({ operationType: 'Read', id: 'large' })), 'large');
    assert.deepEqual(codes(reads), [200, 200, 200, 200, 413, 413]);
    const operations = Array.from({ length: 10 }, () => ({ op: 'incr', path: '/n', value: 1 }));
    const patches = await container.items.batch(
      Array.from({ length: 12 }, () => ({ operationType: 'Patch', id: 'large', resourceBody: { operations } })), 'large');
    assert.deepEqual([...new Set(codes(patches))], [424, 413]);
    assert.equal((await container.item('large', 'large').read()).resource.n, 0);
    const fewer = await container.items.batch(
      Array.from({ length: 5 }, () => ({ operationType: 'Patch', id: 'large', resourceBody: { operations } })), 'large');
    assert.deepEqual(codes(fewer), [200, 200, 200, 200, 200]);
    assert.equal((await container.item('large', 'large').read()).resource.n, 50);
  });

  test('a batch does all it was told, each operation seeing those before it', async () => {
    const reply = await container.items.batch([
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x', n: 1 } },
      { operationType: 'Patch', id: 'a', resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] } },
      { operationType: 'Read', id: 'a' },
      { operationType: 'Upsert', resourceBody: { id: 'b', pk: 'x' } },
      { operationType: 'Replace', id: 'a', resourceBody: { id: 'a', pk: 'x', n: 10 } },
      { operationType: 'Delete', id: 'b' },
      { operationType: 'Create', resourceBody: { id: 'b', pk: 'x', again: true } },
    ], 'x');
    assert.equal(reply.code, 200);
    assert.deepEqual(codes(reply), [201, 200, 200, 201, 200, 204, 201]);
    assert.equal(reply.result[2].resourceBody.n, 2);
    assert.match(reply.result[0].eTag, /^"1-/);
    assert.ok(reply.result[0].requestCharge > 0);
    assert.equal((await container.item('a', 'x').read()).resource.n, 10);
    assert.equal((await container.item('b', 'x').read()).resource.again, true);
  });

  test('when one operation fails, nothing is done', async () => {
    const reply = await container.items.batch([
      { operationType: 'Create', resourceBody: { id: 'c', pk: 'x' } },
      { operationType: 'Delete', id: 'a' },
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } },
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } },
      { operationType: 'Read', id: 'a' },
    ], 'x');
    assert.equal(reply.code, 207);
    assert.deepEqual(codes(reply), [424, 424, 424, 409, 424]);
    assert.equal((await container.item('c', 'x').read()).statusCode, 404);
    assert.equal((await container.item('a', 'x').read()).resource.n, 10);
    const etag = await container.items.batch([{ operationType: 'Upsert', ifMatch: '"9-0"', resourceBody: { id: 'a', pk: 'x' } }], 'x');
    assert.deepEqual(codes(etag), [412]);
    const strange = await container.items.batch([
      { operationType: 'Create', resourceBody: { id: 'ok', pk: 'x' } },
      { operationType: 'Create', resourceBody: { id: 'other', pk: 'y' } },
    ], 'x');
    assert.deepEqual(codes(strange), [424, 400]);
  });

  test('unique keys are checked against what the batch has done', async () => {
    const unique = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
    await unique.items.create({ id: '1', pk: 'x', email: 'a' });
    const swap = await unique.items.batch([
      { operationType: 'Delete', id: '1' },
      { operationType: 'Create', resourceBody: { id: '2', pk: 'x', email: 'a' } },
    ], 'x');
    assert.deepEqual(codes(swap), [204, 201]);
    const twice = await unique.items.batch([
      { operationType: 'Create', resourceBody: { id: '3', pk: 'x', email: 'b' } },
      { operationType: 'Create', resourceBody: { id: '4', pk: 'x', email: 'b' } },
    ], 'x');
    assert.deepEqual(codes(twice), [424, 409]);
    assert.equal((await unique.items.create({ id: '5', pk: 'x', email: 'b' })).statusCode, 201);
  });

  test('batches that meet are done one after the other', async () => {
    await container.items.create({ id: 'left', pk: 'bank', n: 500 });
    await container.items.create({ id: 'right', pk: 'bank', n: 500 });
    const move = (from, to) => container.items.batch([
      { operationType: 'Patch', id: from, resourceBody: { operations: [{ op: 'incr', path: '/n', value: -1 }] } },
      { operationType: 'Patch', id: to, resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] } },
    ], 'bank');
    await Promise.all(Array.from({ length: 60 }, (_, n) => (n % 3 === 0 ? move('left', 'right') : move('right', 'left'))));
    const left = (await container.item('left', 'bank').read()).resource.n;
    const right = (await container.item('right', 'bank').read()).resource.n;
    assert.equal(left, 520);
    assert.equal(left + right, 1000);
  });

  test('bulk operations stand for themselves, and go to every physical partition', async () => {
    const create = (n) => ({ operationType: 'Create', partitionKey: `k${n % 50}`, resourceBody: { id: `i${n}`, pk: `k${n % 50}`, n } });
    const results = await container.items.executeBulkOperations(Array.from({ length: 300 }, (_, n) => create(n)));
    for (const result of results) assert.equal(result.response?.statusCode, 201, JSON.stringify(result.error));
    const mixed = await container.items.executeBulkOperations([
      create(0),
      { operationType: 'Read', id: 'i1', partitionKey: 'k1' },
      { operationType: 'Delete', id: 'i2', partitionKey: 'k2' },
      { operationType: 'Read', id: 'none', partitionKey: 'k3' },
      { operationType: 'Patch', id: 'i4', partitionKey: 'k4', resourceBody: [{ op: 'incr', path: '/n', value: 100 }] },
      { operationType: 'Upsert', partitionKey: 'k5', resourceBody: { id: 'i5', pk: 'k5', n: 'new' } },
    ]);
    assert.deepEqual(mixed.map((one) => one.response?.statusCode ?? one.error.code), [409, 200, 204, 404, 200, 200]);
    assert.equal(mixed[4].response.resourceBody.n, 104);
  });

  test('the older bulk call works too', async () => {
    const reply = await container.items.bulk([
      { operationType: 'Create', resourceBody: { id: 'old1', pk: 'o1' } },
      { operationType: 'Create', resourceBody: { id: 'old2', pk: 'o2' } },
      { operationType: 'Read', id: 'old1', partitionKey: 'o1' },
    ]);
    assert.deepEqual(reply.map((one) => one.statusCode), [201, 201, 200]);
  });

  test('bodies can be left out of the reply', async () => {
    const reply = await container.items.batch([{ operationType: 'Create', resourceBody: { id: 'quiet', pk: 'x' } }], 'x', { contentResponseOnWriteEnabled: false });
    assert.equal(reply.result[0].statusCode, 201);
    assert.equal(reply.result[0].resourceBody, undefined);
  });

  test('mistakes in a batch are refused', async () => {
    const send = (body, headers = {}) => cosmosRequest(server, 'POST', `/${container.url}/docs`, {
      body, partition: ['x'], headers: { 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'True', ...headers },
    });
    assert.equal((await send([])).status, 400);
    assert.equal((await send({})).status, 400);
    assert.equal((await send('[')).status, 400);
    const many = Array.from({ length: 101 }, (_, n) => ({ operationType: 'Read', id: `${n}` }));
    assert.match((await send(many)).body.message, /100/);
    assert.deepEqual((await send([{ operationType: 'Fly' }])).body.map((one) => one.statusCode), [400]);
    assert.deepEqual((await send([{ operationType: 'Create' }])).body.map((one) => one.statusCode), [400]);
    const gone = await send([{ operationType: 'Read', id: 'a', partitionKey: '["x"]' }], {
      'x-ms-cosmos-batch-atomic': 'False', 'x-ms-documentdb-partitionkey': undefined, 'x-ms-documentdb-partitionkeyrangeid': '9',
    });
    assert.equal(gone.status, 410);
    assert.equal(gone.headers['x-ms-substatus'], '1002');
  });
});

describe('a logical partition that is full', () => {
  let server, container;
  before(async () => {
    server = await Server.start({ config: '[database]\nlogical_partition_bytes_max = "64KiB"\n' });
    container = await newContainer(cosmosClient(server));
    await container.items.create({ id: 'first', pk: 'full', text: 'x'.repeat(40_000) });
  });
  after(() => server?.stop());

  const isFull = (error) => error.code === 403 && error.substatus === 1014;

  test('takes no more, by any way of writing', async () => {
    const item = { id: 'second', pk: 'full', text: 'x'.repeat(40_000) };
    await assert.rejects(container.items.create(item), isFull);
    await assert.rejects(container.items.create(item), /maximum size of 64 KiB \(database\.logical_partition_bytes_max\)/);
    await assert.rejects(container.items.upsert(item), isFull);
    await assert.rejects(container.item('first', 'full').replace({ id: 'first', pk: 'full', text: 'x'.repeat(80_000) }), isFull);
    const operations = [{ op: 'add', path: '/more', value: item.text }];
    await assert.rejects(container.item('first', 'full').patch(operations), isFull);
    const batch = await container.items.batch([{ operationType: 'Create', resourceBody: { id: 'small', pk: 'full' } }, { operationType: 'Create', resourceBody: item }], 'full');
    assert.deepEqual(batch.result.map((one) => one.statusCode), [424, 403]);
    const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll();
    assert.deepEqual(resources, ['first']);
  });

  test('takes what makes it smaller, and others take what they have room for', async () => {
    await container.items.create({ id: 'second', pk: 'other', text: 'x'.repeat(40_000) });
    await container.item('first', 'full').replace({ id: 'first', pk: 'full' });
    await container.items.create({ id: 'second', pk: 'full', text: 'x'.repeat(40_000) });
    await container.item('second', 'full').delete();
    await container.items.create({ id: 'third', pk: 'full', text: 'x'.repeat(50_000) });
  });
});
