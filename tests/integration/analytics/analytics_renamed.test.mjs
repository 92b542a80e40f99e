// Analytical stores of containers whose Cosmos database gets another name: its group does, too.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cosmosClient } from '../cosmos.mjs';
import { save } from '../edits.mjs';
import { eventually, expectError, expectStatus, patience, sleep } from '../harness.mjs';
import { ask, assertSameRows, current, define, needsLibrary, startAnalytics, storeOf } from './analytics_support.mjs';

const patient = 120_000 * patience;

const rename = (server, database, name, more = {}, options) => server.post(`/_cosmos/${database}/_rename`, { name, ...more }, options);
const askGroup = (server, group, sql, options = {}) => server.post('/_analytics/sql', { group, sql }, { timeoutMs: 300_000, ...options });
const joined = `select c.city, sum(o.total) total from orders.documents o join customers.documents c using (pk) group by 1 order by 1`;

/// A container whose analytical store is there.
async function makeContainer(server, database, id, items) {
  const { container } = await cosmosClient(server).database(database).containers.createIfNotExists({ id, partitionKey: { paths: ['/pk'] }, analyticalStorageTtl: -1 });
  for (const item of items) await container.items.upsert(item);
  await eventually(async () => (await server.get(`/${encodeURIComponent(`${database}/${id}`)}/_analytics`)).status === 200, patient);
  return current(server, `${database}/${id}`);
}

const customers = [{ id: 'ann', pk: 'ann', city: 'Bern' }, { id: 'bob', pk: 'bob', city: 'Genf' }];
const orders = [{ id: 'o1', pk: 'ann', total: 5 }, { id: 'o2', pk: 'bob', total: 7 }, { id: 'o3', pk: 'ann', total: 1 }];
const sums = [{ city: 'Bern', total: 6 }, { city: 'Genf', total: 7 }];

/// A Cosmos database with the container `customers`.
async function shop(t, options) {
  const server = await startAnalytics(t, options);
  await cosmosClient(server).databases.create({ id: 'shop' });
  await makeContainer(server, 'shop', 'customers', customers);
  return server;
}

const rowsOf = async (server, group, sql = joined, options) => expectStatus(await askGroup(server, group, sql, options), 200).rows;

describe('a Cosmos database that gets another name', needsLibrary, () => {
  test('takes its group along: containers of before and after are joined, and no row is written again', async (t) => {
    const server = await shop(t);
    const [{ _rev, path }] = await ask(server, 'shop/customers', 'select _rev, (select path from duckdb_databases() where database_name = \'customers\') path from documents');
    expectStatus(await rename(server, 'shop', 'store'), 200);
    await makeContainer(server, 'store', 'orders', orders);
    assert.deepEqual(await rowsOf(server, 'store'), sums);
    for (const id of ['customers', 'orders']) assert.equal((await storeOf(server, `store/${id}`)).definition.group, 'store');
    const after = await ask(server, 'store/customers', 'select _rev, (select path from duckdb_databases() where database_name = \'customers\') path from documents');
    assert.deepEqual(after[0], { _rev, path });
    // The former name is an alias.
    assert.deepEqual(await rowsOf(server, 'shop'), sums);
    await server.kill();
    await server.relaunch();
    await cosmosClient(server).database('store').container('orders').items.create({ id: 'o4', pk: 'bob', total: 3 });
    for (const id of ['customers', 'orders']) await current(server, `store/${id}`);
    assert.deepEqual(await rowsOf(server, 'store'), [{ city: 'Bern', total: 6 }, { city: 'Genf', total: 10 }]);
  });

  test('leaves its former name to another group, and may get it back', async (t) => {
    const server = await shop(t);
    expectStatus(await rename(server, 'shop', 'store', { alias: false }), 200);
    expectError(await askGroup(server, 'shop', 'select 1'), 404, 'not_found');
    await cosmosClient(server).databases.create({ id: 'shop' });
    await makeContainer(server, 'shop', 'customers', [{ id: 'eve', pk: 'eve', city: 'Chur' }]);
    const cities = 'select city from customers.documents order by city';
    assert.deepEqual(await rowsOf(server, 'shop', cities), [{ city: 'Chur' }]);
    assert.deepEqual(await rowsOf(server, 'store', cities), [{ city: 'Bern' }, { city: 'Genf' }]);
    assert.equal((await storeOf(server, 'shop/customers')).definition.group, 'shop');
    for (const [from, to] of [['shop', 'third'], ['store', 'shop'], ['third', 'store']]) {
      expectStatus(await rename(server, from, to, { alias: false }), 200);
    }
    await makeContainer(server, 'shop', 'orders', orders);
    await makeContainer(server, 'store', 'late', [{ id: 'x', pk: 'eve' }]);
    assert.deepEqual(await rowsOf(server, 'shop'), sums);
    assert.deepEqual(await rowsOf(server, 'store', 'select city from customers.documents join late.documents using (pk)'), [{ city: 'Chur' }]);
    expectError(await askGroup(server, 'third', 'select 1'), 404, 'not_found');
  });

  test('takes databases of the CouchDB API along that are in its group, and others may join by the new name', async (t) => {
    const server = await shop(t);
    for (const [db, group] of [['cities', 'shop'], ['countries', 'store']]) {
      expectStatus(await server.put(`/${db}`), 201);
      await save(server, db, 'Bern', { country: 'ch' });
      if (group === 'store') expectStatus(await rename(server, 'shop', 'store'), 200);
      await define(server, db, { group, as: db });
      await current(server, db);
    }
    assert.deepEqual(await rowsOf(server, 'store', 'select pk from customers.documents c join cities.documents b on c.city = b._id join countries.documents k on k._id = b._id'), [{ pk: 'ann' }]);
    assert.equal((await storeOf(server, 'cities')).definition.group, 'store');
    // The same definition again changes nothing; the alias leads to the group, too.
    const rows = await storeOf(server, 'cities');
    for (const group of ['store', 'shop']) await define(server, 'cities', { group, as: 'cities' });
    assert.deepEqual((await storeOf(server, 'cities')).columns, rows.columns);
    await assertSameRows(server, 'cities');
  });

  test('cannot get the name of a group that there is', async (t) => {
    const server = await shop(t);
    expectStatus(await server.put('/other'), 201);
    await define(server, 'other', { group: 'store', as: 'other' });
    await current(server, 'other');
    expectError(await rename(server, 'shop', 'store'), 412, 'file_exists', /group store of analytical stores, with that of the database other/);
    assert.deepEqual(await rowsOf(server, 'shop', 'select count(*) n from customers.documents'), [{ n: 2 }]);
    await define(server, 'other', {});
    expectStatus(await rename(server, 'shop', 'store'), 200);
    assert.deepEqual(await rowsOf(server, 'store', 'select count(*) n from customers.documents'), [{ n: 2 }]);
  });

  test('who may read all of its containers may ask it, by its new name', async (t) => {
    const server = await shop(t, { admin: true, env: { OCTAVO_COSMOS_KEY: 'emulator' } });
    for (const name of ['ann', 'bob']) {
      expectStatus(await server.put(`/_users/org.couchdb.user:${name}`, { name, password: 'secret word', roles: [], type: 'user' }), 201);
    }
    const members = (...names) => ({ admins: { names: [], roles: [] }, members: { names, roles: [] } });
    expectStatus(await server.put('/shop%2Fcustomers/_security', members('ann', 'bob')), 200);
    expectStatus(await rename(server, 'shop', 'store'), 200);
    await makeContainer(server, 'store', 'orders', orders);
    expectStatus(await server.put('/store%2Forders/_security', members('ann')), 200);
    const [ann, bob] = ['ann', 'bob'].map((name) => ({ auth: `${name}:secret word` }));
    for (const group of ['shop', 'store']) {
      assert.deepEqual(await rowsOf(server, group, joined, ann), sums);
      expectError(await askGroup(server, group, 'select count(*) from customers.documents', bob), 403, 'forbidden', /all databases of the group store/);
    }
    assert.ok([401, 403].includes((await rename(server, 'store', 'x', {}, bob)).status));
  });

  test('has one of its names, with its group, when the server is killed meanwhile', async (t) => {
    const server = await shop(t);
    await makeContainer(server, 'shop', 'orders', orders);
    let name = 'shop';
    for (let round = 0; round < 6; ++round) {
      const next = `name${round}`;
      const renamed = rename(server, name, next, { alias: false }).catch(() => undefined);
      await sleep(round);
      await server.kill();
      const reply = await renamed;
      await server.relaunch();
      const [{ id }] = (await cosmosClient(server).databases.readAll().fetchAll()).resources;
      assert.ok(id === name || id === next, id);
      if (reply?.status === 200) assert.equal(id, next);
      name = id;
      await makeContainer(server, name, `late${round}`, [{ id: 'x', pk: 'ann', round }]);
      for (const container of ['customers', 'orders']) await current(server, `${name}/${container}`);
      assert.deepEqual(await rowsOf(server, name), sums);
      for (let n = 0; n <= round; ++n) await current(server, `${name}/late${n}`);
      assert.deepEqual(await rowsOf(server, name, `select round from customers.documents join late${round}.documents using (pk)`), [{ round }]);
    }
    await assertSameRows(server, `${name}/orders`);
  });
});
