// Projections: documents of a database that Octavo keeps as rows of another one.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { expectError, expectStatus, Server } from '../harness.mjs';
import { assertSameRows, createProjection, current, documentsOf, erase, projected, save, soon } from './projection_support.mjs';

/// A source with users' posts, and a partitioned target.
async function blog(server) {
  const source = await server.database();
  const target = await server.database('partitioned=true&q=2');
  return { source, target };
}

const byUser = (target, more = {}) =>
  ({ where: "c.type = 'post'", target: { db: target }, key: '{user}', id: '{_id}', fields: { '*': true }, ...more });
const isPost = ({ type }) => type === 'post';
const rowsByUser = { select: isPost, key: ({ user }) => user };

describe('what rows there are', () => {
  test('rows follow documents: new ones, changed ones, and deleted ones', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await save(server, source, 'p1', { type: 'post', user: 'ann', text: 'one' });
    await save(server, source, 'c1', { type: 'comment', user: 'ann' });
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p2', { type: 'post', user: 'bob', text: 'two' });
    const status = await current(server, source, 'by_user');
    assert.equal(status.state, 'active');
    assert.equal(status.rows, 2);
    assert.equal(status.inputs[0].behind, 0);
    assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), rowsByUser));

    await save(server, source, 'p1', { type: 'post', user: 'ann', text: 'changed' });
    await erase(server, source, 'p2');
    await current(server, source, 'by_user');
    const rows = await documentsOf(server, target);
    assert.deepEqual([...rows], [['ann:p1', { type: 'post', user: 'ann', text: 'changed' }]]);
  });

  test('rows expire by the time to live of the target, and return when they change', async (t) => {
    const server = await Server.startFor(t);
    const source = await server.database();
    const target = await server.database('partitioned=true&ttl=5');
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p1', { type: 'post', user: 'ann', text: 'one' });
    await current(server, source, 'by_user');
    // The deletion is stored: views and other followers learn of it, and the space comes back.
    await soon(async () => assert.equal(expectStatus(await server.get(`/${target}`), 200).doc_del_count, 1), 60_000);
    await save(server, source, 'p1', { type: 'post', user: 'ann', text: 'two' });
    await current(server, source, 'by_user');
    assert.equal(expectStatus(await server.get(`/${target}/ann:p1`), 200).text, 'two');
  });

  test('a row moves with its key, and leaves when the document no longer qualifies', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    await current(server, source, 'by_user');
    await save(server, source, 'p1', { type: 'post', user: 'bob' });
    await current(server, source, 'by_user');
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['bob:p1']);
    await save(server, source, 'p1', { type: 'draft', user: 'bob' });
    await current(server, source, 'by_user');
    assert.equal((await documentsOf(server, target)).size, 0);
  });

  test('fields are expressions, and values that are copied keep their text', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    const fields = { '*': true, text: 'LEFT(c.text, 5)', words: 'ARRAY_LENGTH(c.tags)', size: 'c.nested.size' };
    await createProjection(server, source, 'by_user', byUser(target, { fields }));
    expectStatus(await server.request('PUT', `/${source}/p1`, {
      body: '{"type":"post","user":"ann","text":"long text","tags":["a","b"],"nested":{"size":1.0},"price":1.50}' }), 201);
    await current(server, source, 'by_user');
    const reply = await server.request('GET', `/${target}/ann:p1`);
    assert.match(reply.text, /"price":1\.50/);
    assert.match(reply.text, /"size":1\.0/);
    assert.match(reply.text, /"text":"long "/);
    assert.match(reply.text, /"words":2/);
    // What is undefined is left out.
    await save(server, source, 'p2', { type: 'post', user: 'ann', text: 'x' });
    await current(server, source, 'by_user');
    assert.deepEqual((await documentsOf(server, target)).get('ann:p2'), { type: 'post', user: 'ann', text: 'x' });
  });

  test('a list of fields, a selector, and templates with other types', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_year', {
      selector: { year: { $gt: 2000 } }, target: { db: target }, key: 'y{year}', id: '{name}-{_id}', fields: ['year', 'name'] });
    await save(server, source, 'a:1', { year: 2020, name: 'x:y', other: 1 });
    await save(server, source, 'b', { year: 1999, name: 'old' });
    await save(server, source, 'c', { year: 2021 });
    const { skipped } = await current(server, source, 'by_year');
    assert.deepEqual([...await documentsOf(server, target)], [['y!2020:x%3Ay-a%3A1', { year: 2020, name: 'x:y' }]]);
    assert.equal(skipped.undefined_key, 1);
  });

  test('of rows with one id, that of the least source id counts, whatever came first', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'one', byUser(target, { id: 'newest' }));
    for (const id of ['c', 'a', 'b']) {
      await save(server, source, id, { type: 'post', user: 'ann', from: id });
      await current(server, source, 'one');
    }
    assert.equal((await documentsOf(server, target)).get('ann:newest').from, 'a');
    assert.equal((await current(server, source, 'one')).skipped.collisions, 2);
    for (const [gone, next] of [['a', 'b'], ['b', 'c']]) {
      await erase(server, source, gone);
      await current(server, source, 'one');
      assert.equal((await documentsOf(server, target)).get('ann:newest').from, next);
    }
    await erase(server, source, 'c');
    assert.equal((await current(server, source, 'one')).candidates, 0);
    assert.equal((await documentsOf(server, target)).size, 0);
  });

  test('only the newest of each key are rows: they push others out, and others come up', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    const rows = { ...rowsByUser, by: 'date', n: 2 };
    await createProjection(server, source, 'front', byUser(target, { newest: { by: 'date', n: 2 } }));
    const check = async () => {
      await current(server, source, 'front');
      assertSameRows(await documentsOf(server, target), projected(await documentsOf(server, source), rows));
    };
    for (const [id, user, date] of [['p1', 'ann', 1], ['p2', 'ann', 2], ['p3', 'ann', 3], ['q1', 'bob', 1], ['p0', 'ann', 3]]) {
      await save(server, source, id, { type: 'post', user, date });
      await check();
    }
    assert.equal((await current(server, source, 'front')).candidates, 5);
    await erase(server, source, 'p3');  // p2 comes up
    await check();
    await save(server, source, 'p1', { type: 'post', user: 'ann', date: 9 });  // and is pushed out again
    await check();
    await save(server, source, 'p1', { type: 'post', user: 'ann', date: 0 });
    await check();
    await save(server, source, 'p0', { type: 'post', user: 'bob', date: 5 });
    await check();
  });

  test('a row gets a new revision only when it changes', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'titles', byUser(target, { fields: ['user', 'title'] }));
    await save(server, source, 'p1', { type: 'post', user: 'ann', title: 'x', text: 1 });
    await current(server, source, 'titles');
    const { _rev: first } = (await server.get(`/${target}/ann:p1`)).body;
    await save(server, source, 'p1', { type: 'post', user: 'ann', title: 'x', text: 2 });
    await current(server, source, 'titles');
    expectStatus(await server.post(`/${source}/_projection/titles/_rebuild`, {}), 200);
    await soon(async () => assert.equal((await current(server, source, 'titles')).state, 'active'));
    assert.equal((await server.get(`/${target}/ann:p1`)).body._rev, first);
    assert.match(first, /^1-/);
  });

  test('purged and expired documents have no rows', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    const { rev } = await save(server, source, 'p1', { type: 'post', user: 'ann' });
    await save(server, source, 'p2', { type: 'post', user: 'ann' });
    await current(server, source, 'by_user');
    expectStatus(await server.post(`/${source}/_purge`, { p1: [rev] }), 201);
    await soon(async () => {
      assert.deepEqual([...(await documentsOf(server, target)).keys()], ['ann:p2']);
    });
    expectStatus(await server.put(`/${source}/_properties`, { ttl: 1 }), 200);
    await soon(async () => assert.equal((await documentsOf(server, target)).size, 0), 15_000);
  });
});

describe('who may write rows', () => {
  test('clients cannot change a row, and may write other documents', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    await current(server, source, 'by_user');
    const { _rev } = (await server.get(`/${target}/ann:p1`)).body;
    expectError(await server.put(`/${target}/ann:p1`, { _rev, mine: true }), 403, 'derived_document', /by_user/);
    expectError(await server.delete(`/${target}/ann:p1?rev=${_rev}`), 403, 'derived_document');
    const [bulk] = expectStatus(await server.post(`/${target}/_bulk_docs`, { docs: [{ _id: 'ann:p1', _rev }, { _id: 'ann:own' }] }), 201);
    assert.equal(bulk.error, 'derived_document');
    const replicated = { docs: [{ _id: 'ann:p1', _rev: '9-abc' }], new_edits: false };
    assert.equal(expectStatus(await server.post(`/${target}/_bulk_docs`, replicated), 201)[0].error, 'derived_document');
    assert.deepEqual([...(await documentsOf(server, target)).keys()].sort(), ['ann:own', 'ann:p1']);
  });

  test('a row does not replace the document of a client; it comes when the id is free', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await save(server, target, 'ann:p1', { mine: true });
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    const { rows, skipped } = await current(server, source, 'by_user');
    assert.deepEqual({ rows, occupied: skipped.occupied }, { rows: 0, occupied: 1 });
    assert.deepEqual((await documentsOf(server, target)).get('ann:p1'), { mine: true });
    await erase(server, target, 'ann:p1');
    expectStatus(await server.post(`/${source}/_projection/by_user/_rebuild`, {}), 200);
    await soon(async () => {
      assert.deepEqual((await documentsOf(server, target)).get('ann:p1'), { type: 'post', user: 'ann' });
    });
    assert.equal((await current(server, source, 'by_user')).skipped.occupied, 0);
  });

  test('a target may belong to a projection alone', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    const alone = byUser(target, { target: { db: target, exclusive: true } });
    const { rev } = await save(server, target, 'x:mine', {});
    expectError(await server.put(`/${source}/_projection/alone`, alone), 409, 'not_exclusive', /has documents/);
    expectStatus(await server.delete(`/${target}/x:mine?rev=${rev}`), 200);
    await createProjection(server, source, 'alone', alone);
    expectError(await server.put(`/${target}/x:mine`, {}), 403, 'derived_document', /to itself/);
    expectStatus(await server.put(`/${target}/_design/d`, { views: {} }), 201);
    expectError(await server.put(`/${source}/_projection/second`, byUser(target)), 409, 'not_exclusive');
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    assert.equal((await current(server, source, 'alone')).rows, 1);
  });

  test('the administrator of both databases is asked for', async (t) => {
    const server = await Server.startFor(t, { admin: true });
    const { source, target } = await blog(server);
    expectStatus(await server.put('/_users/org.couchdb.user:eve', { name: 'eve', type: 'user', roles: [], password: 'eve' }), 201);
    const put = () => server.request('PUT', `/${source}/_projection/by_user`, { body: byUser(target), auth: 'eve:eve' });
    expectStatus(await put(), 403);
    expectStatus(await server.put(`/${source}/_security`, { admins: { names: ['eve'], roles: [] }, members: { names: [], roles: [] } }), 200);
    expectError(await put(), 403, 'forbidden', /administrator of the target/);
  });
});

describe('the life of a projection', () => {
  test('it can be paused, resumed, and removed with its rows or without', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    await current(server, source, 'by_user');
    expectStatus(await server.post(`/${source}/_projection/by_user/_pause`, {}), 200);
    await save(server, source, 'p2', { type: 'post', user: 'ann' });
    const paused = expectStatus(await server.get(`/${source}/_projection/by_user`), 200);
    assert.equal(paused.state, 'paused');
    assert.ok(paused.inputs[0].behind > 0);
    expectError(await server.get(`/${source}/_projection/by_user?wait_for=now`), 409, 'conflict', /paused/);
    assert.match((await server.get('/_node/_local/_prometheus')).text, /octavo_projections\{state="paused"\} 1/);
    expectStatus(await server.post(`/${source}/_projection/by_user/_resume`, {}), 200);
    assert.equal((await current(server, source, 'by_user')).rows, 2);
    expectStatus(await server.delete(`/${source}/_projection/by_user?rows=keep`), 200);
    expectError(await server.get(`/${source}/_projection/by_user`), 404, 'not_found');
    const { _rev } = (await server.get(`/${target}/ann:p1`)).body;
    expectStatus(await server.put(`/${target}/ann:p1`, { _rev, mine: true }), 201);  // an ordinary document now

    await createProjection(server, source, 'again', byUser(target));
    assert.equal((await current(server, source, 'again')).skipped.occupied, 1);  // p1; p2 is taken over
    expectStatus(await server.delete(`/${source}/_projection/again`), 202);
    await soon(async () => {
      assert.deepEqual(expectStatus(await server.get(`/${source}/_projection`), 200), { projections: [] });
    });
    assert.deepEqual([...(await documentsOf(server, target)).keys()], ['ann:p1']);
  });

  test('the same request may be repeated, another definition needs the newest rev', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    const { rev } = await createProjection(server, source, 'by_user', byUser(target));
    const again = expectStatus(await server.put(`/${source}/_projection/by_user`, byUser(target)), 200);
    assert.equal(again.rev, rev);
    const other = byUser(target, { where: 'true' });
    expectError(await server.put(`/${source}/_projection/by_user`, other), 409, 'conflict', /newest `rev`/);
    expectError(await server.put(`/${source}/_projection/by_user?rev=7-x`, other), 409, 'conflict');
    expectError(await server.delete(`/${source}/_projection/by_user?rev=7-x`), 409, 'conflict');
    // The number alone is not enough: a projection that was created again has the same.
    expectError(await server.put(`/${source}/_projection/by_user?rev=1-x`, other), 409, 'conflict');
    expectError(await server.delete(`/${source}/_projection/by_user?rev=1-x`), 409, 'conflict');
    const elsewhere = byUser(await server.database('partitioned=true'));
    expectError(await server.put(`/${source}/_projection/by_user?rev=${rev}`, elsewhere), 400, 'target_differs');
    expectError(await server.put(`/${source}/_projection/by_user?rev=${rev}`, byUser(target, { where: 'c.' })), 400, 'projection_syntax');
    expectError(await server.put(`/${source}/_projection/by_user?rev=${rev}`, byUser(target, { id: '{' })), 400, 'projection_syntax');
  });

  test('a sequence that the source does not have cannot be waited for', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    const wait = (sequence) => server.get(`/${source}/_projection/by_user?wait_for=${sequence}`);
    const own = (await server.get(`/${source}`)).body.update_seq;
    expectStatus(await wait(own), 200);
    expectStatus(await wait(`%22${own}%22`), 200);
    expectStatus(await wait('0'), 200);
    const foreign = (await server.get(`/${target}`)).body.update_seq;
    for (const sequence of [foreign, `9${own}`, '99999']) {
      expectError(await wait(sequence), 400, 'query_parse_error', /does not have the sequence of `wait_for`/);
    }
  });

  test('a restart continues, although no client asks for the source', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    expectStatus(await server.post(`/${source}/_projection/by_user/_pause`, {}), 200);
    for (let n = 0; n < 50; ++n) await save(server, source, `p${n}`, { type: 'post', user: 'ann' });
    expectStatus(await server.post(`/${source}/_projection/by_user/_resume`, {}), 200);
    await server.kill();
    await server.relaunch();
    await soon(async () => assert.equal((await documentsOf(server, target)).size, 50));
  });

  test('an older copy of the target that is restored gets the rows again, and loses those of gone documents', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    for (const id of ['p1', 'p2']) await save(server, source, id, { type: 'post', user: 'ann' });
    await current(server, source, 'by_user');
    const folder = path.join(server.dataDir, 'databases', expectStatus(await server.get(`/${target}`), 200).update_seq.split('-')[1]);
    const copy = `${server.dataDir}-copy`;
    await server.stop({ keepFolder: true });
    fs.cpSync(folder, copy, { recursive: true });
    await server.relaunch();
    await erase(server, source, 'p1');
    await save(server, source, 'p3', { type: 'post', user: 'bob' });
    await current(server, source, 'by_user');
    await server.stop({ keepFolder: true });
    fs.rmSync(folder, { recursive: true });
    fs.renameSync(copy, folder);
    await server.relaunch();
    await soon(async () => assert.deepEqual([...(await documentsOf(server, target)).keys()], ['ann:p2', 'bob:p3']));
  });

  test('a compaction of the source compacts what its projections know', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    const docs = Array.from({ length: 5000 }, (_, n) => ({ _id: `p${n}`, type: 'post', user: 'ann' }));
    const revisions = await server.fill(source, docs);
    const { state_bytes: before } = await current(server, source, 'by_user');
    await server.fill(source, docs.map(({ _id }, n) => ({ _id, _rev: revisions[n], _deleted: true })));
    await current(server, source, 'by_user');
    expectStatus(await server.post(`/${source}/_compact`, {}), 202);
    await soon(async () => {
      const { state_bytes: after } = expectStatus(await server.get(`/${source}/_projection/by_user`), 200);
      assert.ok(after < before / 4, `${before} bytes, then ${after}`);
    }, 20_000);
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    assert.equal((await current(server, source, 'by_user')).rows, 1);
  });

  test('rows of a source that is deleted become ordinary documents', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    await current(server, source, 'by_user');
    expectStatus(await server.delete(`/${source}`), 200);
    const { _rev } = (await server.get(`/${target}/ann:p1`)).body;
    expectStatus(await server.delete(`/${target}/ann:p1?rev=${_rev}`), 200);
  });

  test('a target that is deleted makes it fail, and says so', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target));
    await current(server, source, 'by_user');
    expectStatus(await server.delete(`/${target}`), 200);
    const assertFailed = async () => {
      const { state, reason } = expectStatus(await server.get(`/${source}/_projection/by_user`), 200);
      assert.equal(state, 'failed');
      assert.match(reason, /does not exist any more/);
    };
    await assertFailed();  // without a change of the source
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    await soon(assertFailed);
    expectStatus(await server.put(`/${target}?partitioned=true`), 201);
    await assertFailed();  // another database
    expectStatus(await server.delete(`/${source}/_projection/by_user`), 202);
    await soon(async () => assert.deepEqual((await server.get(`/${source}/_projection`)).body.projections, []));
  });

  test('rows are sources of a further projection that asks for them, but not in a circle', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    const last = await server.database();
    await createProjection(server, source, 'by_user', byUser(target));
    const copies = (db, more) => ({ target: { db }, id: '{_id}', fields: { '*': true }, ...more });
    await createProjection(server, target, 'without', copies(last));
    await save(server, source, 'p1', { type: 'post', user: 'ann' });
    await current(server, source, 'by_user');
    assert.equal((await current(server, target, 'without')).rows, 0);
    await createProjection(server, target, 'with', copies(last, { include_derived: true }));
    assert.equal((await current(server, target, 'with')).rows, 1);
    assert.deepEqual([...(await documentsOf(server, last)).keys()], ['ann%3Ap1']);
    const back = copies(source, { include_derived: true });
    await createProjection(server, last, 'back', back);  // by_user does not read rows
    await current(server, last, 'back');
    expectError(await server.put(`/${source}/_projection/circle`, byUser(target, { include_derived: true })), 409, 'projection_loop');
  });
});

describe('bad definitions', () => {
  test('are refused by name, and change nothing', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    const plain = await server.database();
    const refused = async (definition, status, error, reason) =>
      expectError(await server.put(`/${source}/_projection/x`, definition), status, error, reason);
    const good = byUser(target);
    await refused({ ...good, where: 'c.type = ' }, 400, 'projection_syntax', /`where`/);
    await refused({ ...good, where: 'c.a) FROM c --' }, 400, 'projection_syntax', /`where`/);
    await refused({ ...good, where: 'udf.f(c)' }, 400, 'projection_syntax', /user-defined/);
    await refused({ ...good, fields: { '*': true, a: 'GetCurrentTimestamp()' } }, 400, 'projection_syntax', /changes by itself/);
    await refused({ ...good, fields: { '*': true, a: 'ARRAY(SELECT VALUE t FROM t IN c.tags)' } }, 400, 'projection_syntax', /subqueries/);
    await refused({ ...good, fields: { _id: 'c.x' } }, 400, 'projection_syntax', /'_id'/);
    await refused({ ...good, fields: ['a', 'a'] }, 400, 'projection_syntax', /twice/);
    await refused({ ...good, fields: [] }, 400, 'projection_syntax', /some fields/);
    await refused({ ...good, fields: ['n'] }, 400, 'key_not_projected', /needs user/);
    await refused({ ...good, fields: 7 }, 400, 'projection_syntax', /`fields`/);
    await refused({ ...good, selector: {} }, 400, 'projection_syntax', /absent if there is `where`/);
    await refused({ ...good, where: undefined, selector: { $foo: 1 } }, 400, 'projection_syntax', /Invalid operator/);
    await refused({ ...good, transform: 'function (doc) {}' }, 400, 'projection_syntax', /absent if there are `fields`/);
    await refused({ ...good, target: { db: target, made: {} } }, 400, 'unknown_member', /`made`/);
    await refused({ ...good, target: { db: 'missing' } }, 404, 'target_missing', /create it first/);
    await refused({ ...good, target: { db: '_users' } }, 400, 'projection_syntax', /system database _users/);
    expectError(await server.put('/_users/_projection/x', good), 400, 'projection_syntax', /system database _users/);
    await refused({ ...good, id: undefined }, 400, 'key_template', /`id` is missing/);
    await refused({ ...good, key: undefined }, 400, 'key_template', /`key` is missing/);
    await refused({ ...good, id: '{a' }, 400, 'projection_syntax', /position 0/);
    await refused({ ...good, id: '' }, 400, 'projection_syntax', /empty/);
    await refused({ ...good, target: { db: plain } }, 400, 'key_template', /partitioned databases/);
    await refused({ ...good, newest: { by: 'a', n: 0 } }, 400, 'limit', /10000/);
    await refused({ ...good, newest: { by: 'a', n: 10_001 } }, 400, 'limit');
    await refused({ ...good, newest: { n: 1 } }, 400, 'projection_syntax', /newest.by/);
    await refused({ ...good, fields: ['user'], newest: { by: 'creationDate', n: 1 } }, 400, 'key_not_projected', /`newest.by` needs creationDate/);
    await refused({ ...good, where: '' }, 400, 'projection_syntax', /`where`/);
    await refused({ ...good, on_error: 'ignore' }, 400, 'projection_syntax', /on_error/);
    for (const share of [0, 1.5, '0.5', 0.0001]) await refused({ ...good, share }, 400, 'projection_syntax', /`share` must be/);
    expectError(await server.put(`/${source}/_projection/-x`, good), 400, 'projection_syntax', /begins with a letter/);
    expectError(await server.put('/missing/_projection/x', good), 404, 'not_found');
    expectError(await server.put(`/${source}/_projection/x?rev=1-x`, good), 409, 'conflict', /leave out `rev`/);
    expectError(await server.get(`/${source}/_projection/x?wait_for=soon`), 400, 'query_parse_error', /`wait_for`/);
    expectError(await server.post(`/${source}/_projection/x/_rebuild`, {}), 404, 'not_found');
    expectError(await server.delete(`/${source}/_projection/x?rows=all`), 400, 'query_parse_error', /`remove` or `keep`/);
    assert.deepEqual((await server.get(`/${source}/_projection`)).body.projections, []);
    for (let n = 0; n < 20; ++n) await createProjection(server, source, `p${n}`, good);
    expectError(await server.put(`/${source}/_projection/p20`, good), 400, 'limit', /at most 20/);
  });

  test('a document that cannot become a row is counted, or stops the projection', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'skips', byUser(target, { key: '{user}', id: '{name}' }));
    await save(server, source, 'p1', { type: 'post', user: 'ann', name: 'x'.repeat(9000) });
    const { skipped, last_error } = await current(server, source, 'skips');
    assert.equal(skipped.errors, 1);
    assert.equal(last_error.doc, 'p1');
    await erase(server, source, 'p1');
    assert.equal((await current(server, source, 'skips')).skipped.errors, 0);
    await createProjection(server, source, 'stops', byUser(target, { key: 's{user}', id: '{name}', on_error: 'stop' }));
    await current(server, source, 'stops');
    await save(server, source, 'p2', { type: 'post', user: 'ann', name: 'x'.repeat(9000) });
    await soon(async () => assert.equal((await server.get(`/${source}/_projection/stops`)).body.state, 'failed'));
  });
});

describe('the share of a projection', () => {
  const fill = (server, source, from, count) =>
    server.fill(source, Array.from({ length: count }, (_, i) => ({ _id: `p${from + i}`, type: 'post', user: `u${i % 5}` })));
  const timesOf = async (server, source) => expectStatus(await server.get(`/${source}/_projection/by_user`), 200).since_start;

  test('bounds the part of the time in which it works', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await createProjection(server, source, 'by_user', byUser(target, { share: 0.2 }));
    for (let round = 0; round < 5; ++round) {
      await fill(server, source, 1000 * round, 1000);
      await current(server, source, 'by_user');
    }
    await soon(async () => {
      const { worked_ms: worked, rested_ms: rested } = await timesOf(server, source);
      assert.ok(worked > 0 && rested >= 3.9 * worked, `${worked} ms, ${rested} ms`);
    }, 30_000);
    assert.equal((await documentsOf(server, target)).size, 5000);
    // Without changes it neither works nor rests.
    const before = await timesOf(server, source);
    await new Promise((done) => setTimeout(done, 300));
    assert.deepEqual(await timesOf(server, source), before);
  });

  test('lets it fall behind, and not the writers of its source', async (t) => {
    const server = await Server.startFor(t);
    const { source, target } = await blog(server);
    await fill(server, source, 0, 3000);
    await createProjection(server, source, 'by_user', byUser(target, { share: 0.001 }));
    await soon(async () => assert.ok((await timesOf(server, source)).changes > 0));
    const { changes } = await timesOf(server, source);
    // It rests for a thousand times the batch, at most a minute.
    for (let n = 0; n < 20; ++n) await save(server, source, `q${n}`, { type: 'post', user: 'ann' });
    const { inputs, since_start: after } = expectStatus(await server.get(`/${source}/_projection/by_user`), 200);
    assert.equal(after.changes, changes);
    assert.ok(inputs[0].behind >= 20, String(inputs[0].behind));
  });
});
