import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import http from 'pouchdb-adapter-http';
import memory from 'pouchdb-adapter-memory';
import PouchDB from 'pouchdb-core';
import find from 'pouchdb-find';
import replication from 'pouchdb-replication';
import { docIds, eventually, ids, Server } from '../harness.mjs';

PouchDB.plugin(http).plugin(memory).plugin(replication).plugin(find);

describe('PouchDB', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());
  const remote = (name) => new PouchDB(`${server.url}/${name}`);
  const local = (name) => new PouchDB(`local-${name}-${Date.now()}`, { adapter: 'memory' });

  test('creates the database when it is missing, and describes it', async () => {
    const db = remote('made-by-pouch');
    const info = await db.info();
    assert.equal(info.db_name, 'made-by-pouch');
    assert.equal(info.doc_count, 0);
    await db.destroy();
  });

  test('documents: put, get, update, conflict, remove', async () => {
    const db = remote('pouch-documents');
    const first = await db.put({ _id: 'a', n: 1 });
    await db.put({ _id: 'a', _rev: first.rev, n: 2 });
    assert.equal((await db.get('a')).n, 2);
    await assert.rejects(db.put({ _id: 'a', _rev: first.rev }), { status: 409, name: 'conflict' });
    await db.remove(await db.get('a'));
    await assert.rejects(db.get('a'), { status: 404, reason: 'deleted' });
    const leaves = await db.get('a', { open_revs: 'all' });
    assert.equal(leaves[0].ok._deleted, true);
  });

  test('lists, bulk reads and finds', async () => {
    const db = remote('pouch-find');
    await db.bulkDocs(Array.from({ length: 12 }, (_, n) => ({ _id: `d${10 + n}`, n })));
    const rows = (await db.allDocs({ startkey: 'd12', endkey: 'd14', include_docs: true })).rows;
    assert.deepEqual(rows.map((row) => row.doc.n), [2, 3, 4]);
    const got = await db.bulkGet({ docs: [{ id: 'd11' }] });
    assert.equal(got.results[0].docs[0].ok.n, 1);
    await db.createIndex({ index: { fields: ['n'] } });
    assert.deepEqual(docIds((await db.find({ selector: { n: { $gte: 10 } } })).docs), ['d20', 'd21']);
    assert.equal((await db.getIndexes()).indexes.length, 2);
  });

  test('follows live changes', async () => {
    const db = remote('pouch-live');
    const { update_seq: since } = await db.info();
    const seen = [];
    const feed = db.changes({ live: true, since, include_docs: true }).on('change', (change) => seen.push(change.doc._id));
    await db.bulkDocs([{ _id: 'x' }, { _id: 'y' }]);
    await eventually(() => seen.length === 2);
    feed.cancel();
    assert.deepEqual(seen.sort(), ['x', 'y']);
  });

  test('replicates there and back, with conflicts and deletions', async () => {
    const here = local('there');
    await here.bulkDocs(Array.from({ length: 150 }, (_, n) => ({ _id: `r${n}`, n })));
    await here.remove(await here.get('r7'));
    await here.bulkDocs([
      { _id: 'c', _rev: '1-a', v: 'a' }, { _id: 'c', _rev: '1-b', v: 'b' },
    ], { new_edits: false });
    const db = remote('pouch-replicated');
    const pushed = await here.replicate.to(db);
    assert.equal(pushed.ok, true);
    assert.equal(pushed.doc_write_failures, 0);
    assert.equal((await db.info()).doc_count, 150);
    const conflicted = await db.get('c', { conflicts: true });
    assert.equal(conflicted.v, 'b');
    assert.deepEqual(conflicted._conflicts, ['1-a']);
    await assert.rejects(db.get('r7'), { reason: 'deleted' });

    const back = local('back');
    const pulled = await back.replicate.from(db);
    assert.equal(pulled.ok, true);
    assert.deepEqual(ids((await back.allDocs()).rows), ids((await here.allDocs()).rows));
    assert.deepEqual((await back.get('c', { conflicts: true }))._conflicts, ['1-a']);
    // A second run starts at the checkpoint, and has nothing to do.
    assert.equal((await here.replicate.to(db)).docs_written, 0);
  });

  test('a document with an attachment is denied, and the others arrive', async () => {
    const source = local('with-file');
    await source.bulkDocs(Array.from({ length: 250 }, (_, n) => ({
      _id: `d${n}`, n, ...(n === 120 && { _attachments: { file: { content_type: 'text/plain', data: 'aGVsbG8=' } } }) })));
    const target = remote('pouch-with-file');
    const denied = [];
    const result = await source.replicate.to(target).on('denied', (refusal) => denied.push(refusal));
    assert.equal(result.docs_written, 249);
    assert.equal(denied.length, 1);
    assert.equal(denied[0].name, 'forbidden');
    assert.match(denied[0].reason ?? denied[0].message, /Attachments are not supported/);
    assert.equal((await target.info()).doc_count, 249);
    await target.destroy();
  });

  test('stays in step with a live sync', async () => {
    const here = local('synced');
    const db = remote('pouch-synced');
    await db.info();
    const sync = here.sync(db, { live: true, retry: false });
    await here.put({ _id: 'from-here' });
    await db.put({ _id: 'from-there' });
    await eventually(async () => (await db.allDocs()).rows.length === 2 && (await here.allDocs()).rows.length === 2, 10_000);
    sync.cancel();
    await new Promise((resolve) => sync.on('complete', resolve));
  });
});
