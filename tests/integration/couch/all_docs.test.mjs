import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, ids, Server } from '../harness.mjs';

describe('_all_docs', () => {
  let server, db, revs;
  const q = (parameters) => '?' + Object.entries(parameters).map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&');
  const key = JSON.stringify;
  before(async () => {
    server = await Server.start();
    db = await server.database('q=3');
    const docs = Array.from({ length: 26 }, (_, n) => ({ _id: String.fromCharCode(97 + n), n }));
    revs = await server.fill(db, docs);
    await server.delete(`/${db}/m?rev=${revs[12]}`);
    await server.put(`/${db}/_design/dd`, { language: 'query' });
  });
  after(() => server?.stop());
  const list = async (parameters = {}) => expectStatus(await server.get(`/${db}/_all_docs${q(parameters)}`), 200);
  const letters = 'abcdefghijklnopqrstuvwxyz';

  test('lists all living documents in order, with counts', async () => {
    const body = await list();
    assert.equal(body.total_rows, 26);
    assert.equal(body.offset, 0);
    assert.deepEqual(ids(body.rows), ['_design/dd', ...letters]);
    assert.deepEqual(body.rows[1], { id: 'a', key: 'a', value: { rev: revs[0] } });
  });

  test('limit, skip and descending', async () => {
    assert.deepEqual(ids((await list({ skip: 1, limit: 3 })).rows), ['a', 'b', 'c']);
    assert.deepEqual(ids((await list({ descending: true, limit: 3 })).rows), ['z', 'y', 'x']);
    assert.deepEqual((await list({ limit: 0 })).rows, []);
    assert.deepEqual((await list({ skip: 1000 })).rows, []);
  });

  test('a range, with its end or without', async () => {
    assert.deepEqual(ids((await list({ startkey: key('c'), endkey: key('f') })).rows), ['c', 'd', 'e', 'f']);
    assert.deepEqual(ids((await list({ start_key: key('c'), end_key: key('f'), inclusive_end: false })).rows), ['c', 'd', 'e']);
    assert.deepEqual(ids((await list({ descending: true, startkey: key('f'), endkey: key('c') })).rows), ['f', 'e', 'd', 'c']);
    assert.deepEqual(ids((await list({ startkey: key('x') })).rows), ['x', 'y', 'z']);
    assert.deepEqual(ids((await list({ startkey: key('l'), endkey: key('n') })).rows), ['l', 'n']);
  });

  test('a range against the direction is empty', async () => {
    const reply = await server.get(`/${db}/_all_docs${q({ startkey: key('f'), endkey: key('c') })}`);
    assert.ok(reply.status === 400 || reply.body.rows.length === 0, reply.text);
  });

  test('one key', async () => {
    assert.deepEqual(ids((await list({ key: key('e') })).rows), ['e']);
    assert.deepEqual((await list({ key: key('nope') })).rows, []);
    assert.deepEqual((await list({ key: key('m') })).rows, []);
  });

  test('include_docs', async () => {
    const body = await list({ include_docs: true, key: key('e') });
    assert.deepEqual(body.rows[0].doc, { _id: 'e', _rev: revs[4], n: 4 });
  });

  test('keys, in their order: found, missing, deleted, repeated', async () => {
    const body = expectStatus(await server.post(`/${db}/_all_docs?include_docs=true`, { keys: ['z', 'nope', 'm', 'a', 'a'] }), 200);
    assert.deepEqual(body.rows.map((row) => row.key), ['z', 'nope', 'm', 'a', 'a']);
    assert.equal(body.rows[0].doc.n, 25);
    assert.deepEqual(body.rows[1], { key: 'nope', error: 'not_found' });
    assert.equal(body.rows[2].value.deleted, true);
    assert.equal(body.rows[2].doc, null);
    assert.equal(body.rows[3].id, 'a');
    assert.equal(body.rows[4].id, 'a');
    const byGet = await list({ keys: key(['b', 'nope']) });
    assert.deepEqual(byGet.rows.map((row) => row.key), ['b', 'nope']);
  });

  test('keys with limit, skip and descending', async () => {
    const post = async (parameters, keys) => (await server.post(`/${db}/_all_docs${q(parameters)}`, { keys })).body.rows;
    assert.deepEqual(ids(await post({ limit: 2 }, ['c', 'a', 'b'])), ['c', 'a']);
    assert.deepEqual(ids(await post({ skip: 1 }, ['c', 'a', 'b'])), ['a', 'b']);
    assert.deepEqual(ids(await post({ descending: true }, ['c', 'a', 'b'])), ['b', 'a', 'c']);
  });

  test('POST takes the parameters in the body', async () => {
    const body = expectStatus(await server.post(`/${db}/_all_docs`, { startkey: 'x', include_docs: true, limit: 2 }), 200);
    assert.deepEqual(body.rows.map((row) => row.doc.n), [23, 24]);
  });

  test('queries: several lists in one call', async () => {
    const body = expectStatus(await server.post(`/${db}/_all_docs/queries`, { queries: [
      { keys: ['a', 'b'] }, { limit: 2, skip: 1 }, { startkey: 'y' }] }), 200);
    assert.deepEqual(body.results.map((result) => ids(result.rows)), [['a', 'b'], ['a', 'b'], ['y', 'z']]);
    expectError(await server.post(`/${db}/_all_docs/queries`, {}), 400, 'bad_request', 'POST body must include `queries` parameter.');
  });

  test('update_seq is that of the database', async () => {
    const body = await list({ update_seq: true, limit: 1 });
    assert.equal(body.update_seq, (await server.get(`/${db}`)).body.update_seq);
    assert.equal((await list({ limit: 1 })).update_seq, undefined);
  });

  test('conflicts are shown with include_docs', async () => {
    const hex = (letter) => letter.repeat(32);
    const other = await server.database();
    await server.post(`/${other}/_bulk_docs`, { new_edits: false, docs: ['a', 'b'].map((letter) => ({ _id: 'x', _rev: `1-${hex(letter)}` })) });
    const body = (await server.get(`/${other}/_all_docs?include_docs=true&conflicts=true`)).body;
    assert.deepEqual(body.rows[0].doc._conflicts, [`1-${hex('a')}`]);
  });

  test('_design_docs lists design documents alone', async () => {
    const body = expectStatus(await server.get(`/${db}/_design_docs`), 200);
    assert.deepEqual(ids(body.rows), ['_design/dd']);
    const keyed = expectStatus(await server.post(`/${db}/_design_docs`, { keys: ['_design/dd', '_design/nope'] }), 200);
    assert.equal(keyed.rows[0].id, '_design/dd');
    assert.equal(keyed.rows[1].error, 'not_found');
    const queries = await server.post(`/${db}/_design_docs/queries`, { queries: [{ limit: 1 }] });
    assert.equal(expectStatus(queries, 200).results.length, 1);
  });

  test('the order is the collation of ids by bytes', async () => {
    const other = await server.database('q=2');
    const docs = ['a', 'B', 'A', 'b', 'ä', '1', '10', '2', '~', 'é', '😀', '\uffee', 'Z', 'z'].map((_id) => ({ _id }));
    await server.fill(other, docs);
    const listed = ids((await server.get(`/${other}/_all_docs`)).body.rows);
    assert.deepEqual(listed, docs.map((doc) => doc._id).sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y))));
  });

  test('wrong parameters are refused', async () => {
    expectError(await server.get(`/${db}/_all_docs?limit=x`), 400, 'query_parse_error');
    assert.equal(expectStatus(await server.post(`/${db}/_all_docs?limit=1`, { limit: 2 }), 200).rows.length, 1);
    expectError(await server.get(`/${db}/_all_docs?limit=-1`), 400, 'query_parse_error');
    expectError(await server.get(`/${db}/_all_docs?skip=-1`), 400, 'query_parse_error');
    expectError(await server.get(`/${db}/_all_docs?include_docs=maybe`), 400, 'query_parse_error');
    expectError(await server.get(`/${db}/_all_docs?startkey=unquoted`), 400, 'bad_request');
    expectStatus(await server.get(`/${db}/_all_docs${q({ keys: key(['a']), startkey: key('b') })}`), 400);
    expectError(await server.post(`/${db}/_all_docs`, { keys: 'a' }), 400, 'bad_request', '`keys` body member must be an array.');
    expectError(await server.post(`/${db}/_all_docs`, { limit: 1.5 }), 400, 'query_parse_error', 'Invalid value for integer: 1.5');
    expectError(await server.post(`/${db}/_find`, { selector: {}, limit: 1.5 }), 400, 'invalid_non_neg_integer',
      '1.5 is not an integer greater than or equal to zero');
  });

  test('a large list streams whole', async () => {
    const other = await server.database('q=2');
    for (let part = 0; part < 4; ++part) {
      await server.fill(other, Array.from({ length: 5000 }, (_, n) => ({ _id: `d${part}-${String(n).padStart(4, '0')}` })));
    }
    const body = (await server.get(`/${other}/_all_docs`)).body;
    assert.equal(body.rows.length, 20_000);
    assert.deepEqual(ids(body.rows), ids(body.rows).sort());
    const back = (await server.get(`/${other}/_all_docs?descending=true&include_docs=true`)).body;
    assert.deepEqual(ids(back.rows).reverse(), ids(body.rows));
  });
});
