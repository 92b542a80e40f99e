// Neighbouring physical partitions are merged online: /_reshard, and what readers, writers and followers notice of it:
// nothing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';
import * as shards from '../reshard.mjs';

describe('merges', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const fill = async (db, count, keys = 20) => {
    const docs = Array.from({ length: count }, (_, n) => ({ _id: `k${n % keys}:${n}`, n, even: n % 2 === 0, text: `word${n % 7}` }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
  };
  const shardsOf = (db) => shards.shardsOf(server, db);
  const job = (id) => shards.jobOf(server, id);
  const run = (body) => shards.reshard(server, body);
  const merge = (db, ranges) => run({ type: 'merge', db, ranges });

  test('two ranges are merged, and the database is the same afterwards', async () => {
    const db = await server.database('partitioned=true&q=2');
    await fill(db, 500);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, partitioned: true, name: 'n' }), 200);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, partitioned: false, name: 'global-n' }), 200);
    expectStatus(await server.put(`/${db}/_design/v`, { views: { n: { map: 'function (doc) { emit(doc.n, 1); }', reduce: '_sum' } }, options: { partitioned: false } }), 201);
    expectStatus(await server.put(`/${db}/_design/s`, { indexes: { text: { index: 'function (doc) { index("default", doc.text); }' } }, options: { partitioned: false } }), 201);
    assert.equal(expectStatus(await server.get(`/${db}/_design/s/_search/text?q=word3`), 200).total_rows, 71);
    const all = expectStatus(await server.get(`/${db}/_all_docs?include_docs=true`), 200);
    const changes = expectStatus(await server.get(`/${db}/_changes?since=0`), 200);
    const page = expectStatus(await server.post(`/${db}/_find`, { selector: { even: true }, limit: 50 }), 200);
    const ranges = await shardsOf(db);

    const [made] = await merge(db, ranges);

    assert.deepEqual(await shardsOf(db), ['00000000-ffffffff']);
    assert.deepEqual(expectStatus(await server.get(`/${db}/_all_docs?include_docs=true`), 200), all);
    assert.deepEqual(expectStatus(await server.get(`/${db}/_changes?since=0`), 200).results, changes.results);
    assert.deepEqual(expectStatus(await server.get(`/${db}/_changes?since=${changes.last_seq}`), 200).results, []);
    const next = expectStatus(await server.post(`/${db}/_find`, { selector: { even: true }, limit: 500, bookmark: page.bookmark }), 200);
    assert.equal(new Set([...page.docs, ...next.docs].map((doc) => doc._id)).size, 250);
    assert.equal(page.docs.length + next.docs.length, 250);
    const inPartition = expectStatus(await server.post(`/${db}/_partition/k3/_find`, { selector: { n: { $gt: 100 } }, execution_stats: true }), 200);
    assert.equal(inPartition.docs.length, 20);
    assert.equal(expectStatus(await server.get(`/${db}/_design/v/_view/n`), 200).rows[0].value, 500);
    assert.equal(expectStatus(await server.get(`/${db}/_design/s/_search/text?q=word3`), 200).total_rows, 71);
    const info = expectStatus(await server.get(`/${db}`), 200);
    assert.equal(info.cluster.q, 1);
    assert.equal(info.doc_count, 504);

    const report = await job(made.id);
    assert.equal(report.type, 'merge');
    assert.deepEqual(report.source, ranges.map((range) => `shards/${range}/${db}`));
    assert.deepEqual(report.target, [`shards/00000000-ffffffff/${db}`]);
    assert.deepEqual(made.shards, report.source);
    assert.equal(report.split_state, 'completed');
    assert.ok(report.state_info.documents_copied >= 500);
  });

  test('without ranges the neighbours with the least bytes are merged', async () => {
    const db = await server.database('partitioned=true&q=4');
    const ranges = await shardsOf(db);
    // Much in the third and the fourth, little in the first two.
    const big = 'x'.repeat(20_000);
    for (let key = 0, made = 0; made < 20; key++) {
      const { range } = expectStatus(await server.get(`/${db}/_shards/k${key}:1`), 200);
      if (ranges.indexOf(range) < 2) continue;
      expectStatus(await server.put(`/${db}/k${key}:1`, { big }), 201);
      made++;
    }
    await run({ type: 'merge', db });
    const now = await shardsOf(db);
    assert.deepEqual(now.slice(1), ranges.slice(2));
    assert.equal(now[0], `${ranges[0].slice(0, 8)}-${ranges[1].slice(9)}`);
  });

  test('documents written during merges and splits are read back at once, and followed', async () => {
    const db = await server.database('partitioned=true&q=4');
    await fill(db, 3000);
    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=1000`);
    const written = await shards.writeDuring(server, db, async () => {
      await run({ type: 'merge', db });
      await run({ type: 'split', db });
      while ((await shardsOf(db)).length > 1) await run({ type: 'merge', db });
    });
    await shards.expectFollowed(feed, written);
    assert.equal(expectStatus(await server.get(`/${db}`), 200).doc_count, 3000 + written.length);
  });

  test('a merged database survives a restart, and may be split again', async () => {
    const db = await server.database('q=3');
    const docs = Array.from({ length: 300 }, (_, n) => ({ _id: `doc${n}` }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    const [, second, third] = await shardsOf(db);
    await merge(db, [third, second]);
    const shards = await shardsOf(db);
    assert.equal(shards.length, 2);
    await server.stop({ keepFolder: true });
    await server.launch();
    assert.deepEqual(await shardsOf(db), shards);
    assert.equal(expectStatus(await server.get(`/${db}/_all_docs`), 200).rows.length, 300);
    await run({ type: 'split', db, range: shards[1] });
    assert.equal((await shardsOf(db)).length, 3);
    assert.equal(expectStatus(await server.get(`/${db}/_all_docs`), 200).rows.length, 300);
  });

  test('what cannot be merged is refused, with the reason', async () => {
    const db = await server.database('q=3');
    const [first, second, third] = await shardsOf(db);
    const post = (body) => server.post('/_reshard/jobs', { type: 'merge', ...body });
    expectError(await post({ db, ranges: [first, third] }), 400, 'bad_request', /do not touch/);
    expectError(await post({ db, ranges: [first, first] }), 400, 'bad_request', /do not touch/);
    expectError(await post({ db, ranges: [first, '00000001-00000002'] }), 400, 'bad_request', /_shards/);
    expectError(await post({ db, ranges: [first] }), 400, 'bad_request', /two/);
    expectError(await post({ db, ranges: [first, second, third] }), 400, 'bad_request', /two/);
    expectError(await post({ db, ranges: [first, 7] }), 400, 'bad_request', /_shards/);
    expectError(await post({ db, ranges: first }), 400, 'bad_request', /two/);
    expectError(await post({ db, range: first }), 400, 'bad_request', /ranges/);
    expectError(await post({ shard: `shards/${first}/${db}` }), 400, 'bad_request', /ranges/);
    expectError(await post({}), 400, 'bad_request', /db/);
    expectError(await post({ db: 7 }), 400, 'bad_request', /string/);
    expectError(await post({ db, node: 'elsewhere' }), 400, 'bad_request', /node/);
    expectError(await post({ db: 'no-such' }), 404, 'not_found');
    expectError(await post({ db: await server.database('q=1') }), 400, 'bad_request', /single/);
    expectError(await server.post('/_reshard/jobs', { type: 'split', db, ranges: [first, second] }), 400, 'bad_request', /merges/);
    expectError(await server.post('/_reshard/jobs', { type: 'join', db }), 400, 'bad_request', /merge/);
  });

  test('ranges that are too large together are refused', async () => {
    const small = await Server.start({ config: '[database]\nphysical_partition_bytes_max = "640KiB"\n' });
    try {
      expectStatus(await small.put('/full?q=2'), 201);
      const docs = Array.from({ length: 60 }, (_, n) => ({ _id: `d${n}`, text: randomBytes(8_000).toString('base64') }));
      expectStatus(await small.post('/full/_bulk_docs', { docs }), 201);
      expectError(await small.post('/_reshard/jobs', { type: 'merge', db: 'full' }), 400, 'bad_request', /80 %/);
    } finally {
      await small.stop();
    }
  });

  test('a merge is paused, stopped, resumed and forgotten like a split', async () => {
    const db = await server.database('partitioned=true&q=2');
    await fill(db, 50);
    const [first, second] = await shardsOf(db);
    const state = (path, body) => server.put(`/_reshard${path}/state`, body);
    expectStatus(await state('', { state: 'stopped' }), 200);
    const [{ id }] = expectStatus(await server.post('/_reshard/jobs', { type: 'merge', db }), 201);
    expectError(await server.post('/_reshard/jobs', { type: 'split', db, range: second }), 400, 'bad_request', /merged already/);
    expectError(await server.post('/_reshard/jobs', { type: 'merge', db, ranges: [first, second] }), 400, 'bad_request', /merged already/);
    assert.ok(expectStatus(await server.get('/_reshard'), 200).new >= 1);
    expectStatus(await state(`/jobs/${id}`, { state: 'stopped' }), 200);
    expectStatus(await state('', { state: 'running' }), 200);
    assert.deepEqual(expectStatus(await server.get(`/_reshard/jobs/${id}/state`), 200), { state: 'stopped', reason: 'Stopped by user' });
    assert.equal((await shardsOf(db)).length, 2);
    expectStatus(await state(`/jobs/${id}`, { state: 'running' }), 200);
    await eventually(async () => (await job(id)).job_state === 'completed', 30_000);
    assert.equal((await shardsOf(db)).length, 1);
    expectStatus(await server.delete(`/_reshard/jobs/${id}`), 200);
    expectError(await server.get(`/_reshard/jobs/${id}`), 404, 'not_found');
  });
});

describe('automatic merges', () => {
  let server;
  before(async () => {
    server = await Server.start({ config: '[database]\nmerge_after = "2s"\nphysical_partition_bytes_max = "8MiB"\n' });
  });
  after(() => server?.stop());

  const countOf = async (db) => expectStatus(await server.get(`/${db}`), 200).cluster.q;
  const split = async (db, count) => {
    expectStatus(await server.post('/_reshard/jobs', { type: 'split', db }), 201);
    await eventually(async () => (await countOf(db)) === count, 30_000);
  };

  test('neighbours that stay small are merged, down to the number at the creation', async () => {
    const db = await server.database('q=2');
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: Array.from({ length: 50 }, (_, n) => ({ _id: `d${n}` })) }), 201);
    await split(db, 4);
    await eventually(async () => (await countOf(db)) === 2, 60_000);
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    assert.equal(await countOf(db), 2);
    assert.equal(expectStatus(await server.get(`/${db}/_all_docs`), 200).rows.length, 50);
  });

  test('neighbours that are not small are left alone', async () => {
    const db = await server.database('q=1');
    // More than 40 % of 8 MiB together, but not so much that it is split.
    const docs = Array.from({ length: 100 }, (_, n) => ({ _id: `d${n}`, text: randomBytes(45_000).toString('base64') }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    await split(db, 2);
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    assert.equal(await countOf(db), 2);
  });
});
