// Databases of the Azure Cosmos DB API get other names, with their containers, while clients use them.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, errorOf } from '../cosmos.mjs';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';

let names = 0;
const freshName = () => `Renamed ${++names}`;
const pathOf = (database) => `/_cosmos/${encodeURIComponent(database)}`;
const rename = async (server, database, name, more = {}) =>
  expectStatus(await server.post(`${pathOf(database)}/_rename`, { name, ...more }), 200);
const aliasesOf = async (server, database) => expectStatus(await server.get(`${pathOf(database)}/_aliases`), 200);
const userDatabases = async (server) => expectStatus(await server.get('/_all_dbs'), 200).filter((name) => !name.startsWith('_'));
const idsOf = async (feed) => (await feed.fetchAll()).resources.map(({ id }) => id).sort();

describe('a database of containers that gets another name', () => {
  let server;
  let client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  const newDatabase = async (containers, options) => {
    const { database } = await client.databases.create({ id: freshName() }, options);
    for (const id of containers) await database.containers.create({ id, partitionKey: { paths: ['/pk'] } });
    return database;
  };

  test('takes its containers, items, users, permissions, scripts, keys and throughput along', async () => {
    const database = await newDatabase(['items', 'orders'], { offerThroughput: 500 });
    const items = database.container('items');
    await items.items.create({ id: 'a', pk: 'p' });
    await items.scripts.storedProcedures.create({ id: 'one', body: 'function () { getContext().getResponse().setBody(1); }' });
    const { user } = await database.users.create({ id: 'ann' });
    await user.permissions.create({ id: 'all', permissionMode: 'All', resource: items.url });
    const before = { database: (await database.read()).resource, items: (await items.read()).resource, offer: (await database.readOffer()).resource };

    const name = freshName();
    assert.deepEqual(await rename(server, database.id, name, { alias: false }), { ok: true, name });
    const renamed = client.database(name);
    const { resource } = await renamed.read();
    assert.deepEqual([resource.id, resource._rid, resource._self], [name, before.database._rid, before.database._self]);
    assert.deepEqual(await idsOf(renamed.containers.readAll()), ['items', 'orders']);
    const moved = renamed.container('items');
    assert.equal((await moved.read()).resource._rid, before.items._rid);
    assert.equal((await moved.item('a', 'p').read()).resource.id, 'a');
    assert.equal((await moved.scripts.storedProcedure('one').execute('p')).resource, 1);
    const { resource: offer } = await renamed.readOffer();
    assert.deepEqual([offer.id, offer.content.offerThroughput], [before.offer.id, 500]);
    const { resource: permission } = await renamed.user('ann').permission('all').read();
    assert.equal(permission.resource, `dbs/${name}/colls/items`);
    const limited = cosmosClient(server, { key: undefined, resourceTokens: { [moved.url]: permission._token } });
    assert.equal((await limited.database(name).container('items').item('a', 'p').read()).resource.id, 'a');
    const listed = await userDatabases(server);
    assert.ok(listed.includes(`${name}/items`) && listed.includes(`${name}/orders`), String(listed));
    assert.ok(!listed.some((one) => one.startsWith(`${database.id}/`)), String(listed));
    assert.equal((await errorOf(database.read())).code, 404);
    assert.equal((await items.item('a', 'p').read()).statusCode, 404);
    // Its former id is free, and what is made there is another database.
    const { database: other } = await client.databases.create({ id: database.id });
    assert.deepEqual(await idsOf(other.containers.readAll()), []);
    assert.deepEqual(await idsOf(other.users.readAll()), []);
  });

  test('is used by clients under both names, also containers that are created later, and after a crash', async (t) => {
    const own = await Server.startFor(t);
    const { database: created } = await cosmosClient(own).databases.create({ id: 'shop' });
    await created.containers.create({ id: 'items', partitionKey: { paths: ['/pk'] } });
    await rename(own, 'shop', 'store');
    const check = async () => {
      const user = cosmosClient(own);  // a server that starts again has another port
      const database = user.database('shop');
      const container = database.container('items');
      const { resource } = await database.read();
      assert.equal(resource.id, 'store');
      const { container: late } = await database.containers.createIfNotExists({ id: 'late', partitionKey: { paths: ['/pk'] } });
      await late.items.upsert({ id: 'x', pk: 'p' });
      await container.items.upsert({ id: 'a', pk: 'p' });
      assert.equal((await user.database('store').container('late').item('x', 'p').read()).resource.id, 'x');
      assert.deepEqual(await idsOf(database.containers.readAll()), ['items', 'late']);
      assert.deepEqual((await container.items.query('SELECT VALUE c.id FROM c').fetchAll()).resources, ['a']);
      assert.equal(expectStatus(await own.get('/shop%2Fitems'), 200).db_name, 'store/items');
      assert.deepEqual(await userDatabases(own), ['store/items', 'store/late']);
      assert.deepEqual(await aliasesOf(own, 'shop'), { name: 'store', aliases: ['shop'] });
    };
    await check();
    await own.kill();
    await own.launch();
    await check();
  });

  test('keeps the name of an alias from others, and loses its aliases when it is deleted', async () => {
    const database = await newDatabase(['items']);
    const name = freshName();
    await rename(server, database.id, name);
    assert.equal((await errorOf(client.databases.create({ id: database.id }))).code, 409);
    expectError(await server.put(`/${encodeURIComponent(`${database.id}/items`)}`), 400, 'illegal_database_name');
    const refused = await errorOf(database.delete());
    assert.equal(refused.code, 400);
    assert.match(refused.message, /is an alias of the database/);
    await client.database(name).delete();
    assert.equal((await errorOf(database.read())).code, 404);
    await client.databases.create({ id: database.id });
  });

  test('aliases are added and removed', async () => {
    const database = await newDatabase(['items']);
    const alias = freshName();
    expectStatus(await server.put(`${pathOf(database.id)}/_aliases/${encodeURIComponent(alias)}`), 201);
    expectStatus(await server.put(`${pathOf(database.id)}/_aliases/${encodeURIComponent(alias)}`), 201);  // again
    assert.equal((await client.database(alias).container('items').read()).resource.id, 'items');
    expectStatus(await server.delete(`${pathOf(database.id)}/_aliases/${encodeURIComponent(alias)}`), 200);
    assert.equal((await errorOf(client.database(alias).container('items').read())).code, 404);
    expectError(await server.delete(`${pathOf(database.id)}/_aliases/${encodeURIComponent(alias)}`), 404, 'not_found');
  });

  test('gets its former name back, with the aliases of its containers', async () => {
    const database = await newDatabase(['items']);
    const path = encodeURIComponent(`${database.id}/items`);
    expectStatus(await server.post(`/${path}/_rename`, { name: `${database.id}/things` }), 200);
    const name = freshName();
    await rename(server, database.id, name);
    for (const id of [database.id, name]) {
      for (const container of ['items', 'things']) {
        assert.equal((await client.database(id).container(container).read()).resource.id, 'things', `${id}/${container}`);
      }
    }
    await rename(server, name, database.id);
    assert.deepEqual(await aliasesOf(server, database.id), { name: database.id, aliases: [name] });
    for (const container of ['items', 'things']) assert.equal((await database.container(container).read()).resource.id, 'things');
    await rename(server, database.id, database.id);  // nothing to do
  });

  test('a token of before reaches its container by both names', async () => {
    const database = await newDatabase(['items']);
    const container = database.container('items');
    await container.items.create({ id: 'a', pk: 'p' });
    const { user } = await database.users.create({ id: 'u' });
    const { resource } = await user.permissions.create({ id: 'p', permissionMode: 'Read', resource: container.url });
    const name = freshName();
    await rename(server, database.id, name);
    for (const id of [database.id, name]) {
      const limited = cosmosClient(server, { key: undefined, resourceTokens: { [`dbs/${id}/colls/items`]: resource._token } });
      assert.equal((await limited.database(id).container('items').item('a', 'p').read()).resource.id, 'a', id);
      assert.equal((await errorOf(limited.database(id).container('items').items.create({ id: 'b', pk: 'p' }))).code, 403, id);
    }
  });

  test('what is taken or no name is refused, and changes nothing', async () => {
    const database = await newDatabase(['items']);
    const other = await newDatabase(['items']);
    const post = (body, id = database.id) => server.post(`${pathOf(id)}/_rename`, body);
    expectError(await post({ name: other.id }), 412, 'file_exists');
    const alias = freshName();
    expectStatus(await server.put(`${pathOf(other.id)}/_aliases/${encodeURIComponent(alias)}`), 201);
    expectError(await post({ name: alias }), 412, 'file_exists');
    // A database of the CouchDB API has the name that a container would get.
    expectStatus(await server.put('/taken%2Fitems'), 201);
    const taken = await post({ name: 'taken' });
    expectError(taken, 412, 'file_exists');
    assert.match(taken.body.reason, /taken\/items is the name/);
    for (const name of ['', 'a/b', 'a?b', 'a#b', 'ends with a space ', 'x'.repeat(241)]) assert.equal((await post({ name })).status, 400, name);
    for (const body of [{}, { name: 7 }, { name: 'x', alias: 'yes' }, { name: 'x', more: 1 }]) expectError(await post(body), 400, 'bad_request');
    expectError(await post({ name: 'x' }, 'missing'), 404, 'not_found');
    assert.equal((await database.read()).resource.id, database.id);
    assert.equal((await database.container('items').read()).resource.id, 'items');
    assert.deepEqual(await aliasesOf(server, database.id), { name: database.id, aliases: [] });
  });

  test('writers notice nothing, nor do a split and a copy that run', async () => {
    const database = await newDatabase(['items', 'source']);
    const items = database.container('items');
    const source = database.container('source');
    const pad = 'x'.repeat(500);
    for (let n = 0; n < 5; ++n) {
      await source.items.bulk(Array.from({ length: 100 }, (_, i) => ({ operationType: 'Create', resourceBody: { id: `${n}-${i}`, pk: `${i}`, pad } })));
    }
    const [{ id: split }] = expectStatus(await server.post('/_reshard/jobs', { type: 'split', db: `${database.id}/source` }), 201);
    const copied = { target: `${database.id}/copy`, create: { partitionKey: { paths: ['/id'], version: 2, kind: 'Hash' } } };
    const { id: copy } = expectStatus(await server.post(`/${encodeURIComponent(`${database.id}/source`)}/_copy`, copied), 202);
    let stopped = false;
    let written = 0;
    const write = async (writer) => {
      for (let i = 0; !stopped || i < 5; ++i) {
        await items.items.create({ id: `w${writer}-${i}`, pk: `${i % 7}` });
        ++written;
      }
    };
    const writers = [0, 1, 2].map(write);
    const order = [database.id, freshName(), freshName()];
    for (let i = 0; i < 12; ++i) {
      await rename(server, order[i % 3], order[(i + 1) % 3]);
      await sleep(10);
    }
    stopped = true;
    await Promise.all(writers);
    const { resources: [count] } = await items.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll();
    assert.equal(count, written);
    await eventually(async () => {
      const job = expectStatus(await server.get(`/_reshard/jobs/${split}`), 200);
      assert.notEqual(job.job_state, 'failed', JSON.stringify(job));
      return job.job_state === 'completed';
    });
    await eventually(async () => expectStatus(await server.get(`/${encodeURIComponent(`${order[0]}/copy`)}`), 200).doc_count === 500);
    const { copies } = expectStatus(await server.get(`/${encodeURIComponent(`${order[0]}/source`)}/_copy`), 200);
    assert.deepEqual(copies.map(({ id, target }) => [id, target]), [[copy, `${order[0]}/copy`]]);
  });

  test('has one of its names, with all containers and users, when the server is killed meanwhile', async (t) => {
    const own = await Server.startFor(t);
    const { database } = await cosmosClient(own).databases.create({ id: 'one' });
    const containers = Array.from({ length: 8 }, (_, n) => `c${n}`);
    for (const id of containers) await database.containers.create({ id, partitionKey: { paths: ['/pk'] } });
    await database.users.create({ id: 'ann' });
    let current = 'one';
    for (let round = 0; round < 6; ++round) {
      const next = `name${round}`;
      const renamed = own.post(`${pathOf(current)}/_rename`, { name: next, alias: false }).catch(() => undefined);
      await sleep(round);
      await own.kill();
      const reply = await renamed;
      await own.launch();
      const user = cosmosClient(own);
      const [{ id }, ...more] = (await user.databases.readAll().fetchAll()).resources;
      assert.deepEqual(more, []);
      assert.ok(id === current || id === next, id);
      if (reply?.status === 200) assert.equal(id, next);
      current = id;
      assert.deepEqual(await idsOf(user.database(current).containers.readAll()), containers);
      assert.deepEqual(await idsOf(user.database(current).users.readAll()), ['ann']);
      assert.deepEqual(await userDatabases(own), containers.map((one) => `${current}/${one}`));
    }
  });
});

test('only administrators of the server name databases of containers', async (t) => {
  const server = await Server.startFor(t, { admin: true, args: ['--cosmos-key', 'emulator'] });
  const client = cosmosClient(server);
  await client.databases.create({ id: 'shop' });
  expectStatus(await server.put('/_users/org.couchdb.user:ann', { name: 'ann', password: 'p', roles: [], type: 'user' }), 201);
  const asAnn = { auth: 'ann:p' };
  expectError(await server.post('/_cosmos/shop/_rename', { name: 'x' }, asAnn), 401, 'unauthorized');
  expectError(await server.get('/_cosmos/shop/_aliases', asAnn), 401, 'unauthorized');
  expectError(await server.put('/_cosmos/shop/_aliases/x', undefined, asAnn), 401, 'unauthorized');
  expectError(await server.delete('/_cosmos/shop/_aliases/x', asAnn), 401, 'unauthorized');
  expectStatus(await server.post('/_cosmos/shop/_rename', { name: 'x' }), 200);
});
