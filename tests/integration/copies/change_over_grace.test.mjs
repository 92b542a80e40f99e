// Clients that know the partition key which a container had before a change-over, while its grace lasts.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, errorOf } from '../cosmos.mjs';
import { pathOf } from '../edits.mjs';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';
import { changedOver as changeOver } from './changed_over.mjs';

describe('the grace after a change-over', () => {
  let server;
  let database;
  before(async () => {
    server = await Server.start();
    ({ database } = await cosmosClient(server).databases.create({ id: 'shop' }));
  });
  after(() => server?.stop());

  const keyOf = (paths) => ({ paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 });
  const items = Array.from({ length: 20 }, (_, n) => ({ id: `o${n}`, user: `u${n % 5}`, n }));
  const changedOver = (...rest) => changeOver(server, ...rest);
  const formerKey = async (name) => expectStatus(await server.get(pathOf(name)), 200).props.former_key;
  const all = async (container) => (await container.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources;

  async function refused(promise) {
    const error = await errorOf(promise);
    assert.equal(error.code, 400, error.message);
    assert.equal(error.substatus, 1001, error.message);
    assert.match(error.body?.message ?? error.message, /is \/user now/);
  }

  test('items are read, changed and deleted by the former key', async () => {
    const { name, former, present } = await changedOver(['/id'], ['/user'], items);
    const read = await former.item('o7', 'o7').read();
    assert.equal(read.resource.user, 'u2');
    assert.equal(read.etag, (await present.item('o7', 'u2').read()).etag);
    const { resource: replaced } = await former.item('o7', 'o7').replace({ ...read.resource, n: 70 });
    assert.equal(replaced.n, 70);
    await former.item('o7', 'o7').patch([{ op: 'incr', path: '/n', value: 1 }]);
    assert.equal((await present.item('o7', 'u2').read()).resource.n, 71);
    const condition = { accessCondition: { type: 'IfMatch', condition: read.etag } };
    assert.equal((await errorOf(former.item('o7', 'o7').delete(condition))).code, 412);
    await former.item('o7', 'o7').delete();
    for (const [container, key] of [[former, 'o7'], [present, 'u2']]) {
      assert.equal((await container.item('o7', key).read()).statusCode, 404);
    }
    const shown = await formerKey(name);
    assert.deepEqual(shown.paths, ['/id']);
    assert.equal(shown.requests, 5);
    assert.ok(Math.abs(shown.until - Date.now() / 1000 - 3600) < 600, String(shown.until));
  });

  test('items are created by the key in their bodies, and found by both keys', async () => {
    const { former, present } = await changedOver(['/id'], ['/user'], items);
    await former.items.create({ id: 'new', user: 'u9', n: 1 });
    assert.equal((await present.item('new', 'u9').read()).resource.n, 1);
    await former.items.upsert({ id: 'new', user: 'u9', n: 2 });
    assert.equal((await former.item('new', 'new').read()).resource.n, 2);
    await present.items.create({ id: 'newer', user: 'u9' });
    assert.equal((await former.item('newer', 'newer').read()).resource.user, 'u9');
    assert.deepEqual((await all(present)).sort(), [...items.map(({ id }) => id), 'new', 'newer'].sort());
  });

  test('no second item comes from a write by the former key', async () => {
    const { former, present } = await changedOver(['/id'], ['/user'], items);
    assert.equal((await errorOf(former.items.create({ id: 'o1', user: 'other' }))).code, 409);
    assert.equal((await errorOf(former.items.create({ id: 'o1', user: 'u1' }))).code, 409);
    await refused(former.items.upsert({ id: 'o1', user: 'other' }));
    assert.equal((await errorOf(former.item('o1', 'o1').replace({ id: 'o1', user: 'other' }))).substatus, 1001);
    assert.equal((await all(present)).length, items.length);
    assert.equal((await present.item('o1', 'u1').read()).resource.n, 1);
  });

  test('a query by the former key is refused with the present path, and never empty', async () => {
    const { former, present } = await changedOver(['/id'], ['/user'], items);
    const partitionKey = 'o7';
    await refused(former.items.query('SELECT * FROM c', { partitionKey }).fetchAll());
    await refused(former.items.query('SELECT VALUE COUNT(1) FROM c', { partitionKey }).fetchAll());
    const list = (headers) => cosmosRequest(server, 'GET', `/dbs/shop/colls/${former.id}/docs`, { partition: ['o7'], headers });
    for (const headers of [{}, { 'A-IM': 'Incremental feed' }]) {
      const reply = await list(headers);
      assert.equal(reply.status, 400);
      assert.equal(reply.headers['x-ms-substatus'], '1001');
    }
    assert.equal((await former.items.query('SELECT * FROM c').fetchAll()).resources.length, 20);
    assert.deepEqual((await former.items.query('SELECT * FROM c', { partitionKey: 'none' }).fetchAll()).resources, []);
    assert.equal((await present.items.query('SELECT * FROM c', { partitionKey: 'u2' }).fetchAll()).resources.length, 4);
  });

  test('values of all types, missing ones, and keys of several levels', async () => {
    const documents = [{ id: 'a', k: 7, user: 'u' }, { id: 'b', k: null, user: 'u' }, { id: 'c', user: 'u' }, { id: 'd', k: true, user: 'u' },
      { id: 'e', k: 'q"\\u', user: 'u' }, { id: 'f', k: 0.1, user: 'u' }];
    const { former } = await changedOver(['/k'], ['/user'], documents);
    for (const { id, k } of documents) assert.equal((await former.item(id, k).read()).resource?.user, 'u', id);
    const levels = await changedOver(['/a/b', '/c'], ['/user'], [{ id: 'x', a: { b: 'b' }, c: 1, user: 'u' }]);
    assert.equal((await levels.former.item('x', ['b', 1]).read()).resource.user, 'u');
    await levels.former.items.create({ id: 'y', a: { b: 'b' }, c: 2, user: 'v' });
    await refused(levels.former.items.query('SELECT * FROM c', { partitionKey: ['b', 1] }).fetchAll());
    assert.equal((await levels.present.item('y', 'v').read()).resource.c, 2);
  });

  test('several items with one id and former key are not told apart', async () => {
    const { former, present } = await changedOver(['/k'], ['/user'], []);
    for (const user of ['u', 'v']) await present.items.create({ id: 'x', k: 'k', user });
    await refused(former.item('x', 'k').read());
    await refused(former.item('x', 'k').delete());
  });

  test('requests with a resource token are not translated', async () => {
    const { name } = await changedOver(['/id'], ['/user'], items);
    const { user } = await database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({
      id: 'one', permissionMode: 'all', resource: `dbs/${name.replace('/', '/colls/')}`, resourcePartitionKey: ['o7'] });
    const reply = await cosmosRequest(server, 'GET', `/dbs/${name.replace('/', '/colls/')}/docs/o7`, {
      partition: ['o7'], headers: { authorization: encodeURIComponent(permission._token) } });
    assert.equal(reply.status, 404);
  });

  test('bad values are refused', async () => {
    const { name } = await changedOver(['/id'], ['/user'], []);
    const id = '0'.repeat(32);
    for (const grace of [-1, 1.5, '60', null, 604_801]) {
      expectError(await server.post(`${pathOf(name)}/_copy/${id}/_cut_over`, { grace }), 400, 'copy_syntax');
    }
    const target = `${name}-later`;
    const create = { partitionKey: keyOf(['/n']) };
    expectError(await server.post(`${pathOf(name)}/_copy`, { target, create, grace: 60 }), 400, 'copy_syntax');
    const db = await server.database();
    expectError(await server.post(`/${db}/_copy/${id}/_cut_over`, { grace: 60 }), 400, 'copy_syntax');
    const automatic = { target, create, cut_over: 'automatic', grace: 60 };
    expectStatus(await server.post(`${pathOf(name)}/_copy`, automatic), 202);
    await eventually(async () => (await formerKey(name))?.paths[0] === '/user', 30_000);
  });

  // The last one, as clients do not know the ports of a server that was started again.
  test('ends, and outlives a crash before', async () => {
    const short = await changedOver(['/id'], ['/user'], items, { grace: 1 });
    const long = await changedOver(['/id'], ['/user'], items);
    const none = await changedOver(['/id'], ['/user'], items, { grace: 0 });
    await server.kill();
    await server.launch();
    const send = (method, { name }, path, body) =>
      cosmosRequest(server, method, `/dbs/${name.replace('/', '/colls/')}/docs${path}`, { partition: ['o7'], body });
    const read = await send('GET', long, '/o7');
    assert.equal(read.status, 200);
    assert.equal(read.body.user, 'u2');
    await eventually(async () => (await formerKey(short.name)) === undefined);
    for (const container of [short, none]) {
      assert.equal((await send('GET', container, '/o7')).status, 404);
      const written = await send('POST', container, '', { id: 'o7', user: 'u' });
      assert.equal(written.status, 400);
      assert.equal(written.headers['x-ms-substatus'], '1001');
      assert.equal(await formerKey(container.name), undefined);
    }
    assert.deepEqual((await formerKey(long.name)).paths, ['/id']);
  });
});
