// Tombstones that are dropped after a time: a reader that is behind is told so, and no reader misses a deletion.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import http from 'pouchdb-adapter-http';
import memory from 'pouchdb-adapter-memory';
import PouchDB from 'pouchdb-core';
import replication from 'pouchdb-replication';
import { eventually, expectError, expectStatus, ids, Server } from '../harness.mjs';

PouchDB.plugin(http).plugin(memory).plugin(replication);

describe('retention of tombstones', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const remove = async (db, id, on = server) => {
    const { _rev } = expectStatus(await on.get(`/${db}/${id}`), 200);
    return expectStatus(await on.delete(`/${db}/${id}?rev=${_rev}`), 200);
  };
  const dropped = (db, on = server) =>
    eventually(async () => (await on.get(`/${db}`)).body.doc_del_count === 0, 30_000);

  test('without the property tombstones stay', async () => {
    const db = await server.database();
    expectStatus(await server.put(`/${db}/a`, {}), 201);
    const { last_seq } = (await server.get(`/${db}/_changes`)).body;
    await remove(db, 'a');
    const { results } = expectStatus(await server.get(`/${db}/_changes?since=${last_seq}`), 200);
    assert.deepEqual(ids(results), ['a']);
    assert.equal((await server.get(`/${db}`)).body.doc_del_count, 1);
  });

  test('a reader that is behind is told to begin again, also after a restart', async (t) => {
    const own = await Server.startFor(t);
    const db = await own.database('q=2&tombstone_retention=1');
    assert.deepEqual((await own.get(`/${db}/_properties`)).body, { tombstone_retention: 1 });
    const { rev } = expectStatus(await own.put(`/${db}/a`, { n: 1 }), 201);
    expectStatus(await own.put(`/${db}/b`, { n: 1 }), 201);
    const { last_seq } = (await own.get(`/${db}/_changes`)).body;
    await remove(db, 'a', own);
    await dropped(db, own);

    expectError(await own.get(`/${db}/_changes?since=${last_seq}`), 400, 'tombstones_gone');
    assert.deepEqual(ids((await own.get(`/${db}/_changes`)).body.results), ['b']);
    expectError(await own.get(`/${db}/a`), 404, 'not_found');
    // A replica that knows the former revision as deleted gets the new one.
    const again = expectStatus(await own.put(`/${db}/a`, { n: 1 }), 201);
    assert.match(again.rev, /^1-/);
    assert.notEqual(again.rev, rev);

    await own.kill();
    await own.relaunch();
    expectError(await own.get(`/${db}/_changes?since=${last_seq}`), 400, 'tombstones_gone');
    await own.stop({ keepFolder: true });
  });

  test('a reader that began at 0 continues from page to page', async () => {
    const db = await server.database('tombstone_retention=1');
    const names = [...Array(20).keys()].map((n) => `d${10 + n}`);
    await server.fill(db, names.map((_id) => ({ _id })));
    await remove(db, 'd10');
    let page = (await server.get(`/${db}/_changes?limit=5`)).body;
    await dropped(db);
    const seen = ids(page.results);
    while (page.pending > 0) {
      page = expectStatus(await server.get(`/${db}/_changes?limit=5&since=${page.last_seq}`), 200);
      seen.push(...ids(page.results));
    }
    assert.deepEqual(seen.sort(), names.slice(1));
  });

  test('views and indexes show what is there', async () => {
    const db = await server.database('tombstone_retention=1');
    expectStatus(await server.put(`/${db}/_design/d`, { views: { all: { map: 'function (doc) { emit(doc.n); }' } } }), 201);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] } }), 200);
    const view = async () => ids(expectStatus(await server.get(`/${db}/_design/d/_view/all`), 200).rows);
    const found = async () =>
      expectStatus(await server.post(`/${db}/_find`, { selector: { n: { $gt: 0 } } }), 200).docs.map((doc) => doc._id);
    await server.fill(db, [{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }, { _id: 'c', n: 3 }]);
    assert.deepEqual(await view(), ['a', 'b', 'c']);
    await remove(db, 'b');
    await dropped(db);
    assert.deepEqual(await view(), ['a', 'c']);
    assert.deepEqual(await found(), ['a', 'c']);
    // An index that begins now has no tombstones to read.
    expectStatus(await server.put(`/${db}/_design/e`, { views: { all: { map: 'function (doc) { emit(-doc.n); }' } } }), 201);
    assert.deepEqual(ids((await server.get(`/${db}/_design/e/_view/all`)).body.rows), ['c', 'a']);
  });

  test('PouchDB replicates a database that drops tombstones', async () => {
    const db = await server.database('tombstone_retention=1');
    const names = [...Array(30).keys()].map((n) => `d${10 + n}`);
    await server.fill(db, names.map((_id) => ({ _id })));
    for (const id of names.slice(0, 5)) await remove(db, id);
    await dropped(db);
    const remote = new PouchDB(`${server.url}/${db}`);
    const local = new PouchDB(`retention-${Date.now()}`, { adapter: 'memory' });
    await local.replicate.from(remote, { batch_size: 4 });
    assert.deepEqual(ids((await local.allDocs()).rows), names.slice(5));
    // Present documents still replicate.
    await server.put(`/${db}/e`, {});
    await local.replicate.from(remote, { batch_size: 4 });
    assert.deepEqual(ids((await local.allDocs()).rows), [...names.slice(5), 'e']);
    await local.destroy();
  });
});
