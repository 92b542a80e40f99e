import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { docIds, expectError, expectStatus, ids, REV, Server } from '../harness.mjs';

describe('partitioned databases', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true&q=4');
    const docs = [];
    for (let p = 0; p < 20; ++p) {
      for (let n = 0; n < 10; ++n) docs.push({ _id: `part${p}:doc${n}`, p, n, text: 'x'.repeat(100) });
    }
    await server.fill(db, docs);
  });
  after(() => server?.stop());

  test('an id must name its partition', async () => {
    const wanted = 'Doc id must be of form partition:id';
    expectError(await server.put(`/${db}/nocolon`, {}), 400, 'illegal_docid', wanted);
    expectError(await server.post(`/${db}`, { _id: 'nocolon' }), 400, 'illegal_docid', wanted);
    const rows = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [{ _id: 'nocolon' }, { _id: 'with:colon' }] }), 201);
    assert.deepEqual(rows[0], { id: 'nocolon', error: 'illegal_docid', reason: wanted });
    assert.equal(rows[1].ok, true);
    expectError(await server.post(`/${db}`, { nameless: true }), 400, 'illegal_docid', wanted);
    expectError(await server.put(`/${db}/${encodeURIComponent(':empty')}`, {}), 400, 'illegal_partition', 'Partition must not be empty');
    expectError(await server.put(`/${db}/${encodeURIComponent('empty:')}`, {}), 400, 'illegal_docid', 'Document id must not be empty');
    expectError(await server.put(`/${db}/${encodeURIComponent('part:_under')}`, {}), 400, 'illegal_docid');
  });

  test('only the first colon divides', async () => {
    expectStatus(await server.put(`/${db}/colon:a:b:c`, { n: 1 }), 201);
    assert.deepEqual(ids((await server.get(`/${db}/_partition/colon/_all_docs`)).body.rows), ['colon:a:b:c']);
  });

  test('design and local documents need no partition', async () => {
    expectStatus(await server.put(`/${db}/_design/free`, { language: 'query' }), 201);
    expectStatus(await server.put(`/${db}/_local/free`, {}), 201);
    expectStatus(await server.get(`/${db}/_design/free`), 200);
  });

  test('the info of a partition', async () => {
    const info = expectStatus(await server.get(`/${db}/_partition/part3`), 200);
    assert.equal(info.db_name, db);
    assert.equal(info.partition, 'part3');
    assert.equal(info.doc_count, 10);
    assert.equal(info.doc_del_count, 0);
    assert.ok(info.sizes.active > 1000 && info.sizes.external > 1000, JSON.stringify(info));
    const empty = expectStatus(await server.get(`/${db}/_partition/unused`), 200);
    assert.equal(empty.doc_count, 0);
    assert.equal(empty.sizes.external, 0);
  });

  test('the info of a partition counts deletions', async () => {
    const [rev] = await server.fill(db, [{ _id: 'counted:a' }]);
    await server.fill(db, [{ _id: 'counted:b' }]);
    await server.delete(`/${db}/counted:a?rev=${rev}`);
    const info = (await server.get(`/${db}/_partition/counted`)).body;
    assert.equal(info.doc_count, 1);
    assert.equal(info.doc_del_count, 1);
  });

  test('_all_docs of a partition: ranges, keys, documents', async () => {
    const list = async (query = '') => (await server.get(`/${db}/_partition/part7/_all_docs${query}`)).body.rows;
    assert.equal((await list()).length, 10);
    assert.deepEqual(ids(await list('?limit=2&skip=3')), ['part7:doc3', 'part7:doc4']);
    assert.deepEqual(ids(await list('?descending=true&limit=2')), ['part7:doc9', 'part7:doc8']);
    assert.deepEqual(ids(await list('?startkey="part7:doc8"')), ['part7:doc8', 'part7:doc9']);
    assert.deepEqual(ids(await list('?key="part7:doc5"')), ['part7:doc5']);
    assert.equal((await list('?include_docs=true&limit=1'))[0].doc.p, 7);
    const keyed = expectStatus(await server.post(`/${db}/_partition/part7/_all_docs`, { keys: ['part7:doc1', 'part7:nope'] }), 200);
    assert.equal(keyed.rows[0].id, 'part7:doc1');
    assert.equal(keyed.rows[1].error, 'not_found');
  });

  test('a range of a partition does not leave it', async () => {
    const rows = (await server.get(`/${db}/_partition/part7/_all_docs?startkey="part0"&endkey="part9"`)).body.rows;
    assert.ok(rows.every((row) => row.id.startsWith('part7:')), JSON.stringify(rows));
  });

  test('partitions whose names begin alike are apart', async () => {
    const one = (await server.get(`/${db}/_partition/part1/_all_docs`)).body.rows;
    assert.equal(one.length, 10);
    assert.ok(one.every((row) => row.id.startsWith('part1:')));
  });

  for (const partition of ['Home#Kitchen#Small Appliances', 'slash/inside', 'percent%25', 'plus+', 'ünï€😀', 'question?', 'quote"', 'ü'.repeat(300)]) {
    test(`the partition ${partition.length > 40 ? 'of 300 letters' : partition} works everywhere`, async () => {
      const escaped = encodeURIComponent(partition);
      await server.fill(db, [{ _id: `${partition}:a`, n: 1 }, { _id: `${partition}:b`, n: 2 }]);
      assert.equal((await server.get(`/${db}/_partition/${escaped}`)).body.partition, partition);
      assert.equal((await server.get(`/${db}/_partition/${escaped}`)).body.doc_count, 2);
      assert.deepEqual(ids((await server.get(`/${db}/_partition/${escaped}/_all_docs`)).body.rows), [`${partition}:a`, `${partition}:b`]);
      const found = expectStatus(await server.post(`/${db}/_partition/${escaped}/_find`, { selector: { n: 2 } }), 200);
      assert.deepEqual(docIds(found.docs), [`${partition}:b`]);
      assert.equal((await server.get(`/${db}/${escaped}:a`)).body.n, 1);
    });
  }

  test('_find looks in its partition alone', async () => {
    const body = expectStatus(await server.post(`/${db}/_partition/part5/_find`, {
      selector: { n: { $gte: 7 } }, execution_stats: true }), 200);
    assert.deepEqual(docIds(body.docs).sort(), ['part5:doc7', 'part5:doc8', 'part5:doc9']);
    assert.ok(body.execution_stats.total_docs_examined <= 10, JSON.stringify(body.execution_stats));
  });

  test('_explain of a partition says so', async () => {
    const body = expectStatus(await server.post(`/${db}/_partition/part5/_explain`, { selector: { n: 1 } }), 200);
    assert.equal(body.partitioned, true);
    assert.equal(body.opts.partition, 'part5');
  });

  test('a partition name must be a good one', async () => {
    expectError(await server.get(`/${db}/_partition/_under`), 400, 'illegal_partition', 'Partition must not start with an underscore');
    expectError(await server.get(`/${db}/_partition/a%3Ab`), 400, 'illegal_partition', 'Partition must not contain a colon');
    expectError(await server.get(`/${db}/_partition/a%F3`), 400, 'illegal_partition', 'Partition must be valid UTF-8');
    expectError(await server.get(`/${db}/_partition`), 400, 'bad_request', 'invalid_partition_req');
    expectError(await server.post(`/${db}/_partition/x`, {}), 405, 'method_not_allowed', 'Only GET allowed');
    expectError(await server.get(`/${db}/_partition/part1/_all_docs?partition=part2`), 400, 'bad_request',
      'Conflicting value for `partition` in query string');
    expectStatus(await server.get(`/${db}/_partition/part1/_nothing`), 404);
  });

  test('a database without partitions has no partition calls', async () => {
    const plain = await server.database();
    expectError(await server.get(`/${plain}/_partition/x/_all_docs`), 400, 'bad_request', 'database is not partitioned');
    expectError(await server.get(`/${plain}/_partition/x`), 400, 'bad_request', 'database is not partitioned');
  });

  test('the feed of a partition', async () => {
    const other = await server.database('partitioned=true&q=2');
    const [rev] = await server.fill(other, [{ _id: 'a:1' }, { _id: 'b:1' }, { _id: 'a:2' }, { _id: 'b:2' }]);
    await server.delete(`/${other}/a:1?rev=${rev}`);
    const feed = expectStatus(await server.get(`/${other}/_partition/a/_changes`), 200);
    assert.deepEqual(ids(feed.results), ['a:2', 'a:1']);
    assert.equal(feed.results[1].deleted, true);
    assert.equal(feed.pending, 0);
    const later = (await server.get(`/${other}/_partition/a/_changes?since=${feed.last_seq}`)).body;
    assert.deepEqual(later.results, []);
    await server.fill(other, [{ _id: 'b:3' }, { _id: 'a:3' }]);
    const after = (await server.get(`/${other}/_partition/a/_changes?since=${feed.last_seq}&include_docs=true`)).body;
    assert.deepEqual(after.results.map((row) => row.doc._id), ['a:3']);
    const limited = (await server.get(`/${other}/_partition/a/_changes?limit=1`)).body;
    assert.equal(limited.results.length, 1);
    assert.equal(limited.pending, 2);
  });

  test('the feed of a partition wakes for its own changes', async () => {
    const other = await server.database('partitioned=true&q=2');
    const feed = await server.feed(`/${other}/_partition/mine/_changes?feed=continuous&since=now&heartbeat=10000`);
    await server.fill(other, [{ _id: 'theirs:1' }]);
    await server.fill(other, [{ _id: 'mine:1' }]);
    assert.equal((await feed.nextRow()).id, 'mine:1');
    feed.close();
  });
});

describe('atomic batches of a partition', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true&q=2');
  });
  after(() => server?.stop());
  const batch = (partition, docs) => server.post(`/${db}/_partition/${partition}/_batch`, { docs });

  test('a batch that fits is written whole', async () => {
    const [rev1, rev2] = await server.fill(db, [{ _id: 'p:update', n: 1 }, { _id: 'p:delete' }]);
    const reply = await batch('p', [
      { _id: 'p:create', n: 1 }, { _id: 'p:update', _rev: rev1, n: 2 }, { _id: 'p:delete', _rev: rev2, _deleted: true }]);
    const rows = expectStatus(reply, 201);
    assert.deepEqual(ids(rows), ['p:create', 'p:update', 'p:delete']);
    for (const row of rows) {
      assert.equal(row.ok, true);
      assert.match(row.rev, REV);
    }
    assert.equal((await server.get(`/${db}/p:update`)).body.n, 2);
    expectError(await server.get(`/${db}/p:delete`), 404, 'not_found', 'deleted');
  });

  test('a batch with failed preconditions names each, and writes nothing', async () => {
    const [rev] = await server.fill(db, [{ _id: 'q:exists', n: 1 }]);
    const sequence = (await server.get(`/${db}`)).body.update_seq;
    const reply = await batch('q', [
      { _id: 'q:new' }, { _id: 'q:exists', n: 2 }, { _id: 'q:absent', _rev: rev }, { _id: 'q:other' }]);
    expectStatus(reply, 409);
    assert.equal(reply.body.error, 'conflict');
    assert.ok(reply.text.includes('q:exists') && reply.text.includes('q:absent'), reply.text);
    assert.ok(!reply.text.includes('q:new') && !reply.text.includes('q:other'), reply.text);
    expectStatus(await server.get(`/${db}/q:new`), 404);
    expectStatus(await server.get(`/${db}/q:other`), 404);
    assert.equal((await server.get(`/${db}/q:exists`)).body.n, 1);
    assert.equal((await server.get(`/${db}`)).body.update_seq, sequence);
  });

  test('a batch stays in its partition', async () => {
    const reply = await batch('r', [{ _id: 'r:1' }, { _id: 's:1' }]);
    assert.equal(reply.status, 400, reply.text);
    expectStatus(await server.get(`/${db}/r:1`), 404);
  });

  test('a bad document spoils the batch', async () => {
    expectStatus(await batch('t', [{ _id: 't:1' }, { _id: 't:2', _unknown: 1 }]), 400);
    expectStatus(await server.get(`/${db}/t:1`), 404);
    expectStatus(await server.post(`/${db}/_partition/t/_batch`, {}), 400);
  });

  test('concurrent batches are not mixed', async () => {
    const docs = (n) => Array.from({ length: 5 }, (_, i) => ({ _id: `race:${i}`, n }));
    const replies = await Promise.all(Array.from({ length: 10 }, (_, n) => batch('race', docs(n))));
    assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
    const rows = (await server.get(`/${db}/_partition/race/_all_docs?include_docs=true`)).body.rows;
    assert.equal(new Set(rows.map((row) => row.doc.n)).size, 1);
  });
});
