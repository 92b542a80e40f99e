// Every version of every document: `_changes?mode=all_versions`, and the Azure Cosmos DB API's mode "all versions and deletes".
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, ChangeFeedStartFrom } from '@azure/cosmos';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { eventually, expectError, expectStatus, Server, sleep } from '../harness.mjs';

const shape = (row) => [row.id, row.operation, (row.doc ?? row.previous).n];

describe('all versions on the CouchDB API', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());
  const versions = async (db, query = '') =>
    expectStatus(await server.get(`/${db}/_changes?mode=all_versions${query}`), 200);

  test('a database keeps none unless it is told so', async () => {
    const db = await server.database();
    expectError(await server.get(`/${db}/_changes?mode=all_versions`), 400, 'bad_request');
    expectError(await server.get(`/${db}/_changes?mode=every`), 400, 'bad_request');
    expectStatus(await server.get(`/${db}/_changes?mode=latest_version`), 200);
  });

  test('creations, changes and deletions, each with its document', async () => {
    const db = await server.database('partitioned=true&q=3&all_versions=3600');
    const { rev } = expectStatus(await server.put(`/${db}/p:a`, { n: 1 }), 201);
    const second = expectStatus(await server.put(`/${db}/p:a`, { n: 2, _rev: rev }), 201);
    await server.put(`/${db}/q:b`, { n: 3 });
    expectStatus(await server.delete(`/${db}/p:a?rev=${second.rev}`), 200);
    await server.put(`/${db}/p:a`, { n: 4 });
    const { results, last_seq } = await versions(db);
    assert.deepEqual(results.map(shape), [['p:a', 'create', 1], ['p:a', 'replace', 2], ['q:b', 'create', 3],
      ['p:a', 'delete', 2], ['p:a', 'create', 4]]);
    assert.equal(results[0].doc._rev, rev);
    assert.equal(results[1].previous_seq, results[0].seq);
    assert.deepEqual(results[3].previous, { _id: 'p:a', _rev: second.rev, n: 2 });
    assert.equal(results[3].deleted, true);
    assert.ok(Math.abs(results[3].time - Date.now() / 1000) < 60);
    // The feed of newest changes has one row for each document.
    assert.equal((await server.get(`/${db}/_changes`)).body.results.length, 2);
    assert.deepEqual((await versions(db, `&since=${last_seq}`)).results, []);
    assert.deepEqual((await versions(db, `&since=${results[2].seq}`)).results.map((row) => row.seq), [results[3].seq, results[4].seq]);
    const partition = expectStatus(await server.get(`/${db}/_partition/q/_changes?mode=all_versions`), 200);
    assert.deepEqual(partition.results.map(shape), [['q:b', 'create', 3]]);
  });

  test('page by page, nothing is lost and nothing comes twice', async () => {
    const db = await server.database('q=2&all_versions=3600');
    const docs = [...Array(50).keys()].map((n) => ({ _id: `d${n}`, n }));
    const revs = await server.fill(db, docs);
    await server.fill(db, docs.map((doc, i) => ({ ...doc, n: doc.n + 100, _rev: revs[i] })));
    const all = (await versions(db)).results;
    assert.equal(all.length, 100);
    const paged = [];
    for (let since = '0'; ;) {
      const page = await versions(db, `&limit=7&since=${since}`);
      if (page.results.length === 0) break;
      paged.push(...page.results);
      since = page.last_seq;
    }
    assert.deepEqual(paged, all);
  });

  test('a position beyond the end begins from the start, also the greatest one', async () => {
    const db = await server.database('q=2&all_versions=3600');
    await server.fill(db, [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }]);
    const all = (await versions(db)).results;
    assert.equal(all.length, 2);
    for (const since of ['1000000', '9223372036854775807', '18446744073709551614', '18446744073709551615']) {
      assert.deepEqual((await versions(db, `&since=${since}`)).results, all, since);
    }
  });

  test('a follower sees each version as it comes', async () => {
    const db = await server.database('all_versions=3600');
    await server.put(`/${db}/before`, {});
    const feed = await server.feed(`/${db}/_changes?mode=all_versions&feed=continuous&since=now&heartbeat=500`);
    const { rev } = (await server.put(`/${db}/a`, { n: 1 })).body;
    assert.deepEqual(shape(await feed.nextRow()), ['a', 'create', 1]);
    await server.put(`/${db}/a`, { n: 2, _rev: rev });
    assert.deepEqual(shape(await feed.nextRow()), ['a', 'replace', 2]);
    feed.close();
    const waiting = server.get(`/${db}/_changes?mode=all_versions&feed=longpoll&since=now`);
    await sleep(100);
    await server.put(`/${db}/b`, { n: 3 });
    assert.deepEqual((await waiting).body.results.map(shape), [['b', 'create', 3]]);
  });

  test('an expiration is marked as one', async () => {
    const db = await server.database('all_versions=3600&ttl=1');
    await server.fill(db, [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }]);
    await sleep(2100);
    await server.put(`/${db}/b`, { n: 3, ttl: -1 });
    await eventually(async () => (await versions(db)).results.some((row) => row.id === 'a' && row.operation === 'expire'), 20_000);
    const rows = (await versions(db)).results.filter((row) => row.id === 'b');
    assert.deepEqual(rows.map(shape), [['b', 'create', 2], ['b', 'expire', 2], ['b', 'create', 3]]);
  });

  test('versions beyond the retention are forgotten, and a reader who was too slow is told', async () => {
    const db = await server.database('all_versions=3');
    await server.put(`/${db}/a`, { n: 1 });
    const { last_seq } = await versions(db, '&limit=0');
    await server.put(`/${db}/b`, { n: 2 });
    await eventually(async () => (await server.get(`/${db}/_changes?mode=all_versions`)).status === 400, 20_000);
    expectError(await server.get(`/${db}/_changes?mode=all_versions&since=${last_seq}`), 400, 'versions_gone');
    const now = await versions(db, '&since=now');
    await server.put(`/${db}/c`, { n: 3 });
    assert.deepEqual((await versions(db, `&since=${now.last_seq}`)).results.map(shape), [['c', 'create', 3]]);
  });

  test('a log that begins later, or was interrupted, does not pretend', async () => {
    const db = await server.database();
    await server.put(`/${db}/a`, { n: 1 });
    await server.put(`/${db}/_properties`, { all_versions: 3600 });
    expectError(await server.get(`/${db}/_changes?mode=all_versions`), 400, 'versions_gone');
    const { last_seq } = await versions(db, '&since=now');
    await server.put(`/${db}/b`, { n: 2 });
    assert.equal((await versions(db, `&since=${last_seq}`)).results.length, 1);
    await server.put(`/${db}/_properties`, {});
    await server.put(`/${db}/c`, { n: 3 });
    await server.put(`/${db}/_properties`, { all_versions: 3600 });
    expectError(await server.get(`/${db}/_changes?mode=all_versions&since=${last_seq}`), 400, 'versions_gone');
  });

  test('kill -9 loses no version that was acknowledged, and octavo check knows the log', async (t) => {
    const own = await Server.startFor(t);
    const db = await own.database('partitioned=true&q=2&all_versions=3600');
    const { rev } = (await own.put(`/${db}/p:a`, { n: 1 })).body;
    await own.put(`/${db}/p:a`, { n: 2, _rev: rev });
    await own.kill();
    await own.relaunch();
    const { results } = expectStatus(await own.get(`/${db}/_changes?mode=all_versions`), 200);
    assert.deepEqual(results.map(shape), [['p:a', 'create', 1], ['p:a', 'replace', 2]]);
    await own.stop({ keepFolder: true });
  });

  test('what makes no sense is refused', async () => {
    const db = await server.database('all_versions=60');
    for (const query of ['descending=true', 'filter=_design', 'since=abc']) {
      expectError(await server.get(`/${db}/_changes?mode=all_versions&${query}`), 400, 'bad_request');
    }
  });
});

describe('all versions and deletes on the Cosmos DB API', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());
  const policy = { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(5)) };
  const mode = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };

  /// All changes from a start on, up to the first page without any.
  async function read(container, start, options = {}) {
    const iterator = container.items.getChangeFeedIterator({ ...mode, changeFeedStartFrom: start, ...options });
    const changes = [];
    let continuation;
    for (let empty = 0; empty < 3;) {
      const page = await iterator.readNext();
      continuation = page.continuationToken;
      empty = page.result?.length ? 0 : empty + 1;
      changes.push(...(page.result ?? []));
    }
    return { changes, continuation };
  }
  const told = (change) => [change.metadata.operationType, (change.current.id ? change.current : change.previous).id];

  test('each version and deletion, with its metadata', async () => {
    const container = await newContainer(client, policy);
    assert.equal((await container.read()).resource.changeFeedPolicy.retentionDuration, 5);
    const { continuation } = await read(container, ChangeFeedStartFrom.Now());
    await container.items.create({ id: 'a', pk: 'x', n: 1 });
    await container.items.upsert({ id: 'a', pk: 'x', n: 2 });
    await container.items.create({ id: 'b', pk: 'y', n: 3 });
    await container.item('a', 'x').delete();
    const { changes } = await read(container, ChangeFeedStartFrom.Continuation(continuation));
    assert.deepEqual(changes.map(told), [['create', 'a'], ['replace', 'a'], ['create', 'b'], ['delete', 'a']]);
    assert.equal(changes[1].current.n, 2);
    assert.equal(changes[1].metadata.previousImageLSN, changes[0].metadata.lsn);
    assert.equal(changes[1].previous, undefined);
    const deletion = changes[3];
    assert.deepEqual(deletion.current, {});
    assert.equal(deletion.previous.n, 2);
    assert.equal(deletion.metadata.timeToLiveExpired, false);
    assert.equal(deletion.metadata.id, 'a');
    assert.deepEqual(deletion.metadata.partitionKey, { pk: 'x' });
    assert.ok(Math.abs(deletion.metadata.crts - Date.now() / 1000) < 60);
  });

  test('by partition key and by feed range, over several physical partitions', async () => {
    const container = await newContainer(client, policy, { offerThroughput: 30_000 });
    const ranges = await container.getFeedRanges();
    assert.equal(ranges.length, 3);
    const now = {};
    for (const [i, range] of ranges.entries()) now[i] = (await read(container, ChangeFeedStartFrom.Now(range))).continuation;
    const { continuation } = await read(container, ChangeFeedStartFrom.Now('k1'));
    for (let n = 0; n < 30; n++) await container.items.create({ id: `i${n}`, pk: `k${n % 6}` });
    const seen = [];
    for (const [i] of ranges.entries()) seen.push(...(await read(container, ChangeFeedStartFrom.Continuation(now[i]), { maxItemCount: 4 })).changes);
    assert.deepEqual(seen.map((change) => change.current.id).sort(), [...Array(30).keys()].map((n) => `i${n}`).sort());
    const one = await read(container, ChangeFeedStartFrom.Continuation(continuation));
    assert.deepEqual(one.changes.map((change) => change.current.pk), Array(5).fill('k1'));
  });

  test('from a time', async () => {
    const container = await newContainer(client, policy, { offerThroughput: 20_000 });
    await container.items.create({ id: 'early', pk: 'x' });
    await sleep(2100);
    const time = new Date();
    await sleep(1100);
    for (const pk of ['x', 'y', 'z']) await container.items.create({ id: 'late', pk });
    const { changes } = await read(container, ChangeFeedStartFrom.Time(time));
    assert.deepEqual(changes.map(told), Array(3).fill(['create', 'late']));
    const reply = await cosmosRequest(server, 'GET', `/${container.url}/docs`, {
      headers: { 'A-IM': 'Full-Fidelity Feed', 'If-Modified-Since': new Date(Date.now() - 3_600_000).toUTCString() },
    });
    assert.equal(reply.status, 400);
    assert.match(reply.body.message, /retention/);
  });

  test('an expiration is marked as one', async () => {
    const container = await newContainer(client, { ...policy, defaultTtl: 1 });
    const { continuation } = await read(container, ChangeFeedStartFrom.Now());
    await container.items.create({ id: 'a', pk: 'x' });
    await eventually(async () => {
      const { changes } = await read(container, ChangeFeedStartFrom.Continuation(continuation));
      return changes.length === 2 && changes[1].metadata.timeToLiveExpired === true && changes[1].previous.id === 'a';
    }, 20_000);
  });

  test('the beginning, and a container without a policy, are refused', async () => {
    const container = await newContainer(client, policy);
    const headers = { 'A-IM': 'Full-Fidelity Feed' };
    const beginning = await cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers });
    assert.equal(beginning.status, 400);
    assert.match(beginning.body.message, /beginning/);
    const plain = await newContainer(client);
    const refused = await cosmosRequest(server, 'GET', `/${plain.url}/docs`, { headers: { ...headers, 'If-None-Match': '*' } });
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /changeFeedPolicy/);
    const { resource } = await plain.read();
    await plain.replace({ ...resource, ...policy });
    assert.equal((await cosmosRequest(server, 'GET', `/${plain.url}/docs`, { headers: { ...headers, 'If-None-Match': '*' } })).status, 304);
    for (const retentionDuration of [-1, 1.5, 'long', 50_000]) {
      const bad = await cosmosRequest(server, 'PUT', `/${plain.url}`, { body: { ...resource, changeFeedPolicy: { retentionDuration } } });
      assert.equal(bad.status, 400, String(retentionDuration));
    }
  });

  test('both APIs read the same log', async () => {
    const container = await newContainer(client, policy);
    await container.items.create({ id: 'a', pk: 'x', n: 1 });
    const path = '/' + encodeURIComponent(`${container.database.id}/${container.id}`);
    const { results } = expectStatus(await server.get(`${path}/_changes?mode=all_versions`), 200);
    assert.deepEqual(results.map(shape), [['x:a', 'create', 1]]);
  });
});
