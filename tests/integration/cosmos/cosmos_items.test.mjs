// Items of the Cosmos DB API, by @azure/cosmos.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('items of the Cosmos DB API', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { throughput: 30_000 });
  });
  after(() => server?.stop());

  test('an item is created with its system properties, read, and gone when deleted', async () => {
    const created = await container.items.create({ id: 'a', pk: 'x', n: 1 });
    assert.equal(created.statusCode, 201);
    const { resource } = created;
    assert.equal(Buffer.from(resource._rid.replace(/-/g, '/'), 'base64').length, 16);
    assert.match(resource._self, /^dbs\/.+\/colls\/.+\/docs\/.+\/$/);
    assert.match(resource._etag, /^"1-[0-9a-f]{32}"$/);
    assert.equal(created.etag, resource._etag);
    assert.ok(created.requestCharge > 4 && created.requestCharge < 8);
    assert.match(created.activityId, /^[0-9a-f-]{36}$/);
    assert.match(created.headers['x-ms-session-token'], /^[012]:-1#\d+$/);
    const read = await container.item('a', 'x').read();
    assert.deepEqual(read.resource, resource);
    assert.equal(read.requestCharge, 1);
    assert.equal((await container.item('a', 'x').delete()).statusCode, 204);
    assert.equal((await container.item('a', 'x').read()).statusCode, 404);
    const gone = await errorOf(container.item('a', 'x').delete());
    assert.equal(gone.code, 404);
    assert.equal(gone.body.code, 'NotFound');
  });

  test('replies say how long they took and what they have seen, also of an item that is not there', async () => {
    const empty = await newContainer(client);
    for (const [id, status] of [['none', 404], ['some', 200]]) {
      const reply = await cosmosRequest(server, 'GET', `/${empty.url}/docs/${id}`, { partition: ['x'] });
      assert.equal(reply.status, status);
      assert.match(reply.headers['x-ms-request-duration-ms'], /^\d+\.\d{3}$/);
      assert.match(reply.headers['x-ms-session-token'], /^0:-1#\d+$/);
      assert.equal(reply.headers['x-ms-session-token'].split('#')[1], reply.headers.lsn);
      if (status === 404) await empty.items.create({ id: 'some', pk: 'x' });
    }
  });

  test('a read says which change of the container was the newest of the item', async () => {
    const changed = await container.items.upsert({ id: 'l', pk: 'x' });
    await container.items.upsert({ id: 'other', pk: 'x' });
    const read = await container.item('l', 'x').read();
    assert.equal(read.headers['x-ms-item-lsn'], changed.headers.lsn);
    assert.ok(Number(read.headers.lsn) > Number(changed.headers.lsn));
    assert.equal((await container.item('no', 'x').read()).headers['x-ms-item-lsn'], undefined);
  });

  test('creating twice is a conflict; upserting creates, then replaces', async () => {
    assert.equal((await container.items.upsert({ id: 'u', pk: 'x', n: 1 })).statusCode, 201);
    const error = await errorOf(container.items.create({ id: 'u', pk: 'x' }));
    assert.equal(error.code, 409);
    assert.equal(error.body.code, 'Conflict');
    const again = await container.items.upsert({ id: 'u', pk: 'x', n: 2 });
    assert.equal(again.statusCode, 200);
    assert.equal(again.resource.n, 2);
    // The same id under another key is another item.
    assert.equal((await container.items.create({ id: 'u', pk: 'y' })).statusCode, 201);
  });

  test('replacing needs an item; its key stays', async () => {
    assert.equal((await errorOf(container.item('none', 'x').replace({ id: 'none', pk: 'x' }))).code, 404);
    await container.items.create({ id: 'r', pk: 'x', n: 1 });
    assert.equal((await container.item('r', 'x').replace({ id: 'r', pk: 'x', n: 2 })).resource.n, 2);
    const moved = await errorOf(container.item('r', 'x').replace({ id: 'r', pk: 'y' }));
    assert.equal(moved.code, 400);
    assert.equal(moved.substatus, 1001);
  });

  test('entity tags guard replacing, upserting, deleting and patching', async () => {
    const { resource: first } = await container.items.create({ id: 'e', pk: 'x', n: 1 });
    const condition = { accessCondition: { type: 'IfMatch', condition: first._etag } };
    const { resource: second } = await container.item('e', 'x').replace({ ...first, n: 2 }, condition);
    assert.notEqual(second._etag, first._etag);
    for (const call of [
      () => container.item('e', 'x').replace({ ...first, n: 3 }, condition),
      () => container.items.upsert({ ...first, n: 3 }, condition),
      () => container.item('e', 'x').patch([{ op: 'set', path: '/n', value: 3 }], condition),
      () => container.item('e', 'x').delete(condition),
    ]) {
      const error = await errorOf(call());
      assert.equal(error.code, 412);
      assert.equal(error.body.code, 'PreconditionFailed');
    }
    assert.equal((await container.item('e', 'x').read()).resource.n, 2);
    const unchanged = await container.item('e', 'x').read({ accessCondition: { type: 'IfNoneMatch', condition: second._etag } });
    assert.equal(unchanged.statusCode, 304);
    const changed = await container.item('e', 'x').read({ accessCondition: { type: 'IfNoneMatch', condition: first._etag } });
    assert.equal(changed.resource.n, 2);
    assert.equal((await container.item('e', 'x').delete({ accessCondition: { type: 'IfMatch', condition: second._etag } })).statusCode, 204);
  });

  test('keys of every type find their items again, across all physical partitions', async () => {
    for (const pk of ['plain', '', 'a:b', '100%', '_under', '!bang', 'ü, ключ', 42, -1.5, 0, 1e300, true, false, null, undefined]) {
      assert.equal((await container.items.create({ id: 'k', pk, tag: String(pk) })).statusCode, 201, String(pk));
      const read = await container.item('k', pk).read();
      assert.equal(read.statusCode, 200, String(pk));
      assert.equal(read.resource.tag, String(pk));
      assert.deepEqual(read.resource.pk, pk);
    }
    // One number, however it is written.
    const raw = await cosmosRequest(server, 'GET', `/${container.url}/docs/k`, { headers: { 'x-ms-documentdb-partitionkey': '[4.2e1]' } });
    assert.equal(raw.body.tag, '42');
    const other = await cosmosRequest(server, 'GET', `/${container.url}/docs/k`, { partition: ['42'] });
    assert.equal(other.status, 404);
  });

  test('hierarchical keys have all their values, and name one partition', async () => {
    const tenants = await newContainer(client, { partitionKey: { paths: ['/tenant', '/user', '/session/id'], kind: 'MultiHash', version: 2 }, throughput: 20_000 });
    for (const tenant of ['a', 'b,c']) {
      for (const user of [1, 'two']) {
        const item = { id: 'i', tenant, user, session: { id: null } };
        assert.equal((await tenants.items.create(item)).statusCode, 201);
        assert.equal((await tenants.item('i', [tenant, user, null]).read()).resource.tenant, tenant);
      }
    }
    const few = await errorOf(tenants.item('i', ['a', 1]).delete());
    assert.equal(few.code, 400);
    // Programs look for the first sentence.
    assert.match(few.body.message, /^Partition key provided either doesn't correspond to definition in the collection.* fewer components/);
    assert.equal(few.substatus, 1001);
  });

  test('an object or an array at the path of the key is no value', async () => {
    for (const [id, pk] of [['object', { a: 1 }], ['array', ['x']]]) {
      // As clients in Python and Java send it.
      const made = await cosmosRequest(server, 'POST', `/${container.url}/docs`, { body: { id, pk }, partition: [{}] });
      assert.equal(made.status, 201, made.text);
      assert.deepEqual((await container.item(id, undefined).read()).resource.pk, pk);
    }
  });

  test('upserting with the tag of an item that is not there creates it, as on Azure', async () => {
    const { resource } = await container.items.create({ id: 'tagged', pk: 'x' });
    const options = { accessCondition: { type: 'IfMatch', condition: resource._etag } };
    assert.equal((await container.items.upsert({ id: 'not there', pk: 'x' }, options)).statusCode, 201);
    await container.item('tagged', 'x').delete();
    assert.equal((await container.items.upsert({ id: 'tagged', pk: 'x', n: 2 }, options)).statusCode, 201);
    assert.equal((await errorOf(container.items.upsert({ id: 'tagged', pk: 'x' }, options))).code, 412);
  });

  test('version-1 keys are hashed as the client does', async () => {
    const old = await newContainer(client, { partitionKey: { paths: ['/pk'], version: 1 }, throughput: 30_000 });
    const operations = Array.from({ length: 60 }, (_, n) => ({ operationType: 'Create', partitionKey: `key${n}`, resourceBody: { id: `i${n}`, pk: `key${n}` } }));
    const results = await old.items.executeBulkOperations(operations);
    for (const result of results) assert.equal(result.response?.statusCode, 201, JSON.stringify(result.error));
  });

  test('numbers keep their text', async () => {
    const body = '{"id":"n","pk":"x","big":12345678901234567890,"dot":1.0,"exp":1E5}';
    const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, { body, partition: ['x'] });
    assert.equal(reply.status, 201);
    assert.ok(reply.text.startsWith(body.slice(0, -1)), reply.text);
    const read = await cosmosRequest(server, 'GET', `/${container.url}/docs/n`, { partition: ['x'] });
    assert.ok(read.text.startsWith(body.slice(0, -1)), read.text);
  });

  test('system properties that come back are the server\'s; names of documents are refused', async () => {
    const { resource } = await container.items.create({ id: 's', pk: 'x' });
    const { resource: again } = await container.items.upsert({ ...resource, _ts: 5, _custom: 'kept' });
    assert.notEqual(again._ts, 5);
    assert.equal(again._rid, resource._rid);
    assert.equal(again._custom, 'kept');
    const refused = await errorOf(container.items.create({ id: 's2', pk: 'x', _rev: '1-a' }));
    assert.equal(refused.code, 400);
    assert.match(refused.body.message, /_rev/);
  });

  test('a patch changes what it names', async () => {
    await container.items.create({ id: 'p', pk: 'x', n: 1, list: [1, 2, 3], nested: { a: 1, b: 2 }, old: 'v' });
    const { resource } = await container.item('p', 'x').patch([
      { op: 'add', path: '/list/1', value: 'in' },
      { op: 'add', path: '/list/-', value: 'end' },
      { op: 'set', path: '/nested/c', value: { deep: [] } },
      { op: 'replace', path: '/nested/a', value: null },
      { op: 'remove', path: '/nested/b' },
      { op: 'incr', path: '/n', value: 5 },
      { op: 'incr', path: '/new', value: -1.5 },
      { op: 'move', from: '/old', path: '/moved' },
    ]);
    assert.deepEqual(resource.list, [1, 'in', 2, 3, 'end']);
    assert.deepEqual(resource.nested, { a: null, c: { deep: [] } });
    assert.equal(resource.n, 6);
    assert.equal(resource.new, -1.5);
    assert.equal(resource.moved, 'v');
    assert.ok(!('old' in resource));
  });

  test('a patch that cannot be done changes nothing and says which operation it was', async () => {
    await container.items.create({ id: 'q', pk: 'x', n: 1, list: [1], text: 't' });
    const mistake = async (...operations) => {
      const error = await errorOf(container.item('q', 'x').patch([{ op: 'set', path: '/seen', value: true }, ...operations]));
      assert.equal(error.code, 400, JSON.stringify(operations));
      return error.body.message;
    };
    assert.match(await mistake({ op: 'replace', path: '/none', value: 1 }), /Operation\(2\)/);
    await mistake({ op: 'remove', path: '/none' });
    await mistake({ op: 'incr', path: '/text', value: 1 });
    await mistake({ op: 'set', path: '/list/5', value: 1 });
    await mistake({ op: 'set', path: '/none/deep', value: 1 });
    await mistake({ op: 'set', path: '/id', value: 'other' });
    await mistake({ op: 'set', path: '/pk', value: 'other' });
    await mistake({ op: 'set', path: '/_ts', value: 1 });
    await mistake({ op: 'move', from: '/list', path: '/list/0' });
    await mistake({ op: 'swap', path: '/n', value: 1 });
    await mistake(...Array.from({ length: 10 }, (_, n) => ({ op: 'set', path: `/f${n}`, value: n })));
    assert.ok(!('seen' in (await container.item('q', 'x').read()).resource));
  });

  test('patches that meet lose nothing', async () => {
    await container.items.create({ id: 'count', pk: 'x', n: 0 });
    await Promise.all(Array.from({ length: 40 }, () => container.item('count', 'x').patch([{ op: 'incr', path: '/n', value: 1 }])));
    assert.equal((await container.item('count', 'x').read()).resource.n, 40);
  });

  test('unique keys hold within a logical partition, in any order of the writes', async () => {
    const people = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }, { paths: ['/name/first', '/name/last'] }] } });
    const item = (id, email, first, last, pk = 'x') => ({ id, pk, email, name: { first, last } });
    await people.items.create(item('1', 'a@b', 'A', 'B'));
    const twice = await errorOf(people.items.create(item('2', 'a@b', 'C', 'D')));
    assert.equal(twice.code, 409);
    assert.match(twice.body.message, /Unique index/);
    assert.equal((await errorOf(people.items.create(item('2', 'c@d', 'A', 'B')))).code, 409);
    assert.equal((await people.items.create(item('1', 'a@b', 'A', 'B', 'y'))).statusCode, 201);
    await people.items.create(item('2', 'c@d', 'C', 'D'));
    assert.equal((await errorOf(people.items.upsert(item('2', 'a@b', 'C', 'D')))).code, 409);
    assert.equal((await errorOf(people.item('2', 'x').patch([{ op: 'set', path: '/email', value: 'a@b' }]))).code, 409);
    await people.item('1', 'x').delete();
    assert.equal((await people.items.upsert(item('2', 'a@b', 'A', 'B'))).statusCode, 200);
    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => people.items.create(item(`r${n}`, 'race@x', `f${n}`, 'l'))));
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
  });

  test('a missing value of a unique key is null, and values are told apart to the last character', async () => {
    const people = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
    const create = async (id, values, pk = 'x') => {
      const made = await people.items.create({ id, pk, ...values }).catch((error) => error);
      return made.statusCode ?? made.code;
    };
    assert.deepEqual([await create('1', { email: null }), await create('2', {}), await create('3', { email: null })], [201, 409, 409]);
    assert.deepEqual([await create('1', {}, 'y'), await create('2', { email: null }, 'y'), await create('3', { email: '' }, 'y')], [201, 409, 201]);
    await people.item('1', 'x').delete();
    assert.equal(await create('2', {}), 201);
    const pairs = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a', '/b'] }] } });
    for (const [id, a, b] of [['1', 'a\0sb', 'c'], ['2', 'a', 'b\0sc'], ['3', 'a\0', 'sb'], ['4', 'a\0\u0001', 'b'], ['5', 'a', '\0']]) {
      assert.equal((await pairs.items.create({ id, pk: 'x', a, b })).statusCode, 201, id);
      assert.equal((await errorOf(pairs.items.create({ id: `${id}-twice`, pk: 'x', a, b }))).code, 409, id);
    }
  });

  test('numbers of a unique key are told apart beyond the range of doubles as within it', async () => {
    const numbers = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/u'] }] } });
    const target = `/dbs/${numbers.database.id}/colls/${numbers.id}/docs`;
    const create = async (id, number) => (await cosmosRequest(server, 'POST', target, {
      partition: ['x'], body: `{"id":"${id}","pk":"x","u":${number}}`, headers: { 'Content-Type': 'application/json' } })).status;
    assert.deepEqual([await create('zero', '0'), await create('large', '1e400'), await create('low', '-1e400')], [201, 201, 201]);
    assert.deepEqual([await create('small', '1e-400'), await create('larger', '1e500'), await create('minus', '-0')], [409, 409, 409]);
  });

  test('an If-Match that is no tag of an item fails like any other: 404 without the item, 412 with it', async () => {
    const strict = await newContainer(client);
    await strict.items.create({ id: 'there', pk: 'x' });
    const patch = [{ op: 'set', path: '/n', value: 1 }];
    for (const condition of ['x', '"1-0123456789abcdef0123456789abcdef"', '0-', '"']) {
      const options = { accessCondition: { type: 'IfMatch', condition } };
      const outcome = async (id) => {
        const item = strict.item(id, 'x');
        const errors = [];
        for (const call of [() => item.replace({ id, pk: 'x' }, options), () => item.delete(options), () => item.patch(patch, options)]) {
          errors.push((await errorOf(call())).code);
        }
        return errors;
      };
      assert.deepEqual(await outcome('none'), [404, 404, 404], condition);
      assert.deepEqual(await outcome('there'), [412, 412, 412], condition);
      assert.equal((await errorOf(strict.items.upsert({ id: 'there', pk: 'x' }, options))).code, 412, condition);
    }
    assert.equal((await strict.item('there', 'x').read()).resource.n, undefined);
  });

  test('all items of a partition key are deleted at once', async () => {
    for (let n = 0; n < 30; n++) await container.items.create({ id: `d${n}`, pk: 'bulk-delete' });
    await container.items.create({ id: 'd0', pk: 'bulk-delete-2' });
    await container.deleteAllItemsForPartitionKey('bulk-delete');
    assert.equal((await container.item('d0', 'bulk-delete').read()).statusCode, 404);
    assert.equal((await container.item('d29', 'bulk-delete').read()).statusCode, 404);
    assert.equal((await container.item('d0', 'bulk-delete-2').read()).statusCode, 200);
  });

  test('limits: two megabytes, 1,023 bytes of id, no / \\ # in it', async () => {
    const big = { id: 'big', pk: 'x', text: 'x'.repeat(2_000_000) };
    assert.equal((await container.items.create(big)).statusCode, 201);
    assert.equal((await container.item('big', 'x').read()).resource.text.length, 2_000_000);
    const replaced = await container.item('big', 'x').replace({ ...big, n: 1 });
    assert.equal(replaced.resource.n, 1);
    const known = await container.item('big', 'x').read({
      accessCondition: { type: 'IfNoneMatch', condition: replaced.resource._etag },
    });
    assert.equal(known.statusCode, 304);
    assert.equal((await errorOf(container.items.create(big))).code, 409);
    assert.equal((await container.items.upsert({ ...big, n: 2 })).resource.n, 2);
    const bigger = await errorOf(container.items.create({ ...big, id: 'bigger', text: 'x'.repeat(2_200_000) }));
    assert.equal(bigger.code, 413);
    assert.match(bigger.body?.message ?? bigger.message, /Request size is too large\. The item has 22\d+ bytes; the limit is 2MiB \(cosmos\.item_bytes_max\)/);
    for (const id of ['i'.repeat(1023), 'ü'.repeat(511)]) {
      assert.equal((await container.items.create({ id, pk: 'x' })).statusCode, 201);
      assert.equal((await container.item(id, 'x').replace({ id, pk: 'x', n: 1 })).resource.n, 1);
      assert.deepEqual((await container.items.query({ query: 'SELECT c.n FROM c WHERE c.id = @id', parameters: [{ name: '@id', value: id }] }).fetchAll()).resources, [{ n: 1 }]);
    }
    for (const id of ['i'.repeat(1024), 'ü'.repeat(512)]) {
      const tooLong = await errorOf(container.items.create({ id, pk: 'x' }));
      assert.equal(tooLong.code, 400);
      assert.match(tooLong.body?.message ?? tooLong.message, /less than '1024' characters/);
    }
    const asked = await cosmosRequest(server, 'POST', `/${container.url}/docs`, { body: { id: 'a?b', pk: 'x' }, partition: ['x'] });
    assert.equal(asked.status, 201);
    assert.equal((await cosmosRequest(server, 'GET', `/${container.url}/docs/a%3Fb`, { partition: ['x'] })).body.id, 'a?b');
    for (const id of ['a/b', 'a\\b', 'a#b', '']) {
      const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, { body: { id, pk: 'x' }, partition: ['x'] });
      assert.equal(reply.status, 400, id);
    }
  });
});
