import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import nano from 'nano';
import { credentials, expectError, expectStatus, patience, Server } from '../harness.mjs';

// What a design document's rule looks like in the wild.
const RULE = `function (newDoc, oldDoc, userCtx, secObj) {
  if (newDoc._deleted) {
    if (userCtx.roles.indexOf('_admin') < 0) throw({forbidden: 'only admins delete'});
    return;
  }
  if (!newDoc.type) throw({forbidden: 'Document must have a type.'});
  if (oldDoc && oldDoc.type !== newDoc.type) throw({forbidden: 'type is fixed: ' + oldDoc.type});
  if (newDoc.type === 'private' && !userCtx.name) throw({unauthorized: 'Please log in.'});
  if (newDoc.type === 'secured' && !(secObj.admins && secObj.admins.names.indexOf(userCtx.name) >= 0)) {
    throw({forbidden: userCtx.name + ' is no admin of ' + userCtx.db});
  }
}`;

describe('validate_doc_update', () => {
  let server, db;
  before(async () => {
    server = await Server.start({ admin: true });
    for (const name of ['ann', 'bob']) {
      const user = { name, password: 'secret', type: 'user', roles: [] };
      expectStatus(await server.put(`/_users/org.couchdb.user:${name}`, user), 201);
    }
  });
  after(() => server?.stop());

  // A database open to all, with the rule.
  const ruled = async (rule = RULE, query = '') => {
    const name = await server.database(query);
    expectStatus(await server.put(`/${name}/_security`, { admins: { names: ['ann'], roles: [] }, members: { names: [], roles: [] } }), 200);
    expectStatus(await server.put(`/${name}/_design/rules`, { validate_doc_update: rule }), 201);
    return name;
  };
  const anonymous = { auth: false };
  const as = (name) => ({ auth: `${name}:secret` });

  test('PUT, POST and DELETE are refused with the reason thrown', async () => {
    db = await ruled();
    expectError(await server.put(`/${db}/a`, {}), 403, 'forbidden', 'Document must have a type.');
    expectError(await server.post(`/${db}`, {}), 403, 'forbidden', 'Document must have a type.');
    expectError(await server.get(`/${db}/a`), 404, 'not_found');
    const { rev } = expectStatus(await server.put(`/${db}/a`, { type: 'x' }), 201);
    expectError(await server.put(`/${db}/a`, { type: 'y', _rev: rev }), 403, 'forbidden', 'type is fixed: x');
    expectError(await server.delete(`/${db}/a?rev=${rev}`, anonymous), 403, 'forbidden', 'only admins delete');
    expectStatus(await server.get(`/${db}/a`), 200);
    expectStatus(await server.delete(`/${db}/a?rev=${rev}`), 200);
  });

  test('unauthorized answers 401', async () => {
    db = await ruled();
    expectError(await server.put(`/${db}/p`, { type: 'private' }, anonymous), 401, 'unauthorized', 'Please log in.');
    expectStatus(await server.put(`/${db}/p`, { type: 'private' }, as('bob')), 201);
  });

  test('the user and the security object are what they are', async () => {
    db = await ruled();
    expectError(await server.put(`/${db}/s`, { type: 'secured' }, as('bob')), 403, 'forbidden', `bob is no admin of ${db}`);
    expectStatus(await server.put(`/${db}/s`, { type: 'secured' }, as('ann')), 201);
  });

  test('COPY is validated', async () => {
    db = await server.database();
    expectStatus(await server.put(`/${db}/typeless`, { n: 1 }), 201);
    expectStatus(await server.put(`/${db}/_design/rules`, { validate_doc_update: RULE }), 201);
    expectError(await server.copy(`/${db}/typeless`, 'copy'), 403, 'forbidden', 'Document must have a type.');
  });

  test('a bulk is validated document by document', async () => {
    db = await ruled();
    const docs = [{ _id: 'a', type: 'x' }, { _id: 'b' }, { _id: 'c', type: 'x' }];
    const results = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    assert.equal(results[0].ok, true);
    assert.deepEqual(results[1], { id: 'b', error: 'forbidden', reason: 'Document must have a type.' });
    assert.equal(results[2].ok, true);
    // A conflict comes before the rule, as in CouchDB.
    const again = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [{ _id: 'a' }] }), 201);
    assert.equal(again[0].error, 'conflict');
  });

  test('a large bulk is validated, too', async () => {
    db = await ruled();
    const docs = [];
    for (let i = 0; i < 3000; ++i) docs.push({ _id: `d${i}`, type: i % 2 ? 'x' : undefined });
    const results = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    assert.equal(results.filter((result) => result.ok).length, 1500);
    assert.equal(results.filter((result) => result.error === 'forbidden').length, 1500);
    assert.equal((await server.get(`/${db}`)).body.doc_count, 1501);
  });

  test('replicated edits are validated', async () => {
    db = await ruled();
    const rev = `2-${'b'.repeat(32)}`;
    const history = { start: 2, ids: ['b'.repeat(32), 'a'.repeat(32)] };
    const docs = [{ _id: 'a', _rev: rev, _revisions: history }, { _id: 'b', _rev: rev, _revisions: history, type: 'x' }];
    const results = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs, new_edits: false }), 201);
    assert.equal(results.length, 1);
    assert.equal(results[0].id, 'a');
    assert.equal(results[0].error, 'forbidden');
    const next = { _id: 'b', type: 'y', _revisions: { start: 3, ids: ['c'.repeat(32), ...history.ids] }, _rev: `3-${'c'.repeat(32)}` };
    const changed = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [next], new_edits: false }), 201);
    assert.equal(changed[0].reason, 'type is fixed: x');
    expectError(await server.put(`/${db}/b?new_edits=false`, next), 403, 'forbidden', 'type is fixed: x');
  });

  test('an atomic batch is refused as a whole', async () => {
    db = await ruled(RULE, 'partitioned=true');
    const docs = [{ _id: 'p:a', type: 'x' }, { _id: 'p:b' }];
    expectError(await server.post(`/${db}/_partition/p/_batch`, { docs }), 403, 'forbidden', 'Document must have a type.');
    expectError(await server.get(`/${db}/p:a`), 404, 'not_found');
    docs[1].type = 'x';
    expectStatus(await server.post(`/${db}/_partition/p/_batch`, { docs }), 201);
    const stale = [{ _id: 'p:a', type: 'x' }, { _id: 'p:c', type: 'x' }];
    expectError(await server.post(`/${db}/_partition/p/_batch`, { docs: stale }), 409, 'conflict');
    expectError(await server.get(`/${db}/p:c`), 404, 'not_found');
  });

  test('batch=ok is validated before it is acknowledged', async () => {
    db = await ruled();
    expectError(await server.put(`/${db}/a?batch=ok`, {}), 403, 'forbidden', 'Document must have a type.');
    expectStatus(await server.put(`/${db}/a?batch=ok`, { type: 'x' }), 202);
  });

  test('design and local documents are exempt', async () => {
    db = await ruled(`function() { throw {forbidden: 'nothing at all'}; }`);
    expectError(await server.put(`/${db}/a`, {}), 403, 'forbidden', 'nothing at all');
    expectStatus(await server.put(`/${db}/_local/a`, {}), 201);
    const { body } = await server.get(`/${db}/_design/rules`);
    expectStatus(await server.put(`/${db}/_design/rules`, { _rev: body._rev }), 201);
    expectStatus(await server.put(`/${db}/a`, {}), 201);
  });

  test('what else is thrown is an error of the server', async () => {
    db = await ruled('function(doc) { doc.a.b.c; }');
    expectError(await server.put(`/${db}/a`, {}), 500, 'TypeError');
    const other = await ruled("function() { throw 'just text'; }");
    expectError(await server.put(`/${other}/a`, {}), 500, 'unknown_error', 'just text');
  });

  test('the new document has its revisions', async () => {
    db = await ruled('function(n, o) { throw {forbidden: [n._id, n._rev, n._revisions.start, n._revisions.ids.length, o && o._rev].join()}; }');
    expectError(await server.put(`/${db}/a`, {}), 403, 'forbidden', 'a,,0,0,');
    const rev = `2-${'b'.repeat(32)}`;
    const reply = await server.put(`/${db}/a?new_edits=false`, { _rev: rev, _revisions: { start: 2, ids: ['b'.repeat(32), 'a'.repeat(32)] } });
    expectError(reply, 403, 'forbidden', `a,${rev},2,2,`);
  });

  test('a rule that never ends fails the write and nothing else', async (context) => {
    const limited = await Server.startFor(context, { args: ['--javascript-call-time', '300ms'] });
    const name = await limited.database();
    expectStatus(await limited.put(`/${name}/_design/rules`, { validate_doc_update: 'function(d) { while (d.loop) {} }' }), 201);
    const docs = Array.from({ length: 50 }, (_, i) => ({ _id: `l${i}`, loop: true }));
    const began = Date.now();
    const [results, other] = await Promise.all([
      limited.post(`/${name}/_bulk_docs`, { docs }),
      limited.put(`/${name}/honest`, {}),
    ]);
    expectStatus(other, 201);
    assert.ok(expectStatus(results, 201).every((result) => result.error === 'resource_limit'));
    assert.ok(Date.now() - began < 10_000 * patience);
    expectStatus(await limited.put(`/${name}/next`, {}), 201);
  });

  test('rules hold after a restart', async (context) => {
    const restarted = await Server.startFor(context, { admin: true });
    const name = await restarted.database();
    expectStatus(await restarted.put(`/${name}/_design/rules`, { validate_doc_update: RULE }), 201);
    await restarted.stop({ keepFolder: true });
    await restarted.relaunch();
    expectError(await restarted.put(`/${name}/a`, {}), 403, 'forbidden', 'Document must have a type.');
  });

  test('nano sees the error', async () => {
    db = await ruled();
    const alice = nano(server.urlWithCredentials).use(db);
    await assert.rejects(alice.insert({}, 'x'), (error) => {
      assert.equal(error.statusCode, 403);
      assert.equal(error.error, 'forbidden');
      assert.equal(error.reason, 'Document must have a type.');
      return true;
    });
    assert.equal((await alice.insert({ type: 'x' }, 'x')).ok, true);
  });

  test('only admins of the database write design documents', async () => {
    db = await ruled();
    expectError(await server.put(`/${db}/_design/mine`, {}, as('bob')), 403, 'forbidden', 'You are not a db or server admin.');
    expectError(await server.put(`/${db}/_design/mine`, {}, anonymous), 401, 'unauthorized');
    assert.ok(credentials.name);
  });
});

describe('design documents are checked when they are written', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
  });
  after(() => server?.stop());

  test('a function that does not compile is refused', async () => {
    const reply = await server.put(`/${db}/_design/bad`, { views: { v: { map: 'function(doc) { emit( }' } } });
    expectError(reply, 400, 'compilation_error');
    assert.match(reply.body.reason, /^Compilation of the map function in the 'v' view failed: SyntaxError: /);
    expectError(await server.get(`/${db}/_design/bad`), 404, 'not_found');
    const rule = await server.put(`/${db}/_design/bad`, { validate_doc_update: 'no function' });
    expectError(rule, 400, 'compilation_error');
  });

  test('in a bulk only that document is refused', async () => {
    const docs = [{ _id: '_design/b1', views: { v: { map: '(' } } }, { _id: '_design/b2', views: { v: { map: 'function() {}' } } }, { _id: 'plain' }];
    const results = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    assert.equal(results[0].error, 'compilation_error');
    assert.equal(results[1].ok, true);
    assert.equal(results[2].ok, true);
  });

  test('members of the wrong type are refused', async () => {
    const refused = async (document, reason) => expectError(await server.put(`/${db}/_design/w`, document), 400, 'invalid_design_doc', reason);
    await refused({ views: [] }, '`views` field must have object type');
    await refused({ views: { v: {} } }, 'View `v` must contain map function');
    await refused({ language: 7 }, '`language` field must have string type');
    await refused({ views: { v: { map: 'function() {}', reduce: '_nope' } } }, '`_nope` is not a supported reduce function.');
  });

  test('an unknown built-in reduce is refused on every way to write, and kept when it is replicated', async () => {
    const design = (name, reduce) => ({ _id: `_design/${name}`, views: { v: { map: 'function(doc) { emit(1, 1); }', reduce } } });
    const reason = (reduce) => `\`${reduce}\` is not a supported reduce function.`;
    for (const reduce of ['_median', '_top', '_top_0', '_bottom_101', '_']) {
      expectError(await server.put(`/${db}/_design/r`, design('r', reduce)), 400, 'invalid_design_doc', reason(reduce));
      expectError(await server.post(`/${db}`, design('r', reduce)), 400, 'invalid_design_doc', reason(reduce));
      const [result] = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [design('r', reduce)] }), 201);
      assert.deepEqual([result.error, result.reason], ['invalid_design_doc', reason(reduce)]);
      expectError(await server.put(`/${db}/_design/r?batch=ok`, design('r', reduce)), 400, 'invalid_design_doc', reason(reduce));
    }
    for (const reduce of ['_sum', '_count', '_stats', '_approx_count_distinct', '_top_3', '_bottom_100', '_first', '_last']) {
      expectStatus(await server.put(`/${db}/_design/ok${reduce}`, design(`ok${reduce}`, reduce)), 201);
    }
    const _rev = `1-${'b'.repeat(32)}`;
    const copied = await server.post(`/${db}/_bulk_docs`, { new_edits: false, docs: [{ ...design('newer', '_median'), _rev }] });
    assert.deepEqual(expectStatus(copied, 201), []);
    expectStatus(await server.get(`/${db}/_design/newer`), 200);
    expectError(await server.get(`/${db}/_design/newer/_view/v`), 400, 'invalid_design_doc', reason('_median'));
  });

  test('other languages and replicated filters are taken as they are', async () => {
    expectStatus(await server.put(`/${db}/_design/erlang`, { language: 'erlang', views: { v: { map: 'fun({Doc}) -> ok end.' } } }), 201);
    const rev = `1-${'a'.repeat(32)}`;
    expectStatus(await server.put(`/${db}/_design/copied?new_edits=false`, { _rev: rev, filters: { f: '(' } }), 201);
    expectError(await server.get(`/${db}/_changes?filter=copied/f`), 500, 'SyntaxError');
  });
});
