// Resources other than items, by @azure/cosmos: queries over them, renamed users, permissions by `_self`, conflicts, and
// keys that no container can have.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CosmosClient } from '@azure/cosmos';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

describe('queries over resources of the Cosmos DB API', () => {
  let server, client, database;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    for (const id of ['alpha', 'beta', 'gamma']) await client.databases.create({ id });
    database = client.database('beta');
    for (const id of ['orders', 'people', 'places']) await database.containers.create({ id, partitionKey: '/pk', defaultTtl: id === 'people' ? 60 : undefined });
    for (const id of ['ann', 'bob']) await database.users.create({ id });
  });
  after(() => server?.stop());

  const all = async (iterator) => (await iterator.fetchAll()).resources;

  test('databases and containers: conditions, orders, parameters, pages', async () => {
    assert.deepEqual((await all(client.databases.query("SELECT * FROM root r WHERE r.id = 'beta'"))).map((one) => one.id), ['beta']);
    assert.deepEqual(await all(client.databases.query('SELECT VALUE r.id FROM r ORDER BY r.id DESC')), ['gamma', 'beta', 'alpha']);
    const byName = { query: 'SELECT * FROM root r WHERE r.id = @id', parameters: [{ name: '@id', value: 'people' }] };
    const [people] = await all(database.containers.query(byName));
    assert.deepEqual([people.id, people.defaultTtl, people.partitionKey.paths], ['people', 60, ['/pk']]);
    assert.equal(people._self, (await database.container('people').read()).resource._self);
    assert.deepEqual(await all(database.containers.query('SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.defaultTtl)')), ['people']);
    assert.deepEqual(await all(database.containers.query('SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, "p")', { maxItemCount: 1 })), ['people', 'places']);
    assert.deepEqual(await all(database.containers.query('SELECT VALUE COUNT(1) FROM c')), [3]);
    assert.deepEqual(await all(database.containers.query("SELECT VALUE p FROM c JOIN p IN c.partitionKey.paths WHERE c.id > 'orders'", { maxItemCount: 1 })), ['/pk', '/pk']);
    const missing = await errorOf(all(client.database('none').containers.query('SELECT * FROM c')));
    assert.deepEqual([missing.code, missing.substatus ?? missing.subStatusCode], [404, 1003]);
    assert.equal((await errorOf(all(client.databases.query('SELEC')))).code, 400);
    assert.equal((await errorOf(all(client.databases.query('SELECT VALUE udf.f(r.id) FROM r')))).code, 400);
  });

  test('a forged continuation that names a physical partition is refused: resources are in none', async () => {
    const query = 'SELECT VALUE r.id FROM r';
    const first = await client.databases.query(query, { maxItemCount: 1 }).fetchNext();
    const token = Buffer.from(Buffer.from(first.continuationToken, 'base64url').toString(), 'base64url');
    // continuation.h: version 1, `walked`; then the fingerprint, skip, left and branch of the first page's; no identity, no
    // key, no positions; start: the documents by id in the physical partition 0.
    const start = Buffer.from('@\0+p');
    const bytes = Buffer.concat([Buffer.from('\x01w'), token.subarray(2, 22), Buffer.from([0, 0, 0, start.length]), start]);
    const sum = bytes.reduce((hash, byte) => Math.imul(hash ^ byte, 16777619), 2166136261) >>> 0;
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32BE(sum);
    const forged = Buffer.from(Buffer.concat([bytes, checksum]).toString('base64url')).toString('base64url');
    const failure = await errorOf(client.databases.query(query, { continuationToken: forged }).fetchNext());
    assert.equal(failure.code, 400);
    assert.match(failure.message, /not issued by this server/);
    assert.equal((await all(client.databases.query(query))).length, 3);
  });

  test('users and permissions, whose tokens work', async () => {
    assert.deepEqual(await all(database.users.query("SELECT VALUE u.id FROM u WHERE u.id != 'ann'")), ['bob']);
    const user = database.user('ann');
    await user.permissions.create({ id: 'people', permissionMode: 'read', resource: database.container('people').url });
    await user.permissions.create({ id: 'orders', permissionMode: 'all', resource: database.container('orders').url });
    const [permission] = await all(user.permissions.query("SELECT * FROM p WHERE p.permissionMode = 'read'"));
    assert.equal(permission.id, 'people');
    assert.match(permission._token, /^type=resource/);
    assert.equal((await errorOf(all(database.user('none').permissions.query('SELECT * FROM p')))).code, 404);
    assert.equal((await errorOf(all(client.database('none').users.readAll()))).code, 404);
  });

  test('more resources than one slice of output has, sorted and told apart', async () => {
    const { container } = await database.containers.create({ id: 'scripts', partitionKey: '/pk' });
    const text = 'x'.repeat(4_000);
    for (let n = 0; n < 40; n++) await container.scripts.userDefinedFunctions.create({ id: `f${100 + n}`, body: `function () { return '${text}'; }` });
    const { userDefinedFunctions: functions } = container.scripts;
    const ids = Array.from({ length: 40 }, (_, n) => `f${100 + n}`);
    assert.deepEqual((await all(functions.query('SELECT * FROM f ORDER BY f.id DESC'))).map((one) => one.id), ids.toReversed());
    assert.equal((await all(functions.query('SELECT DISTINCT f.id, f.body FROM f'))).length, 40);
    assert.deepEqual(await all(functions.query("SELECT VALUE f.id FROM f WHERE f.id < 'f102'")), ['f100', 'f101']);
  });

  test('a container has no conflicts', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: '1', pk: 'x' });
    assert.deepEqual(await all(container.conflicts.readAll()), []);
    assert.deepEqual(await all(container.conflicts.query('SELECT * FROM c WHERE c.id = "x"')), []);
    assert.equal((await errorOf(container.conflict('none').read())).code, 404);
    assert.equal((await errorOf(container.conflict('none', 'x').delete())).code, 404);
    assert.equal((await errorOf(all(container.database.container('none').conflicts.readAll()))).code, 404);
  });

  test('a user changes its name and keeps its permissions and their tokens', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'a', pk: 'x' });
    const { database: owner } = container;
    const { user, resource: before } = await owner.users.create({ id: 'old' });
    await owner.users.create({ id: 'taken' });
    const { resource: permission } = await user.permissions.create({ id: 'read', permissionMode: 'read', resource: container.url });
    assert.equal((await errorOf(user.replace({ id: 'taken' }))).code, 409);
    const { resource: renamed } = await user.replace({ id: 'new' });
    assert.deepEqual([renamed.id, renamed._rid, renamed._self], ['new', before._rid, before._self]);
    assert.notEqual(renamed._etag, before._etag);
    assert.equal((await errorOf(user.read())).code, 404);
    assert.deepEqual(await all(owner.users.query('SELECT VALUE u.id FROM u')), ['new', 'taken']);
    const ask = async (token) => (await cosmosRequest(server, 'GET', `/${container.url}`, { headers: { authorization: encodeURIComponent(token) } })).status;
    assert.equal(await ask(permission._token), 200);
    const moved = owner.user('new').permission('read');
    assert.equal((await moved.read()).resource._rid, permission._rid);
    const { resource: other } = await moved.replace({ id: 'see', permissionMode: 'read', resource: container.url });
    assert.deepEqual([other.id, other._rid], ['see', permission._rid]);
    assert.equal((await errorOf(moved.read())).code, 404);
    assert.equal(await ask(permission._token), 200);
    await owner.user('new').permission('see').delete();
    assert.equal(await ask(permission._token), 403);
    assert.deepEqual(await all(owner.user('new').permissions.readAll()), []);
  });

  test('a permission may name its container by `_self`', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'a', pk: 'x' });
    const { resource: definition } = await container.read();
    const { user } = await container.database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({ id: 'read', permissionMode: 'read', resource: definition._self });
    assert.equal(permission.resource, definition._self);  // Java's client 2 looks for tokens by it
    const reader = new CosmosClient({ endpoint: `http://127.0.0.1:${server.cosmosPort}`, resourceTokens: { [container.url]: permission._token } });
    assert.equal((await reader.database(container.database.id).container(container.id).item('a', 'x').read()).resource.id, 'a');
    const { resource: script } = await container.scripts.userDefinedFunctions.create({ id: 'f', body: 'function () {}' });
    assert.equal((await errorOf(user.permissions.create({ id: 'script', permissionMode: 'read', resource: script._self }))).code, 400);
  });

  test('a permission may name an item by `_self`, and opens that item only', async () => {
    const container = await newContainer(client);
    for (const id of ['a', 'b']) for (const pk of ['x', 'y']) await container.items.create({ id, pk });
    const { resource: item } = await container.item('a', 'x').read();
    const { user } = await container.database.users.create({ id: 'ann' });
    const { resource: permission } = await user.permissions.create({ id: 'item', permissionMode: 'all', resource: item._self });
    assert.equal(permission.permissionMode, 'all');
    const headers = { authorization: encodeURIComponent(permission._token) };
    const ask = async (method, id, pk, body) =>
      (await cosmosRequest(server, method, `/${container.url}/docs/${id}`, { partition: [pk], headers, body })).status;
    assert.equal(await ask('GET', 'a', 'x'), 200);
    assert.equal(await ask('PUT', 'a', 'x', { id: 'a', pk: 'x', n: 1 }), 200);
    assert.equal(await ask('GET', 'b', 'x'), 403);
    assert.equal(await ask('GET', 'a', 'y'), 403);
    const bySelf = await cosmosRequest(server, 'GET', `/${item._self}`, { partition: ['x'], headers });
    assert.deepEqual([bySelf.status, bySelf.body.n], [200, 1]);
  });

  test('a partition key is of properties that items can have, each named once', async () => {
    for (const path of ['/_ts', '/_etag', '/_rid', '/_self/x', '/_id', '/_rev']) {
      assert.match((await errorOf(database.containers.create({ id: 'bad', partitionKey: path }))).body.message, /system property/, path);
    }
    const twice = { paths: ['/a', '/b/c', '/b/c'], kind: 'MultiHash', version: 2 };
    assert.match((await errorOf(database.containers.create({ id: 'bad', partitionKey: twice }))).body.message, /more than once/);
    assert.equal((await database.containers.create({ id: 'by-id', partitionKey: '/id' })).statusCode, 201);
    assert.equal((await database.containers.create({ id: 'own', partitionKey: '/_tenant' })).statusCode, 201);
  });
});
