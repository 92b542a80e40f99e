// Properties of databases: time to live of documents, as every way of reading sees it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually, expectError, expectStatus, patience, Server, sleep } from '../harness.mjs';

describe('properties of a database', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  test('a database has none unless it is told so', async () => {
    const db = await server.database();
    assert.deepEqual(expectStatus(await server.get(`/${db}/_properties`), 200), {});
    assert.deepEqual((await server.get(`/${db}`)).body.props, {});
  });

  test('they are given when a database is made, shown, and changed as a whole', async () => {
    const db = await server.database('partitioned=true&ttl=3600&all_versions=60');
    assert.deepEqual((await server.get(`/${db}/_properties`)).body, { ttl: 3600, all_versions: 60 });
    assert.deepEqual((await server.get(`/${db}`)).body.props, { partitioned: true, ttl: 3600, all_versions: 60 });
    expectStatus(await server.put(`/${db}/_properties`, { ttl: -1, all_versions: null }), 200);
    assert.deepEqual((await server.get(`/${db}/_properties`)).body, { ttl: -1 });
    expectStatus(await server.put(`/${db}/_properties`, {}), 200);
    assert.deepEqual((await server.get(`/${db}`)).body.props, { partitioned: true });
  });

  test('a database that has some runs the stored procedures of its design documents', async () => {
    const db = await server.database('partitioned=true&ttl=3600');
    const sprocs = { greet: 'function (name) { __.response.setBody({ greeting: "hello " + name }); }' };
    expectStatus(await server.put(`/${db}/_design/d`, { sprocs }), 201);
    assert.equal(expectStatus(await server.post(`/${db}/_partition/p/_sproc/d/greet`, ['Ann']), 200).greeting, 'hello Ann');
  });

  test('they outlive a restart', async (t) => {
    const own = await Server.startFor(t);
    const db = await own.database('ttl=1');
    await own.put(`/${db}/a`, {});
    await own.kill();
    await own.relaunch();
    assert.deepEqual((await own.get(`/${db}/_properties`)).body, { ttl: 1 });
    await eventually(async () => (await own.get(`/${db}/a`)).status === 404);
    await own.stop({ keepFolder: true });
  });

  test('what makes no sense is refused', async () => {
    for (const query of ['ttl=0', 'ttl=-2', 'ttl=soon', 'ttl=2147483648', 'throughput=0', 'throughput=1000001', 'all_versions=0',
      'all_versions=2592001', 'tombstone_retention=0', 'tombstone_retention=2147483648', 'tombstone_retention=-1']) {
      expectError(await server.put(`/refused?${query}`), 400, 'bad_request');
    }
    expectStatus(await server.get('/refused'), 404);
    const db = await server.database();
    for (const body of [{ ttl: 0 }, { ttl: '60' }, { ttl: 1.5 }, { tll: 60 }, { throughput: -1 }, { all_versions: true }]) {
      expectError(await server.put(`/${db}/_properties`, body), 400, 'bad_request');
    }
    expectError(await server.put(`/${db}/_properties`, [1]), 400, 'bad_request');
    expectError(await server.put('/_users?ttl=5'), 400, 'bad_request');
    assert.deepEqual((await server.get(`/${db}/_properties`)).body, {});
  });

  test('a change needs an administrator', async (t) => {
    const guarded = await Server.startFor(t, { admin: true });
    const db = await guarded.database();
    expectStatus(await guarded.put(`/${db}/_security`, { members: { names: [], roles: [] } }), 200);
    expectStatus(await guarded.put(`/${db}/_properties`, { ttl: 1 }, { auth: false }), 401);
    expectStatus(await guarded.put(`/${db}/_properties`, { ttl: 1 }), 200);
    await guarded.stop({ keepFolder: true });
  });
});

describe('time to live of documents', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  test('without the property, ttl is a field like any other', async () => {
    const db = await server.database();
    await server.put(`/${db}/a`, { ttl: 1 });
    await sleep(2100);
    assert.equal(expectStatus(await server.get(`/${db}/a`), 200).ttl, 1);
  });

  test('a whole number of seconds may be written in any way', async () => {
    const db = await server.database('ttl=-1');
    const docs = [['a', '1.0'], ['b', '1e0'], ['c', '10e-1'], ['d', '1e3'], ['e', '-1.0'], ['f', '1.5']].map(([id, ttl]) => `{"_id":"${id}","ttl":${ttl}}`);
    expectStatus(await server.post(`/${db}/_bulk_docs`, `{"docs":[${docs}]}`), 201);
    await sleep(2100);
    const listed = expectStatus(await server.get(`/${db}/_all_docs`), 200);
    assert.deepEqual(listed.rows.map((row) => row.id), ['d', 'e', 'f']);
  });

  for (const kind of ['partitioned=true', 'q=2']) {
    test(`a document expires after its database's time, or its own, or never (${kind})`, async () => {
      const db = await server.database(`${kind}&ttl=1`);
      await server.fill(db, [{ _id: 'p:short' }, { _id: 'p:long', ttl: 1000 }, { _id: 'p:ever', ttl: -1 }, { _id: 'p:odd', ttl: 'x' }]);
      await sleep(2100);
      expectStatus(await server.get(`/${db}/p:short`), 404);
      expectStatus(await server.get(`/${db}/p:odd`), 404);
      expectStatus(await server.get(`/${db}/p:ever`), 200);
      const listed = expectStatus(await server.get(`/${db}/_all_docs`), 200);
      assert.deepEqual(listed.rows.map((row) => row.id), ['p:ever', 'p:long']);
      const found = expectStatus(await server.post(`/${db}/_sql`, { query: 'SELECT c._id FROM c' }), 200);
      assert.deepEqual(found.docs.map((doc) => doc._id).sort(), ['p:ever', 'p:long']);
      expectStatus(await server.put(`/${db}/p:short`, { again: true, ttl: -1 }), 201);
      await eventually(async () => {
        const { body } = await server.get(`/${db}/_changes`);
        return body.results.find((row) => row.id === 'p:odd')?.deleted === true;
      }, 20_000);
      assert.equal(expectStatus(await server.get(`/${db}/p:short`), 200).again, true);
    });
  }

  test('_find does not answer with expired documents from an index alone', async () => {
    const db = await server.database('partitioned=true&ttl=-1');
    const index = { index: { fields: ['type', 'n'] }, name: 'by-type', ddoc: 'by-type', partitioned: true };
    expectStatus(await server.post(`/${db}/_index`, index), 200);
    const docs = [];
    const ttl = 2 + patience;
    for (let n = 0; n < 40; n++) docs.push({ _id: `p:${n}`, type: 'note', n, ...(n % 2 ? { ttl } : {}) });
    await server.fill(db, docs);
    const find = async (body) => expectStatus(await server.post(`/${db}/_partition/p/_find`, body), 200);
    const covered = { selector: { type: 'note' }, fields: ['n'], limit: 100, execution_stats: true };
    await eventually(async () => (await find(covered)).docs.length === 40);
    await sleep(1000 * ttl + 1100);
    // Whether they are still stored or not, they are gone.
    assert.deepEqual((await find(covered)).docs.map((doc) => doc.n).sort((a, b) => a - b), [...Array(20).keys()].map((n) => 2 * n));
    assert.equal((await find({ selector: { type: 'note' }, count: true })).count, 20);
    assert.equal((await find({ selector: { type: 'note' }, aggregate: { sum: { $sum: 'n' } } })).docs[0].sum, 380);
    assert.equal((await find({ selector: {}, count: true })).count, 20);
  });

  const counting = {
    language: 'javascript',
    views: { all: { map: 'function (doc) { emit(doc.kind, 1); }', reduce: '_sum' } },
    indexes: { words: { index: 'function (doc) { index("text", doc.text); }' } },
  };
  const countsOf = async (db) => {
    const view = expectStatus(await server.get(`/${db}/_design/d/_view/all`), 200);
    const rows = expectStatus(await server.get(`/${db}/_design/d/_view/all?reduce=false`), 200).rows.length;
    const search = expectStatus(await server.get(`/${db}/_design/d/_search/words?q=text:note`), 200);
    const text = expectStatus(await server.post(`/${db}/_find`, { selector: { $text: 'note' }, use_index: 'text', limit: 100 }), 200);
    return [view.rows[0]?.value ?? 0, rows, search.total_rows, text.docs.length];
  };
  const notes = (count, ttlOf) => Array.from({ length: count }, (_, n) => ({ _id: `n${n}`, kind: 'note', text: `note ${n}`, ...ttlOf(n) }));

  test('views and search indexes do not count expired documents', async () => {
    const db = await server.database('ttl=-1');
    expectStatus(await server.put(`/${db}/_design/d`, counting), 201);
    expectStatus(await server.post(`/${db}/_index`, { index: {}, type: 'text', name: 'text', ddoc: 'text' }), 200);
    await server.fill(db, notes(40, (n) => (n % 2 ? { ttl: 3 + 2 * patience } : {})));
    assert.deepEqual(await countsOf(db), [40, 40, 40, 40]);
    await eventually(async () => (await server.get(`/${db}/n1`)).status === 404, 20_000);
    // Written by one request, all of them have expired now.
    assert.deepEqual(await countsOf(db), [20, 20, 20, 20]);
  });

  test('nor do they when documents have a time to live only now', async () => {
    const db = await server.database('q=2');
    expectStatus(await server.put(`/${db}/_design/d`, counting), 201);
    expectStatus(await server.post(`/${db}/_index`, { index: {}, type: 'text', name: 'text', ddoc: 'text' }), 200);
    await server.fill(db, notes(30, (n) => (n < 10 ? { ttl: -1 } : {})));
    assert.deepEqual(await countsOf(db), [30, 30, 30, 30]);
    await sleep(1100);
    expectStatus(await server.put(`/${db}/_properties`, { ttl: 1 }), 200);
    assert.deepEqual(await countsOf(db), [10, 10, 10, 10]);
    expectStatus(await server.put(`/${db}/_properties`, { ttl: 1000 }), 200);
    assert.deepEqual(await countsOf(db), [10, 10, 10, 10]);
  });
});
