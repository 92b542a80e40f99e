import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, Server } from '../harness.mjs';

const nameRule = (name) =>
  `Name: '${name}'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, (, ), +, -, and / ` +
  'are allowed. Must begin with a letter.';

describe('databases', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  test('a new database is answered with its location', async () => {
    const reply = await server.put('/fresh');
    expectStatus(reply, 201);
    assert.deepEqual(reply.body, { ok: true });
    assert.equal(reply.headers.location, `${server.url}/fresh`);
  });

  test('an existing database is not created again', async () => {
    await server.put('/twice');
    expectError(await server.put('/twice'), 412, 'file_exists',
      'The database could not be created, the file already exists.');
  });

  test('the info of an empty database', async () => {
    await server.put('/empty');
    const info = expectStatus(await server.get('/empty'), 200);
    assert.equal(info.db_name, 'empty');
    assert.equal(info.doc_count, 0);
    assert.equal(info.doc_del_count, 0);
    assert.match(String(info.update_seq), /^0/);
    assert.equal(typeof info.instance_start_time, 'string');
    assert.deepEqual(info.props, {});
    assert.equal(info.compact_running, false);
    for (const size of ['file', 'external', 'active']) assert.equal(typeof info.sizes[size], 'number');
    for (const value of ['q', 'n', 'w', 'r']) assert.equal(typeof info.cluster[value], 'number');
    assert.equal(typeof info.disk_format_version, 'number');
  });

  test('the info counts documents, deletions and sizes', async () => {
    const db = await server.database();
    const revs = await server.fill(db, [{ _id: 'a', text: 'x'.repeat(1000) }, { _id: 'b' }, { _id: 'c' }]);
    await server.delete(`/${db}/c?rev=${revs[2]}`);
    const info = (await server.get(`/${db}`)).body;
    assert.equal(info.doc_count, 2);
    assert.equal(info.doc_del_count, 1);
    assert.match(info.update_seq, /^4-/);
    assert.ok(info.sizes.external >= 1000);
    assert.ok(info.sizes.active >= 1000);
  });

  test('base URLs that end with a slash work: empty segments are ignored', async () => {
    expectStatus(await server.put('//slashed'), 201);
    expectStatus(await server.put('//slashed//doc', {}), 201);
    assert.equal(expectStatus(await server.get('/slashed//_all_docs'), 200).rows[0].id, 'doc');
    expectStatus(await server.get('//_all_dbs'), 200);
  });

  test('behind a proxy, the location has the name that its clients use', async () => {
    const headers = { 'X-Forwarded-Host': 'db.example.com', 'X-Forwarded-Proto': 'https' };
    const reply = await server.put('/forwarded', undefined, { headers });
    expectStatus(reply, 201);
    assert.equal(reply.headers.location, 'https://db.example.com/forwarded');
  });

  test('the method may be in a header', async () => {
    expectStatus(await server.post('/overridden', undefined, { headers: { 'X-HTTP-Method-Override': 'PUT' } }), 201);
    expectStatus(await server.post('/overridden', undefined, { headers: { 'X-HTTP-Method-Override': 'DELETE' } }), 200);
    expectStatus(await server.get('/overridden'), 404);
  });

  test('an unknown path of the server is said to be unknown, not a missing database', async () => {
    for (const path of ['/_unknown', '/_unknown/x', '/_unknown/_all_docs']) {
      expectError(await server.get(path), 404, 'not_found', 'There is no such endpoint: /_unknown');
    }
  });

  test('HEAD tells whether a database exists', async () => {
    await server.put('/headed');
    expectStatus(await server.head('/headed'), 200);
    expectStatus(await server.head('/nowhere'), 404);
  });

  test('a missing database is not found', async () => {
    expectError(await server.get('/nowhere'), 404, 'not_found', 'Database does not exist.');
    expectError(await server.delete('/nowhere'), 404, 'not_found', 'Database does not exist.');
    expectError(await server.get('/nowhere/doc'), 404, 'not_found', 'Database does not exist.');
    expectError(await server.put('/nowhere/doc', {}), 404, 'not_found', 'Database does not exist.');
    expectError(await server.get('/nowhere/_all_docs'), 404, 'not_found', 'Database does not exist.');
    expectError(await server.get('/nowhere/_changes'), 404, 'not_found', 'Database does not exist.');
  });

  test('a deleted database is gone with its documents, and can be created again', async () => {
    await server.put('/again');
    await server.put('/again/doc', { a: 1 });
    assert.deepEqual(expectStatus(await server.delete('/again'), 200), { ok: true });
    expectStatus(await server.get('/again'), 404);
    expectStatus(await server.put('/again'), 201);
    expectStatus(await server.get('/again/doc'), 404);
    assert.equal((await server.get('/again')).body.doc_count, 0);
  });

  test('a delete with a revision was meant for a document', async () => {
    await server.put('/careful');
    expectError(await server.delete('/careful?rev=1-abc'), 400, 'bad_request',
      'You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?');
    expectStatus(await server.get('/careful'), 200);
  });

  for (const name of ['Upper', '1digit', '_unknown', 'spa ce', 'dot.ted', 'umläut', 'star*']) {
    test(`the name ${name} is refused`, async () => {
      expectError(await server.put(`/${encodeURIComponent(name)}`), 400, 'illegal_database_name', nameRule(name));
    });
  }

  for (const name of ['a', 'a_b', 'a$b', 'a(b)', 'a+b', 'a-b', 'a/b', 'a/b/c', 'x1234567890']) {
    test(`the name ${name} is allowed`, async () => {
      const path = `/${encodeURIComponent(name)}`;
      expectStatus(await server.put(path), 201);
      assert.equal((await server.get(path)).body.db_name, name);
      assert.ok((await server.get('/_all_dbs')).body.includes(name));
      expectStatus(await server.put(`${path}/doc`, { in: name }), 201);
      assert.equal((await server.get(`${path}/doc`)).body.in, name);
      expectStatus(await server.delete(path), 200);
    });
  }

  test('a name of 238 bytes is allowed, and a longer one refused', async () => {
    const longest = 'a'.repeat(238);
    expectStatus(await server.put(`/${longest}`), 201);
    expectStatus(await server.delete(`/${longest}`), 200);
    expectError(await server.put(`/${'a'.repeat(239)}`), 400, 'database_name_too_long');
  });

  test('an escaped slash is part of the name, and a plain one is not', async () => {
    await server.put('/up%2Fdown');
    expectStatus(await server.get('/up%2fdown'), 200);
    expectError(await server.get('/up/down'), 404, 'not_found', 'Database does not exist.');
  });

  test('a trailing slash changes nothing', async () => {
    await server.put('/trailing/');
    expectStatus(await server.get('/trailing/'), 200);
    expectStatus(await server.get('/trailing'), 200);
  });

  test('q sets the number of physical partitions', async () => {
    await server.put('/four?q=4');
    assert.equal((await server.get('/four')).body.cluster.q, 4);
    await server.fill('four', Array.from({ length: 100 }, (_, n) => ({ _id: `d${n}` })));
    assert.equal((await server.get('/four/_all_docs')).body.rows.length, 100);
    for (const q of ['0', '-1', 'x', '1.5', '99999999']) expectStatus(await server.put(`/badq?q=${q}`), 400);
  });

  test('partitioned says so in its properties', async () => {
    await server.put('/parted?partitioned=true');
    assert.deepEqual((await server.get('/parted')).body.props, { partitioned: true });
    await server.put('/unparted?partitioned=false');
    assert.deepEqual((await server.get('/unparted')).body.props, {});
    expectError(await server.put('/oddly?partitioned=perhaps'), 400, 'bad_request');
    expectError(await server.put('/_replicator?partitioned=true'), 400, 'bad_request', 'Cannot partition a system database');
  });

  test('a full commit is answered with the start time', async () => {
    await server.put('/committed');
    const body = expectStatus(await server.post('/committed/_ensure_full_commit', {}), 201);
    assert.equal(body.ok, true);
    assert.equal(typeof body.instance_start_time, 'string');
  });

  test('after a full commit, writes that were accepted with batch=ok are stored', async () => {
    await server.put('/batched?q=4');
    const text = 'x'.repeat(100_000);
    for (let round = 0; round < 5; ++round) {
      const ids = Array.from({ length: 20 }, (_, i) => `${round}-${i}`);
      await Promise.all(ids.map(async (id) => expectStatus(await server.put(`/batched/${id}?batch=ok`, { text }), 202)));
      expectStatus(await server.post('/batched/_ensure_full_commit', {}), 201);
      const { rows } = expectStatus(await server.post('/batched/_all_docs', { keys: ids }), 200);
      assert.deepEqual(rows.filter((row) => row.error), []);
    }
  });

  test('compaction and clean-up are accepted', async () => {
    await server.put('/compacted');
    assert.deepEqual(expectStatus(await server.post('/compacted/_compact', {}), 202), { ok: true });
    assert.deepEqual(expectStatus(await server.post('/compacted/_view_cleanup', {}), 202), { ok: true });
  });

  test('the revision limit can be read and set', async () => {
    await server.put('/limited');
    const reply = await server.get('/limited/_revs_limit');
    assert.equal(expectStatus(reply, 200), 1000);
    assert.deepEqual(expectStatus(await server.put('/limited/_revs_limit', '5'), 200), { ok: true });
    assert.equal((await server.get('/limited/_revs_limit')).body, 5);
    expectStatus(await server.put('/limited/_revs_limit', '0'), 400);
    expectStatus(await server.put('/limited/_revs_limit', '"five"'), 400);
  });

  test('methods that a database has not are refused with those it has', async () => {
    await server.put('/methodical');
    const reply = await server.request('PATCH', '/methodical');
    expectError(reply, 405, 'method_not_allowed');
    assert.deepEqual(reply.headers.allow.split(/, */).sort(), ['DELETE', 'GET', 'HEAD', 'POST']);
    expectStatus(await server.get('/methodical/_bulk_docs'), 405);
    expectStatus(await server.put('/methodical/_all_docs', {}), 405);
    expectStatus(await server.delete('/methodical/_find'), 405);
    for (const path of ['/not-there/_find', '/not-there/_all_docs', '/not-there/_security']) {
      expectError(await server.delete(path), 404, 'not_found', 'Database does not exist.');
    }
  });

  test('many databases can be made and are all usable', async () => {
    for (let n = 0; n < 60; ++n) {
      expectStatus(await server.put(`/many${n}`), 201);
      expectStatus(await server.put(`/many${n}/doc`, { n }), 201);
    }
    for (let n = 0; n < 60; ++n) {
      assert.equal((await server.get(`/many${n}/doc`)).body.n, n);
      expectStatus(await server.delete(`/many${n}`), 200);
    }
  });
});
