// Arrays whose elements are the rows of a table of their own.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { erase, save } from '../edits.mjs';
import { expectError, expectStatus } from '../harness.mjs';
import { ask, askRaw, assertSameRows, current, define, needsLibrary, startAnalytics } from './analytics_support.mjs';

const types = ({ columns }) => Object.fromEntries(columns.map(({ name, type }) => [name, type]));

async function store(t, definition) {
  const server = await startAnalytics(t);
  const db = await server.database('q=2');
  await define(server, db, definition);
  return { server, db };
}

describe('flattened arrays', needsLibrary, () => {
  test('customers, orders and items in one container', async (t) => {
    const { server, db } = await store(t, { flatten: { '/items': 'items', '/events': 'events' } });
    const skus = ['lamp', 'desk', 'chair', 'shelf'];
    const orders = Array.from({ length: 200 }, (_, n) => ({
      _id: `order${n}`, date: `2026-${String(1 + (n % 12)).padStart(2, '0')}-01`,
      customer: { id: `c${n % 7}`, name: `Customer ${n % 7}`, billing: { city: n % 2 ? 'Bern' : 'Basel', street: `Street ${n}` } },
      delivery: { method: n % 3 ? 'post' : 'courier', status: 'sent' },
      items: Array.from({ length: n % 5 }, (_, i) => ({ sku: skus[(n + i) % 4], price: 10 + i + (n % 3 ? 0.5 : 0), quantity: 1 + (i % 2), ...(i === 3 && { gift: { wrap: true } }) })),
      events: ['ordered', ...(n % 2 ? ['paid'] : [])],
    }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: orders }), 201);
    const status = await current(server, db);
    assert.deepEqual(types(status), {
      date: 'VARCHAR', customer: 'STRUCT("id" VARCHAR, "name" VARCHAR, "billing" STRUCT("city" VARCHAR, "street" VARCHAR))', delivery: 'STRUCT("method" VARCHAR, "status" VARCHAR)',
    });
    assert.deepEqual(types(status.tables.items), { sku: 'VARCHAR', price: 'DOUBLE', quantity: 'BIGINT', gift: 'STRUCT("wrap" BOOLEAN)' });
    assert.deepEqual(types(status.tables.events), { value: 'VARCHAR' });
    assert.equal(status.tables.items.rows, orders.flatMap(({ items }) => items).length);
    await assertSameRows(server, db);

    const spent = new Map();
    for (const { customer, items } of orders) {
      for (const { sku, price, quantity } of items) {
        const key = `${customer.billing.city} ${sku}`;
        spent.set(key, (spent.get(key) ?? 0) + price * quantity);
      }
    }
    const rows = await ask(server, db, `select o.customer.billing.city || ' ' || i.sku k, sum(i.price * i.quantity) total
      from documents o join items i using (_id) group by all order by k`);
    assert.deepEqual(rows.map(({ k, total }) => [k, total]), [...spent].sort(([a], [b]) => (a < b ? -1 : 1)));
    assert.deepEqual(await ask(server, db, 'select count(distinct customer.id) customers from documents'), [{ customers: 7 }]);
    assert.deepEqual(await ask(server, db, `select count(*) n from events where value = 'paid' and _position = 1`), [{ n: 100 }]);
    expectStatus(await askRaw(server, db, 'select * from items', { format: 'parquet' }), 200);
  });

  test('elements follow their documents: changes, deletions, purges, kills', async (t) => {
    const { server, db } = await store(t, { flatten: { '/list': 'list' } });
    for (let n = 0; n < 20; ++n) await save(server, db, `d${n}`, { n, list: Array.from({ length: n }, (_, i) => ({ n: i })) });
    await assertSameRows(server, db);
    for (let n = 0; n < 10; ++n) await save(server, db, `d${n}`, { n, list: [n, { n: 'text' }, null, [n], { m: 0.5, _id: 'own', N: 1 }] });
    await save(server, db, 'd10', { list: 'no array' });
    await save(server, db, 'd11', { list: { a: 1 } });
    await save(server, db, 'd12', { list: null });
    await save(server, db, 'd13', { list: [] });
    await save(server, db, 'only null', { list: [null] });
    await erase(server, db, 'd14');
    await assertSameRows(server, db);
    const [{ rest }] = await ask(server, db, `select _rest rest from documents where _id = 'd10'`);
    assert.deepEqual(rest, { list: 'no array' });
    const { _rev } = expectStatus(await server.get(`/${db}/d15`), 200);
    expectStatus(await server.post(`/${db}/_purge`, { d15: [_rev] }), 201);
    await save(server, db, 'd16', { list: [{ other: true }] });
    await server.kill();
    await server.relaunch();
    await assertSameRows(server, db);
    assert.deepEqual(await ask(server, db, `select count(*) n from list where _id in ('d14', 'd15', 'd10')`), [{ n: 0 }]);
  });

  test('large arrays, full fidelity, included properties, and another definition', async (t) => {
    const { server, db } = await store(t, { mode: 'full_fidelity', include: ['/n'], flatten: { '/numbers': 'numbers', '/objects': 'Objects' } });
    await save(server, db, 'large', { n: 1, numbers: Array.from({ length: 100_000 }, (_, n) => (n % 1000 ? n : `t${n}`)), objects: Array.from({ length: 20_000 }, (_, n) => ({ [`m${n % 1200}`]: n })) });
    const status = await current(server, db);
    assert.deepEqual(types(status), { n: 'STRUCT("int64" BIGINT)' });
    assert.deepEqual([status.tables.numbers.rows, status.tables.Objects.rows], [100_000, 20_000]);
    assert.equal(status.tables.Objects.columns.length, 500);
    assert.deepEqual(await ask(server, db, 'select count(value.int64) i, count(value.string) s, max(_position) p from numbers'), [{ i: 99_900, s: 100, p: 99_999 }]);
    assert.deepEqual(await ask(server, db, 'select count(_rest) r, count(m0.int64) m from objects'), [{ r: 11_500, m: 17 }]);
    await define(server, db, {});
    await current(server, db);
    await assertSameRows(server, db);
    assert.equal((await askRaw(server, db, 'select * from numbers')).status, 400);
  });
});

describe('arrays inside of objects, and of the elements of arrays', needsLibrary, () => {
  test('customers, their orders and the items of these, joined by their keys', async (t) => {
    const { server, db } = await store(t, { flatten: { '/orders': 'orders', '/orders/[]/items': 'items' } });
    const skus = ['lamp', 'desk', 'chair'];
    const docs = Array.from({ length: 60 }, (_, n) => ({
      _id: `c${n}`, city: n % 2 ? 'Bern' : 'Basel',
      orders: Array.from({ length: n % 4 }, (_, o) => ({
        date: `2026-0${1 + o}-01`, items: Array.from({ length: (n + o) % 3 }, (_, i) => ({ sku: skus[(n + i) % 3], price: 10 + i, quantity: 1 + o })),
      })),
    }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    const status = await current(server, db);
    assert.deepEqual(types(status), { city: 'VARCHAR' });
    assert.deepEqual(types(status.tables.orders), { date: 'VARCHAR' });
    assert.deepEqual(types(status.tables.items), { sku: 'VARCHAR', price: 'BIGINT', quantity: 'BIGINT' });
    await assertSameRows(server, db);
    const spent = new Map();
    for (const { city, orders } of docs) {
      for (const { date, items } of orders) for (const { price, quantity } of items) spent.set(`${city} ${date}`, (spent.get(`${city} ${date}`) ?? 0) + price * quantity);
    }
    const rows = await ask(server, db, `select c.city || ' ' || o.date k, sum(i.price * i.quantity) total from documents c
      join orders o using (_id) join items i on i._id = o._id and i._position_1 = o._position group by all order by k`);
    assert.deepEqual(rows.map(({ k, total }) => [k, total]), [...spent].sort(([a], [b]) => (a < b ? -1 : 1)));
    expectStatus(await server.get(`/${db}/_export?format=parquet&table=items`), 200);
  });

  test('what is no array stays in the row around it, and arrays have one place only', async (t) => {
    const flatten = { '/customer/orders': 'orders', '/customer/orders/[]/delivery/parcels': 'parcels', '/customer/orders/[]/items': 'items' };
    const { server, db } = await store(t, { flatten });
    const parcel = { weight: 1.5, 'a"b': true };
    const values = [
      [{ items: [{ sku: 'a' }], delivery: { to: 'Bern', parcels: [parcel, null, 7] } }, { items: 'none', delivery: { parcels: { no: 'array' } } }, null, 'text', [1]],
      [], 'none', null, { a: 1 }, [{ delivery: 'none' }, { delivery: [[parcel]] }, { items: [[1], [2]] }],
    ];
    for (const [n, orders] of values.entries()) await save(server, db, `d${n}`, { n, customer: { name: `é"${n}`, orders } });
    await save(server, db, 'own', { customer: [{ orders: [1] }], '/customer/orders': [2], orders: [3] });
    await assertSameRows(server, db);
    const { columns, tables } = await current(server, db);
    assert.match(types({ columns }).customer, /^STRUCT\("name" VARCHAR, "orders" VARCHAR\)$/);
    assert.equal(types(tables.orders).delivery, 'STRUCT("to" VARCHAR, "parcels" STRUCT("no" VARCHAR))');
    assert.deepEqual(await ask(server, db, 'select * from parcels where _position = 1'), [{ _id: 'd0', _position_1: 0, _position: 1, _rest: null, weight: null, 'a"b': null, value: null }]);
    assert.deepEqual(await ask(server, db, `select _rest from orders where _id = 'd0' and _position = 1`), [{ _rest: { items: 'none' } }]);
    for (const n of [0, 5]) await erase(server, db, `d${n}`);
    await save(server, db, 'd1', { customer: { orders: [{ delivery: { parcels: Array.from({ length: 5_000 }, (_, weight) => ({ weight })) } }] } });
    await server.kill();
    await server.relaunch();
    await assertSameRows(server, db);
    assert.deepEqual(await ask(server, db, 'select count(*) n, sum(weight) w from parcels'), [{ n: 5_000, w: 4_999 * 2_500 }]);
  });

  test('deep arrays, full fidelity, included properties', async (t) => {
    const flatten = { '/a': 't1', '/a/[]/a': 't2', '/a/[]/a/[]/a': 't3', '/a/[]/a/[]/a/[]/b/c/d/e/f': 't8' };
    const { server, db } = await store(t, { mode: 'full_fidelity', include: ['/n'], flatten });
    const leaf = (n) => ({ b: { c: { d: { e: { f: [n, `t${n}`, { x: n }] } }, left: n } } });
    for (let n = 0; n < 10; ++n) await save(server, db, `d${n}`, { n, m: n, a: Array.from({ length: 3 }, () => ({ a: Array.from({ length: n % 3 }, (_, k) => ({ a: [leaf(k), k, leaf(n)], k })) })) });
    await assertSameRows(server, db);
    const [{ n }] = await ask(server, db, `select count(*) n from t8 join t3 on t8._id = t3._id and t8._position_1 = t3._position_1
      and t8._position_2 = t3._position_2 and t8._position_3 = t3._position where t8.value.int64 is not null and t3.b."object".c."object"."left".int64 = t8.value.int64`);
    assert.equal(n, 54);
  });

  test('paths that there cannot be are refused', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    for (const [flatten, reason] of [
      [{ '/a/[]': 't' }, /no path/], [{ '/a/[]/[]/b': 't' }, /no path/], [{ '/[]/a': 't' }, /no path/], [{ '/a//b': 't' }, /no path/], [{ 'a': 't' }, /no path/],
      [{ '/a/': 't' }, /no path/], [{ '/_a/b': 't' }, /no path/], [{ [`/a${'/b'.repeat(8)}`]: 't' }, /no path/], [{ [`/a/${'b'.repeat(257)}`]: 't' }, /no path/],
      [{ '/a/[]/b': 't' }, /`\/a\/\[\]\/b` needs a table for `\/a`, too/], [{ '/a': 't', '/a/[]/b/[]/c': 'u' }, /needs a table for/],
      [{ '/a': 't', '/a/[]/b': 'T' }, /two tables/], [Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`/a/b${n}`, `t${n}`])), /1 to 8 members/],
    ]) expectError(await server.put(`/${db}/_analytics`, { flatten }), 400, 'analytics_syntax', reason);
  });
});
