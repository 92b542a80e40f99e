import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, ids, REV, Server } from '../harness.mjs';

describe('bulk calls', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
  });
  after(() => server?.stop());
  const bulk = (body) => server.post(`/${db}/_bulk_docs`, body);

  test('_bulk_docs answers a row for each document, in order', async () => {
    const rows = expectStatus(await bulk({ docs: [{ _id: 'b1' }, { n: 1 }, { _id: 'b3' }] }), 201);
    assert.equal(rows.length, 3);
    assert.equal(rows[0].id, 'b1');
    assert.match(rows[1].id, /^[0-9a-f]{32}$/);
    assert.equal(rows[2].id, 'b3');
    for (const row of rows) {
      assert.equal(row.ok, true);
      assert.match(row.rev, REV);
    }
  });

  test('a conflict in _bulk_docs fails that document alone', async () => {
    await bulk({ docs: [{ _id: 'exists' }] });
    const rows = expectStatus(await bulk({ docs: [{ _id: 'new1' }, { _id: 'exists', n: 2 }, { _id: 'new2' }] }), 201);
    assert.equal(rows[0].ok, true);
    assert.deepEqual(rows[1], { id: 'exists', error: 'conflict', reason: 'Document update conflict.' });
    assert.equal(rows[2].ok, true);
  });

  test('the same id twice in _bulk_docs: the first wins', async () => {
    const rows = expectStatus(await bulk({ docs: [{ _id: 'double', n: 1 }, { _id: 'double', n: 2 }] }), 201);
    assert.equal(rows[0].ok, true);
    assert.equal(rows[1].error, 'conflict');
    assert.equal((await server.get(`/${db}/double`)).body.n, 1);
  });

  test('_bulk_docs updates and deletes', async () => {
    const [a, b] = expectStatus(await bulk({ docs: [{ _id: 'up' }, { _id: 'down' }] }), 201);
    const rows = expectStatus(await bulk({ docs: [{ _id: 'up', _rev: a.rev, n: 2 }, { _id: 'down', _rev: b.rev, _deleted: true }] }), 201);
    assert.ok(rows.every((row) => row.ok && row.rev.startsWith('2-')));
    expectError(await server.get(`/${db}/down`), 404, 'not_found', 'deleted');
  });

  test('_bulk_docs checks its body', async () => {
    expectError(await bulk({}), 400, 'bad_request', 'POST body must include `docs` parameter.');
    expectError(await bulk({ docs: 'x' }), 400, 'bad_request', '`docs` parameter must be an array.');
    expectError(await bulk({ docs: [1] }), 400, 'bad_request', 'Document must be a JSON object');
    expectError(await bulk({ docs: [], new_edits: 'x' }), 400, 'bad_request', '`new_edits` parameter must be a boolean.');
    expectError(await bulk([]), 400, 'bad_request', 'Request body must be a JSON object');
    expectError(await bulk({ docs: [{ _id: 5 }] }), 400, 'illegal_docid', 'Document id must be a string');
    expectError(await server.post(`/${db}/_bulk_docs`, '{"docs":[]}', { headers: { 'Content-Type': 'text/plain' } }), 415,
      'bad_content_type', "Content-Type must be application/json; with curl: -H 'Content-Type: application/json'");
    assert.deepEqual(expectStatus(await bulk({ docs: [] }), 201), []);
  });

  test('an error in one document of _bulk_docs affects only its row', async () => {
    const docs = [{ _id: 'with-file', _attachments: { a: { data: 'aA==' } } }, { _id: 'plain' }, { _id: '_bad' }, { _id: 'bad', _foo: 1 }];
    const rows = expectStatus(await bulk({ docs }), 201);
    assert.deepEqual(rows.map((row) => [row.id, row.error]),
      [['with-file', 'not_implemented'], ['plain', undefined], ['_bad', 'illegal_docid'], ['bad', 'doc_validation']]);
    expectStatus(await server.get(`/${db}/plain`), 200);
    expectStatus(await server.get(`/${db}/with-file`), 404);
  });

  test('_bulk_docs takes thousands of documents', async () => {
    const other = await server.database('q=2');
    const docs = Array.from({ length: 5000 }, (_, n) => ({ _id: `d${String(n).padStart(5, '0')}`, n, text: 'x'.repeat(200) }));
    const rows = expectStatus(await server.post(`/${other}/_bulk_docs`, { docs }), 201);
    assert.deepEqual(ids(rows), docs.map((doc) => doc._id));
    assert.equal((await server.get(`/${other}`)).body.doc_count, 5000);
  });

  test('_bulk_docs writes local and design documents too', async () => {
    const rows = expectStatus(await bulk({ docs: [{ _id: '_local/l', n: 1 }, { _id: '_design/d', language: 'query', views: {} }] }), 201);
    assert.equal(rows[0].id, '_local/l');
    assert.equal((await server.get(`/${db}/_local/l`)).body.n, 1);
    assert.equal((await server.get(`/${db}/_design/d`)).body._id, '_design/d');
  });

  test('_bulk_get gives each document, or says why not', async () => {
    const [{ rev }] = expectStatus(await bulk({ docs: [{ _id: 'got', n: 7 }] }), 201);
    const reply = await server.post(`/${db}/_bulk_get`, { docs: [
      { id: 'got' }, { id: 'got', rev }, { id: 'got', rev: `5-${'0'.repeat(32)}` }, { id: 'nothing' }] });
    const { results } = expectStatus(reply, 200);
    assert.deepEqual(results.map((row) => row.id), ['got', 'got', 'got', 'nothing']);
    assert.deepEqual(results[0].docs, [{ ok: { _id: 'got', _rev: rev, n: 7 } }]);
    assert.deepEqual(results[1].docs, results[0].docs);
    assert.deepEqual(results[2].docs, [
      { error: { id: 'got', rev: `5-${'0'.repeat(32)}`, error: 'not_found', reason: 'missing' } }]);
    assert.deepEqual(results[3].docs, [{ error: { id: 'nothing', rev: 'undefined', error: 'not_found', reason: 'missing' } }]);
  });

  test('_bulk_get without a revision gives every leaf, with histories when asked', async () => {
    const hex = (letter) => letter.repeat(32);
    await bulk({ new_edits: false, docs: ['b', 'c'].map((letter) => ({
      _id: 'forked', _rev: `2-${hex(letter)}`, _revisions: { start: 2, ids: [hex(letter), hex('a')] }, letter })) });
    const { results } = (await server.post(`/${db}/_bulk_get?revs=true`, { docs: [{ id: 'forked' }] })).body;
    assert.deepEqual(results[0].docs.map((row) => row.ok.letter).sort(), ['b', 'c']);
    assert.ok(results[0].docs.every((row) => row.ok._revisions.start === 2));
    const old = (await server.post(`/${db}/_bulk_get?latest=true`, { docs: [{ id: 'forked', rev: `1-${hex('a')}` }] })).body;
    assert.deepEqual(old.results[0].docs.map((row) => row.ok.letter).sort(), ['b', 'c']);
  });

  test('_bulk_get is multipart when the client does not take JSON', async () => {
    const [{ rev }] = expectStatus(await bulk({ docs: [{ _id: 'part', n: 7 }] }), 201);
    const reply = await server.post(`/${db}/_bulk_get`, { docs: [{ id: 'part' }, { id: 'nothing' }] },
      { headers: { Accept: 'multipart/related' } });
    expectStatus(reply, 200);
    const [, boundary] = reply.headers['content-type'].match(/^multipart\/related; boundary="([0-9a-f]+)"$/);
    const parts = reply.text.split(`\r\n--${boundary}`).slice(1).map((part) => part.split('\r\n\r\n'));
    assert.deepEqual(parts.map(([head]) => head.trim()),
      ['Content-Type: application/json', 'Content-Type: application/json; error="true"', '--']);
    assert.deepEqual(JSON.parse(parts[0][1]), { _id: 'part', _rev: rev, n: 7 });
    assert.deepEqual(JSON.parse(parts[1][1]), { id: 'nothing', rev: 'undefined', error: 'not_found', reason: 'missing' });
  });

  test('_bulk_get checks its body', async () => {
    expectError(await server.post(`/${db}/_bulk_get`, {}), 400, 'bad_request', "Missing JSON list of 'docs'.");
    expectStatus(await server.post(`/${db}/_bulk_get`, { docs: [{}] }), 200);
    const reply = await server.post(`/${db}/_bulk_get`, { docs: [{ id: 'got', rev: 'nonsense' }] });
    assert.equal(expectStatus(reply, 200).results[0].docs[0].error.error, 'bad_request');
  });
});

describe('local documents', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
  });
  after(() => server?.stop());

  test('a local document is written, read, changed and deleted', async () => {
    const first = expectStatus(await server.put(`/${db}/_local/check`, { n: 1 }), 201);
    assert.deepEqual(first, { ok: true, id: '_local/check', rev: '0-1' });
    assert.deepEqual((await server.get(`/${db}/_local/check`)).body, { _id: '_local/check', _rev: '0-1', n: 1 });
    const second = expectStatus(await server.put(`/${db}/_local/check`, { _rev: '0-1', n: 2 }), 201);
    assert.equal(second.rev, '0-2');
    const deleted = await server.delete(`/${db}/_local/check?rev=0-2`);
    expectStatus(deleted, 200);
    assert.equal(deleted.headers.etag, '"0-0"');
    expectError(await server.get(`/${db}/_local/check`), 404, 'not_found', 'missing');
  });

  test('a local document counts on from the revision it is sent with, as in CouchDB', async () => {
    const put = async (body) => expectStatus(await server.put(`/${db}/_local/counted`, body), 201).rev;
    assert.equal(await put({}), '0-1');
    assert.equal(await put({}), '0-1');
    assert.equal(await put({ _rev: '0-1' }), '0-2');
    assert.equal(await put({ _rev: '0-41' }), '0-42');
    const deleted = await server.post(`/${db}/_bulk_docs`, { docs: [{ _id: '_local/never-there', _deleted: true }] });
    assert.deepEqual(expectStatus(deleted, 201), [{ ok: true, id: '_local/never-there', rev: '0-0' }]);
  });

  test('local documents are not in the lists, counts or feed', async () => {
    await server.put(`/${db}/_local/hidden`, { n: 1 });
    await server.put(`/${db}/shown`, {});
    const info = (await server.get(`/${db}`)).body;
    assert.equal(info.doc_count, 1);
    assert.deepEqual(ids((await server.get(`/${db}/_all_docs`)).body.rows), ['shown']);
    assert.deepEqual(ids((await server.get(`/${db}/_changes`)).body.results), ['shown']);
  });

  test('_local_docs lists them', async () => {
    await server.put(`/${db}/_local/a`, { n: 1 });
    await server.put(`/${db}/_local/b`, { n: 2 });
    const body = expectStatus(await server.get(`/${db}/_local_docs?include_docs=true`), 200);
    const rows = body.rows.filter((row) => /\/[ab]$/.test(row.id));
    assert.deepEqual(ids(rows), ['_local/a', '_local/b']);
    assert.deepEqual(rows.map((row) => row.doc.n), [1, 2]);
    assert.match(rows[0].value.rev, /^0-/);
    const keyed = expectStatus(await server.post(`/${db}/_local_docs`, { keys: ['_local/b', '_local/zzz'] }), 200);
    assert.equal(keyed.rows[0].id, '_local/b');
    assert.equal(keyed.rows[1].error, 'not_found');
  });

  test('an escaped slash in a local or design id is the same id', async () => {
    await server.put(`/${db}/_local%2Fescaped`, { n: 3 });
    assert.equal((await server.get(`/${db}/_local/escaped`)).body.n, 3);
  });
});
