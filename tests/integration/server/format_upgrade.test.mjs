// Data folders written by the programs of earlier formats open, work and are checked.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import zlib from 'node:zlib';
import { databases, replies } from '../format_replies.mjs';
import { binary, eventually, expectStatus, Server, sleep } from '../harness.mjs';

const fixtures = path.join(process.env.OCTAVO_SOURCE_DIR, 'tests/format');

/// A copy of the data folder of this format, removed after the test.
function unpack(t, format) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-format-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  execFileSync('tar', ['-xzf', path.join(fixtures, `format-${format}.tar.gz`), '-C', folder]);
  return folder;
}

const check = (folder) => execFileSync(binary, ['check', '--data-dir', folder], { encoding: 'utf8', stdio: 'pipe', env: {} });

/// How many rows of physical partitions are still in the form of format 1.
function oldRows(folder) {
  const report = check(folder);
  assert.match(report, /sound/);
  return Number(report.match(/^(\d+) rows are in data format 1/m)?.[1] ?? 0);
}

async function compareReplies(server, format) {
  const expected = JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(fixtures, `format-${format}.json.gz`))));
  const answers = await replies(server);
  assert.equal(answers.length, expected.length);
  for (const [i, [name, value]] of expected.entries()) {
    assert.deepEqual(answers[i], [name, value], name);
  }
}

async function compact(server) {
  for (const db of databases) {
    expectStatus(await server.post(`/${db}/_compact`, {}), 202);
    await eventually(async () => (await server.get(`/${db}`)).body.compact_running === false, 20_000);
  }
}

for (const format of [1]) {
  describe(`a data folder of format ${format}`, () => {
    test('is sound, and answers as before, also after a compaction, which leaves no row of it', async (t) => {
      const dataDir = unpack(t, format);
      assert.ok(oldRows(dataDir) > 500);
      const server = await Server.startFor(t, { dataDir });
      await compareReplies(server, format);
      await compact(server);
      await compareReplies(server, format);
      await server.stop({ keepFolder: true });
      assert.equal(oldRows(dataDir), 0);
    });

    test('is compacted as a whole though the server is killed meanwhile', async (t) => {
      let dataDir = unpack(t, format);
      let rows = oldRows(dataDir);
      let parts = 0;
      for (let kill = 0; kill < 12; kill++) {
        const server = await Server.startFor(t, { dataDir });
        for (const db of databases) expectStatus(await server.post(`/${db}/_compact`, {}), 202);
        await sleep(Math.random() * 40);
        await server.kill();
        const left = oldRows(dataDir);
        assert.ok(left <= rows, `${left} rows of ${rows}`);
        if (left > 0 && left < rows) ++parts;
        rows = left;
        if (rows > 0) continue;
        dataDir = unpack(t, format);
        rows = oldRows(dataDir);
      }
      t.diagnostic(`${parts} kills left a part of the rows`);
      const server = await Server.startFor(t, { dataDir });
      await compareReplies(server, format);
      await compact(server);
      await compareReplies(server, format);
      await server.stop({ keepFolder: true });
      assert.equal(oldRows(dataDir), 0);
    });

    test('survives the end of its first start at any moment', async (t) => {
      const dataDir = unpack(t, format);
      for (let ms = 0; ms <= 60; ms += 4) {
        const first = spawn(binary, ['serve', '--data-dir', dataDir, '--port', '0', '--cosmos-port', '0'], { stdio: 'ignore', env: {} });
        const ended = new Promise((resolve) => { first.once('exit', resolve); });
        await sleep(ms);
        first.kill('SIGKILL');
        await ended;
        assert.match(check(dataDir), /sound/);
      }
      await compareReplies(await Server.startFor(t, { dataDir }), format);
    });

    test('takes edits of all documents, and is written in the present format by them', async (t) => {
      const dataDir = unpack(t, format);
      const server = await Server.startFor(t, { dataDir });
      for (const db of databases) {
        const { rows } = expectStatus(await server.get(`/${db}/_all_docs?include_docs=true`), 200);
        const docs = rows.filter(({ id }) => !id.startsWith('_')).map(({ doc }) => ({ ...doc, edited: true }));
        const written = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
        assert.deepEqual(written.filter((row) => row.error), []);
        const { results } = expectStatus(await server.get(`/${db}/_changes`), 200);
        const deleted = results.filter((row) => row.deleted).map(({ id, changes }) => ({ _id: id, _rev: changes[0].rev, back: true }));
        const back = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: deleted }), 201);
        assert.deepEqual(back.filter((row) => row.error), []);
        assert.equal((await server.get(`/${db}`)).body.doc_del_count, 0);
      }
      const { _revisions } = expectStatus(await server.get('/plain/long?revs=true'), 200);
      assert.equal(_revisions.start, 1101);
      assert.equal(_revisions.ids.length, 1000);
      await compact(server);
      await server.stop({ keepFolder: true });
      assert.match(check(dataDir), /sound/);
    });
  });
}
