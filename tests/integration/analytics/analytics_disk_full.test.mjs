// A full disk under an analytical store: the store waits and says why, the server serves as before, and the table is current
// when there is space again.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { onSmallDisk, uncompressed, until } from '../failing_disk.mjs';
import { expectStatus, Server } from '../harness.mjs';
import { analyticsArgs, ask, assertSameRows, current, define, needsLibrary, storeOf } from './analytics_support.mjs';

const DISK_MIB = 96;

test('a full disk stops the store, and nothing else', needsLibrary, async (t) => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-full-'));
  t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
  const through = onSmallDisk(dataDir, DISK_MIB);
  if (!through) {
    t.skip('this user may not mount a file system');
    return;
  }
  const server = await Server.startFor(t, { dataDir, through, args: [...analyticsArgs(), ...uncompressed] });
  const db = await server.database();
  await define(server, db);
  const write = (from, count) =>
    server.fill(db, Array.from({ length: count }, (_, n) => ({ _id: `d${from + n}`, n: from + n, text: `${(from + n) * 7919}`.repeat(40) })));
  await write(0, 2000);
  await assertSameRows(server, db);

  // The disk is the server's own: others reach it through the process.
  const filler = `/proc/${server.process.pid}/root${dataDir}/filler`;
  const fill = () => {
    const file = fs.openSync(filler, 'a');
    try {
      for (;;) fs.writeSync(file, Buffer.alloc(65_536));
    } catch (error) {
      assert.equal(error.code, 'ENOSPC');
    } finally {
      fs.closeSync(file);
    }
  };
  // The pages of purged documents are room for the next ones in the file of the database, but not in that of the table.
  await write(2000, 3000);
  const { rows } = expectStatus(await server.get(`/${db}/_all_docs?startkey="d2000"&endkey="d4999"`), 200);
  for (let from = 0; from < rows.length; from += 100) {
    expectStatus(await server.post(`/${db}/_purge`, Object.fromEntries(rows.slice(from, from + 100).map(({ id, value }) => [id, [value.rev]]))), 201);
  }
  const { rows: before } = await current(server, db);
  fill();
  await write(10_000, 1000);
  await until('the store says why', async () => /No space left/.test((await storeOf(server, db)).reason), 60_000);
  expectStatus(await server.get(`/${db}/d1`), 200);
  fs.rmSync(filler);
  await assertSameRows(server, db);
  assert.equal((await current(server, db)).rows, before + 1000);
});
