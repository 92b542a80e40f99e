// Compactions while the disk is full, or becomes full: they give up, nothing is lost, and they succeed when there is room.
// Files fail by the file layer of tests/crash, which the sanitizers do not allow.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { assertDiskFull, checkFiles, layer, onSmallDisk, startFailing, uncompressed, until } from '../failing_disk.mjs';
import { expectStatus, ids, Server } from '../harness.mjs';

async function compactionsOf(server) {
  const { text } = await server.get('/_node/_local/_prometheus');
  const metric = (name) => Number(text.match(new RegExp(`^octavo_compactions_${name} (\\d+)$`, 'm'))[1]);
  return { compactions: metric('total'), failed: metric('failed_total'), waiting: metric('waiting') };
}

describe('compactions on a full disk', { skip: !layer }, () => {
  let server;
  before(async () => {
    server = await startFailing({ config: '[storage]\ncompaction = "manual"\n' });
    expectStatus(await server.put('/shop?partitioned=true&q=2'), 201);
    const design = {
      options: { partitioned: false },
      views: { by_n: { map: 'function (doc) { emit(doc.n, null); }' } },
      indexes: { all: { index: 'function (doc) { index("n", doc.n); index("filler", doc.filler, { store: true }); }' } },
    };
    expectStatus(await server.put('/shop/_design/functions', design), 201);
    const index = { index: { fields: ['n'] }, ddoc: 'global', name: 'global', partitioned: false };
    expectStatus(await server.post('/shop/_index', index), 200);
    await server.fill('shop', Array.from({ length: 500 }, (_, n) => ({ _id: `p${n % 7}:${n}`, n, filler: 'x'.repeat(500) })));
    await rows(500);
  });
  after(() => server?.end());

  /// All indexes have as many documents.
  const rows = async (count) => {
    assert.equal(expectStatus(await server.get('/shop/_design/functions/_view/by_n?limit=0'), 200).total_rows, count);
    assert.equal(expectStatus(await server.get('/shop/_design/functions/_search/all?q=*:*&limit=1'), 200).total_rows, count);
    const query = { selector: { n: { $gte: 0 } }, fields: ['_id'], limit: 10_000, use_index: ['global', 'global'] };
    assert.equal(expectStatus(await server.post('/shop/_find', query), 200).docs.length, count);
  };
  const compact = async (target) => {
    const { compactions, failed } = await compactionsOf(server);
    expectStatus(await server.post(target, {}), 202);
    let now;
    await until('the compactions have ended', async () => {
      now = await compactionsOf(server);
      return now.waiting === 0;
    }, 60_000);
    return { compactions: now.compactions - compactions, failed: now.failed - failed };
  };

  for (const [what, target, rule, count] of [
    ['a database and its global index', '/shop/_compact', 'enospc write path=/new', 3],
    ['a view', '/shop/_compact/functions', 'enospc write path=view-', 1],
    ['a search index', '/shop/_compact/functions', 'enospc write path=search-', 1],
  ]) {
    test(`${what}: they give up, documents are read and written, and the next ones succeed when there is space`, async () => {
      const documents = expectStatus(await server.get('/shop'), 200).doc_count - 2;  // design documents
      // So that the search index has something to remove.
      expectStatus(await server.put('/shop/p0:0', expectStatus(await server.get('/shop/p0:0'), 200)), 201);
      await rows(documents);
      const fired = server.fired();
      server.faults([rule]);
      const { failed } = await compact(target);
      assert.equal(failed, count);
      assert.ok(server.fired() > fired);
      expectStatus(await server.put(`/shop/p1:written-${rule.length}`, { n: 1, filler: '' }), 201);
      expectStatus(await server.get('/shop/p0:0'), 200);
      server.faults([]);
      await rows(documents + 1);
      assert.equal((await compact(target)).failed, 0);
      await rows(documents + 1);
    });
  }
});

describe('a disk that becomes full during a compaction', () => {
  test('gets the space of the draft back, keeps every document, and is compacted when there is room', async (t) => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-small-'));
    t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
    const through = onSmallDisk(dataDir, 64);
    if (!through) {
      t.skip('this user may not mount a file system');
      return;
    }
    const server = await Server.startFor(t, { dataDir, through, args: uncompressed, admin: true });
    const set = async (name, value) =>
      expectStatus(await server.put(`/_node/_local/_config/storage/${name}`, JSON.stringify(value)), 200);
    await set('compaction', 'manual');
    expectStatus(await server.put('/shop'), 201);
    expectStatus(await server.put('/ballast'), 201);
    const documents = 12_000;
    for (let first = 0; first < documents; first += 2_000) {
      const docs = Array.from({ length: 2_000 }, (_, n) => ({ _id: String(first + n).padStart(8, '0'), filler: 'x'.repeat(1_000) }));
      const revs = await server.fill('shop', docs);
      const gone = docs.map(({ _id }, i) => ({ _id, _rev: revs[i], _deleted: true })).filter((_, n) => n % 2 > 0);
      await server.fill('shop', gone);
    }
    const { sizes: sparse } = expectStatus(await server.get('/shop'), 200);
    assert.ok(sparse.file > 12e6, `${sparse.file} bytes`);
    const isCompacted = async () => !expectStatus(await server.get('/shop'), 200).compact_running;
    const kept = [];
    /// Whether a document of so many bytes still found space.
    const store = async (bytes) => {
      const reply = await server.post('/ballast', { filler: 'x'.repeat(bytes) });
      if (reply.status !== 201) assertDiskFull(reply);
      else kept.push(reply.body.id);
      return reply.status === 201;
    };
    const isComplete = async () => {
      assert.equal(expectStatus(await server.get('/shop/_all_docs?limit=0'), 200).total_rows, documents / 2);
      const stored = new Set(ids(expectStatus(await server.get('/ballast/_all_docs'), 200).rows));
      for (const id of kept) assert.ok(stored.has(id), `${id} was acknowledged`);
    };

    await set('compaction_rate', '256KiB');
    expectStatus(await server.post('/shop/_compact', {}), 202);
    await until('it has copied a megabyte', async () =>
      expectStatus(await server.get('/_active_tasks'), 200).some((task) => task.changes_done > 1_000), 60_000);
    while (!await isCompacted() && await store(200_000)) ;
    await until('the compaction is given up', isCompacted, 60_000);
    assert.equal((await compactionsOf(server)).failed, 1);
    await isComplete();
    // What the draft took is free.
    await until('documents are stored again', () => store(200_000));

    while (await store(200_000)) ;
    await set('compaction_rate', '0');
    expectStatus(await server.post('/shop/_compact', {}), 202);
    await until('the next one is given up', isCompacted, 60_000);
    assert.equal((await compactionsOf(server)).failed, 2);
    expectStatus(await server.get('/shop/00000000'), 200);
    await isComplete();

    expectStatus(await server.delete('/ballast'), 200);
    kept.length = 0;
    await until('there is room', async () => (await server.put('/ballast')).status === 201);
    expectStatus(await server.post('/shop/_compact', {}), 202);
    await until('the last one ends', isCompacted, 60_000);
    assert.equal((await compactionsOf(server)).failed, 2);
    const { sizes: dense } = expectStatus(await server.get('/shop'), 200);
    assert.ok(dense.file < sparse.file * 0.7, `${sparse.file} bytes became ${dense.file}`);
    await isComplete();
    // The disk is gone with the server: the files are checked as they are below it.
    const copy = `${dataDir}.copy`;
    t.after(() => fs.rmSync(copy, { recursive: true, force: true }));
    fs.cpSync(path.join(`/proc/${server.process.pid}/root`, dataDir), copy, { recursive: true });
    checkFiles(copy);
    await server.stop();
  });
});
