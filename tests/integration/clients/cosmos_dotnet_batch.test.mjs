// Batches and bulk operations as the .NET client sends them: HybridRow in a POST to …/docs, with the headers that
// BatchExecutor and BatchAsyncContainerExecutor set. ../hybrid_row.mjs says how the bytes follow from the client's source.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';
import { batchBody, batchResults, operationRow, record, segment } from '../hybrid_row.mjs';

describe('batches of the .NET client', () => {
  let server, client, container, path, narrow;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { throughput: 30_000 });
    path = `/${container.url}/docs`;
    narrow = `/${(await newContainer(client)).url}/docs`;  // one range
  });
  after(() => server?.stop());

  const batchHeaders = { 'x-ms-cosmos-is-batch-request': 'True', accept: 'application/json' };

  /// TransactionalBatch.ExecuteAsync.
  async function transaction(operations, partition, { body = batchBody(operations), headers = {} } = {}) {
    const reply = await cosmosRequest(server, 'POST', path, { body, partition: [partition],
      headers: { ...batchHeaders, 'x-ms-cosmos-batch-atomic': 'True', 'x-ms-cosmos-batch-ordered': 'True', ...headers } });
    return withResults(reply);
  }

  /// A bulk request for one range.
  async function bulk(operations, range = '0', target = narrow) {
    return withResults(await cosmosRequest(server, 'POST', target, { body: batchBody(operations), headers: { ...batchHeaders,
      'x-ms-documentdb-partitionkeyrangeid': range, 'x-ms-cosmos-batch-atomic': 'False',
      'x-ms-cosmos-batch-continue-on-error': 'True' } }));
  }

  function withResults(reply) {
    // The client looks at the first byte; other replies are errors in JSON.
    if (reply.bytes[0] !== 0x81) return reply;
    const results = batchResults(reply.bytes);
    return { ...reply, results, codes: results.map((one) => one.statusCode) };
  }

  const item = (one) => JSON.parse(one.resourceBody);

  test('a transactional batch does what the client tells and the results are those that it reads', async () => {
    const reply = await transaction([
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x', n: 1 } },
      { operationType: 'Patch', id: 'a', resourceBody: { operations: [{ op: 'incr', path: '/n', value: 1 }] } },
      { operationType: 'Read', id: 'a' },
      { operationType: 'Upsert', resourceBody: { id: 'b', pk: 'x' } },
      { operationType: 'Replace', id: 'a', resourceBody: { id: 'a', pk: 'x', n: 10, name: 'Zoë' } },
      { operationType: 'Delete', id: 'b' },
    ], 'x');
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.codes, [201, 200, 200, 201, 200, 204]);
    assert.equal(item(reply.results[2]).n, 2);
    assert.equal(item(reply.results[4]).name, 'Zoë');
    assert.equal(item(reply.results[4])._etag, reply.results[4].eTag);
    assert.equal(reply.results[5].eTag, undefined);
    assert.equal(reply.results[5].resourceBody, undefined);
    assert.ok(reply.results.every((one) => one.requestCharge > 0 && one.subStatusCode === undefined));
    const charges = reply.results.reduce((sum, one) => sum + one.requestCharge, 0);
    assert.ok(Math.abs(charges - Number(reply.headers['x-ms-request-charge'])) < 0.02);
    assert.match(reply.headers['x-ms-session-token'], /^0:-1#\d+$/);
    assert.equal((await container.item('a', 'x').read()).resource.n, 10);
  });

  test('when an operation fails the reply is 207, nothing is done, and its result says why', async () => {
    const reply = await transaction([
      { operationType: 'Create', resourceBody: { id: 'c', pk: 'x' } },
      { operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } },
      { operationType: 'Read', id: 'a' },
    ], 'x');
    assert.equal(reply.status, 207);
    assert.deepEqual(reply.codes, [424, 409, 424]);
    assert.equal(item(reply.results[1]).code, 'Conflict');
    assert.equal(item(reply.results[1]).message, 'Resource with specified id or name already exists.');
    assert.equal(reply.results[0].resourceBody, undefined);
    assert.equal((await container.item('c', 'x').read()).statusCode, 404);
  });

  test('an operation is refused by its substatus where the client needs one', async () => {
    const reply = await transaction([{ operationType: 'Create', resourceBody: { id: 'other', pk: 'y' } }], 'x');
    assert.deepEqual(reply.codes, [400]);
    assert.equal(reply.results[0].subStatusCode, 1001);
  });

  test('If-Match of an operation is its etag', async () => {
    const { resource } = await container.items.upsert({ id: 'e', pk: 'etag', n: 1 });
    const wrong = await transaction([{ operationType: 'Upsert', ifMatch: '"1-0"', resourceBody: { id: 'e', pk: 'etag' } }], 'etag');
    assert.deepEqual(wrong.codes, [412]);
    const right = await transaction([
      { operationType: 'Replace', id: 'e', ifMatch: resource._etag, resourceBody: { id: 'e', pk: 'etag', n: 2 } }], 'etag');
    assert.deepEqual(right.codes, [200]);
  });

  test('a read of an item that the client knows is 304, and the rest of the batch is done', async () => {
    // BatchSessionTokenPropertiesTestAsync of the client expects 304 and 207, with IfMatchEtag; ifNoneMatch is the same.
    const { resource } = await container.items.upsert({ id: 'known', pk: 'known' });
    for (const condition of [{ ifMatch: resource._etag }, { ifNoneMatch: resource._etag }]) {
      const reply = await transaction([
        { operationType: 'Upsert', resourceBody: { id: 'beside', pk: 'known' } },
        { operationType: 'Read', id: 'known', ...condition },
      ], 'known');
      assert.equal(reply.status, 207);
      assert.equal(reply.codes[1], 304);
      assert.equal(reply.results[1].eTag, resource._etag);
      assert.equal(reply.results[1].resourceBody, undefined);
    }
    assert.equal((await container.item('beside', 'known').read()).statusCode, 200);
    const changed = await transaction([{ operationType: 'Read', id: 'known', ifNoneMatch: '"1-0"' }], 'known');
    assert.deepEqual([changed.status, changed.codes], [200, [200]]);
  });

  test('an operation with minimalReturnPreference has no item in its result, the others do', async () => {
    const reply = await transaction([
      { operationType: 'Upsert', resourceBody: { id: 'm1', pk: 'm' }, minimalReturnPreference: true },
      { operationType: 'Upsert', resourceBody: { id: 'm2', pk: 'm' } },
      { operationType: 'Read', id: 'm1' },
    ], 'm');
    assert.deepEqual(reply.results.map((one) => one.resourceBody !== undefined), [false, true, true]);
    assert.ok(reply.results[0].eTag);
    const all = await transaction([
      { operationType: 'Upsert', resourceBody: { id: 'm2', pk: 'm' } }, { operationType: 'Read', id: 'm1' },
    ], 'm', { headers: { prefer: 'return=minimal' } });
    assert.deepEqual(all.results.map((one) => one.resourceBody !== undefined), [false, true]);
  });

  test('a bulk request does each operation on its own, by the key in the operation', async () => {
    const reply = await bulk([
      { operationType: 'Create', partitionKey: '["p"]', resourceBody: { id: '1', pk: 'p' } },
      { operationType: 'Create', partitionKey: '["q"]', resourceBody: { id: '1', pk: 'q' } },
      { operationType: 'Create', partitionKey: '["p"]', resourceBody: { id: '1', pk: 'p' } },
      { operationType: 'Read', partitionKey: '["nobody"]', id: '1' },
      { operationType: 'Upsert', partitionKey: '[null]', resourceBody: { id: '1', pk: null } },
      { operationType: 'Upsert', partitionKey: '[{}]', resourceBody: { id: '1' } },
      { operationType: 'Read', partitionKey: '["q"]', id: '1' },
      { operationType: 'Delete', partitionKey: '["q"]', id: '1' },
    ]);
    assert.equal(reply.status, 207);
    assert.deepEqual(reply.codes, [201, 201, 409, 404, 201, 201, 200, 204]);
    const other = await bulk([{ operationType: 'Create', partitionKey: '["p"]', resourceBody: { id: '2', pk: 'z' } }]);
    assert.deepEqual([other.codes[0], other.results[0].subStatusCode], [400, 1001]);
  });

  test('a bulk request for a range that does not exist, and an item of another range, are 410 with 1002', async () => {
    const wide = await newContainer(client, { throughput: 30_000 });
    const target = `/${wide.url}/docs`;
    const { body } = await cosmosRequest(server, 'GET', `/${wide.url}/pkranges`);
    assert.equal(body.PartitionKeyRanges.length, 3);
    const gone = await bulk([{ operationType: 'Read', partitionKey: '["a"]', id: '1' }], '77', target);
    assert.deepEqual([gone.status, gone.headers['x-ms-substatus']], [410, '1002']);
    const keys = Array.from({ length: 30 }, (_, i) => `key${i}`);
    const operations = keys.map((pk) => ({ operationType: 'Create', partitionKey: JSON.stringify([pk]), resourceBody: { id: '1', pk } }));
    const replies = await Promise.all(body.PartitionKeyRanges.map(({ id }) => bulk(operations, id, target)));
    keys.forEach((_, i) => {
      const results = replies.map((reply) => reply.results[i]);
      assert.deepEqual(results.map((one) => one.statusCode).sort(), [201, 410, 410]);
      assert.ok(results.every((one) => one.statusCode === 201 || one.subStatusCode === 1002));
    });
  });

  test('hierarchical keys are in the operations', async () => {
    const deep = await newContainer(client, { partitionKey: { paths: ['/tenant', '/user'], kind: 'MultiHash', version: 2 } });
    const reply = await bulk([
      { operationType: 'Create', partitionKey: '["t","u"]', resourceBody: { id: '1', tenant: 't', user: 'u' } },
      { operationType: 'Read', partitionKey: '["t","u"]', id: '1' },
      { operationType: 'Read', partitionKey: '["t"]', id: '1' },
    ], '0', `/${deep.url}/docs`);
    assert.deepEqual(reply.codes, [201, 200, 400]);
  });

  test('a client that encrypts names the container that it read', async () => {
    const reply = await transaction([{ operationType: 'Read', id: 'a' }], 'x', {
      headers: { 'x-ms-cosmos-is-client-encrypted': 'True', 'x-ms-cosmos-intended-collection-rid': 'AAAAAAAAAAA=' } });
    assert.deepEqual([reply.status, reply.headers['x-ms-substatus'], reply.body.code], [400, '1024', 'BadRequest']);
  });

  test('a body of a bulk request may have what the client fills it up to', async () => {
    const text = 'x'.repeat(21_900);
    const operations = Array.from({ length: 100 }, (_, i) => (
      { operationType: 'Upsert', partitionKey: '["full"]', resourceBody: { id: `${i}`, pk: 'full', text }, minimalReturnPreference: true }));
    const bytes = batchBody(operations).length;
    assert.ok(bytes > 2_190_000 && bytes <= 2_202_010, `${bytes}`);
    const reply = await bulk(operations);
    assert.equal(reply.status, 200);
    const tooMuch = await bulk(operations.map((one) => ({ ...one, resourceBody: { ...one.resourceBody, text: text + text } })));
    assert.deepEqual([tooMuch.status, tooMuch.body.code], [413, 'RequestEntityTooLarge']);
  });

  test('a batch has at most a hundred operations, and at least one', async () => {
    const reads = (count) => Array.from({ length: count }, () => ({ operationType: 'Read', id: 'a' }));
    assert.equal((await transaction(reads(100), 'x')).status, 200);
    const tooMany = await transaction(reads(101), 'x');
    assert.equal(tooMany.status, 400);
    assert.match(tooMany.body.message, /at most 100/);
    const none = await transaction([], 'x');
    assert.equal(none.status, 400);
    assert.match(none.body.message, /has no operations/);
  });

  test('a damaged body is 400 with an error in JSON, and changes nothing', async () => {
    const whole = batchBody([{ operationType: 'Create', resourceBody: { id: 'damaged', pk: 'x' } }]);
    const flipped = Buffer.from(whole);
    flipped[whole.length - 3] ^= 1;
    for (const body of [flipped, whole.subarray(0, whole.length - 1), whole.subarray(0, 12), Buffer.from([0x81]),
      Buffer.concat([segment, Buffer.from('garbage')]), Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]) {
      const reply = await transaction(undefined, 'x', { body });
      assert.equal(reply.status, 400, body.toString('hex'));
      assert.equal(reply.body.code, 'BadRequest');
    }
    assert.equal((await container.item('damaged', 'x').read()).statusCode, 404);
  });

  test('a row that is not valid fails its operation', async () => {
    const row = operationRow({ operationType: 'Read', id: 'a' });
    const nested = Buffer.concat([row, Buffer.from('200e6146', 'hex')]);
    const unknown = operationRow({ operationType: 13, id: 'a' });
    for (const [bytes, message] of [[nested, /nested/], [unknown, /operationType/],
      [operationRow({ operationType: 'Read', id: 'a', timeToLiveInSeconds: 5 }), /'timeToLiveInSeconds' of an operation is not supported/]]) {
      const reply = await transaction(undefined, 'x', { body: Buffer.concat([segment, record(bytes)]) });
      assert.equal(reply.status, 207);
      assert.deepEqual(reply.codes, [400]);
      assert.match(item(reply.results[0]).message, message);
    }
  });

  test('a batch in JSON is answered in JSON, with the same conditions', async () => {
    const { resource } = await container.items.upsert({ id: 'json', pk: 'json' });
    const reply = await container.items.batch([{ operationType: 'Read', id: 'json', ifNoneMatch: resource._etag }], 'json');
    assert.equal(reply.result[0].statusCode, 304);
    assert.equal(reply.code, 207);
  });
});
