// Another definition of an analytical store: its table is built beside the one that answers, and then takes its place.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { erase, randomOf, save } from '../edits.mjs';
import { bytesOfFile, namesBelow } from '../folders.mjs';
import { eventually, expectError, expectStatus, patience, sleep } from '../harness.mjs';
import { ask, askRaw, assertSameRows, built, current, define, killProcess, needsLibrary, startAnalytics, storeOf } from './analytics_support.mjs';
import { holdStatements } from './held_statements.mjs';

const patient = 120_000 * patience;
const seed = Number(process.env.ANALYTICS_SEED ?? Date.now() % 2 ** 31);

/// A database with so many documents that its table takes some seconds.
async function filled(server, db, count, from = 0) {
  const text = 'x'.repeat(300);
  for (let n = from; n < from + count; n += 2_000) {
    const docs = Array.from({ length: Math.min(2_000, from + count - n) }, (_, i) => (
      { _id: `d${n + i}`, n: n + i, items: [{ sku: `s${i % 7}`, n: i }, { sku: 't' }], text }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
  }
}

/// Its table is there before the documents, so a change of its definition soon after them is a long one.
async function store(t, { count = 20_000, definition = {}, ...options } = {}) {
  const server = await startAnalytics(t, options);
  const db = await server.database();
  await filled(server, db, count);
  await define(server, db, definition);
  await current(server, db, 300_000);
  return { server, db };
}

const isFidelity = (status) => /float64|int64|string/.test(status.columns.find(({ name }) => name === 'n').type);
const filesOf = (server) => namesBelow(server.dataDir).filter((name) => /\.duckdb($|\.)/.test(name));
const fileBytes = (server) => filesOf(server).filter((name) => name.endsWith('.duckdb'))
  .reduce((sum, name) => sum + bytesOfFile(path.join(server.dataDir, name)), 0);
const tablesOf = async (server, db) =>
  (await ask(server, db, `select schema_name || '.' || table_name t from duckdb_tables() where not temporary order by all`)).map((row) => row.t);
const plain = ['main.documents', 'octavo.builds', 'octavo.columns', 'octavo.state'];

describe('another definition', needsLibrary, () => {
  test('is built beside the table that answers, which follows the database meanwhile', async (t) => {
    const { server, db } = await store(t, { count: 30_000 });
    const before = await storeOf(server, db);
    await define(server, db, { mode: 'full_fidelity' });
    const begun = await storeOf(server, db);
    assert.deepEqual(begun.building.definition, { mode: 'full_fidelity' });
    assert.ok(begun.building.lag > 0, JSON.stringify(begun.building));
    assert.deepEqual(begun.columns, before.columns);
    assert.deepEqual(begun.definition, { mode: 'well_defined' });
    assert.equal(begun.state, 'following');
    // Every query is answered, by a table of one definition, and knows what `wait_for` has waited for.
    await save(server, db, 'meanwhile', { n: 1.5 });
    expectStatus(await server.get(`/${db}/_analytics?wait_for=now&timeout=600000`, { timeoutMs: 610_000 }), 200);
    let answers = 0;
    for (let is = 'number'; is === 'number'; ++answers) {
      const rows = await ask(server, db, `select typeof(n) t, (select count(*) from documents) c from documents where _id = 'meanwhile'`);
      assert.equal(rows.length, 1);
      assert.equal(rows[0].c, 30_001);
      is = rows[0].t === 'DOUBLE' ? 'number' : 'struct';
    }
    assert.ok(answers > 1, `${answers} answers`);
    const status = await built(server, db);
    assert.equal(status.building, undefined);
    assert.deepEqual(status.definition, { mode: 'full_fidelity' });
    assert.ok(isFidelity(status));
    assert.deepEqual(await tablesOf(server, db), plain);
    await assertSameRows(server, db);
  });

  test('a query that runs while the table is replaced sees the one that was there', async (t) => {
    const { server, db } = await store(t, { count: 4_000 });
    // The rows go out as the client reads them, so the transaction is open until it does.
    const sql = 'select a.n, typeof(a.n) t from documents a, documents b where b.n < 300';
    const running = askRaw(server, db, sql, { format: 'ndjson' }, { timeoutMs: 600_000 });
    await define(server, db, { mode: 'full_fidelity' });
    await built(server, db);
    const lines = (await running).text.trim().split('\n');
    assert.equal(lines.length, 4_000 * 300);
    for (const line of [lines[0], lines.at(-1)]) assert.equal(JSON.parse(line).t, 'BIGINT');
    assert.ok(isFidelity(await storeOf(server, db)));
  });

  test('tables of arrays are replaced together with the documents', async (t) => {
    const { server, db } = await store(t, { count: 6_000, definition: { flatten: { '/items': 'items' } } });
    await define(server, db, { mode: 'full_fidelity', flatten: { '/items': 'parts' } });
    const joined = (table) => askRaw(server, db, `select count(*) n from documents join ${table} using (_id)`);
    let reply;
    await eventually(async () => {
      reply = await joined('parts');
      if (reply.status === 200) return true;
      const other = await joined('items');
      // Between the two requests the table may have been replaced.
      if (other.status === 200) assert.deepEqual(other.body.rows, [{ n: 12_000 }]);
      else assert.equal((await joined('parts')).status, 200);
      return false;
    }, patient);
    assert.deepEqual(reply.body.rows, [{ n: 12_000 }]);
    await built(server, db);
    assert.deepEqual(await tablesOf(server, db), ['main.documents', 'main.parts', ...plain.slice(1)]);
    await assertSameRows(server, db);
  });

  test('a second change takes the place of the one that is being built', async (t) => {
    const { server, db } = await store(t);
    await define(server, db, { mode: 'full_fidelity' });
    await define(server, db, { include: ['/n'] });
    assert.deepEqual((await storeOf(server, db)).building.definition, { include: ['/n'], mode: 'well_defined' });
    const status = await built(server, db);
    assert.deepEqual(status.columns.map(({ name }) => name), ['n']);
    assert.deepEqual(await tablesOf(server, db), plain);
    await assertSameRows(server, db);
  });

  test('the definition of the table that answers ends what is being built, and leaves nothing behind', async (t) => {
    const { server, db } = await store(t, { definition: { flatten: { '/items': 'items' } } });
    const before = await storeOf(server, db);
    await define(server, db, { mode: 'full_fidelity', flatten: { '/items': 'items' } });
    await eventually(async () => (await storeOf(server, db)).building?.sequence > 0, patient);
    await define(server, db, { flatten: { '/items': 'items' } });
    assert.equal((await storeOf(server, db)).building, undefined);
    await eventually(async () => (await tablesOf(server, db)).length === plain.length + 1, patient);
    assert.deepEqual((await built(server, db)).columns, before.columns);
    await assertSameRows(server, db);
  });

  test('a wrong definition, and one whose name is taken, leave what is there and what is being built', async (t) => {
    const { server, db } = await store(t);
    expectStatus(await server.put('/other'), 201);
    await define(server, 'other', { group: 'shop', as: 'one' });
    await define(server, db, { mode: 'full_fidelity' });
    expectError(await server.put(`/${db}/_analytics`, { mode: 'best' }), 400, 'analytics_syntax');
    expectError(await server.put(`/${db}/_analytics`, { group: 'shop', as: 'one' }), 409, 'conflict');
    assert.deepEqual((await storeOf(server, db)).building.definition, { mode: 'full_fidelity' });
    assert.ok(isFidelity(await built(server, db)));
  });

  test('a store that is removed meanwhile leaves nothing behind; nor does a database', async (t) => {
    const { server, db } = await store(t);
    await define(server, db, { mode: 'full_fidelity' });
    expectStatus(await server.delete(`/${db}/_analytics`), 200);
    expectError(await server.get(`/${db}/_analytics`), 404, 'not_found');
    await eventually(() => filesOf(server).length === 0, patient);
    await define(server, db);
    await assertSameRows(server, db);
    await define(server, db, { mode: 'full_fidelity' });
    expectStatus(await server.delete(`/${db}`), 200);
    await eventually(() => filesOf(server).length === 0, patient);
  });

  test('another ttl goes to the table that is being built, and the definition before comes back with one, too', async (t) => {
    const { server, db } = await store(t);
    await define(server, db, { mode: 'full_fidelity' });
    await define(server, db, { mode: 'full_fidelity', ttl: -1 });
    assert.deepEqual((await storeOf(server, db)).building.definition, { mode: 'full_fidelity', ttl: -1 });
    assert.ok(isFidelity(await built(server, db)));
    await erase(server, db, 'd1');
    assert.equal((await current(server, db)).rows_deleted, 1);
    // Back: kept rows are not in a new table.
    await define(server, db, {});
    await define(server, db, { mode: 'full_fidelity', ttl: 100_000 });
    const status = await built(server, db);
    assert.deepEqual([status.building, status.rows_deleted, status.definition.ttl], [undefined, 1, 100_000]);
    await eventually(async () => (await tablesOf(server, db)).length === plain.length, patient);
  });

  test('a purge during the building is in both tables', async (t) => {
    const { server, db } = await store(t);
    await define(server, db, { mode: 'full_fidelity' });
    for (const id of ['d0', 'd19999']) {
      const { _rev } = expectStatus(await server.get(`/${db}/${id}`), 200);
      expectStatus(await server.post(`/${db}/_purge`, { [id]: [_rev] }), 201);
    }
    expectStatus(await server.get(`/${db}/_analytics?wait_for=now&timeout=600000`, { timeoutMs: 610_000 }), 200);
    assert.deepEqual(await ask(server, db, 'select count(*) n from documents'), [{ n: 19_998 }]);
    await built(server, db);
    assert.deepEqual(await ask(server, db, 'select count(*) n from documents'), [{ n: 19_998 }]);
    await assertSameRows(server, db);
  });

  test('in a group, queries that join the table continue', async (t) => {
    const { server, db } = await store(t, { definition: { group: 'shop', as: 'orders' } });
    expectStatus(await server.put('/cities'), 201);
    await save(server, 'cities', 'd7', { city: 'Bern' });
    await define(server, 'cities', { group: 'shop', as: 'cities' });
    await current(server, 'cities');
    await define(server, db, { group: 'shop', as: 'orders', mode: 'full_fidelity' });
    const sql = 'select city, typeof(n) t from cities.documents join orders.documents using (_id)';
    const types = new Set();
    await eventually(async () => {
      const { rows } = expectStatus(await server.post('/_analytics/sql', { group: 'shop', sql }, { timeoutMs: 300_000 }), 200);
      assert.equal(rows.length, 1);
      types.add(rows[0].t.slice(0, 6));
      return rows[0].t !== 'BIGINT';
    }, patient);
    assert.deepEqual([...types], ['BIGINT', 'STRUCT']);
    await assertSameRows(server, db);
  });

  test('a store whose table is not built yet gets the one of the new definition', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await filled(server, db, 20_000);
    await define(server, db, {});
    await define(server, db, { mode: 'full_fidelity' });
    assert.ok(isFidelity(await built(server, db)));
    assert.deepEqual(await tablesOf(server, db), plain);
    await assertSameRows(server, db);
  });

  test('changes of the definition again and again take the disk of two tables at most', async (t) => {
    const { server, db } = await store(t, { count: 30_000 });
    await save(server, db, 'last', { n: 0 });
    await current(server, db);
    const sizes = [];
    for (let round = 0; round < 6; ++round) {
      await define(server, db, { mode: round % 2 ? 'well_defined' : 'full_fidelity' });
      await built(server, db);
      sizes.push(fileBytes(server));
    }
    t.diagnostic(`bytes of the file: ${sizes}`);
    assert.equal(filesOf(server).filter((name) => name.endsWith('.duckdb')).length, 1);
    // What is written last may still be in the log beside the file. Soon there is space in the file for another table.
    const largest = Math.max(...sizes.slice(0, 3));
    for (const size of sizes.slice(3)) assert.ok(size < 1.3 * largest + 1_000_000, `${sizes}`);
  });

  test('an export of a table of arrays into a folder writes everything again', async (t) => {
    const flatten = { '/items': 'items' };
    const { server, db } = await store(t, { count: 500, definition: { flatten }, args: [`--analytics-export-folder=${fs.mkdtempSync('exported-')}`] });
    const exported = async () => expectStatus(await server.post(`/${db}/_export`, { folder: 'all', table: 'items' }, { timeoutMs: 300_000 }), 200);
    assert.equal((await exported()).written, 1);
    assert.equal((await exported()).written, 0);
    await define(server, db, { flatten, include: ['/n', '/items'] });
    await built(server, db);
    assert.equal((await exported()).written, 1);
  });
});

// A message to the process may be on its way for long, as that has the lowest priority, and the server does not wait for it.
describe('a build that is over while the process opens its table', needsLibrary, () => {
  const opens = 'alter table octavo.state';
  const makes = 'create or replace table octavo.building';
  const stores = 'update octavo.building set';
  const ends = 'update octavo.builds set';

  async function heldStore(t, options) {
    const held = holdStatements(t);
    return { ...await store(t, { count: 500, ...options, args: held.args }), held };
  }

  test('does not begin any more', async (t) => {
    const { server, db, held } = await heldStore(t);
    held.hold(opens);
    await define(server, db, { mode: 'full_fidelity' });
    await held.reached();
    await define(server, db, {});
    // The table that answers is opened again, and removes what it finds.
    await eventually(async () => (await ask(server, db, 'select ended from octavo.builds'))[0].ended === 1, patient);
    held.release();
    await held.ended();
    assert.deepEqual(await tablesOf(server, db), plain);
    await assertSameRows(server, db);
  });

  test('leaves nothing that it is just making, and the table answers meanwhile', async (t) => {
    const { server, db, held } = await heldStore(t);
    held.hold(makes);
    await define(server, db, { mode: 'full_fidelity' });
    await held.reached();
    await define(server, db, {});
    await eventually(async () => (await storeOf(server, db)).state === 'waiting', patient);
    assert.deepEqual(await ask(server, db, 'select count(*) n from documents'), [{ n: 500 }]);
    held.release();
    await held.ended();
    await eventually(async () => (await tablesOf(server, db)).length === plain.length, patient);
    await eventually(async () => (await storeOf(server, db)).state === 'following', patient);
    assert.deepEqual(await tablesOf(server, db), plain);
    await assertSameRows(server, db);
  });

  test('ends with the batch that is being written', async (t) => {
    const { server, db, held } = await heldStore(t, { count: 4_000 });
    held.hold(stores);
    await define(server, db, { mode: 'full_fidelity' });
    await held.reached();
    // The first batch makes the columns, too; the second one writes rows only.
    for (const statement of ['commit', stores, 'commit']) {
      held.hold(statement);
      await held.reached();
    }
    await define(server, db, {});
    await eventually(async () => (await storeOf(server, db)).state === 'waiting', patient);
    held.release();
    await held.ended();
    await eventually(async () => (await tablesOf(server, db)).length === plain.length, patient);
    // What was committed can be read again.
    killProcess(server);
    await save(server, db, 'another', { n: 1 });
    await assertSameRows(server, db);
    assert.deepEqual(await tablesOf(server, db), plain);
  });

  for (const [what, statement] of [['is opened', opens], ['is made', makes]]) {
    test(`does not become the next one, when it ${what}`, async (t) => {
      const { server, db, held } = await heldStore(t);
      held.hold(statement);
      await define(server, db, { mode: 'full_fidelity' });
      await held.reached();
      await define(server, db, {});
      await define(server, db, { include: ['/n'] });
      if (statement === opens) await built(server, db);
      held.release();
      await held.ended();
      const status = await built(server, db);
      assert.deepEqual(status.columns.map(({ name, type }) => [name, type]), [['n', 'BIGINT']]);
      assert.deepEqual(await tablesOf(server, db), plain);
      await assertSameRows(server, db);
    });
  }

  test('is over after a crash, too, and what there is of it does not become the next one', async (t) => {
    const { server, db, held } = await heldStore(t, { count: 20_000 });
    await define(server, db, { mode: 'full_fidelity' });
    await eventually(async () => (await storeOf(server, db)).building?.sequence > 0, patient);
    held.hold(ends);
    await define(server, db, {});
    await held.reached();
    await server.kill();
    held.release();
    await server.relaunch();
    await define(server, db, { include: ['/n'] });
    const status = await built(server, db);
    assert.deepEqual(status.columns.map(({ name, type }) => [name, type]), [['n', 'BIGINT']]);
    assert.deepEqual(await tablesOf(server, db), plain);
    await assertSameRows(server, db);
  });
});

test(`kills of both processes at any moment leave one of the two tables whole, seed ${seed}`, needsLibrary, async (t) => {
  const random = randomOf(seed);
  const definitions = [{}, { mode: 'full_fidelity' }, { flatten: { '/items': 'items' } }, { mode: 'full_fidelity', flatten: { '/items': 'parts' } }];
  let has = 0;
  const { server, db } = await store(t, { count: 3_000 });
  const typeNow = async () => {
    const reply = await askRaw(server, db, `select typeof(n) t, (select count(*) from documents) c from documents where _id = 'd1'`);
    if (reply.status !== 200) {
      assert.equal(reply.status, 503, reply.text);
      return undefined;
    }
    assert.equal(reply.body.rows[0].c, 3_000, 'half of a table');
    return reply.body.rows[0].t;
  };
  for (let round = 0; round < Number(process.env.ANALYTICS_ROUNDS ?? 8); ++round) {
    has = (has + 1 + random(definitions.length - 1)) % definitions.length;
    // While a table takes the place of another one, or that is not known, nothing can be defined.
    await eventually(async () => (await server.put(`/${db}/_analytics`, definitions[has])).status === 200, patient);
    if (random(2)) await sleep(random(1_500));
    else await eventually(async () => !(await storeOf(server, db)).building, patient);
    if (random(2)) killProcess(server);
    if (random(2)) {
      await server.kill();
      await server.relaunch();
    }
    await eventually(typeNow, patient).catch(async (error) => { throw new Error((await askRaw(server, db, 'select 1')).text + (await server.get(`/${db}/_analytics`)).text, { cause: error }); });
    if (random(3)) continue;  // another change while this one is being built
    const status = await built(server, db);
    assert.deepEqual(status.definition, { mode: 'well_defined', ...definitions[has] });
    await assertSameRows(server, db);
  }
  await built(server, db);
  await assertSameRows(server, db);
  assert.equal((await tablesOf(server, db)).filter((name) => name.includes('building')).length, 0);
});
