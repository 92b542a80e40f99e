// Analytical stores: what rows documents have, what they are after changes, and who may ask.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { erase, pathOf, save } from '../edits.mjs';
import { namesBelow } from '../folders.mjs';
import { eventually, expectError, expectStatus, patience, Server } from '../harness.mjs';
import { analyticsArgs, ask, askRaw, assertSameRows, current, define, needsLibrary, startAnalytics, storeOf } from './analytics_support.mjs';

/// The folder in which DuckDB may write, of the only store.
const exportFolderOf = (server) => path.join(server.dataDir, namesBelow(server.dataDir).find((name) => name.endsWith('.duckdb.export')));
const types = (status) => Object.fromEntries(status.columns.map(({ name, type }) => [name, type]));

describe('rows of documents', needsLibrary, () => {
  test('the first type seen is the column\'s, integers widen, other values are NULL and counted', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await save(server, db, 'a', { n: 1, city: 'Bern', open: true, tags: ['x'], size: { w: 2 }, nothing: null });
    await save(server, db, 'b', { n: 2.5, city: 7, open: 'yes', tags: { y: 1 }, size: 3, nothing: null });
    await save(server, db, 'c', { n: 'three', city: 'Genf', deep: { a: { b: [1] } } });
    await define(server, db);
    const status = await current(server, db);
    assert.deepEqual(types(status), { n: 'DOUBLE', city: 'VARCHAR', open: 'BOOLEAN', tags: 'VARCHAR[]', size: 'STRUCT("w" BIGINT)', deep: 'STRUCT("a" STRUCT("b" BIGINT[]))' });
    const dropped = Object.fromEntries(status.columns.map(({ name, values_dropped: count }) => [name, count]));
    assert.deepEqual(dropped, { n: 1, city: 1, open: 1, tags: 1, size: 1, deep: 0 });
    assert.equal(status.rows, 3);
    await assertSameRows(server, db);
    assert.deepEqual(await ask(server, db, 'select sum(n) s, count(city) c from documents'), [{ s: 3.5, c: 2 }]);
    assert.deepEqual(await ask(server, db, `select size.w w, deep.a.b[1] b from documents where _id in ('a', 'c') order by _id`), [{ w: 2, b: null }, { w: null, b: 1 }]);
    const [{ ts }] = await ask(server, db, 'select max(_ts) ts from documents');
    assert.ok(Math.abs(ts - Date.now() / 1000) < 600, `${ts}`);
  });

  test('a column of integers becomes one of numbers when one comes later', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await save(server, db, 'a', { n: 1, big: 2 ** 40 });
    await define(server, db);
    assert.deepEqual(types(await current(server, db)), { n: 'BIGINT', big: 'BIGINT' });
    await save(server, db, 'b', { n: 1e300, big: 1e19 });
    assert.deepEqual(types(await current(server, db)), { n: 'DOUBLE', big: 'DOUBLE' });
    await assertSameRows(server, db);
  });

  test('properties without a column of their own are in _rest', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    const many = Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`p${n}`, n]));
    await save(server, db, 'a', many);
    await save(server, db, 'b', { p1: 2, P1: 'other case', '': 'empty', ['long'.repeat(100)]: 1, 'with "quotes"': 1, 'null': 'x' });
    await define(server, db);
    const status = await current(server, db);
    assert.equal(status.columns.length, 1_000);
    await assertSameRows(server, db);
    const [{ rest }] = await ask(server, db, `select _rest rest from documents where _id = 'b'`);
    assert.equal(rest.P1, 'other case');
  });

  test('include chooses the columns, and another definition makes the table again', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await save(server, db, 'a', { city: 'Bern', n: 1, secret: 'x' });
    await define(server, db, { include: ['/city', '/n'] });
    await current(server, db);
    assert.deepEqual(await ask(server, db, 'select * exclude (_ts, _rev, _deleted) from documents'), [{ _id: 'a', _rest: null, city: 'Bern', n: 1 }]);
    await define(server, db, { mode: 'well_defined' });
    await eventually(async () => (await storeOf(server, db)).columns?.length === 3, 120_000);
    await assertSameRows(server, db);
  });

  test('texts of all kinds come back as they are', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    for (const [n, text] of ['', 'é€😀', 'a\u0000b', '"\\\n\t', 'x'.repeat(100_000), '\u2028'].entries()) {
      await save(server, db, `t${n}ü"`, { text, ['ключ']: text });
    }
    await define(server, db);
    await current(server, db);
    const rows = await ask(server, db, 'select _id, text, "ключ" k from documents order by _id');
    const documents = expectStatus(await server.get(`/${db}/_all_docs?include_docs=true`), 200).rows;
    assert.equal(rows.length, 6);
    for (const row of rows) {
      const { doc } = documents.find(({ id }) => id === row._id);
      assert.equal(row.text, doc.text);
      assert.equal(row.k, doc['ключ']);
    }
  });
});

describe('changes', needsLibrary, () => {
  test('updates, deletions, design documents, conflicts and purges', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database('q=3');
    await define(server, db);
    for (let n = 0; n < 50; ++n) await save(server, db, `d${n}`, { n, city: `c${n % 5}` });
    await save(server, db, '_design/views', { language: 'javascript' });
    await assertSameRows(server, db);
    for (let n = 0; n < 20; ++n) await save(server, db, `d${n}`, { n: -n, street: 's' });
    for (let n = 20; n < 30; ++n) await erase(server, db, `d${n}`);
    await assertSameRows(server, db);
    await save(server, db, 'd20', { n: 'again' });
    expectStatus(await server.post(`/${db}/_bulk_docs`, { new_edits: false, docs: [{ _id: 'd1', _rev: `9-${'f'.repeat(32)}`, n: 9 }] }), 201);
    await assertSameRows(server, db);
    const { _rev } = expectStatus(await server.get(`/${db}/d40`), 200);
    expectStatus(await server.post(`/${db}/_purge`, { d40: [_rev] }), 201);
    await assertSameRows(server, db);
    assert.deepEqual(await ask(server, db, `select count(*) n from documents where _id = 'd40'`), [{ n: 0 }]);
  });

  test('the end of a time to live is a deletion', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    expectStatus(await server.put(`/${db}/_properties`, { ttl: 3 }), 200);
    await current(server, db);
    await save(server, db, 'short', { n: 1 });
    await eventually(async () => (await ask(server, db, 'select * from documents')).length === 1, 120_000);
    await eventually(async () => (await ask(server, db, 'select * from documents')).length === 0, 120_000);
  });

  test('a store follows its database under another name, and stays with the source at a change-over', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await save(server, db, 'a', { n: 1 });
    await define(server, db);
    await current(server, db);
    expectStatus(await server.post(`/${db}/_rename`, { name: 'renamed', alias: false }), 200);
    await server.kill();
    await server.relaunch();
    await save(server, 'renamed', 'b', { n: 2 });
    await current(server, 'renamed');
    await assertSameRows(server, 'renamed');

    const { id } = expectStatus(await server.post('/renamed/_copy', { target: 'next', create: {} }), 202);
    expectStatus(await server.post(`/renamed/_copy/${id}/_cut_over`, { former_name: 'former' }), 200);
    expectError(await server.get('/renamed/_analytics'), 404, 'not_found');
    await current(server, 'former');
    await assertSameRows(server, 'former');
    await define(server, 'renamed');
    assert.equal((await current(server, 'renamed')).lag, 0);
    await assertSameRows(server, 'renamed');
  });

  test('a database that is created again has no store, and none of the rows', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await save(server, db, 'old', { n: 1 });
    await define(server, db);
    await current(server, db);
    expectStatus(await server.delete(`/${db}`), 200);
    expectStatus(await server.put(`/${db}`), 201);
    expectError(await server.get(`/${db}/_analytics`), 404, 'not_found');
    expectError(await askRaw(server, db, 'select 1'), 404, 'not_found');
    await save(server, db, 'new', { n: 2 });
    await define(server, db);
    await assertSameRows(server, db);
    assert.deepEqual(await ask(server, db, 'select _id from documents'), [{ _id: 'new' }]);
  });

  test('who waits for the store of a database that is deleted is told so', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    const waiting = server.get(`/${db}/_analytics?wait_for=now&timeout=600000`);
    expectStatus(await server.delete(`/${db}`), 200);
    expectError(await waiting, 404, 'not_found');
  });

  test('it continues after a restart, with what was written while analytics were switched off', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    for (let n = 0; n < 20; ++n) await save(server, db, `d${n}`, { n });
    await define(server, db);
    await current(server, db);
    await server.kill();
    server.options.args = [];
    await server.relaunch();
    expectError(await askRaw(server, db, 'select 1'), 501, 'analytics_disabled');
    assert.equal((await storeOf(server, db)).state, 'disabled');
    await erase(server, db, 'd3');
    const { _rev } = expectStatus(await server.get(`/${db}/d4`), 200);
    expectStatus(await server.post(`/${db}/_purge`, { d4: [_rev] }), 201);
    await save(server, db, 'd5', { n: 500 });
    await server.kill();
    server.options.args = analyticsArgs();
    await server.relaunch();
    await assertSameRows(server, db);
  });

  test('splits do not disturb it', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database('q=1');
    await define(server, db);
    for (let n = 0; n < 100; ++n) await save(server, db, `d${n}`, { n });
    expectStatus(await server.post('/_reshard/jobs', { type: 'split', db }), 201);
    for (let n = 0; n < 100; n += 3) await save(server, db, `d${n}`, { n: n + 1000 });
    await assertSameRows(server, db);
  });

  test('a store that is removed while it is being opened leaves no files', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await save(server, db, 'a', { n: 1 });
    for (let n = 0; n < 4; ++n) {
      await define(server, db);
      expectStatus(await server.delete(`/${db}/_analytics`), 200);
    }
    await define(server, db);
    await current(server, db);
    const files = () => namesBelow(server.dataDir).filter((name) => /\.duckdb/.test(name)).map((name) => path.basename(name));
    await eventually(() => new Set(files().map((name) => name.split('.')[0])).size === 1, 60_000);
    expectStatus(await server.delete(`/${db}/_analytics`), 200);
    await eventually(() => files().length === 0, 60_000);
    assert.deepEqual(server.lines.filter((line) => line.includes('store waits')), []);
  });

  test('a store that is removed is gone, with its files', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    await current(server, db);
    expectStatus(await server.delete(`/${db}/_analytics`), 200);
    expectError(await server.get(`/${db}/_analytics`), 404, 'not_found');
    expectError(await server.delete(`/${db}/_analytics`), 404, 'not_found');
    expectError(await askRaw(server, db, 'select 1'), 404, 'not_found');
    await define(server, db);
    await assertSameRows(server, db);
  });
});

describe('answers', needsLibrary, () => {
  test('json, ndjson and csv', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await save(server, db, 'a', { name: 'x, "y"', n: 1, list: [1, 2] });
    await save(server, db, 'b', { name: '', list: null });
    await define(server, db);
    await current(server, db);
    const sql = 'select _id, name, n, list from documents order by _id';
    const asJson = await askRaw(server, db, sql);
    assert.deepEqual(asJson.body, {
      columns: ['_id', 'name', 'n', 'list'],
      rows: [{ _id: 'a', name: 'x, "y"', n: 1, list: [1, 2] }, { _id: 'b', name: '', n: null, list: null }],
    });
    assert.match(asJson.headers['content-type'], /^application\/json/);
    const lines = await askRaw(server, db, sql, { format: 'ndjson' });
    assert.match(lines.headers['content-type'], /^application\/x-ndjson/);
    assert.equal(lines.text, '{"_id":"a","name":"x, \\"y\\"","n":1,"list":[1,2]}\n{"_id":"b","name":"","n":null,"list":null}\n');
    const csv = await askRaw(server, db, sql, { format: 'csv' });
    assert.match(csv.headers['content-type'], /^text\/csv/);
    assert.equal(csv.text, '"_id","name","n","list"\r\na,"x, ""y""",1,"[1,2]"\r\nb,"",,\r\n');
  });

  test('parquet', async (t) => {
    const server = await startAnalytics(t, { args: ['--analytics-max-temp-size=20MB'] });
    const db = await server.database();
    for (let n = 0; n < 30; ++n) await save(server, db, `d${n}`, { n, city: `c${n % 3}`, tags: [n] });
    await define(server, db);
    await current(server, db);
    const select = 'select _id, n, city, tags from documents where n >= $1 order by n';
    const reply = await askRaw(server, db, `${select}; `, { format: 'parquet', parameters: [10] });
    expectStatus(reply, 200);
    assert.equal(reply.headers['content-type'], 'application/vnd.apache.parquet');
    assert.equal(reply.raw.subarray(0, 4).toString(), 'PAR1');
    assert.equal(reply.raw.subarray(-4).toString(), 'PAR1');
    // DuckDB itself reads it again, in the only folder where it may.
    const exports = exportFolderOf(server);
    assert.deepEqual(fs.readdirSync(exports), []);
    fs.writeFileSync(path.join(exports, 'again.parquet'), reply.raw);
    assert.deepEqual(await ask(server, db, `select * from read_parquet('${exports}/again.parquet')`), await ask(server, db, select, 10));
    fs.rmSync(path.join(exports, 'again.parquet'));
    for (const sql of ['select 1 a; select 2', 'delete from documents', 'select 1) to \'/tmp/x.csv\' --', 'select * from \'/etc/passwd\'', 'select $1']) {
      expectError(await askRaw(server, db, sql, { format: 'parquet' }), 400, 'invalid_sql');
    }
    expectStatus(await askRaw(server, db, 'select 1 a -- a comment', { format: 'parquet' }), 200);
    expectError(await askRaw(server, db, 'select random() r from range(1000000000)', { format: 'parquet' }), 400, 'memory_limit', /max_temp_size/);
    assert.deepEqual(fs.readdirSync(exports), []);
  });

  test('values of all types', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    await current(server, db);
    const [row] = await ask(server, db, `select
      1::tinyint a, (-2)::smallint b, 3::utinyint c, 18446744073709551615::ubigint d, 1.5::float e, 'nan'::double f,
      123.4500::decimal(18,4) g, (-0.05)::decimal(4,2) h, (-170141183460469231731687303715884105727)::hugeint i,
      date '1969-12-31' j, timestamp '2024-02-29 12:34:56.789' k, timestamptz '2024-02-29 12:34:56+00' l, time '23:59:59.5' m,
      'ab'::blob n, '00000000-0000-4000-8000-000000000001'::uuid o, [1, null, 3] p, {'a': 1, 'b': [true]} q,
      map {'k': 1} r, [1, 2]::integer[2] s, 'mood'::enum('sad', 'mood') u, null v, '{"x":\n[1]}'::json w, date '0044-03-15 (BC)' x,
      5::uhugeint y, timestamp_s '1969-12-31 23:59:59' z`);
    assert.deepEqual(row, {
      a: 1, b: -2, c: 3, d: 18446744073709551615, e: 1.5, f: null, g: 123.45, h: -0.05, i: -170141183460469231731687303715884105727,
      j: '1969-12-31', k: '2024-02-29T12:34:56.789000', l: '2024-02-29T12:34:56Z', m: '23:59:59.500000', n: 'YWI=',
      o: '00000000-0000-4000-8000-000000000001', p: [1, null, 3], q: { a: 1, b: [true] }, r: [{ key: 'k', value: 1 }], s: [1, 2],
      u: 'mood', v: null, w: { x: [1] }, x: '-0043-03-15', y: 5, z: '1969-12-31T23:59:59',
    });
    const exact = await askRaw(server, db, 'select 170141183460469231731687303715884105727::hugeint a, 9007199254740993 b');
    assert.match(exact.text, /"a":170141183460469231731687303715884105727,"b":9007199254740993/);
    expectError(await askRaw(server, db, `select interval 1 day i`), 400, 'invalid_sql', /column i .*cast it/);
    expectError(await askRaw(server, db, 'select 1 a, 2 a'), 400, 'invalid_sql', /called a/);
  });

  test('parameters', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    await current(server, db);
    assert.deepEqual(await ask(server, db, 'select $1 a, $2 b, $3 c, $4 d, $5 e', 1, 'two\'; drop table documents; --', true, null, 1.5),
      [{ a: 1, b: 'two\'; drop table documents; --', c: true, d: null, e: 1.5 }]);
    expectError(await askRaw(server, db, 'select $1', { parameters: [] }), 400, 'invalid_sql', /1 parameters/);
    expectError(await askRaw(server, db, 'select 1', { parameters: [1] }), 400, 'invalid_sql', /0 parameters/);
    expectError(await askRaw(server, db, 'select $1', { parameters: [{}] }), 400, 'invalid_sql', /Parameter 1/);
  });

  test('a large result is streamed, in bounded memory, to a slow reader', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    await current(server, db);
    const rows = 300_000;
    const reply = await askRaw(server, db, `select range n, 'some text of a row' t from range(${rows})`, { format: 'ndjson' });
    assert.equal(reply.headers['transfer-encoding'], 'chunked');
    const lines = reply.text.trim().split('\n');
    assert.equal(lines.length, rows);
    assert.deepEqual(JSON.parse(lines[rows - 1]), { n: rows - 1, t: 'some text of a row' });
  });

  test('one row may be large, and comes in pieces', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    await current(server, db);
    const before = server.anonymousMemoryBytes();
    const bytes = 100_000_000;
    const reply = await askRaw(server, db, `select repeat('x', ${bytes}) t`, { format: 'csv' });
    assert.equal(reply.raw.length, bytes + '"t"\r\n\r\n'.length);
    // A sanitizer keeps freed memory.
    if (patience === 1) assert.ok(server.anonymousMemoryBytes() - before < 50_000_000);
  });

  test('a text of an error that is cut through a character', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    await current(server, db);
    for (let n = 0; n < 8; ++n) {
      const sql = `select ${'a'.repeat(n)}${'é'.repeat(500)} from documents where '${'ö'.repeat(500)}' = wrong_name`;
      expectError(await askRaw(server, db, sql), 400, 'invalid_sql');
    }
  });

  test('an error in the midst of a result breaks the reply off', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    await define(server, db);
    await current(server, db);
    expectError(await askRaw(server, db, `select cast(case when range = 10 then 'x' else '1' end as integer) n from range(20)`), 400, 'invalid_sql');
    await assert.rejects(askRaw(server, db,
      `select range, cast(case when range = 900000 then 'x' else '1' end as integer) n from range(1000000)`, { format: 'csv' }));
  });

  test('what is wrong with a request is said', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    const empty = await server.database();
    await define(server, db);
    await current(server, db);
    for (const [body, reason] of [
      [{ sql: 'select 1' }, /`db`/], [{ db }, /`sql`/], [{ db, sql: 7 }, /`sql`/], [{ db, sql: 'select 1', format: 'xml' }, /`format`/],
      [{ db, sql: 'select 1', parameters: 1 }, /`parameters`/], [{ db, sql: 'select 1', limit: 1 }, /Unknown member `limit`/],
      [{ db, sql: 'select\u0000 1' }, /zero bytes/], [{ db, sql: 'selec 1' }, /syntax error/], [{ db, sql: 'select nothing from documents' }, /nothing/],
      [{ db, sql: '-- only a comment' }, /no statement/],
    ]) expectError(await server.post('/_analytics/sql', body), 400, 'invalid_sql', reason);
    expectError(await server.post('/_analytics/sql', { db: 'missing', sql: 'select 1' }), 404, 'not_found');
    expectError(await askRaw(server, empty, 'select 1'), 404, 'not_found', /no analytical store/);
    for (const [body, reason] of [
      [{ mode: 'best' }, /`mode` must be `well_defined` or `full_fidelity`/], [{ include: [] }, /`include`/], [{ include: ['city'] }, /`include`/],
      [{ include: ['/a/b'] }, /`include`/], [{ include: ['/_id'] }, /`include`/], [{ shards: 1 }, /Unknown member `shards`/],
      [{ flatten: {} }, /1 to 8/], [{ flatten: ['/a'] }, /`flatten`/], [{ flatten: { items: 'items' } }, /`items`/], [{ flatten: { '/a//b': 'b' } }, /`\/a\/\/b`/],
      [{ flatten: { '/a': 'Documents' } }, /letters/], [{ flatten: { '/a': 'a b' } }, /letters/], [{ flatten: { '/a': '_a' } }, /letters/], [{ flatten: { '/a': 7 } }, /letters/],
      [{ flatten: { '/a': 'x', '/b': 'X' } }, /same name/], [{ flatten: Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`/p${n}`, `t${n}`])) }, /1 to 8/],
    ]) expectError(await server.put(`/${empty}/_analytics`, body), 400, 'analytics_syntax', reason);
    expectError(await server.put('/_users/_analytics', {}), 400, 'analytics_syntax');
  });
});

describe('exports', needsLibrary, () => {
  const exported = (server, db, query, options) => server.get(`${pathOf(db)}/_export?${query}`, { timeoutMs: 300_000, ...options });

  test('a file has all rows, as the feed had left them at the sequence that its header names', async (t) => {
    const server = await startAnalytics(t);
    const db = 'shop/orders+1';
    expectStatus(await server.put(pathOf(db)), 201);
    for (let n = 0; n < 30; ++n) await save(server, db, `d${n}`, { n, city: n % 3 ? `c, "${n}"` : '', tags: [n] });
    await define(server, db);
    const { sequence } = await current(server, db);
    const rows = await ask(server, db, 'select * from documents order by _id');
    assert.equal(rows.length, 30);

    const lines = await exported(server, db, 'format=ndjson');
    expectStatus(lines, 200);
    assert.equal(lines.headers['content-type'], 'application/x-ndjson');
    assert.equal(lines.headers['content-disposition'], 'attachment; filename="shop_orders_1.ndjson"');
    assert.equal(Number(lines.headers['x-couch-update-seq'].split('-')[0]), sequence);
    const byId = (one, other) => (one._id < other._id ? -1 : 1);
    assert.deepEqual(lines.text.trim().split('\n').map((line) => JSON.parse(line)).sort(byId), rows);

    const csv = await exported(server, db, 'format=csv');
    assert.equal(csv.headers['content-type'], 'text/csv; charset=utf-8');
    assert.equal(csv.text.split('\r\n').length, 32);
    assert.equal(csv.text.split('\r\n')[0], '"_id","_rev","_ts","_deleted","_rest","n","city","tags"');

    const parquet = await exported(server, db, 'format=parquet');
    assert.equal(parquet.headers['content-type'], 'application/vnd.apache.parquet');
    const exports = exportFolderOf(server);
    assert.deepEqual(fs.readdirSync(exports), []);
    fs.writeFileSync(path.join(exports, 'again.parquet'), parquet.raw);
    assert.deepEqual(await ask(server, db, `select * from read_parquet('${exports}/again.parquet') order by _id`), rows);

    // The sequence is one for `_changes`: what follows the file is what was written since.
    await save(server, db, 'later', { n: 99 });
    const since = encodeURIComponent(lines.headers['x-couch-update-seq']);
    const changes = expectStatus(await server.get(`${pathOf(db)}/_changes?since=${since}`), 200);
    assert.deepEqual(changes.results.map(({ id }) => id), ['later']);

    const head = await server.request('HEAD', `${pathOf(db)}/_export?format=parquet`);
    assert.equal(head.status, 200);
    assert.equal(head.headers['content-type'], 'application/vnd.apache.parquet');
    assert.ok(head.headers['x-couch-update-seq']);
  });

  test('what is wrong with a request is said, and an empty table is a file, too', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    expectError(await exported(server, db, 'format=csv'), 404, 'not_found', /PUT \/\{db\}\/_analytics/);
    await define(server, db);
    await current(server, db);
    expectError(await exported(server, db, ''), 400, 'query_parse_error', /`parquet`, `ndjson` or `csv`/);
    expectError(await exported(server, db, 'format=arrow'), 400, 'query_parse_error', /`parquet`/);
    assert.equal((await exported(server, db, 'format=ndjson')).text, '');
    assert.equal((await exported(server, db, 'format=csv')).text, '"_id","_rev","_ts","_deleted","_rest"\r\n');
    assert.equal((await exported(server, db, 'format=parquet')).raw.subarray(0, 4).toString(), 'PAR1');
    expectError(await server.get('/missing/_export?format=csv'), 404, 'not_found');
  });

  test('exports have limits of their own', async (t) => {
    const server = await startAnalytics(t, { args: ['--analytics-max-exports=1', '--http-send-timeout=3s'] });
    const db = await server.database();
    const docs = Array.from({ length: 2_000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(10_000), n }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    await define(server, db);
    await current(server, db);
    // A client that does not read: the export waits for it, until the server gives it up.
    const slow = net.connect(server.port, '127.0.0.1').on('error', () => {});
    t.after(() => slow.destroy());
    slow.write(`GET /${db}/_export?format=ndjson HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await once(slow, 'readable');
    expectError(await exported(server, db, 'format=csv'), 429, 'too_many_requests', /analytics\.max_exports/);
    assert.deepEqual(await ask(server, db, 'select count(*) n from documents'), [{ n: 2_000 }]);
    await eventually(async () => (await exported(server, db, 'format=csv')).status === 200, 60_000 * patience);
  });

  test('an export that takes too long is ended', async (t) => {
    const server = await startAnalytics(t, { args: ['--analytics-export-timeout=100ms'] });
    const db = await server.database();
    const docs = Array.from({ length: 5_000 }, (_, n) => ({ _id: `d${n}`, text: String(n).repeat(4_000) }));
    for (let n = 0; n < docs.length; n += 500) expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: docs.slice(n, n + 500) }), 201);
    await define(server, db);
    await current(server, db);
    expectError(await exported(server, db, 'format=parquet'), 504, 'query_timeout', /analytics\.export_timeout, 100 ms/);
  });
});

describe('permissions', needsLibrary, () => {
  test('members ask, administrators define', async (t) => {
    const server = await startAnalytics(t, { admin: true });
    const db = 'shop';
    expectStatus(await server.put(`/${db}`), 201);
    for (const name of ['ann', 'bob']) {
      const user = { name, password: 'secret word', roles: [], type: 'user' };
      expectStatus(await server.put(`/_users/org.couchdb.user:${name}`, user), 201);
    }
    expectStatus(await server.put(`/${db}/_security`, { admins: { names: [], roles: [] }, members: { names: ['ann'], roles: [] } }), 200);
    const ann = { auth: 'ann:secret word' };
    const bob = { auth: 'bob:secret word' };
    expectError(await server.put(`/${db}/_analytics`, {}, ann), 403, 'forbidden');
    expectStatus(await server.put(`/${db}/_analytics`, {}), 200);
    await eventually(async () => (await storeOf(server, db)).state === 'following', 120_000);
    assert.equal(expectStatus(await askRaw(server, db, 'select 42 n', {}, ann), 200).rows[0].n, 42);
    expectError(await askRaw(server, db, 'select 42 n', {}, bob), 403, 'forbidden');
    expectError(await askRaw(server, db, 'select 42 n', {}, { auth: false }), 401, 'unauthorized');
    expectStatus(await server.get(`/${db}/_analytics`, ann), 200);
    expectStatus(await server.get(`/${db}/_export?format=csv`, ann), 200);
    expectError(await server.get(`/${db}/_export?format=csv`, bob), 403, 'forbidden');
    expectError(await server.get(`/${db}/_export?format=csv`, { auth: false }), 401, 'unauthorized');
    expectError(await server.get(`/${db}/_analytics`, bob), 403, 'forbidden');
    expectError(await server.delete(`/${db}/_analytics`, ann), 403, 'forbidden');
  });
});

describe('the same without the library', () => {
  test('analytics that are not enabled say how to enable them', async (t) => {
    const server = await Server.startFor(t);
    const db = await server.database();
    expectError(await server.put(`/${db}/_analytics`, {}), 501, 'analytics_disabled', /analytics\.enabled/);
    expectError(await askRaw(server, db, 'select 1'), 501, 'analytics_disabled', /analytics\.enabled/);
    expectError(await server.get(`/${db}/_analytics`), 404, 'not_found');
    expectError(await server.get(`/${db}/_export?format=csv`), 501, 'analytics_disabled', /analytics\.enabled/);
  });
});
