// Backups that are cut off: by kill -9, a full disk, and damage.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { checkFiles, onSmallDisk, uncompressed } from '../failing_disk.mjs';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';
import { backUp, backupFolder, begin, ended, setRate, startWithBackups, stateOf } from './backup_support.mjs';

const large = (count) => Array.from({ length: count }, (_, n) => ({ _id: `d${n}`, filler: 'x'.repeat(4000) }));

describe('a backup that is cut off', () => {
  for (const ms of [0, 150, 600]) {
    test(`by kill -9 after ${ms} ms leaves no folder with its name, and the next start removes what there is`, async (t) => {
      const server = await startWithBackups(t, { args: uncompressed });
      await setRate(server, '256KiB');
      const db = await server.database('q=2');
      await server.fill(db, large(400));
      await begin(server, 'b');
      await new Promise((resolve) => setTimeout(resolve, ms));
      await server.kill();
      assert.deepEqual(fs.readdirSync(server.backups), ['b.part']);
      // Of another program: it stays.
      fs.mkdirSync(path.join(server.backups, 'mine.part'));
      fs.writeFileSync(path.join(server.backups, 'mine.part', 'file'), '');
      await server.relaunch();
      assert.deepEqual(fs.readdirSync(server.backups), ['mine.part']);
      assert.deepEqual(await stateOf(server), { state: 'none' });
      assert.equal(expectStatus(await server.get(`/${db}`), 200).doc_count, 400);
      await setRate(server, '0');
      await backUp(server, 'b');
    });
  }

  test('by the end of the server leaves nothing', async (t) => {
    const server = await startWithBackups(t, { args: uncompressed });
    await setRate(server, '256KiB');
    await server.fill(await server.database(), large(400));
    await begin(server, 'b');
    await server.stop({ keepFolder: true });
    assert.deepEqual(fs.readdirSync(server.backups), []);
    checkFiles(server.dataDir);
  });

  test('a draft that was left is replaced by the next backup of its name', async (t) => {
    const server = await startWithBackups(t);
    fs.mkdirSync(path.join(server.backups, 'b.part'));
    fs.writeFileSync(path.join(server.backups, 'b.part', 'rest'), 'x');
    assert.ok(!fs.existsSync(path.join(await backUp(server, 'b'), 'rest')));
  });

  test('by a full disk fails with a reason, leaves nothing, and the server continues', async (t) => {
    const folder = backupFolder(t);
    const through = onSmallDisk(folder, 24);
    if (!through) {
      t.skip('this user may not mount a file system');
      return;
    }
    const server = await Server.startFor(t, { through, args: ['--backup-folder', folder, ...uncompressed] });
    const seen = `/proc/${server.process.pid}/root${folder}`;
    const db = await server.database('q=4');
    for (let n = 0; n < 10; ++n) await server.fill(db, large(1000).map((doc) => ({ ...doc, _id: `${n}-${doc._id}` })));
    await begin(server, 'b');
    const status = await ended(server);
    assert.equal(status.state, 'failed', JSON.stringify(status));
    assert.match(status.reason, /needs \d+ bytes on the disk, and \d+ are free|disk is full/i);
    assert.deepEqual(fs.readdirSync(seen), []);
    expectStatus(await server.put(`/${db}/after`, {}), 201);

    // Full between two slices of a copy.
    expectStatus(await server.delete(`/${db}`), 200);
    const small = await server.database();
    await server.fill(small, large(500));
    await setRate(server, '256KiB');
    await begin(server, 'b');
    await eventually(async () => (await stateOf(server)).bytes > 0, 20_000);
    try {
      fs.writeFileSync(path.join(seen, 'ballast'), Buffer.alloc(64 << 20, 1));
    } catch (error) {
      assert.equal(error.code, 'ENOSPC');
    }
    const second = await ended(server);
    assert.equal(second.state, 'failed', JSON.stringify(second));
    assert.deepEqual(fs.readdirSync(seen), ['ballast']);
    expectStatus(await server.put(`/${small}/after`, {}), 201);
    fs.rmSync(path.join(seen, 'ballast'));
    await setRate(server, '0');
    await begin(server, 'b');
    assert.equal((await ended(server)).state, 'complete');
    await server.stop({ keepFolder: true });
    checkFiles(server.dataDir);
    server.removeFolder();
  });

  test('a folder for backups that cannot be written is an error of the request', async (t) => {
    const folder = backupFolder(t);
    const file = path.join(folder, 'file');
    fs.writeFileSync(file, '');
    const server = await Server.startFor(t, { args: ['--backup-folder', path.join(file, 'below')] });
    expectError(await server.post('/_backup', { folder: 'b' }), 500, 'io_failure', /cannot create the folder/);
  });
});
