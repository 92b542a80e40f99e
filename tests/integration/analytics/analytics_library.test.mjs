// DuckDB's library: missing, another one, another version, and how to get the right one.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';
import { analyticsArgs, assertSameRows, needsLibrary } from './analytics_support.mjs';

const sha256 = (file) => createHash('sha256').update(fs.readFileSync(file)).digest('hex');

function folderFor(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-library-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

const startWith = (t, ...args) => Server.startFor(t, { args: ['--analytics-enabled', ...args] });

async function refused(server, reason) {
  const db = await server.database();
  expectError(await server.put(`/${db}/_analytics`, {}), 501, 'analytics_library', reason);
  // Nothing was begun.
  expectError(await server.get(`/${db}/_analytics`), 404, 'not_found');
  expectStatus(await server.put(`/${db}/doc`, {}), 201);
}

test('a library that is missing', async (t) => {
  const file = path.join(folderFor(t), 'nothing.so');
  await refused(await startWith(t, `--analytics-library=${file}`), /is not at .*nothing\.so.*scripts\/install-analytics\.sh/s);
});

test('without a setting it is looked for beside the program', async (t) => {
  const folder = folderFor(t);
  const program = path.join(folder, 'octavo');
  fs.copyFileSync(process.env.OCTAVO_BINARY, program);
  const server = await Server.startFor(t, { args: ['--analytics-enabled'], through: ['sh', '-c', `shift; exec ${program} "$@"`, 'sh'] });
  await refused(server, new RegExp(`is not at ${path.join(folder, 'libduckdb.so')}`));
});

test('a library with another checksum', async (t) => {
  const file = path.join(folderFor(t), 'libduckdb.so');
  fs.writeFileSync(file, 'not this one');
  await refused(await startWith(t, `--analytics-library=${file}`), new RegExp(`checksum ${sha256(file)}, and not [0-9a-f]{64}`));
});

test('a file that is no library, of another version, and without functions', async (t) => {
  const folder = folderFor(t);
  const file = path.join(folder, 'libduckdb.so');
  fs.writeFileSync(file, 'not a library');
  await refused(await startWith(t, `--analytics-library=${file}`, `--analytics-library-sha256=${sha256(file)}`), /cannot be loaded/);
  for (const [version, reason] of [['v1.4.4', /is DuckDB v1\.4\.4; this server needs a version v1\.5\.x/], ['v1.5.99', /has no function duckdb_/]]) {
    fs.writeFileSync(path.join(folder, 'a.c'), `const char *duckdb_library_version(void) { return "${version}"; }\n`);
    execFileSync('cc', ['-shared', '-fPIC', '-o', file, path.join(folder, 'a.c')]);
    await refused(await startWith(t, `--analytics-library=${file}`, `--analytics-library-sha256=${sha256(file)}`), reason);
  }
});

test('a store waits for a library that has gone, and continues when it is back', needsLibrary, async (t) => {
  const server = await Server.startFor(t, { args: analyticsArgs() });
  const db = await server.database();
  expectStatus(await server.put(`/${db}/_analytics`, {}), 200);
  expectStatus(await server.put(`/${db}/a`, { n: 1 }), 201);
  await assertSameRows(server, db);
  await server.kill();
  server.options.args = ['--analytics-enabled', '--analytics-library=/nowhere/libduckdb.so'];
  await server.relaunch();
  await eventually(async () => {
    const { state, reason } = expectStatus(await server.get(`/${db}/_analytics`), 200);
    return state === 'waiting' && reason.includes('/nowhere/libduckdb.so');
  }, 60_000);
  expectError(await server.post('/_analytics/sql', { db, sql: 'select 1' }), 501, 'analytics_library');
  expectStatus(await server.put(`/${db}/b`, { n: 2 }), 201);
  await server.kill();
  server.options.args = analyticsArgs();
  await server.relaunch();
  await assertSameRows(server, db);
});
