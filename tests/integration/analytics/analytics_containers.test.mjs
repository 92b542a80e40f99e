// Analytical stores of containers of the Azure Cosmos DB API, by `analyticalStorageTtl`, as @azure/cosmos sends it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cosmosClient, errorOf } from '../cosmos.mjs';
import { eventually, expectError, expectStatus, patience } from '../harness.mjs';
import { ask, current, define, needsLibrary, startAnalytics, storeOf } from './analytics_support.mjs';

const patient = 120_000 * patience;

async function withDatabase(t) {
  const server = await startAnalytics(t);
  const { database } = await cosmosClient(server).databases.create({ id: 'shop' });
  const make = async (id, definition = {}) => (await database.containers.create({ id, partitionKey: { paths: ['/pk'] }, ...definition })).container;
  return { server, database, make };
}

/// Waits until the store of a container is as `is` says.
const storeIs = (server, db, is) => eventually(async () => is(await server.get(`/${encodeURIComponent(db)}/_analytics`)), patient);
const hasStore = (server, db) => storeIs(server, db, ({ status }) => status === 200);

const change = async (container, members) => {
  const { resource } = await container.read();
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) delete resource[name]; else resource[name] = value;
  }
  return (await container.replace(resource)).resource;
};

describe('analyticalStorageTtl', needsLibrary, () => {
  test('containers of a database that have it can be joined', async (t) => {
    const { server, make } = await withDatabase(t);
    const customers = await make('customers', { analyticalStorageTtl: -1 });
    const orders = await make('orders', { analyticalStorageTtl: -1 });
    await make('plain');
    assert.equal((await customers.read()).resource.analyticalStorageTtl, -1);
    for (const [id, city] of [['ann', 'Bern'], ['bob', 'Genf']]) await customers.items.create({ id, pk: id, city });
    for (let n = 0; n < 4; ++n) await orders.items.create({ id: `o${n}`, pk: n % 2 ? 'ann' : 'bob', total: n });
    for (const db of ['shop/customers', 'shop/orders']) {
      await hasStore(server, db);
      await current(server, db);
    }
    assert.deepEqual((await storeOf(server, 'shop/orders')).definition, { ttl: -1, group: 'shop', as: 'orders', mode: 'well_defined' });
    const sql = `select c.city, sum(o.total) total from orders.documents o join customers.documents c using (pk) group by 1 order by 1`;
    const { rows } = expectStatus(await server.post('/_analytics/sql', { group: 'shop', sql }), 200);
    assert.deepEqual(rows, [{ city: 'Bern', total: 4 }, { city: 'Genf', total: 2 }]);
    await orders.item('o3', 'ann').delete();
    await current(server, 'shop/orders');
    assert.deepEqual(await ask(server, 'shop/orders', 'select id, _deleted from documents where total > 1 order by id'),
      [{ id: 'o2', _deleted: false }, { id: 'o3', _deleted: true }]);
    expectError(await server.get('/shop%2Fplain/_analytics'), 404, 'not_found');
  });

  test('it is switched on, changed and switched off by replacing the container, also after a restart', async (t) => {
    const { server, make } = await withDatabase(t);
    let container = await make('items');
    await container.items.create({ id: '1', pk: 'a', n: 1 });
    assert.equal((await change(container, { analyticalStorageTtl: 3600 })).analyticalStorageTtl, 3600);
    await hasStore(server, 'shop/items');
    assert.equal((await current(server, 'shop/items')).definition.ttl, 3600);
    await change(container, { analyticalStorageTtl: -1 });
    await storeIs(server, 'shop/items', ({ body }) => body.definition?.ttl === -1);
    await server.kill();
    await server.relaunch();
    container = cosmosClient(server).database('shop').container('items');
    await container.items.create({ id: '2', pk: 'a', n: 2 });
    await hasStore(server, 'shop/items');
    assert.equal((await current(server, 'shop/items')).rows, 2);
    await change(container, { defaultTtl: 1000 });
    assert.equal((await storeOf(server, 'shop/items')).rows, 2);
    await change(container, { analyticalStorageTtl: 0 });
    await storeIs(server, 'shop/items', ({ status }) => status === 404);
    await change(container, { analyticalStorageTtl: -1 });
    await hasStore(server, 'shop/items');
    await change(container, { analyticalStorageTtl: null });
    await storeIs(server, 'shop/items', ({ status }) => status === 404);
    await change(container, { analyticalStorageTtl: undefined });
    assert.equal((await container.read()).resource.analyticalStorageTtl, undefined);
  });

  test('rows leave after its seconds, and the container decides them', async (t) => {
    const { server, make } = await withDatabase(t);
    const container = await make('items', { analyticalStorageTtl: 4 });
    await container.items.create({ id: '1', pk: 'a', n: 1 });
    await hasStore(server, 'shop/items');
    await define(server, 'shop/items', { include: ['/n'], ttl: 0 });
    assert.deepEqual((await current(server, 'shop/items')).definition, { include: ['/n'], ttl: 4, mode: 'well_defined' });
    await eventually(async () => (await storeOf(server, 'shop/items')).rows === 0, patient);
    assert.equal((await container.item('1', 'a').read()).resource.n, 1);
    expectError(await server.delete('/shop%2Fitems/_analytics'), 400, 'bad_request', /analyticalStorageTtl/);
  });

  test('a store that was made by the other API stays when the container does not ask for one', async (t) => {
    const { server, make } = await withDatabase(t);
    const container = await make('items');
    await container.items.create({ id: '1', pk: 'a' });
    await define(server, 'shop/items');
    await change(container, { defaultTtl: 1000 });
    await change(container, { analyticalStorageTtl: 0 });
    assert.equal((await current(server, 'shop/items')).rows, 1);
  });

  test('ids that differ in case only, or mean something in DuckDB, are told apart', async (t) => {
    const { server, make } = await withDatabase(t);
    for (const id of ['Orders', 'orders', 'main']) {
      const container = await make(id, { analyticalStorageTtl: -1 });
      await container.items.create({ id, pk: 'a' });
      await hasStore(server, `shop/${id}`);
      await current(server, `shop/${id}`);
      assert.deepEqual(await ask(server, `shop/${id}`, 'select id from documents'), [{ id }]);
    }
    const names = await Promise.all(['Orders', 'orders', 'main'].map(async (id) => (await storeOf(server, `shop/${id}`)).definition.as));
    assert.equal(names[0], 'Orders');
    assert.match(names[1], /^orders_[0-9a-f]{8}$/);
    assert.equal(names[2], 'main_');
  });

  test('values that it cannot have are refused', async (t) => {
    const { make } = await withDatabase(t);
    for (const analyticalStorageTtl of [-2, 1.5, '10', 2 ** 31]) {
      const error = await errorOf(make('items', { analyticalStorageTtl }));
      assert.equal(error.code, 400);
      assert.match(error.message, /analyticalStorageTtl must be/);
    }
  });
});
