import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually, expectError, expectStatus, REV, Server } from '../harness.mjs';

describe('documents', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
  });
  after(() => server?.stop());
  const at = (path) => `/${db}/${path}`;
  const put = async (path, body) => expectStatus(await server.put(at(path), body), 201);

  test('PUT answers with id, revision, ETag and location', async () => {
    const reply = await server.put(at('first'), { a: 1 });
    expectStatus(reply, 201);
    assert.deepEqual(Object.keys(reply.body), ['ok', 'id', 'rev']);
    assert.match(reply.body.rev, REV);
    assert.equal(reply.headers.etag, `"${reply.body.rev}"`);
    assert.equal(reply.headers.location, `${server.url}${at('first')}`);
  });

  test('GET gives the document with id and revision first, and its fields as they were written', async () => {
    const { rev } = await put('ordered', '{"z": 1, "a": {"y": [1, 2, {"b": null}], "x": true}, "m": "ü"}');
    const reply = await server.get(at('ordered'));
    expectStatus(reply, 200);
    assert.equal(reply.text.trim(), `{"_id":"ordered","_rev":"${rev}","z":1,"a":{"y":[1,2,{"b":null}],"x":true},"m":"ü"}`);
    assert.equal(reply.headers.etag, `"${rev}"`);
  });

  test('numbers keep their text', async () => {
    const numbers = '{"big":12345678901234567890,"long":0.1234567890123456789,"exponent":1e400,"zero":-0,"one":1.0}';
    await put('numbers', numbers);
    const { text } = await server.get(at('numbers'));
    assert.ok(text.includes(numbers.slice(1)), text);
  });

  test('POST gives an id, or takes the one in the body', async () => {
    const given = await server.post(`/${db}`, { x: 1 });
    expectStatus(given, 201);
    assert.match(given.body.id, /^[0-9a-f]{32}$/);
    const own = expectStatus(await server.post(`/${db}`, { _id: 'mine', x: 1 }), 201);
    assert.equal(own.id, 'mine');
    expectError(await server.post(`/${db}`, { _id: 'mine' }), 409, 'conflict', 'Document update conflict.');
  });

  test('a missing document, and a deleted one, are not found for different reasons', async () => {
    expectError(await server.get(at('never')), 404, 'not_found', 'missing');
    const { rev } = await put('goes', {});
    expectStatus(await server.delete(at(`goes?rev=${rev}`)), 200);
    expectError(await server.get(at('goes')), 404, 'not_found', 'deleted');
    expectStatus(await server.head(at('goes')), 404);
  });

  test('an update needs the current revision', async () => {
    const { rev } = await put('updated', { n: 1 });
    expectError(await server.put(at('updated'), { n: 2 }), 409, 'conflict', 'Document update conflict.');
    const second = await put('updated', { _rev: rev, n: 2 });
    assert.ok(second.rev.startsWith('2-'));
    expectError(await server.put(at('updated'), { _rev: rev, n: 3 }), 409, 'conflict');
    assert.equal((await server.get(at('updated'))).body.n, 2);
  });

  test('the revision may come in the query string or in If-Match', async () => {
    const first = await put('three-ways', { n: 1 });
    const second = await put(`three-ways?rev=${first.rev}`, { n: 2 });
    const third = await server.put(at('three-ways'), { n: 3 }, { headers: { 'If-Match': `"${second.rev}"` } });
    expectStatus(third, 201);
    const fourth = await server.put(at('three-ways'), { n: 4 }, { headers: { 'If-Match': third.body.rev } });
    expectStatus(fourth, 201);
    expectError(await server.put(at('three-ways'), { n: 5 }, { headers: { 'If-Match': first.rev } }), 409, 'conflict');
  });

  test('revisions that contradict each other are refused', async () => {
    const { rev } = await put('contradictory', {});
    const other = `1-${'0'.repeat(32)}`;
    expectError(await server.put(at(`contradictory?rev=${other}`), { _rev: rev }), 400, 'bad_request',
      'Document rev from request body and query string have different values');
    expectError(await server.put(at('contradictory'), { _rev: rev }, { headers: { 'If-Match': other } }), 400, 'bad_request',
      'Document rev and etag have different values');
  });

  test('a revision for a document that does not exist is a conflict', async () => {
    expectError(await server.put(at('unborn'), { _rev: `1-${'0'.repeat(32)}` }), 409, 'conflict');
  });

  test('DELETE needs the current revision and leaves a tombstone', async () => {
    const { rev } = await put('doomed', { n: 1 });
    expectError(await server.delete(at('doomed')), 409, 'conflict', 'Document update conflict.');
    const reply = await server.delete(at('doomed'), { headers: { 'If-Match': rev } });
    expectStatus(reply, 200);
    assert.equal(reply.body.id, 'doomed');
    assert.ok(reply.body.rev.startsWith('2-'));
    const tombstone = expectStatus(await server.get(at(`doomed?rev=${reply.body.rev}`)), 200);
    assert.deepEqual(tombstone, { _id: 'doomed', _rev: reply.body.rev, _deleted: true });
    expectError(await server.delete(at('doomed')), 404, 'not_found', 'deleted');
    expectError(await server.delete(at('never-there')), 404, 'not_found', 'missing');
  });

  test('a deleted document can be written again without a revision', async () => {
    const { rev } = await put('phoenix', { n: 1 });
    await server.delete(at(`phoenix?rev=${rev}`));
    const again = await put('phoenix', { n: 2 });
    assert.ok(again.rev.startsWith('3-'));
    assert.equal((await server.get(at('phoenix'))).body.n, 2);
  });

  test('_deleted in the body deletes, and keeps the other fields in the tombstone', async () => {
    const { rev } = await put('annotated', { n: 1 });
    const deleted = expectStatus(await server.put(at('annotated'), { _rev: rev, _deleted: true, why: 'obsolete' }), 200);
    expectError(await server.get(at('annotated')), 404, 'not_found', 'deleted');
    const tombstone = (await server.get(at(`annotated?rev=${deleted.rev}`))).body;
    assert.equal(tombstone.why, 'obsolete');
    assert.equal(tombstone._deleted, true);
  });

  test('the same edit gives the same revision', async () => {
    const other = await server.database();
    const doc = { name: 'twin', list: [1, 2.5, { a: 'b' }] };
    const [one, two] = [await put('twin', doc), (await server.put(`/${other}/twin`, doc)).body];
    assert.equal(one.rev, two.rev);
    const different = (await server.put(`/${other}/twin2`, { ...doc, name: 'other' })).body;
    assert.notEqual(one.rev, different.rev);
  });

  test('an old revision can be read until the database forgets it', async () => {
    const first = await put('historic', { n: 1 });
    const second = await put('historic', { _rev: first.rev, n: 2 });
    const reply = await server.get(at(`historic?rev=${second.rev}`));
    assert.equal(expectStatus(reply, 200).n, 2);
    expectError(await server.get(at(`historic?rev=9-${'0'.repeat(32)}`)), 404, 'not_found', 'missing');
    expectError(await server.get(at('historic?rev=nonsense')), 400, 'bad_request', 'Invalid rev format');
  });

  test('If-None-Match answers 304 without a body', async () => {
    const { rev } = await put('cached', { n: 1 });
    const reply = await server.get(at('cached'), { headers: { 'If-None-Match': `"${rev}"` } });
    expectStatus(reply, 304);
    assert.equal(reply.text, '');
    assert.equal(reply.headers.etag, `"${rev}"`);
    expectStatus(await server.head(at('cached'), { headers: { 'If-None-Match': `"${rev}"` } }), 304);
    const changed = await put('cached', { _rev: rev, n: 2 });
    expectStatus(await server.get(at('cached'), { headers: { 'If-None-Match': `"${rev}"` } }), 200);
    expectStatus(await server.get(at('cached'), { headers: { 'If-None-Match': `"x", "${changed.rev}"` } }), 304);
  });

  test('HEAD gives ETag and length without a body', async () => {
    const { rev } = await put('headed', { text: 'x'.repeat(50) });
    const head = await server.head(at('headed'));
    expectStatus(head, 200);
    assert.equal(head.headers.etag, `"${rev}"`);
    assert.equal(head.text, '');
    assert.ok(Number(head.headers['content-length']) > 50);
  });

  test('COPY makes a new document', async () => {
    const source = await put('original', { a: [1, 2] });
    const reply = await server.copy(at('original'), 'the-copy');
    expectStatus(reply, 201);
    assert.equal(reply.body.id, 'the-copy');
    assert.ok(reply.body.rev.startsWith('1-'));
    assert.deepEqual((await server.get(at('the-copy'))).body.a, [1, 2]);
    assert.equal((await server.get(at('original'))).body._rev, source.rev);
  });

  test('COPY over a document needs its revision, and may copy an old revision', async () => {
    const source = await put('copy-source', { n: 1 });
    const target = await put('copy-target', { n: 0 });
    expectError(await server.copy(at('copy-source'), 'copy-target'), 409, 'conflict');
    const reply = await server.copy(at(`copy-source?rev=${source.rev}`), `copy-target?rev=${target.rev}`);
    expectStatus(reply, 201);
    assert.ok(reply.body.rev.startsWith('2-'));
    assert.equal((await server.get(at('copy-target'))).body.n, 1);
  });

  test('COPY needs a source and a destination', async () => {
    expectError(await server.request('COPY', at('original')), 400, 'bad_request', 'Destination header is mandatory for COPY.');
    expectError(await server.copy(at('no-source'), 'x'), 404, 'not_found', 'missing');
  });

  test('batch=ok is accepted, and written soon', async () => {
    const reply = await server.put(at('batched?batch=ok'), { n: 1 });
    expectStatus(reply, 202);
    assert.deepEqual(reply.body, { ok: true, id: 'batched' });
    await eventually(async () => (await server.get(at('batched'))).status === 200);
    const posted = expectStatus(await server.post(`/${db}?batch=ok`, { n: 2 }), 202);
    await eventually(async () => (await server.get(at(posted.id))).body.n === 2);
  });

  test('local_seq shows the sequence of the last change', async () => {
    await put('sequenced', {});
    const doc = (await server.get(at('sequenced?local_seq=true'))).body;
    assert.ok(doc._local_seq !== undefined);
  });

  for (const id of ['with space', 'slash/inside', 'percent%41', 'plus+sign', 'hash#tag', 'question?mark', 'ünïcödé€😀',
    'quote"back\\slash', "single'quote", 'colon:colon', '.', '..', 'a'.repeat(600), '~!@$&*()=;,']) {
    test(`the id ${id.length > 40 ? 'of 600 letters' : id} comes back as it was`, async () => {
      const path = at(encodeURIComponent(id).replace(/^\.+$/, (dots) => '%2E'.repeat(dots.length)));
      const { id: written, rev } = expectStatus(await server.put(path, { check: id }), 201);
      assert.equal(written, id);
      const doc = (await server.get(path)).body;
      assert.equal(doc._id, id);
      assert.equal(doc.check, id);
      assert.equal(doc._rev, rev);
    });
  }

  test('ids of every length up to the limit live side by side', async () => {
    const other = await server.database();
    const docs = [];
    for (const length of [1, 255, 480, 500, 505, 510, 511, 512, 513, 520, 1000, 4000, 7168]) {
      for (const last of ['a', 'b', 'c']) docs.push({ _id: 'k'.repeat(length - 1) + last, length, last });
    }
    await server.fill(other, docs);
    const listed = (await server.get(`/${other}/_all_docs?include_docs=true`)).body.rows;
    assert.equal(listed.length, docs.length);
    // All are the same letter but the last, so code unit order is the collation's.
    const expected = docs.map((doc) => doc._id).sort();
    assert.deepEqual(listed.map((row) => row.id), expected);
    for (const { doc } of listed) assert.equal(doc._id.length, doc.length);
  });

  test('an id beyond the limit is refused', async () => {
    expectError(await server.post(`/${db}`, { _id: 'x'.repeat(7169) }), 400, 'illegal_docid', 'Document id is too long');
  });

  test('ids that start with an underscore are reserved', async () => {
    expectError(await server.post(`/${db}`, { _id: '_mine' }), 400, 'illegal_docid',
      'Only reserved document ids may start with underscore.');
    expectError(await server.post(`/${db}`, { _id: '' }), 400, 'illegal_docid', 'Document id must not be empty');
    expectError(await server.post(`/${db}`, { _id: 42 }), 400, 'illegal_docid', 'Document id must be a string');
  });

  test('below a database, a name that begins with an underscore is an endpoint, or does not exist', async () => {
    for (const [method, path] of [['GET', '_mine'], ['DELETE', '_mine'], ['GET', '_nothing/x'], ['DELETE', '_unknown_endpoint/a/b']]) {
      const reply = await server.request(method, at(path));
      expectError(reply, 404, 'not_found', `There is no such endpoint: /{db}/${path.split('/')[0]}`);
    }
    expectError(await server.get(at('_local%2Fmine')), 404, 'not_found', 'missing');
    expectError(await server.get('/there-is-no-such-database/_mine'), 404, 'not_found', 'Database does not exist.');
  });

  test('a write to such a name is taken for that of a document, whose id is refused', async () => {
    for (const [method, path] of [['PUT', '_mine'], ['PUT', '_nothing/x'], ['POST', '_duplicate']]) {
      const reply = await server.request(method, at(path), { body: {} });
      expectError(reply, 400, 'illegal_docid', 'Only reserved document ids may start with underscore.');
    }
    expectError(await server.put('/there-is-no-such-database/_mine', {}), 404, 'not_found', 'Database does not exist.');
  });

  test('a plus in a path is a space, as in CouchDB', async () => {
    assert.equal((await put('red+fish', {})).id, 'red fish');
    assert.equal((await put('red%2Bfish', {})).id, 'red+fish');
    expectStatus(await server.get(at('red%20fish')), 200);
  });

  test('fields that start with an underscore are reserved', async () => {
    expectError(await server.put(at('special'), { _foo: 1 }), 400, 'doc_validation', 'Bad special document member: _foo');
    expectStatus(await server.put(at('special'), { nested: { _foo: 1 } }), 201);
  });

  test('a document must be an object', async () => {
    for (const body of ['[]', '"text"', '42', 'null', 'true']) {
      expectError(await server.put(at('not-an-object'), body), 400, 'bad_request', 'Document must be a JSON object');
    }
  });

  test('large documents are parsed and read by workers, with the replies of small ones', async () => {
    const text = 'x'.repeat(1024 * 1024);
    const { rev } = await put('large', { text });
    const read = expectStatus(await server.get(at('large')), 200);
    assert.deepEqual(read, { _id: 'large', _rev: rev, text });
    assert.equal(expectStatus(await server.get(`${at('large')}?revs=true&conflicts=true`), 200)._revisions.start, 1);
    const known = await server.request('GET', at('large'), { headers: { 'If-None-Match': `"${rev}"` } });
    assert.equal(known.status, 304);
    assert.equal((await server.request('HEAD', at('large'))).headers.etag, `"${rev}"`);
    expectError(await server.put(at('large'), { text }), 409, 'conflict', 'Document update conflict.');
    expectError(await server.put(at('large'), `{"text":"${text}"`), 400, 'bad_request', /JSON/);
    const { id } = expectStatus(await server.post(`/${db}`, { text }), 201);
    assert.equal(expectStatus(await server.get(at(id)), 200).text.length, text.length);
  });

  test('a document over the size limit is refused', async () => {
    const reply = await server.put(at('huge'), { text: 'x'.repeat(9 * 1024 * 1024) });
    expectError(reply, 413, 'document_too_large', /the document has 94371\d\d bytes; the limit is 8MiB \(database\.document_bytes_max\)$/);
    expectStatus(await server.put(at('big'), { text: 'x'.repeat(7 * 1024 * 1024) }), 201);
    assert.equal((await server.get(at('big'))).body.text.length, 7 * 1024 * 1024);
  });

  test('concurrent updates of one revision: one wins', async () => {
    const { rev } = await put('contended', { n: 0 });
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => server.put(at('contended'), { _rev: rev, n })));
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [201, ...Array(19).fill(409)]);
    const winner = replies.find((reply) => reply.status === 201);
    assert.equal((await server.get(at('contended'))).body._rev, winner.body.rev);
  });
});
