// Objects as STRUCT and arrays as LIST: which types columns get, how they grow, and documents that were made to hurt.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { save } from '../edits.mjs';
import { expectStatus } from '../harness.mjs';
import { ask, askRaw, assertSameRows, current, define, needsLibrary, startAnalytics } from './analytics_support.mjs';

const types = (status) => Object.fromEntries(status.columns.map(({ name, type }) => [name, type]));
const dropped = (status) => Object.fromEntries(status.columns.map(({ name, values_dropped: count }) => [name, count]));

async function store(t, { args = [] } = {}) {
  const server = await startAnalytics(t, { args });
  const db = await server.database();
  await define(server, db);
  await current(server, db);
  return { server, db };
}

/// Writes documents one after the other, so that the table grows with each.
async function grow(server, db, docs) {
  for (const [n, doc] of docs.entries()) {
    await save(server, db, `d${String(n).padStart(3, '0')}`, doc);
    await assertSameRows(server, db);
  }
  return current(server, db);
}

describe('types that grow', needsLibrary, () => {
  test('an object gets members, and its numbers become doubles', async (t) => {
    const { server, db } = await store(t);
    const status = await grow(server, db, [
      { size: {} }, { size: { w: 1 } }, { size: { w: 2.5, h: { x: 1 } } }, { size: null }, {}, { size: { h: { x: 2, y: 'far' }, 'na"me\'': true } }, { size: 'large' },
    ]);
    assert.deepEqual(types(status), { size: 'STRUCT("w" DOUBLE, "h" STRUCT("x" BIGINT, "y" VARCHAR), "na""me\'" BOOLEAN)' });
    assert.deepEqual(dropped(status), { size: 1 });
    assert.deepEqual(await ask(server, db, 'select sum(size.w) w, max(size.h.y) y, bool_or(size."na""me\'") n from documents'), [{ w: 3.5, y: 'far', n: true }]);
  });

  test('lists get the type of their elements, and JSON when there are several', async (t) => {
    const { server, db } = await store(t);
    const status = await grow(server, db, [
      { tags: [], mixed: [], items: [], grid: [] }, { tags: ['a', null], mixed: [1], items: [{ sku: 'a', n: 1 }, null], grid: [[1], []] },
      { tags: ['b'], mixed: [1.5, null], items: [{ sku: 'b', n: 2.5, more: { x: [true] } }], grid: [[1.5], null] },
      { tags: ['c', 7], mixed: ['x', { a: 1 }], items: [{ more: { x: [] } }], grid: [['x']] }, { tags: 'none', mixed: [[2]], items: { sku: 'z' }, grid: [] },
    ]);
    assert.deepEqual(types(status), {
      tags: 'JSON[]', mixed: 'JSON[]', items: 'STRUCT("sku" VARCHAR, "n" DOUBLE, "more" STRUCT("x" BOOLEAN[]))[]', grid: 'JSON[][]',
    });
    assert.deepEqual(dropped(status), { tags: 1, mixed: 0, items: 1, grid: 0 });
    assert.deepEqual(await ask(server, db, 'select item.sku, sum(item.n) n from (select unnest(items) item from documents) where item is not null group by all order by all nulls last'),
      [{ sku: 'a', n: 1 }, { sku: 'b', n: 2.5 }, { sku: null, n: null }]);
  });

  test('what cannot be a STRUCT becomes JSON, with all its members', async (t) => {
    const { server, db } = await store(t);
    const many = (first, count) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${first + n}`, first + n]));
    let deep = 1;
    for (let n = 0; n < 30; ++n) deep = n % 2 ? [deep] : { d: deep };
    const status = await grow(server, db, [
      { many: many(0, 60), cases: { City: 1 }, empty: { a: { b: 1 } }, deep, outer: { inner: { x: 1 }, list: [{ x: 1 }] } },
      { many: many(50, 60), cases: { city: 2 }, empty: { a: { '': 2 } }, deep, outer: { inner: { X: 'x', 'a\u0000b': 1 }, list: [{ X: [1] }] } },
      { many: { m1: 'text' }, cases: { CITY: [1] }, empty: { a: 3 }, outer: { inner: 'x', list: [{ x: 'y' }, 5] } },
    ]);
    const found = types(status);
    assert.equal(found.many, 'JSON');
    assert.equal(found.cases, 'JSON');
    assert.equal(found.empty, 'STRUCT("a" JSON)');
    assert.equal(found.outer, 'STRUCT("inner" JSON, "list" JSON[])');
    assert.match(found.deep, /^(STRUCT\("d" |\[)*.*JSON/);
    assert.deepEqual(dropped(status), { many: 0, cases: 0, empty: 0, deep: 0, outer: 0 });
    assert.deepEqual(await ask(server, db, `select outer_.inner->>'X' x from (select "outer" outer_ from documents) order by all limit 1`), [{ x: 'x' }]);
  });

  test('the types are those that they were after restarts, and after a crash', async (t) => {
    const { server, db } = await store(t);
    await grow(server, db, [{ size: { w: 1 }, tags: [], none: {} }]);
    const before = (await current(server, db)).columns;
    await server.kill();
    await server.relaunch();
    assert.deepEqual((await current(server, db)).columns, before);
    await save(server, db, 'next', { size: { w: 2, h: 3.5 }, tags: ['x'], none: { some: 1 } });
    await server.kill();
    await server.relaunch();
    await assertSameRows(server, db);
    assert.deepEqual(types(await current(server, db)), { size: 'STRUCT("w" BIGINT, "h" DOUBLE)', tags: 'VARCHAR[]', none: 'STRUCT("some" BIGINT)' });
  });
});

describe('full fidelity', needsLibrary, () => {
  test('a column has a member for each type that came, and nothing is NULL for its type', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db, { mode: 'full_fidelity' });
    const status = await grow(server, db, [
      { price: 1, tags: [], size: {} }, { price: 2.5, tags: ['a', 1] }, { price: 'three', tags: 'b', size: { w: 1 } },
      { price: { amount: 4 }, tags: [{ x: [true] }, null], size: { w: 'x', h: null } }, { price: [5], tags: null, size: 7 }, { price: false, size: { W: 1 } }, { price: 1e300, size: { w: 2 } },
    ]);
    assert.deepEqual(types(status), {
      price: 'STRUCT("int64" BIGINT, "float64" DOUBLE, "string" VARCHAR, "object" STRUCT("amount" STRUCT("int64" BIGINT)), "array" STRUCT("int64" BIGINT)[], "bool" BOOLEAN)',
      tags: 'STRUCT("array" STRUCT("string" VARCHAR, "int64" BIGINT, "object" STRUCT("x" STRUCT("array" STRUCT("bool" BOOLEAN)[])))[], "string" VARCHAR)',
      size: 'STRUCT("object" JSON, "int64" BIGINT)',
    });
    assert.deepEqual(dropped(status), { price: 0, tags: 0, size: 0 });
    assert.deepEqual(await ask(server, db, 'select sum(price.int64) i, max(price.float64) f, max(price.string) s, max(price."object".amount.int64) a from documents'),
      [{ i: 1, f: 1e300, s: 'three', a: 4 }]);
    assert.deepEqual(await ask(server, db, `select distinct size."object"->>'w' w from documents order by all`), [{ w: '1' }, { w: '2' }, { w: 'x' }, { w: null }]);
  });

  test('a new member each time, until the limit', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db, { mode: 'full_fidelity' });
    const values = [1, 0.5, 'x', true, [1, 'x'], { y: 1 }];
    for (let round = 0; round < 4; ++round) {
      const docs = Array.from({ length: 100 }, (_, n) => ({
        _id: `r${round}n${n}`, [`x${(round * 100 + n) % 150}`]: values[n % 6], same: { [`m${(round * 7 + n) % 300}`]: values[(n + round) % 6] }, list: [values[(n + round) % 6], { [`e${n % 70}`]: values[n % 6] }],
      }));
      expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
      await current(server, db);
    }
    await assertSameRows(server, db);
    const status = await current(server, db);
    assert.deepEqual(Object.values(dropped(status)).filter((count) => count > 0), []);
    assert.match(types(status).same, /^STRUCT\("object" JSON\)$/);
  });
});

describe('nested values in answers', needsLibrary, () => {
  test('they are JSON in JSON, NDJSON and CSV, and columns in Parquet', async (t) => {
    const { server, db } = await store(t);
    await save(server, db, 'a', { size: { w: 1, name: 'x, "y"\n' }, tags: ['a', null], mixed: [1, 'x', { b: [] }], empty: {}, items: [{ n: 1 }, { n: 2, note: 'é😀' }] });
    await save(server, db, 'b', { size: null, tags: [] });
    await current(server, db);
    const sql = 'select size, tags, mixed, empty, items from documents order by _id';
    const rows = [
      { size: { w: 1, name: 'x, "y"\n' }, tags: ['a', null], mixed: [1, 'x', { b: [] }], empty: {}, items: [{ n: 1, note: null }, { n: 2, note: 'é😀' }] },
      { size: null, tags: [], mixed: null, empty: null, items: null },
    ];
    assert.deepEqual(await ask(server, db, sql), rows);
    const lines = (await askRaw(server, db, sql, { format: 'ndjson' })).text.trim().split('\n');
    assert.deepEqual(lines.map((line) => JSON.parse(line)), rows);
    const csv = (await askRaw(server, db, sql, { format: 'csv' })).text;
    const cell = (value) => `"${JSON.stringify(value).replaceAll('"', '""')}"`;
    assert.equal(csv.split('\r\n')[1], Object.values(rows[0]).map((value) => (JSON.stringify(value) === '{}' ? '{}' : cell(value))).join(','));
    assert.equal(csv.split('\r\n')[2], ',[],,,');
    const parquet = await askRaw(server, db, sql, { format: 'parquet' });
    expectStatus(parquet, 200);
    for (const name of ['note', 'size', 'items']) assert.ok(parquet.raw.includes(name), name);
    expectStatus(await server.get(`/${db}/_export?format=csv`), 200);
  });
});

describe('documents that were made to hurt', needsLibrary, () => {
  test('a new member each time, until the limit', async (t) => {
    const { server, db } = await store(t);
    for (let round = 0; round < 6; ++round) {
      const docs = Array.from({ length: 100 }, (_, n) => {
        const name = `x${round * 100 + n}`;
        return { _id: `r${round}n${n}`, [name]: { [name]: [{ [name]: n }] }, same: { [name]: n }, nested: { a: { b: { [name]: n } } } };
      });
      expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
      await current(server, db);
    }
    await assertSameRows(server, db);
    const status = await current(server, db);
    assert.ok(status.columns.length > 100 && status.columns.length < 1_000, `${status.columns.length}`);
    assert.equal(types(status).same, 'JSON');
    assert.equal(types(status).nested, 'STRUCT("a" STRUCT("b" JSON))');
    assert.deepEqual(await ask(server, db, `select count(*) n, count(same) s, count(nested.a.b) b from documents`), [{ n: 600, s: 600, b: 600 }]);
  });

  test('large arrays, deep nesting and wide rows', async (t) => {
    const { server, db } = await store(t);
    const numbers = Array.from({ length: 100_000 }, (_, n) => n);
    const texts = Array.from({ length: 50_000 }, (_, n) => (n % 3 ? `t${n}` : null));
    await save(server, db, 'numbers', { numbers, texts, objects: texts.map((text) => ({ text, n: 1 })) });
    await save(server, db, 'doubles', { numbers: [0.5], texts: ['x'], objects: [] });
    const wide = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`w${n}`, n]));
    await save(server, db, 'wide', { wide: [wide] });
    await save(server, db, 'empty objects', { wide: Array.from({ length: 100_000 }, () => ({})) });
    let deep = 'x';
    for (let n = 0; n < 400; ++n) deep = n % 2 ? { 'd': deep } : [deep];
    await save(server, db, 'deep', { deep });
    const status = await current(server, db);
    assert.deepEqual(dropped(status), { numbers: 0, texts: 0, objects: 0, wide: 1, deep: 0 });
    assert.deepEqual(await ask(server, db, `select list_sum(numbers) s, len(texts) t, objects[2].text o, len(objects) n from documents where _id = 'numbers'`),
      [{ s: 4999950000, t: 50_000, o: 't1', n: 50_000 }]);
    assert.deepEqual(await ask(server, db, `select wide is null w from documents where _id = 'empty objects'`), [{ w: true }]);
    await save(server, db, 'after', { numbers: ['mixed'] });
    await current(server, db);
    assert.deepEqual(await ask(server, db, `select numbers[3] n from documents where _id = 'numbers'`), [{ n: 2 }]);
    const [{ deep: kept }] = await ask(server, db, `select deep from documents where _id = 'deep'`);
    assert.deepEqual(kept, deep);
  });

  test('names of members of all kinds', async (t) => {
    const { server, db } = await store(t);
    const names = ['"', '\'', '""\'\'', '); drop table documents; --', 'select', 'null', '😀', 'é', 'É', 'ключ', 'a b', 'a.b', '\\', '\n', '\u2028', '\u00a0', '$1', '?', ':=', '_id', 'element0', '{}', 'x'.repeat(256)];
    await save(server, db, 'a', { object: Object.fromEntries(names.map((name, n) => [name, n])), list: [Object.fromEntries(names.map((name) => [name, name]))] });
    await assertSameRows(server, db);
    // Each of them is converted.
    await save(server, db, 'b', { object: Object.fromEntries(names.map((name) => [name, 0.5])), list: [Object.fromEntries(names.map((name) => [`${[...name].slice(1).join('')}+`, [name]]))] });
    await assertSameRows(server, db);
    const status = await current(server, db);
    assert.match(types(status).object, /^STRUCT\("""" DOUBLE, "'" DOUBLE/);
    assert.deepEqual(dropped(status), { object: 0, list: 0 });
    for (const name of ['', 'a\u0000b', 'x'.repeat(257), 'SELECT']) {
      await save(server, db, `bad ${name.length}`, { object: { [name]: 1 } });
    }
    await assertSameRows(server, db);
    assert.equal(types(await current(server, db)).object, 'JSON');
  });
});
