// Groups of databases: their tables in one DuckDB, joined by a query.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { erase, pathOf, save } from '../edits.mjs';
import { namesBelow } from '../folders.mjs';
import { eventually, expectError, expectStatus, patience, sleep } from '../harness.mjs';
import { ask, askRaw, assertSameRows, current, define, needsLibrary, startAnalytics, storeOf } from './analytics_support.mjs';

const patient = 120_000 * patience;

const askGroupRaw = (server, group, sql, more = {}, options = {}) =>
  server.post('/_analytics/sql', { group, sql, ...more }, { timeoutMs: 300_000, ...options });
const askGroup = async (server, group, sql, ...parameters) =>
  expectStatus(await askGroupRaw(server, group, sql, { parameters }), 200).rows;

const joined = `select c.name, sum(o.total) total from orders.documents o join customers.documents c on o.customer = c._id
  group by c.name order by c.name`;

async function fill(server, orders = 'orders', customers = 'customers') {
  for (const db of [orders, customers]) expectStatus(await server.put(pathOf(db)), 201);
  await save(server, customers, 'c1', { name: 'Ann' });
  await save(server, customers, 'c2', { name: 'Bob' });
  for (let n = 0; n < 6; ++n) await save(server, orders, `o${n}`, { customer: `c${1 + n % 2}`, total: n });
}

async function shop(t, options) {
  const server = await startAnalytics(t, options);
  await fill(server);
  await define(server, 'orders', { group: 'shop', as: 'orders' });
  await define(server, 'customers', { group: 'shop', as: 'customers' });
  await current(server, 'orders');
  await current(server, 'customers');
  return server;
}

const folderOf = (server) => path.join(server.dataDir, 'analytics');
const filesOf = (server) => namesBelow(folderOf(server)).filter((name) => name.endsWith('.duckdb'));
/// The file of the table with this name, whose content shows it.
const fileOf = async (server, as) => {
  const [{ path: file }] = await askGroup(server, 'shop', 'select path from duckdb_databases() where database_name = $1', as);
  return file;
};

describe('joins', needsLibrary, () => {
  test('tables of a group are joined, follow their databases, and have no others beside them', async (t) => {
    const server = await shop(t);
    assert.deepEqual(await askGroup(server, 'shop', joined), [{ name: 'Ann', total: 6 }, { name: 'Bob', total: 9 }]);
    await erase(server, 'orders', 'o5');
    await save(server, 'customers', 'c1', { name: 'Anna' });
    await assertSameRows(server, 'orders');
    await assertSameRows(server, 'customers');
    assert.deepEqual(await askGroup(server, 'shop', joined), [{ name: 'Anna', total: 6 }, { name: 'Bob', total: 4 }]);
    assert.deepEqual(await ask(server, 'orders', 'select count(*) n from documents'), [{ n: 5 }]);
    const names = await askGroup(server, 'shop', 'select database_name as name from duckdb_databases() where not internal order by 1');
    assert.deepEqual(names, [{ name: 'customers' }, { name: 'memory' }, { name: 'orders' }]);
    const csv = await server.get('/customers/_export?format=csv');
    assert.match(csv.text, /,Anna\r\n/);
    assert.match((await askGroupRaw(server, 'shop', joined, { format: 'csv' })).text, /^"name","total"\r\n"?Anna/);
    assert.equal((await askGroupRaw(server, 'shop', joined, { format: 'parquet' })).raw.subarray(0, 4).toString(), 'PAR1');
  });

  test('a group continues after a restart, and after its process has ended', async (t) => {
    const server = await shop(t);
    await server.kill();
    await server.relaunch();
    await save(server, 'orders', 'o9', { customer: 'c2', total: 100 });
    await assertSameRows(server, 'orders');
    await assertSameRows(server, 'customers');
    assert.deepEqual((await askGroup(server, 'shop', joined))[1], { name: 'Bob', total: 109 });
  });

  test('a database without a group has a DuckDB of its own', async (t) => {
    const server = await shop(t);
    const alone = await server.database();
    await save(server, alone, 'a', { n: 1 });
    await define(server, alone);
    await current(server, alone);
    expectError(await askRaw(server, alone, 'select * from orders.documents'), 400, 'invalid_sql');
    expectError(await askGroupRaw(server, alone, 'select 1'), 404, 'not_found', /No database is in the group/);
  });

  test('names that need quotes, and statements that are refused', async (t) => {
    const server = await startAnalytics(t);
    await fill(server, 'orders', 'customers');
    const as = 'my "best" Clients; drop';
    await define(server, 'orders', { group: 'ein Laden', as: 'orders' });
    await define(server, 'customers', { group: 'ein Laden', as });
    await current(server, 'orders');
    await current(server, 'customers');
    const folder = path.join(folderOf(server), fs.readdirSync(folderOf(server))[0]);
    const name = `"${as.replaceAll('"', '""')}"`;
    assert.deepEqual(await askGroup(server, 'ein Laden', `select count(*) n from ${name}.documents`), [{ n: 2 }]);
    await assertSameRows(server, 'customers');
    for (const sql of [
      'delete from orders.documents', 'insert into orders.documents (_id) values (\'x\')', 'detach orders', `attach '${folder}/x.duckdb' as x`,
      'use orders', 'create table orders.t (a int)', 'create temp table t (a int)', 'set threads = 1', 'checkpoint orders', `select * from read_csv('/etc/passwd')`,
      `select * from read_blob('${server.dataDir}/catalog/data.mdb')`, `select * from glob('${server.dataDir}/*')`,
      `select * from read_blob('${server.dataDir}/databases/*/*/data.mdb')`,
    ]) expectError(await askGroupRaw(server, 'ein Laden', sql), 400, 'invalid_sql');
    await assertSameRows(server, 'orders');
  });
});

describe('who may ask', needsLibrary, () => {
  test('those who may read all databases of the group', async (t) => {
    const server = await shop(t, { admin: true });
    for (const name of ['ann', 'bob']) {
      expectStatus(await server.put(`/_users/org.couchdb.user:${name}`, { name, password: 'secret word', roles: [], type: 'user' }), 201);
    }
    const members = (names, admins = []) => ({ admins: { names: admins, roles: [] }, members: { names, roles: [] } });
    expectStatus(await server.put('/orders/_security', members(['ann', 'bob'])), 200);
    expectStatus(await server.put('/customers/_security', members(['ann'])), 200);
    const ann = { auth: 'ann:secret word' };
    const bob = { auth: 'bob:secret word' };
    expectStatus(await askGroupRaw(server, 'shop', joined, {}, ann), 200);
    expectError(await askGroupRaw(server, 'shop', 'select count(*) from orders.documents', {}, bob), 403, 'forbidden', /all databases of the group/);
    expectError(await askGroupRaw(server, 'shop', 'select 1', {}, { auth: false }), 401, 'unauthorized');
    // A statement to one database can name the others.
    expectStatus(await askRaw(server, 'orders', 'select * from customers.documents', {}, ann), 200);
    expectError(await askRaw(server, 'orders', 'select * from customers.documents', {}, bob), 403, 'forbidden');
    expectStatus(await server.get('/orders/_export?format=csv', bob), 200);
    expectStatus(await server.get('/orders/_analytics', bob), 200);
    // Who may not read the group cannot join it.
    expectStatus(await server.put('/other'), 201);
    expectStatus(await server.put('/other/_security', members(['bob'], ['bob'])), 200);
    expectError(await server.put('/other/_analytics', { group: 'shop', as: 'other' }, bob), 403, 'forbidden');
    expectStatus(await server.put('/other/_analytics', { group: 'shop', as: 'other' }), 200);
    expectError(await askGroupRaw(server, 'shop', joined, {}, ann), 403, 'forbidden');
  });
});

describe('changes of a group', needsLibrary, () => {
  test('a database leaves, comes back under another name, and is deleted: the others answer', async (t) => {
    const server = await shop(t);
    await define(server, 'customers', {});
    await current(server, 'customers');
    const count = 'select count(*) n from orders.documents';
    await eventually(async () => (await askGroupRaw(server, 'shop', count)).status === 200, patient);
    expectError(await askGroupRaw(server, 'shop', joined), 400, 'invalid_sql', /customers/);
    assert.equal(filesOf(server).length, 1);
    await define(server, 'customers', { group: 'shop', as: 'people' });
    await current(server, 'customers');
    await eventually(async () => (await askGroupRaw(server, 'shop', 'select count(*) n from people.documents')).body.rows?.[0].n === 2, patient);
    await assertSameRows(server, 'customers');
    expectStatus(await server.delete('/customers'), 200);
    await eventually(async () => (await askGroupRaw(server, 'shop', count)).status === 200, patient);
    assert.deepEqual(await askGroup(server, 'shop', count), [{ n: 6 }]);
    assert.equal(filesOf(server).length, 1);
    expectStatus(await server.put('/customers'), 201);
    await save(server, 'customers', 'c1', { name: 'New' });
    await define(server, 'customers', { group: 'shop', as: 'customers' });
    await assertSameRows(server, 'customers');
    await eventually(async () => (await askGroupRaw(server, 'shop', joined)).status === 200, patient);
    assert.deepEqual(await askGroup(server, 'shop', joined), [{ name: 'New', total: 6 }]);
    expectStatus(await server.delete('/orders/_analytics'), 200);
    expectStatus(await server.delete('/customers/_analytics'), 200);
    assert.deepEqual(filesOf(server), []);
    expectError(await askGroupRaw(server, 'shop', 'select 1'), 404, 'not_found');
  });

  test('two databases of a group with one name: the second is refused', async (t) => {
    const server = await shop(t);
    const other = await server.database();
    expectError(await server.put(`/${other}/_analytics`, { group: 'shop', as: 'Orders' }), 409, 'conflict', /choose another `as`/);
    expectError(await server.get(`/${other}/_analytics`), 404, 'not_found');
    await define(server, other, { group: 'another', as: 'orders' });
    await define(server, 'orders', { group: 'shop', as: 'orders' });
    expectStatus(await server.delete('/orders'), 200);
    await define(server, other, { group: 'shop', as: 'orders' });
    await assertSameRows(server, other);
  });

  test('a table whose file is damaged is made again, while the others answer; files without a store go', async (t) => {
    const server = await shop(t);
    const file = await fileOf(server, 'customers');
    await server.kill();
    fs.writeFileSync(file, 'no file of DuckDB'.repeat(1000));
    fs.rmSync(`${file}.wal`, { force: true });
    const stray = path.join(path.dirname(file), `${'0'.repeat(32)}.duckdb`);
    fs.writeFileSync(stray, 'left by a crash');
    await server.relaunch();
    await assertSameRows(server, 'orders');
    await assertSameRows(server, 'customers');
    assert.equal((await askGroup(server, 'shop', joined)).length, 2);
    assert.ok(!fs.existsSync(stray));
  });

  test('a query waits for no table that it does not name, and is told of one that is not there yet', async (t) => {
    const server = await shop(t);
    const file = await fileOf(server, 'customers');
    await server.kill();
    // A folder with a file cannot be opened, and cannot be made again.
    fs.rmSync(file);
    fs.rmSync(`${file}.wal`, { force: true });
    fs.mkdirSync(path.join(file, 'inside'), { recursive: true });
    await server.relaunch();
    await assertSameRows(server, 'orders');
    assert.deepEqual(await askGroup(server, 'shop', 'select count(*) n from orders.documents'), [{ n: 6 }]);
    const reply = await askGroupRaw(server, 'shop', joined);
    assert.notEqual(reply.status, 200);
    assert.match(reply.body.reason, /customers/);
  });

  test('what no group can be is refused', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    for (const [body, reason] of [
      [{ group: 'g' }, /belong together/], [{ as: 'a' }, /belong together/], [{ group: 7, as: 'a' }, /`group`/], [{ group: '', as: 'a' }, /`group`/],
      [{ group: 'g', as: '' }, /`as`/], [{ group: 'g', as: 'x\n' }, /`as`/], [{ group: 'g', as: 'x'.repeat(2000) }, /`as`/],
      [{ group: 'g', as: 'Main' }, /a meaning in DuckDB/], [{ group: 'g', as: 'octavo' }, /a meaning in DuckDB/],
    ]) expectError(await server.put(`/${db}/_analytics`, body), 400, 'analytics_syntax', reason);
    expectError(await server.post('/_analytics/sql', { sql: 'select 1', db, group: 'g' }), 400, 'invalid_sql', /one of them/);
    expectError(await askGroupRaw(server, 'nothing', 'select 1'), 404, 'not_found');
    assert.equal((await server.get(`/${db}/_analytics`)).status, 404);
  });
});

describe('limits', needsLibrary, () => {
  test('a database that joins waits for the queries that may not see it', async (t) => {
    const server = await shop(t, { args: ['--analytics-query-timeout=8s'] });
    const endless = 'select count(*) n from range(1000000000) a, range(1000000000) b where a.range + b.range = 7';
    const running = Promise.all([askGroupRaw(server, 'shop', endless), askRaw(server, 'orders', endless)]);
    await sleep(1_500);
    const joins = await server.database();
    await save(server, joins, 'a', { n: 1 });
    await define(server, joins, { group: 'shop', as: 'late' });
    await eventually(async () => /began before the database joined/.test((await storeOf(server, joins)).reason), patient);
    for (const reply of await running) expectError(reply, 504, 'query_timeout');
    await current(server, joins);
    assert.deepEqual(await askGroup(server, 'shop', 'select n from late.documents'), [{ n: 1 }]);
  });

  test('memory and temporary files are bounded for a group, and its other tables are followed meanwhile', async (t) => {
    const server = await shop(t, { args: ['--analytics-memory-limit=100MiB', '--analytics-max-temp-size=10MB'] });
    expectError(await askGroupRaw(server, 'shop', 'select count(distinct r) n from (select random() r from range(30000000))'), 400, 'memory_limit');
    await save(server, 'orders', 'more', { customer: 'c1', total: 1 });
    await assertSameRows(server, 'orders');
    assert.equal((await storeOf(server, 'customers')).state, 'following');
  });
});
