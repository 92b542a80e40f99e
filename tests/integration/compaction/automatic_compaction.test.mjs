// Files that have become sparse are compacted without being asked, as the settings say, and readers notice nothing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { describe, test } from 'node:test';
import { bytesOfFile, namesBelow } from '../folders.mjs';
import { eventually, expectStatus, Server, sleep } from '../harness.mjs';

const DOCUMENTS = 24_000;
const BATCH = 2_000;
const LEFT = 20;  // one document in 20 is not deleted

const set = async (server, name, value) =>
  expectStatus(await server.put(`/_node/_local/_config/storage/${name}`, JSON.stringify(String(value))), 200);
const infoOf = async (server, db) => expectStatus(await server.get(`/${db}`), 200);
const metric = async (server, name) => {
  const { text } = await server.get('/_node/_local/_prometheus');
  return Number(text.match(new RegExp(`^${name} (\\S+)$`, 'm'))?.[1]);
};

/// Inserts documents of 1 KB, far more than 16 MiB, and deletes nearly all.
async function fillAndDelete(server, db) {
  const padding = 'x'.repeat(980);  // larger bodies are compressed
  const gone = [];
  const name = (n) => String(n).padStart(8, '0');
  for (let first = 0; first < DOCUMENTS; first += BATCH) {
    const docs = Array.from({ length: BATCH }, (_, n) => ({ _id: name(first + n), n: first + n, padding }));
    const revs = await server.fill(db, docs);
    gone.push(docs.map(({ _id }, i) => ({ _id, _rev: revs[i], _deleted: true })).filter((_, n) => n % LEFT > 0));
  }
  const { sizes } = await infoOf(server, db);
  for (const docs of gone) await server.fill(db, docs);
  return sizes.file;
}

describe('automatic compaction', () => {
  test('it begins when it is switched on, returns space beside readers and writers, and shows what it did', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    await set(server, 'compaction', 'manual');
    const db = await server.database();
    const view = { views: { by_n: { map: 'function (doc) { if (doc.n >= 0) emit(doc.n, null); }' } } };
    expectStatus(await server.put(`/${db}/_design/d`, view), 201);
    const full = await fillAndDelete(server, db);
    assert.ok(full > 16 * 1024 * 1024, `${full} bytes`);
    const rows = async () => expectStatus(await server.get(`/${db}/_design/d/_view/by_n?limit=0`), 200).total_rows;
    assert.equal(await rows(), DOCUMENTS / LEFT);
    await sleep(3_000);
    assert.equal(await metric(server, 'octavo_compactions_total'), 0);
    assert.ok((await infoOf(server, db)).sizes.file >= full);

    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=1000`);
    await set(server, 'compaction_share', 30);
    await set(server, 'compaction', 'automatic');
    let written = 0;
    await eventually(async () => {
      expectStatus(await server.put(`/${db}/written-${written}`, { n: DOCUMENTS + written }), 201);
      written += 1;
      assert.equal(await rows(), DOCUMENTS / LEFT + written);
      return (await infoOf(server, db)).sizes.file < full / 3;
    }, 60_000);
    const seen = new Set();
    while (seen.size < written) seen.add((await feed.nextRow(20_000)).id);
    await feed.close();
    // The file is small a moment before its compaction counts.
    await eventually(async () => await metric(server, 'octavo_compactions_total') >= 1, 20_000);
    await eventually(async () => await metric(server, 'octavo_compaction_returned_bytes_total') > full / 2, 20_000);
    assert.equal(await metric(server, 'octavo_compactions_failed_total'), 0);
    const all = expectStatus(await server.get(`/${db}/_all_docs?limit=0`), 200);
    assert.equal(all.total_rows, DOCUMENTS / LEFT + written + 1);
  });

  test('a file is left alone while less than the share is unused', async (t) => {
    const config = '[storage]\ncompaction_share = 99\n';
    const server = await Server.startFor(t, { admin: true, config });
    const db = await server.database();
    const full = await fillAndDelete(server, db);
    await eventually(async () => await metric(server, 'octavo_storage_sparse_bytes') > full / 2, 60_000);
    assert.equal(await metric(server, 'octavo_compactions_total'), 0);
  });

  test('views, search indexes and global indexes are compacted like databases', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    await set(server, 'compaction', 'manual');
    const db = await server.database();
    const design = {
      views: { texts: { map: 'function (doc) { emit(doc._id, doc.text); }' } },
      indexes: { texts: { analyzer: 'keyword', index: 'function (doc) { index("n", doc.n); index("text", doc.text, { store: true }); }' } },
    };
    expectStatus(await server.put(`/${db}/_design/d`, design), 201);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['text'] }, ddoc: 'g', name: 'g' }), 200);
    const databases = path.join(server.dataDir, 'databases');
    const bytesOf = (kind) => namesBelow(databases)
      .filter((name) => name.includes(`/${kind}-`)).reduce((sum, name) => sum + bytesOfFile(path.join(databases, name)), 0);
    const documents = 10_000;
    const current = async (count) => {
      assert.equal(expectStatus(await server.get(`/${db}/_design/d/_view/texts?limit=0`), 200).total_rows, count);
      assert.equal(expectStatus(await server.get(`/${db}/_design/d/_search/texts?q=*:*&limit=1`), 200).total_rows, count);
      const query = { selector: { text: { $gt: '' } }, fields: ['text'], use_index: ['g', 'g'], limit: documents };
      assert.equal(expectStatus(await server.post(`/${db}/_find`, query), 200).docs.length, count);
    };
    // Random digits take half their length where texts are compressed.
    const gone = [];
    for (let first = 0; first < documents; first += 1_000) {
      const docs = Array.from({ length: 1_000 }, (_, n) => ({ _id: `d${first + n}`, n: first + n, text: randomBytes(2_400).toString('hex') }));
      const revs = await server.fill(db, docs);
      gone.push(docs.map(({ _id }, i) => ({ _id, _rev: revs[i], _deleted: true })).filter((_, n) => n % LEFT > 0));
    }
    await current(documents);
    for (const docs of gone) await server.fill(db, docs);
    await current(documents / LEFT);
    const before = { view: bytesOf('view'), search: bytesOf('search'), index: bytesOf('index') };
    for (const [kind, bytes] of Object.entries(before)) assert.ok(bytes > 16 * 1024 * 1024, `${kind}: ${bytes} bytes`);

    await set(server, 'compaction_share', 30);
    await set(server, 'compaction', 'automatic');
    for (const [kind, bytes] of Object.entries(before)) {
      await eventually(() => bytesOf(kind) < bytes / 2, 60_000);
    }
    await current(documents / LEFT);
    assert.equal(await metric(server, 'octavo_compactions_failed_total'), 0);
  });

  test('a compaction takes as long as its rate says', async (t) => {
    const server = await Server.startFor(t, { admin: true, config: '[storage]\ncompaction = "manual"\n' });
    const db = await server.database();
    await server.fill(db, Array.from({ length: 2_000 }, (_, n) => ({ _id: `${n}`, padding: 'x'.repeat(1_000) })));
    await set(server, 'compaction_rate', '1MiB');
    const begun = Date.now();
    expectStatus(await server.post(`/${db}/_compact`, {}), 202);
    await eventually(async () => !(await infoOf(server, db)).compact_running, 60_000);
    assert.ok(Date.now() - begun > 1_500, `${Date.now() - begun} ms for 2 MB`);
  });
});

describe('sizes', () => {
  test('of a database: external is the length of its documents', async (t) => {
    const server = await Server.startFor(t);
    const db = await server.database();
    const docs = Array.from({ length: 1_000 }, (_, n) => ({ _id: `d${n}`, n, text: 'x'.repeat(n * 3) }));
    await server.fill(db, docs);
    const length = docs.reduce((sum, doc) => sum + JSON.stringify(doc).length, 0);
    const { sizes } = await infoOf(server, db);
    assert.ok(Math.abs(sizes.external - length) < length / 50, `${sizes.external}, the documents have ${length} bytes`);
  });

  test('of a view: external is the length of its rows, and the file follows a compaction', async (t) => {
    const server = await Server.startFor(t);
    const db = await server.database();
    const map = 'function (doc) { emit(doc._id, doc.text); }';
    expectStatus(await server.put(`/${db}/_design/d`, { views: { texts: { map } } }), 201);
    const sizes = async () => {
      expectStatus(await server.get(`/${db}/_design/d/_view/texts?limit=0`), 200);
      return expectStatus(await server.get(`/${db}/_design/d/_info`), 200).view_index.sizes;
    };
    assert.equal((await sizes()).external, 0);
    const revs = await server.fill(db, Array.from({ length: 1_000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(1_000) })));
    const full = await sizes();
    assert.ok(full.external > 900_000 && full.external < 1_400_000, JSON.stringify(full));
    assert.ok(full.external < full.active && full.active <= full.file, JSON.stringify(full));
    await server.fill(db, revs.slice(10).map((_rev, n) => ({ _id: `d${n + 10}`, _rev, _deleted: true })));
    const sparse = await sizes();
    assert.ok(sparse.external > 9_000 && sparse.external < 14_000, JSON.stringify(sparse));
    assert.ok(sparse.file >= full.file && sparse.active < full.active / 4, JSON.stringify(sparse));
    expectStatus(await server.post(`/${db}/_compact/d`, {}), 202);
    await eventually(async () => (await sizes()).file < full.file / 4, 20_000);
  });
});
