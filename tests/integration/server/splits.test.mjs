// Physical partitions are split online: /_reshard, and what readers, writers and followers notice of it: nothing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, eventually, expectError, expectStatus, Server } from '../harness.mjs';
import * as shards from '../reshard.mjs';

describe('splits', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const fill = async (db, count, keys = 20) => {
    const docs = Array.from({ length: count }, (_, n) => ({ _id: `k${n % keys}:${n}`, n, even: n % 2 === 0 }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
  };
  const shardsOf = (db) => shards.shardsOf(server, db);
  const job = (id) => shards.jobOf(server, id);
  const split = (body) => shards.reshard(server, { type: 'split', ...body });

  test('a database is split, and is the same afterwards', async () => {
    const db = await server.database('partitioned=true');
    await fill(db, 500);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, partitioned: true, name: 'n' }), 200);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, partitioned: false, name: 'global-n' }), 200);
    expectStatus(await server.put(`/${db}/_design/v`, { views: { n: { map: 'function (doc) { emit(doc.n, 1); }', reduce: '_sum' } }, options: { partitioned: false } }), 201);
    const all = expectStatus(await server.get(`/${db}/_all_docs?include_docs=true`), 200);
    const changes = expectStatus(await server.get(`/${db}/_changes?since=0`), 200);
    const seq = changes.last_seq;
    const page = expectStatus(await server.post(`/${db}/_find`, { selector: { even: true }, limit: 50 }), 200);

    const [made] = await split({ db });

    assert.equal((await shardsOf(db)).length, 2);
    assert.deepEqual(expectStatus(await server.get(`/${db}/_all_docs?include_docs=true`), 200), all);
    assert.deepEqual(expectStatus(await server.get(`/${db}/_changes?since=0`), 200).results, changes.results);
    assert.deepEqual(expectStatus(await server.get(`/${db}/_changes?since=${seq}`), 200).results, []);
    const next = expectStatus(await server.post(`/${db}/_find`, { selector: { even: true }, limit: 500, bookmark: page.bookmark }), 200);
    assert.equal(page.docs.length + next.docs.length, 250);
    assert.equal(new Set([...page.docs, ...next.docs].map((doc) => doc._id)).size, 250);
    const inPartition = expectStatus(await server.post(`/${db}/_partition/k3/_find`, { selector: { n: { $gt: 100 } }, execution_stats: true }), 200);
    assert.equal(inPartition.docs.length, 20);
    assert.equal(expectStatus(await server.get(`/${db}/_design/v/_view/n`), 200).rows[0].value, 500);
    const info = expectStatus(await server.get(`/${db}`), 200);
    assert.equal(info.cluster.q, 2);
    assert.equal(info.doc_count, 501 + 2);

    const report = await job(made.id);
    assert.equal(report.split_state, 'completed');
    assert.equal(report.target.length, 2);
    assert.equal(report.source, made.shard);
    assert.ok(report.state_info.documents_copied >= 500);
  });

  test('documents written during splits are read back at once, and followed', async () => {
    const db = await server.database('partitioned=true');
    await fill(db, 3000);
    const feed = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=1000`);
    const written = await shards.writeDuring(server, db, async () => {
      await split({ db });
      await split({ db });
    });
    assert.equal((await shardsOf(db)).length, 4);
    await shards.expectFollowed(feed, written);
    assert.equal(expectStatus(await server.get(`/${db}`), 200).doc_count, 3000 + written.length);
  });

  test('one range of several is split by its name, and the parts survive a restart', async () => {
    const db = await server.database('q=2');
    const docs = Array.from({ length: 300 }, (_, n) => ({ _id: `doc${n}` }));
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    const [first, second] = await shardsOf(db);
    await split({ shard: `shards/${second}/${db}` });
    const shards = await shardsOf(db);
    assert.equal(shards.length, 3);
    assert.equal(shards[0], first);
    await server.stop({ keepFolder: true });
    // Folders as a killed split leaves them.
    const folders = path.join(server.dataDir, 'databases');
    const strays = fs.readdirSync(folders).map((tag) => path.join(folders, tag, 'partition-77'));
    for (const stray of strays) fs.mkdirSync(stray);
    const checked = spawnSync(binary, ['check', '--data-dir', server.dataDir], { encoding: 'utf8', env: {} });
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
    await server.launch();
    assert.deepEqual(await shardsOf(db), shards);
    assert.equal(expectStatus(await server.get(`/${db}/_all_docs`), 200).rows.length, 300);
    assert.ok(strays.some((stray) => !fs.existsSync(stray)), 'what a split left is removed when its database is opened');
    assert.ok(shards.includes(expectStatus(await server.get(`/${db}/_shards/doc7`), 200).range));
  });

  test('what cannot be split is refused, with the reason', async () => {
    const db = await server.database();
    const post = (body) => server.post('/_reshard/jobs', body);
    expectError(await post({ type: 'split', db: 'no-such' }), 404, 'not_found');
    expectError(await post({ type: 'divide', db }), 400, 'bad_request', /split/);
    expectError(await post({ type: 'split' }), 400, 'bad_request', /db/);
    expectError(await post({ type: 'split', db, range: 'abc' }), 400, 'bad_request', /_shards/);
    expectError(await post({ type: 'split', db, range: '00000001-00000002' }), 404, 'not_found', /_shards/);
    expectError(await post({ type: 'split', db: 7 }), 400, 'bad_request', /string/);
    expectError(await post({ type: 'split', shard: 'nonsense' }), 400, 'bad_request', /shards/);
    expectError(await post({ type: 'split', db, node: 'elsewhere' }), 400, 'bad_request', /node/);
    const text = await server.post('/_reshard/jobs', JSON.stringify({ type: 'split', db }), { headers: { 'Content-Type': 'text/plain' } });
    expectError(text, 415, 'bad_content_type');
    expectError(await server.get('/_reshard/jobs/001-zz'), 404, 'not_found');
    expectError(await server.delete('/_reshard/jobs/001-00000000000000ff'), 404, 'not_found');
  });

  test('jobs are paused and resumed, all together or one', async () => {
    const db = await server.database('partitioned=true');
    await fill(db, 50);
    const state = (path, body) => server.put(`/_reshard${path}/state`, body);
    expectStatus(await state('', { state: 'stopped', reason: 'a busy day' }), 200);
    assert.deepEqual(expectStatus(await server.get('/_reshard/state'), 200), { state: 'stopped', reason: 'a busy day' });
    assert.equal(expectStatus(await server.get('/_reshard'), 200).state, 'stopped');
    const [{ id }] = expectStatus(await server.post('/_reshard/jobs', { type: 'split', db }), 201);
    expectStatus(await state(`/jobs/${id}`, { state: 'stopped' }), 200);
    assert.deepEqual(expectStatus(await server.get(`/_reshard/jobs/${id}/state`), 200), { state: 'stopped', reason: 'Stopped by user' });
    expectStatus(await state('', { state: 'running' }), 200);
    assert.deepEqual(expectStatus(await server.get('/_reshard/state'), 200), { state: 'running', reason: null });
    await split({ db: await server.database() });  // others run meanwhile
    assert.equal((await job(id)).job_state, 'stopped');
    assert.equal((await shardsOf(db)).length, 1);
    expectStatus(await state(`/jobs/${id}`, { state: 'running' }), 200);
    await eventually(async () => (await job(id)).job_state === 'completed', 30_000);
    assert.equal((await shardsOf(db)).length, 2);
    expectError(await state('', {}), 400, 'bad_request', /Expected a `state` field/);
    expectError(await state('', { state: 'resting' }), 400, 'bad_request', /State field not/);
    expectError(await state('/jobs/001-00000000000000ff', { state: 'running' }), 404, 'not_found');
  });

  test('a paused job does not keep a deleted database', async () => {
    const db = await server.database();
    expectStatus(await server.put('/_reshard/state', { state: 'stopped' }), 200);
    const [{ id }] = expectStatus(await server.post('/_reshard/jobs', { type: 'split', db }), 201);
    expectStatus(await server.delete(`/${db}`), 200);
    await eventually(async () => (await job(id)).job_state === 'failed', 30_000);
    expectStatus(await server.put('/_reshard/state', { state: 'running' }), 200);
  });

  test('jobs are listed, counted and forgotten', async () => {
    const db = await server.database();
    const [{ id }] = await split({ db });
    const summary = expectStatus(await server.get('/_reshard'), 200);
    assert.equal(summary.state, 'running');
    assert.ok(summary.completed >= 1);
    const { jobs, total_rows: count } = expectStatus(await server.get('/_reshard/jobs'), 200);
    assert.equal(jobs.length, count);
    assert.ok(jobs.some((entry) => entry.id === id && entry.history.at(-1).type === 'completed'));
    assert.equal(expectStatus(await server.get(`/_reshard/jobs/${id}/state`), 200).state, 'completed');
    assert.equal(expectStatus(await server.get('/_reshard/state'), 200).state, 'running');
    expectStatus(await server.delete(`/_reshard/jobs/${id}`), 200);
    expectError(await server.get(`/_reshard/jobs/${id}`), 404, 'not_found');
  });
});
