// POST /{db}/_compact returns the space of deleted documents while the server works, and readers notice nothing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, eventually, expectStatus, Server, sleep } from '../harness.mjs';

const ROUNDS = 6;
const DOCUMENTS = 10_000;
const BATCH = 2_000;
/// Of all trees in which a deleted document has rows: 10 MB for 60,000.
const TOMBSTONE_BYTES_MAX = 166;

describe('compaction', () => {
  let server;
  before(async () => {
    // The sizes before and after are compared: no compaction may begin by itself.
    server = await Server.start({ config: '[storage]\ncompaction = "manual"\n' });
  });
  after(() => server?.stop());

  const infoOf = async (db, of = server) => expectStatus(await of.get(`/${db}`), 200);
  const compact = async (db) => assert.deepEqual(expectStatus(await server.post(`/${db}/_compact`, {}), 202), { ok: true });
  const compacted = async (db) => {
    await compact(db);
    await eventually(async () => !(await infoOf(db)).compact_running, 60_000);
  };
  /// Inserts documents with ascending ids and deletes all of them.
  const insertAndDelete = async (db, round) => {
    const padding = 'x'.repeat(1_000);
    for (let first = 0; first < DOCUMENTS; first += BATCH) {
      const ids = Array.from({ length: BATCH }, (_, n) => `${round}:${String(first + n).padStart(8, '0')}`);
      await server.fill(db, ids.map((_id) => ({ _id, padding })));
    }
    const rows = expectStatus(await server.get(`/${db}/_all_docs`), 200).rows;
    const { sizes } = await infoOf(db);
    for (let first = 0; first < rows.length; first += BATCH) {
      const docs = rows.slice(first, first + BATCH).map(({ id, value }) => ({ _id: id, _rev: value.rev, _deleted: true }));
      await server.fill(db, docs);
    }
    return sizes.file;
  };

  test('after rounds of insertions and deletions the file is smaller than after one round', async () => {
    const db = await server.database();
    const fileOfOneRound = await insertAndDelete(db, 1);
    for (let round = 2; round <= ROUNDS; round++) await insertAndDelete(db, round);
    const from = await infoOf(db);
    assert.equal(from.doc_del_count, ROUNDS * DOCUMENTS);
    // Deleted documents take little space before the compaction, too, as their pages are used again.
    assert.ok(from.sizes.active < ROUNDS * DOCUMENTS * TOMBSTONE_BYTES_MAX, `${from.sizes.active} bytes in use`);
    const seq = expectStatus(await server.get(`/${db}/_changes?since=0&limit=1000`), 200).last_seq;

    await compact(db);
    const tasks = [];
    while ((await infoOf(db)).compact_running) {
      tasks.push(...expectStatus(await server.get('/_active_tasks'), 200).filter(({ database }) => database === db));
    }
    assert.ok(tasks.length > 0, 'the compaction is shown');
    for (const task of tasks) {
      assert.equal(task.type, 'database_compaction');
      assert.ok(['preparing', 'copying', 'catching up', 'switching'].includes(task.phase), task.phase);
      assert.ok(task.changes_done <= task.total_changes && task.progress <= 100, JSON.stringify(task));
    }
    assert.deepEqual(expectStatus(await server.get('/_active_tasks'), 200).filter(({ database }) => database === db), []);

    const to = await infoOf(db);
    assert.ok(to.sizes.file < fileOfOneRound, `${to.sizes.file} bytes, and ${fileOfOneRound} after one round`);
    assert.ok(to.sizes.file < from.sizes.file / 2, `${from.sizes.file} became ${to.sizes.file}`);
    assert.ok(to.sizes.active <= to.sizes.file);
    assert.deepEqual({ ...to, sizes: 0 }, { ...from, sizes: 0 });
    const rest = expectStatus(await server.get(`/${db}/_changes?since=${seq}`), 200).results;
    assert.equal(rest.length, ROUNDS * DOCUMENTS - 1_000);
  });

  test('documents that have expired leave as little as deleted ones', async () => {
    const db = await server.database('ttl=3');
    const documents = 5_000;
    const padding = 'x'.repeat(1_000);
    let fileOfOneRound;
    for (let round = 1; round <= 3; round++) {
      for (let first = 0; first < documents; first += BATCH) {
        const ids = Array.from({ length: Math.min(BATCH, documents - first) }, (_, n) => `${round}:${String(first + n).padStart(8, '0')}`);
        await server.fill(db, ids.map((_id) => ({ _id, padding })));
      }
      fileOfOneRound ??= (await infoOf(db)).sizes.file;
      await eventually(async () => (await infoOf(db)).doc_del_count === round * documents, 60_000);
    }
    const { sizes } = await infoOf(db);
    assert.ok(sizes.active < 3 * documents * TOMBSTONE_BYTES_MAX, `${sizes.active} bytes in use`);
    await compacted(db);
    const { sizes: after } = await infoOf(db);
    assert.ok(after.file < fileOfOneRound / 2, `${after.file} bytes, and ${fileOfOneRound} after one round`);
  });

  test('documents written during compactions are read back at once, indexed and followed', async () => {
    const db = await server.database('partitioned=true&q=2');
    const docs = Array.from({ length: 3_000 }, (_, n) => ({ _id: `k${n % 20}:${n}`, n }));
    await server.fill(db, docs);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, partitioned: true, name: 'n' }), 200);
    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=1000`);
    let running = true;
    const written = [];
    const writer = (async () => {
      for (let n = 0; running; n++) {
        const id = `k${n % 20}:w${n}`;
        expectStatus(await server.put(`/${db}/${id}`, { n: 10_000 + n }), 201);
        assert.equal(expectStatus(await server.get(`/${db}/${id}`), 200).n, 10_000 + n);
        written.push(id);
      }
    })();
    for (let i = 0; i < 5; i++) await compacted(db);
    running = false;
    await writer;
    const seen = new Set();
    while (seen.size < written.length) seen.add((await feed.nextRow(20_000)).id);
    assert.deepEqual([...seen].sort(), [...written].sort());
    await feed.close();
    assert.equal((await infoOf(db)).doc_count, docs.length + written.length + 1);  // with the design document of the index
    const found = await server.post(`/${db}/_partition/k3/_find`, { selector: { n: { $gte: 0 } }, limit: 10_000 });
    assert.equal(expectStatus(found, 200).docs.length, [...docs.map(({ _id }) => _id), ...written].filter((id) => id.startsWith('k3:')).length);
  });

  const WORDS = ['red', 'green', 'blue', 'kettle', 'mixer', 'scales', 'bright', 'kitchen'];
  /// A database with a view, a search index and a global index, in which most documents were deleted after they were
  /// indexed.
  const sparselyIndexed = async () => {
    const earlier = fs.readdirSync(databases());
    const db = await server.database();
    const folder = path.join(databases(), fs.readdirSync(databases()).find((name) => !earlier.includes(name)));
    const design = {
      views: { by_n: { map: 'function (doc) { emit(doc.n, doc.text); }' } },
      indexes: { texts: { index: 'function (doc) { index("default", doc.text, { store: true }); }' } },
    };
    expectStatus(await server.put(`/${db}/_design/shop`, design), 201);
    const definition = { index: { fields: ['n', 'text'] }, ddoc: 'global', name: 'by_text' };
    expectStatus(await server.post(`/${db}/_index`, definition), 200);
    const docs = Array.from({ length: 4_000 }, (_, n) => ({
      _id: String(n).padStart(6, '0'), n, text: Array.from({ length: 60 }, (__, k) => WORDS[(n * 7 + k) % WORDS.length]).join(' '),
    }));
    const indexed = async () => {
      const counts = [
        expectStatus(await server.get(`/${db}/_design/shop/_view/by_n?limit=0`), 200).total_rows,
        expectStatus(await server.get(`/${db}/_design/shop/_search/texts?q=red`), 200).total_rows,
        expectStatus(await server.post(`/${db}/_find`, { selector: { n: { $gte: 0 } }, fields: ['n'], limit: 10_000 }), 200).docs.length,
      ];
      return [...new Set(counts)];
    };
    await server.fill(db, docs);
    assert.deepEqual(await indexed(), [4_000]);
    const rows = expectStatus(await server.get(`/${db}/_all_docs`), 200).rows.filter(({ id }) => !id.startsWith('_design/'));
    await server.fill(db, rows.filter((_, n) => n % 100 > 0).map(({ id, value }) => ({ _id: id, _rev: value.rev, _deleted: true })));
    assert.deepEqual(await indexed(), [40]);
    return { db, folder, indexed };
  };
  const viewInfo = async (db) => expectStatus(await server.get(`/${db}/_design/shop/_info`), 200).view_index;
  const searchInfo = async (db) => expectStatus(await server.get(`/${db}/_design/shop/_search_info/texts`), 200).search_index;
  const databases = () => path.join(server.dataDir, 'databases');
  const foldersIn = (folder, prefix) => fs.readdirSync(folder).filter((name) => name.startsWith(prefix));

  test('_compact/{ddoc} compacts all indexes of a design document', async () => {
    const { db, folder, indexed } = await sparselyIndexed();
    const [globalIndex] = foldersIn(folder, 'index-');
    const globalBytes = () => fs.statSync(path.join(folder, globalIndex, 'data.mdb')).size;
    const before = { view: await viewInfo(db), search: await searchInfo(db), global: globalBytes() };
    const waitUntilCompacted = async (ddoc) => {
      const tasks = [];
      expectStatus(await server.post(`/${db}/_compact/${ddoc}`, {}), 202);
      while ((await infoOf(db)).compact_running) {
        tasks.push(...expectStatus(await server.get('/_active_tasks'), 200).filter((task) => task.database === db && task.type !== 'indexer'));
      }
      for (const task of tasks) {
        assert.equal(task.type, 'view_compaction');
        assert.equal(task.design_document, `_design/${ddoc}`);
      }
    };
    await waitUntilCompacted('shop');
    const view = await viewInfo(db);
    assert.ok(view.sizes.file < before.view.sizes.file / 2, `${before.view.sizes.file} became ${view.sizes.file}`);
    assert.equal(view.compact_running, false);
    assert.equal(view.update_seq, before.view.update_seq);
    const search = await searchInfo(db);
    assert.ok(search.disk_size < before.search.disk_size / 2, `${before.search.disk_size} became ${search.disk_size}`);
    assert.equal(search.doc_del_count, 0);
    assert.equal(globalBytes(), before.global);
    await waitUntilCompacted('global');
    assert.ok(globalBytes() < before.global / 2, `${before.global} became ${globalBytes()}`);
    assert.deepEqual(await indexed(), [40]);
    expectStatus(await server.put(`/${db}/later`, { n: 1, text: 'red' }), 201);
    assert.deepEqual(await indexed(), [41]);
    expectStatus(await server.post(`/${db}/_compact/unknown`, {}), 404);
  });

  test('_compact of a database includes global indexes, and no views', async () => {
    const { db, folder, indexed } = await sparselyIndexed();
    const bytes = (prefix) => fs.statSync(path.join(folder, foldersIn(folder, prefix)[0], 'data.mdb')).size;
    const before = { global: bytes('index-'), view: bytes('view-') };
    await compacted(db);
    assert.ok(bytes('index-') < before.global / 2, `${before.global} became ${bytes('index-')}`);
    assert.equal(bytes('view-'), before.view);
    assert.deepEqual(await indexed(), [40]);
  });

  test('_view_cleanup and _search_cleanup remove stray folders of indexes, and no others', async () => {
    const { db, folder, indexed } = await sparselyIndexed();
    const known = fs.readdirSync(folder).sort();
    for (const request of ['_view_cleanup', '_search_cleanup']) {
      for (const kind of ['view', 'search', 'index']) {
        fs.mkdirSync(path.join(folder, `${kind}-0123456789abcdef0123456789abcdef`));
        fs.writeFileSync(path.join(folder, `${kind}-0123456789abcdef0123456789abcdef`, 'data.mdb'), 'x');
      }
      expectStatus(await server.post(`/${db}/${request}`, {}), 202);
      assert.deepEqual(fs.readdirSync(folder).sort(), known, request);
      assert.deepEqual(await indexed(), [40]);
    }
  });

  test('an index that is replaced during its compaction is removed', async () => {
    const { db, folder } = await sparselyIndexed();
    const design = expectStatus(await server.get(`/${db}/_design/shop`), 200);
    expectStatus(await server.post(`/${db}/_compact/shop`, {}), 202);
    design.views.by_n.map = 'function (doc) { emit(-doc.n, null); }';
    delete design.indexes;
    expectStatus(await server.put(`/${db}/_design/shop`, design), 201);
    assert.equal(expectStatus(await server.get(`/${db}/_design/shop/_view/by_n?limit=0`), 200).total_rows, 40);
    await eventually(() => foldersIn(folder, 'search-').length === 0 && foldersIn(folder, 'view-').length === 1, 20_000);
    assert.equal((await infoOf(db)).compact_running, false);
  });

  test('a database that is deleted during its compaction is gone', async () => {
    const db = await server.database('q=4');
    await server.fill(db, Array.from({ length: 5_000 }, (_, n) => ({ _id: `${n}`, padding: 'x'.repeat(500) })));
    await compact(db);
    expectStatus(await server.delete(`/${db}`), 200);
    expectStatus(await server.get(`/${db}`), 404);
    expectStatus(await server.put(`/${db}`), 201);
    assert.equal((await infoOf(db)).doc_count, 0);
    await compacted(db);
  });

  test('a server that is killed or stopped during compactions keeps every document, and no draft', async (t) => {
    const other = await Server.startFor(t);
    const db = await other.database();
    const docs = Array.from({ length: 4_000 }, (_, n) => ({ _id: `${n}`, padding: 'x'.repeat(500) }));
    await other.fill(db, docs);
    let written = docs.length;
    for (let i = 0; i < 8; i++) {
      expectStatus(await other.post(`/${db}/_compact`, {}), 202);
      expectStatus(await other.put(`/${db}/more${i}`, {}), 201);
      written += 1;
      await sleep(i * 8);
      if (i % 4 === 3) await other.stop({ keepFolder: true });
      else await other.kill();
      await other.launch();
      assert.equal((await infoOf(db, other)).doc_count, written);
      assert.equal(expectStatus(await other.get(`/${db}/_all_docs`), 200).rows.length, written);
      const folders = path.join(other.dataDir, 'databases');
      for (const tag of fs.readdirSync(folders)) assert.ok(!fs.existsSync(path.join(folders, tag, 'partition-0', 'new')));
    }
    await other.stop({ keepFolder: true });
    const checked = spawnSync(binary, ['check', '--data-dir', other.dataDir], { encoding: 'utf8', env: {} });
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
    await other.launch();
  });
});
