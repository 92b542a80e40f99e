// Hostile SQL: what is not a query is refused, what does not end is stopped, and the server works meanwhile.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { save } from '../edits.mjs';
import { eventually, expectError, expectStatus, patience, sleep } from '../harness.mjs';
import { childrenOf } from '../processes.mjs';
import { ask, askRaw, assertSameRows, current, define, needsLibrary, startAnalytics } from './analytics_support.mjs';

async function withRows(t, args = []) {
  const server = await startAnalytics(t, { args });
  const db = await server.database();
  for (let n = 0; n < 10; ++n) await save(server, db, `d${n}`, { n });
  await define(server, db);
  await current(server, db);
  return { server, db };
}

describe('statements', needsLibrary, () => {
  test('anything else than one SELECT is refused', async (t) => {
    const { server, db } = await withRows(t);
    const folder = server.dataDir;
    for (const sql of [
      'insert into documents (_id) values (\'x\')', 'update documents set n = 1', 'delete from documents', 'truncate documents',
      'create table t (a int)', 'create temp table t as select 1', 'create view v as select 1', 'create macro f(x) as x', 'create schema s',
      'create sequence s', 'create type m as enum (\'a\')', 'drop table documents', 'alter table documents drop column n', 'drop schema octavo cascade',
      `attach '${folder}/other.duckdb'`, 'detach main', `copy documents to '${folder}/out.csv'`, `copy documents from '/etc/passwd'`,
      `copy (select 1) to '${folder}/out.parquet' (format parquet)`, `export database '${folder}/export'`, `import database '/tmp'`,
      'install httpfs', 'load httpfs', `load '${folder}/x.duckdb_extension'`, 'force install json', 'update extensions',
      'set threads = 100', 'set global memory_limit = \'1TB\'', 'reset threads', 'set variable x = 1', 'pragma memory_limit=\'1TB\'',
      'call enable_logging()', 'call pragma_version()', 'checkpoint', 'force checkpoint', 'vacuum', 'analyze',
      'begin', 'commit', 'rollback', 'use octavo', 'explain select 1', 'explain analyze delete from documents', 'prepare p as select 1', 'execute p',
      'deallocate p', 'comment on table documents is \'x\'', 'select 1; select 2', 'select 1; drop table documents', 'select 1;; insert into documents (_id) values (\'y\')',
    ]) expectError(await askRaw(server, db, sql), 400, 'invalid_sql');
    assert.deepEqual(await ask(server, db, 'select 1 n;'), [{ n: 1 }]);
    // A pragma that only shows something is a SELECT to DuckDB.
    assert.ok((await ask(server, db, 'pragma table_info(documents)')).length > 0);
    assert.deepEqual(await ask(server, db, 'from documents select count(*) n'), [{ n: 10 }]);
    await assertSameRows(server, db);
  });

  test('files and the network cannot be reached', async (t) => {
    const { server, db } = await withRows(t);
    const catalog = path.join(server.dataDir, 'catalog');
    for (const sql of [
      `select * from '/etc/passwd'`, `select * from read_csv('/etc/passwd')`, `select * from read_text('/etc/passwd')`, `select * from read_blob('${catalog}/data.mdb')`,
      `select * from read_json('/etc/passwd')`, `select * from read_parquet('/tmp/x.parquet')`, `select * from parquet_metadata('/tmp/x.parquet')`,
      `select * from glob('/*')`, `select * from sniff_csv('/etc/passwd')`, `select * from 'https://127.0.0.1/x.csv'`, `select * from read_csv('http://127.0.0.1/x')`,
      `select * from 's3://bucket/x.parquet'`, `select * from sqlite_scan('/tmp/a', 'b')`, `select * from query('copy documents to ''/tmp/x''')`,
      `select * from read_csv((select '/etc/passwd'))`, `select getenv('HOME')`, `select * from read_text('/proc/self/environ')`,
    ]) expectError(await askRaw(server, db, sql), 400, 'invalid_sql');
  });

  test('texts that parsers dislike', async (t) => {
    const { server, db } = await withRows(t);
    expectError(await askRaw(server, db, `select ${'('.repeat(50_000)}1${')'.repeat(50_000)}`), 400, 'invalid_sql');
    expectError(await askRaw(server, db, 'x'.repeat(2 << 20)), 400, 'invalid_sql', /1 MiB/);
    expectError(await askRaw(server, db, '\'"`$$'), 400, 'invalid_sql');
    const many = Array.from({ length: 2_000 }, (_, n) => `${n} c${n}`).join(', ');
    assert.equal((await ask(server, db, `select ${many}`)).length, 1);
    await assertSameRows(server, db);
  });
});

describe('limits', needsLibrary, () => {
  test('a query that does not end is stopped in time, and the table is followed meanwhile', async (t) => {
    const { server, db } = await withRows(t, ['--analytics-query-timeout=2s']);
    for (const sql of [
      'with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r',
      'select count(*) from range(1000000000) a, range(1000000000) b where a.range + b.range = 7',
      'select sum(a.range * b.range) s from range(100000) a cross join range(100000) b cross join range(1000) c',
      `select length(repeat(repeat('x', 1000000), 1000)) + count(*) n from range(1000000)`,
      `select count(*) from range(100000000) t where regexp_matches(repeat('a', 200) || t.range, '(a*)*b')`,
    ]) {
      const begun = Date.now();
      const reply = await askRaw(server, db, sql);
      const took = Date.now() - begun;
      assert.ok([400, 503, 504].includes(reply.status), `${sql}: ${reply.status} ${reply.text.slice(0, 200)}`);
      assert.ok(took < 60_000 * patience, `${sql}: ${took} ms`);
    }
    expectError(await askRaw(server, db, 'select count(*) n from range(1000000000) a, range(1000000000) b where a.range + b.range = 7'), 504, 'query_timeout', /2000 ms/);
    await save(server, db, 'after', { n: 1 });
    await assertSameRows(server, db);
  });

  test('memory and temporary files are bounded', async (t) => {
    const { server, db } = await withRows(t, ['--analytics-memory-limit=100MiB', '--analytics-max-temp-size=10MB']);
    expectError(await askRaw(server, db, 'select list(range::varchar || repeat(\'x\', 1000)) l from range(10000000)'), 400, 'memory_limit', /analytics\.memory_limit/);
    expectError(await askRaw(server, db, 'select count(distinct r) n from (select random() r from range(30000000))'), 400, 'memory_limit', /max_temp_size/);
    assert.deepEqual(await ask(server, db, 'select count(*) n from documents'), [{ n: 10 }]);
    await save(server, db, 'after', { n: 1 });
    await assertSameRows(server, db);
  });

  test('so many queries at a time, and no more', async (t) => {
    const { server, db } = await withRows(t, ['--analytics-max-queries=2', '--analytics-query-timeout=5s']);
    const endless = 'select count(*) from range(1000000000) a, range(1000000000) b where a.range + b.range = 7';
    const replies = await Promise.all(Array.from({ length: 3 }, () => askRaw(server, db, endless)));
    const [refused] = replies.filter(({ status }) => status === 429);
    expectError(refused, 429, 'too_many_requests', /analytics\.max_queries/);
    assert.equal(refused.headers['retry-after'], '1');
    const stopped = replies.filter((reply) => reply !== refused);
    for (const reply of stopped) expectError(reply, 504, 'query_timeout');
    assert.deepEqual(await ask(server, db, 'select 1 n'), [{ n: 1 }]);
  });

  test('a client that leaves cancels its query', async (t) => {
    const { server, db } = await withRows(t, ['--analytics-max-queries=1', '--analytics-query-timeout=5m']);
    const sql = 'select count(*) n from range(1000000000) a, range(1000000000) b where a.range + b.range = 7';
    const body = JSON.stringify({ db, sql });
    const leave = server.rawExchange(
      `POST /_analytics/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`, { idleMs: 1500 });
    await leave;
    await eventually(async () => (await askRaw(server, db, 'select 1 n')).status === 200, 1120_000 * patience);
  });

  test('a reader that stops reading is cut off when the time is over', async (t) => {
    const { server, db } = await withRows(t, ['--analytics-max-queries=1', '--analytics-query-timeout=3s', '--http-send-timeout=5s']);
    const net = await import('node:net');
    const body = JSON.stringify({ db, sql: `select range n, repeat('x', 1000) t from range(10000000)`, format: 'csv' });
    const socket = net.connect(server.port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(`POST /_analytics/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await sleep(500);
    socket.pause();
    await eventually(async () => (await askRaw(server, db, 'select 1 n')).status === 200, 120_000 * patience);
  });
});

describe('the process', needsLibrary, () => {
  test('it gives way, and ends with the server', async (t) => {
    const { server } = await withRows(t);
    const [pid] = childrenOf(server.process.pid);
    assert.equal(fs.readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8').trim(), '1000');
    const policy = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[38];
    assert.equal(policy, '5');  // SCHED_IDLE
    // A sanitizer needs more addresses than there may be.
    if (patience === 1) assert.match(fs.readFileSync(`/proc/${pid}/limits`, 'utf8'), /Max address space +\d+/);
    const open = fs.readdirSync(`/proc/${pid}/fd`).map((fd) => { try { return fs.readlinkSync(`/proc/${pid}/fd/${fd}`); } catch { return ''; } });
    assert.deepEqual(open.filter((name) => name.endsWith('.mdb')), []);
    await server.kill();
    await eventually(() => !fs.existsSync(`/proc/${pid}`), 10_000 * patience);
    await server.relaunch();
  });

  test('it starts on a machine whose processors are busy', async (t) => {
    const server = await startAnalytics(t, { through: ['taskset', '--cpu-list', '0'] });
    const busy = Array.from({ length: 8 }, () => spawn('taskset', ['--cpu-list', '0', 'sh', '-c', 'while :; do :; done'], { stdio: 'ignore' }));
    t.after(() => busy.forEach((one) => one.kill('SIGKILL')));
    await define(server, await server.database());  // waits for the process
    assert.equal(childrenOf(server.process.pid).length, 1);
  });

  test('without a store there is no process', async (t) => {
    const server = await startAnalytics(t);
    await server.database();
    assert.deepEqual(childrenOf(server.process.pid), []);
  });

  test('when it dies queries get 503, and it starts again', async (t) => {
    const { server, db } = await withRows(t);
    const endless = askRaw(server, db, 'select count(*) n from range(1000000000) a, range(1000000000) b where a.range + b.range = 7');
    await sleep(500);
    process.kill(childrenOf(server.process.pid)[0], 'SIGKILL');
    expectError(await endless, 503, 'service unavailable', /analytical process/);
    await save(server, db, 'after', { n: 1 });
    await eventually(async () => (await askRaw(server, db, 'select 1 n')).status === 200, 120_000 * patience);
    await assertSameRows(server, db);
    expectStatus(await server.get(`/${db}`), 200);
  });
});
