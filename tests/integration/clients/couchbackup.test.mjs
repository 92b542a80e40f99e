import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import couchbackup from '@cloudant/couchbackup';
import { Server } from '../harness.mjs';

const DOCUMENTS = 3000;
const hex = (letter) => letter.repeat(32);

function promised(start) {
  return new Promise((resolve, reject) => start((error, data) => (error ? reject(error) : resolve(data))));
}

describe('couchbackup', () => {
  let server, folder;
  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-backup-'));
    server = await Server.start();
    process.env.TMPDIR = folder;  // every call of the tool makes a folder for its log, and leaves it
    await server.put('/source');
    const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({
      _id: `doc${String(n).padStart(5, '0')}`, n, text: `text ${n} äöü €`, nested: { list: [n, null, true, 1.5] },
    }));
    for (let begin = 0; begin < DOCUMENTS; begin += 1000) await server.fill('source', docs.slice(begin, begin + 1000));
    // Later revisions for some, deletions for others, and conflicts with deleted and live leaves.
    const rows = (await server.get('/source/_all_docs?limit=300')).body.rows;
    await server.fill('source', rows.slice(0, 100).map((row) => ({ _id: row.id, _rev: row.value.rev, changed: true })));
    await server.fill('source', rows.slice(100, 200).map((row) => ({ _id: row.id, _rev: row.value.rev, _deleted: true })));
    const conflicts = [];
    for (const row of rows.slice(200, 250)) {
      const first = row.value.rev.slice(2);
      conflicts.push({ _id: row.id, _rev: `2-${hex('a')}`, _revisions: { start: 2, ids: [hex('a'), first] }, side: 'a' });
      conflicts.push({ _id: row.id, _rev: `2-${hex('b')}`, _revisions: { start: 2, ids: [hex('b'), first] }, side: 'b' });
      conflicts.push({ _id: row.id, _rev: `2-${hex('c')}`, _revisions: { start: 2, ids: [hex('c'), first] }, _deleted: true });
    }
    const written = await server.post('/source/_bulk_docs', { docs: conflicts, new_edits: false });
    assert.deepEqual(written.body, []);
    await server.post('/source/_index', { index: { fields: ['n'] }, ddoc: 'by-n', name: 'by-n' });
  });
  after(async () => {
    fs.rmSync(folder, { recursive: true, force: true });
    await server?.stop();
  });

  /// All leaves of all documents, as a map from "id rev" to the document with its history.
  async function leaves(database) {
    const changes = (await server.get(`/${database}/_changes?style=all_docs`)).body.results;
    const docs = changes.flatMap((row) => row.changes.map(({ rev }) => ({ id: row.id, rev })));
    const result = new Map();
    for (let begin = 0; begin < docs.length; begin += 500) {
      const reply = await server.post(`/${database}/_bulk_get?revs=true`, { docs: docs.slice(begin, begin + 500) });
      for (const { id, docs: found } of reply.body.results) {
        for (const { ok } of found) result.set(`${id} ${ok._rev}`, ok);
      }
    }
    return result;
  }

  test('a full backup restored elsewhere has every leaf revision with its history', async () => {
    const file = path.join(folder, 'full.txt');
    const log = path.join(folder, 'full.log');
    const total = await promised((done) =>
      couchbackup.backup(`${server.url}/source`, fs.createWriteStream(file), { log, bufferSize: 200, parallelism: 3 }, done));
    // Each leaf is a line's element: the deleted ones too.
    assert.ok(total.total >= DOCUMENTS, JSON.stringify(total));
    await server.put('/restored');
    await promised((done) => couchbackup.restore(fs.createReadStream(file), `${server.url}/restored`, {}, done));

    const source = (await server.get('/source')).body;
    const restored = (await server.get('/restored')).body;
    assert.equal(restored.doc_count, source.doc_count);
    assert.equal(restored.doc_del_count, source.doc_del_count);
    const before = await leaves('source');
    const now = await leaves('restored');
    assert.equal(now.size, before.size);
    for (const [key, doc] of before) assert.deepEqual(now.get(key), doc, key);
    const conflicted = (await server.get(`/restored/doc00220?conflicts=true&deleted_conflicts=true`)).body;
    assert.equal(conflicted._rev, `2-${hex('b')}`);
    assert.deepEqual(conflicted._conflicts, [`2-${hex('a')}`]);
    assert.deepEqual(conflicted._deleted_conflicts, [`2-${hex('c')}`]);
    const found = (await server.post('/restored/_find', { selector: { n: 2999 }, use_index: 'by-n', execution_stats: true })).body;
    assert.equal(found.docs.length, 1);
    assert.equal(found.execution_stats.total_docs_examined, 1);
  });

  test('a shallow backup has every living document', async () => {
    const file = path.join(folder, 'shallow.txt');
    await promised((done) =>
      couchbackup.backup(`${server.url}/source`, fs.createWriteStream(file), { mode: 'shallow' }, done));
    await server.put('/restored-shallow');
    await promised((done) => couchbackup.restore(fs.createReadStream(file), `${server.url}/restored-shallow`, {}, done));
    const source = (await server.get('/source/_all_docs?include_docs=true')).body;
    const restored = (await server.get('/restored-shallow/_all_docs?include_docs=true')).body;
    const strip = (rows) => rows.map(({ doc: { _rev, ...rest } }) => rest);
    assert.deepEqual(strip(restored.rows), strip(source.rows));
  });

  test('restoring into a database that is not empty is refused by the tool', async () => {
    const file = path.join(folder, 'shallow.txt');
    await assert.rejects(
      promised((done) => couchbackup.restore(fs.createReadStream(file), `${server.url}/source`, {}, done)),
      { name: 'DatabaseNotEmpty' });
  });
});
