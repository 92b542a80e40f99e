import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { docIds, expectError, expectStatus, Server } from '../harness.mjs';

describe('_index', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());
  const fresh = async (query) => {
    db = await server.database(query);
  };
  const create = (body) => server.post(`/${db}/_index`, body);
  const list = async (query = '') => expectStatus(await server.get(`/${db}/_index${query}`), 200);

  test('an index is created once', async () => {
    await fresh();
    const body = { index: { fields: ['a'] }, ddoc: 'dd', name: 'nn', type: 'json' };
    assert.deepEqual(expectStatus(await create(body), 200), { result: 'created', id: '_design/dd', name: 'nn' });
    assert.deepEqual(expectStatus(await create(body), 200), { result: 'exists', id: '_design/dd', name: 'nn' });
    assert.equal((await list()).total_rows, 2);
  });

  test('an index without names gets the same names each time', async () => {
    await fresh();
    const one = expectStatus(await create({ index: { fields: ['a'] } }), 200);
    const two = expectStatus(await create({ index: { fields: ['a'] } }), 200);
    const three = expectStatus(await create({ index: { fields: ['b'] } }), 200);
    assert.match(one.id, /^_design\/[0-9a-f]{40}$/);
    assert.deepEqual({ ...two, result: 'created' }, one);
    assert.notEqual(three.id, one.id);
  });

  test('the list begins with the primary index', async () => {
    await fresh();
    await create({ index: { fields: ['x', { y: 'asc' }] }, ddoc: 'dd', name: 'nn' });
    const body = await list();
    assert.deepEqual(body.indexes[0], { ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } });
    assert.deepEqual(body.indexes[1], {
      ddoc: '_design/dd', name: 'nn', type: 'json', partitioned: false, def: { fields: [{ x: 'asc' }, { y: 'asc' }] } });
    assert.equal((await list('?limit=1')).indexes.length, 1);
    assert.equal((await list('?limit=1&skip=1')).indexes[0].name, 'nn');
    assert.equal((await list('?limit=1&skip=1')).total_rows, 2);
  });

  test('the design document of an index can be read, and is a query one', async () => {
    await fresh();
    await create({ index: { fields: ['a'] }, ddoc: 'dd', name: 'nn' });
    const doc = expectStatus(await server.get(`/${db}/_design/dd`), 200);
    assert.equal(doc.language, 'query');
    assert.deepEqual(doc.views.nn.map.fields, { a: 'asc' });
    assert.ok(doc.views.nn.options.def);
  });

  test('an index written as a design document works', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'x', a: 1 }, { _id: 'y', a: 2 }]);
    await server.put(`/${db}/_design/hand`, { language: 'query', views: { made: {
      map: { fields: { a: 'asc' }, partial_filter_selector: {} }, reduce: '_count', options: { def: { fields: ['a'] } } } } });
    const body = (await server.post(`/${db}/_find`, { selector: { a: 2 }, use_index: 'hand', execution_stats: true })).body;
    assert.deepEqual(docIds(body.docs), ['y']);
    assert.equal(body.execution_stats.total_docs_examined, 1);
  });

  test('two indexes may share a design document', async () => {
    await fresh();
    await create({ index: { fields: ['a'] }, ddoc: 'shared', name: 'a' });
    await create({ index: { fields: ['b'] }, ddoc: 'shared', name: 'b' });
    assert.deepEqual((await list()).indexes.map((index) => index.name).sort(), ['_all_docs', 'a', 'b']);
    expectStatus(await server.delete(`/${db}/_index/shared/json/a`), 200);
    assert.deepEqual((await list()).indexes.map((index) => index.name).sort(), ['_all_docs', 'b']);
    expectStatus(await server.get(`/${db}/_design/shared`), 200);
    expectStatus(await server.delete(`/${db}/_index/_design/shared/json/b`), 200);
    expectStatus(await server.get(`/${db}/_design/shared`), 404);
  });

  test('a missing index cannot be deleted', async () => {
    await fresh();
    expectError(await server.delete(`/${db}/_index/no/json/such`), 404, 'not_found', 'missing');
  });

  test('_bulk_delete deletes what there is and tells the rest', async () => {
    await fresh();
    await create({ index: { fields: ['a'] }, ddoc: 'one' });
    await create({ index: { fields: ['b'] }, ddoc: 'two' });
    const body = expectStatus(await server.post(`/${db}/_index/_bulk_delete`, { docids: ['_design/one', 'two', 'three'] }), 200);
    assert.deepEqual(body.success.map((row) => row.id).sort(), ['_design/one', '_design/two']);
    assert.deepEqual(body.fail, [{ id: '_design/three', error: 'not_found' }]);
    assert.equal((await list()).total_rows, 1);
  });

  test('an index is read as a view: the array of its fields is the key, and rows are counted', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'a', x: 1, y: 'p' }, { _id: 'b', x: 1, y: 'q' }, { _id: 'c', x: 2, y: null }, { _id: 'd', x: 3 }]);
    await create({ index: { fields: ['x', 'y'] }, ddoc: 'dd', name: 'nn' });
    await create({ index: { fields: [{ x: 'desc' }], partial_filter_selector: { y: 'q' } }, ddoc: 'dd', name: 'part' });
    const view = async (query, name = 'nn') => expectStatus(await server.get(`/${db}/_design/dd/_view/${name}${query}`), 200);
    assert.deepEqual(await view(''), { rows: [{ key: null, value: 3 }] });
    assert.deepEqual(await view('?reduce=false'), { total_rows: 3, offset: 0, rows: [
      { id: 'a', key: [1, 'p'], value: null }, { id: 'b', key: [1, 'q'], value: null }, { id: 'c', key: [2, null], value: null }] });
    assert.deepEqual((await view('?group_level=1')).rows, [{ key: [1], value: 2 }, { key: [2], value: 1 }]);
    const range = `?reduce=false&include_docs=true&startkey=${encodeURIComponent('[1,"q"]')}&limit=1`;
    assert.equal((await view(range)).rows[0].doc.y, 'q');
    assert.deepEqual((await view('?reduce=false', 'part')).rows, [{ id: 'b', key: [1], value: null }]);
    await server.put(`/${db}/e`, { x: 0, y: 0 });
    assert.equal((await view('')).rows[0].value, 4);
    expectError(await server.get(`/${db}/_design/dd/_view/none`), 404, 'not_found', 'missing_named_view');
    assert.equal(expectStatus(await server.get(`/${db}/_design/dd/_info`), 200).view_index.language, 'query');
    expectStatus(await server.delete(`/${db}/_index/dd/json/nn`), 200);
    expectError(await server.get(`/${db}/_design/dd/_view/nn`), 404, 'not_found', 'missing_named_view');
  });

  test('an index of the partitions is read as a view of one', async () => {
    await fresh('partitioned=true');
    await server.fill(db, [{ _id: 'p:a', x: 1 }, { _id: 'q:b', x: 2 }]);
    await create({ index: { fields: ['x'] }, ddoc: 'dd', name: 'nn' });
    const rows = await server.get(`/${db}/_partition/p/_design/dd/_view/nn?reduce=false`);
    assert.deepEqual(expectStatus(rows, 200).rows, [{ id: 'p:a', key: [1], value: null }]);
    expectError(await server.get(`/${db}/_design/dd/_view/nn`), 400, 'query_parse_error');
  });

  test('pages continue when the index that they are read by is deleted', async () => {
    const own = await server.database();
    await server.fill(own, Array.from({ length: 60 }, (_, i) => ({ _id: `d${100 + i}`, n: (i * 7) % 60 })));
    expectStatus(await server.post(`/${own}/_index`, { index: { fields: ['n'] }, ddoc: 'by-n', name: 'n' }), 200);
    const query = { selector: { n: { $gte: 20 } }, sort: [{ n: 'desc' }], fields: ['n'], limit: 7 };
    const explained = expectStatus(await server.post(`/${own}/_explain`, query), 200);
    assert.equal(explained.index.name, 'n');
    const found = [];
    for (let bookmark, pages = 0; pages < 20; ++pages) {
      const body = expectStatus(await server.post(`/${own}/_find`, { ...query, bookmark }), 200);
      found.push(...body.docs.map((doc) => doc.n));
      bookmark = body.bookmark;
      if (pages === 1) expectStatus(await server.delete(`/${own}/_index/by-n/json/n`), 200);
      if (body.docs.length < query.limit) break;
    }
    assert.deepEqual(found, Array.from({ length: 40 }, (_, i) => 59 - i));
  });

  test('a deleted index is no longer used', async () => {
    await fresh();
    await server.fill(db, [{ _id: 'x', a: 1 }]);
    await create({ index: { fields: ['a'] }, ddoc: 'dd', name: 'nn' });
    const explain = async () => (await server.post(`/${db}/_explain`, { selector: { a: 1 } })).body.index.name;
    assert.equal(await explain(), 'nn');
    await server.delete(`/${db}/_index/dd/json/nn`);
    assert.equal(await explain(), '_all_docs');
    await create({ index: { fields: ['a'] }, ddoc: 'dd', name: 'again' });
    assert.equal(await explain(), 'again');
    assert.equal((await server.post(`/${db}/_find`, { selector: { a: 1 } })).body.docs.length, 1);
  });

  test('an index on documents already there is complete', async () => {
    await fresh('q=2');
    for (let part = 0; part < 5; ++part) {
      await server.fill(db, Array.from({ length: 1000 }, (_, n) => ({ _id: `d${part}-${n}`, v: n % 50 })));
    }
    await create({ index: { fields: ['v'] }, ddoc: 'dd', name: 'nn' });
    const body = (await server.post(`/${db}/_find`, { selector: { v: 7 }, use_index: 'dd', execution_stats: true, limit: 1000 })).body;
    assert.equal(body.docs.length, 100);
    assert.equal(body.execution_stats.total_docs_examined, 100);
  });

  test('documents without the field are served by an index on it together with others', async () => {
    await fresh();
    await create({ index: { fields: ['userid', 'date'] }, ddoc: 'dd', name: 'nn' });
    await server.fill(db, [{ _id: 'dated', userid: 'u', date: '2019' }, { _id: 'undated', userid: 'u' }, { _id: 'other', userid: 'v' }]);
    const body = (await server.post(`/${db}/_find`, { selector: { userid: 'u' }, execution_stats: true })).body;
    assert.deepEqual(docIds(body.docs).sort(), ['dated', 'undated']);
    assert.equal(body.execution_stats.total_docs_examined, 2);
    assert.equal((await server.post(`/${db}/_explain`, { selector: { userid: 'u' } })).body.index.name, 'nn');
  });

  test('in a partitioned database an index is of the partitions unless it says otherwise', async () => {
    await fresh('partitioned=true&q=2');
    await create({ index: { fields: ['a'] }, ddoc: 'local', name: 'local' });
    await create({ index: { fields: ['a'] }, ddoc: 'global', name: 'global', partitioned: false });
    const partitioned = Object.fromEntries((await list()).indexes.map((index) => [index.name, index.partitioned]));
    assert.equal(partitioned.local, true);
    assert.equal(partitioned.global, false);
    await server.fill(db, Array.from({ length: 60 }, (_, n) => ({ _id: `p${n % 3}:d${n}`, a: n % 10 })));
    const local = (await server.post(`/${db}/_partition/p1/_find`, { selector: { a: 4 }, execution_stats: true })).body;
    assert.deepEqual(docIds(local.docs).sort(), ['p1:d34', 'p1:d4']);
    assert.equal(local.execution_stats.total_docs_examined, 2);
    assert.equal((await server.post(`/${db}/_partition/p1/_explain`, { selector: { a: 4 } })).body.index.name, 'local');
    const global = (await server.post(`/${db}/_find`, { selector: { a: 4 }, execution_stats: true })).body;
    assert.equal(global.docs.length, 6);
    assert.equal(global.execution_stats.total_docs_examined, 6);
    assert.equal((await server.post(`/${db}/_explain`, { selector: { a: 4 } })).body.index.name, 'global');
  });

  test('partitioned must fit the database and what is already there', async () => {
    await fresh();
    expectStatus(await create({ index: { fields: ['a'] }, partitioned: true }), 400);
    await fresh('partitioned=true');
    await create({ index: { fields: ['a'] }, ddoc: 'dd', partitioned: false });
    expectError(await create({ index: { fields: ['b'] }, ddoc: 'dd', partitioned: true }), 400, 'invalid_partitioned_option');
  });

  test('arrays and nested objects are indexed by their whole value', async () => {
    await fresh();
    await create({ index: { fields: ['list'] }, ddoc: 'dd', name: 'nn' });
    await server.fill(db, [{ _id: 'a', list: [1, 2] }, { _id: 'b', list: [1, 2, 3] }]);
    const body = (await server.post(`/${db}/_find`, { selector: { list: { $eq: [1, 2] } } })).body;
    assert.deepEqual(docIds(body.docs), ['a']);
  });

  test('a partial filter may use any operator', async () => {
    await fresh();
    await create({ index: { fields: ['n'], partial_filter_selector: { status: { $ne: 'archived' }, n: { $gt: 2 } } }, ddoc: 'dd', name: 'nn' });
    await server.fill(db, Array.from({ length: 6 }, (_, n) => ({ _id: `d${n}`, n, status: n % 2 ? 'archived' : 'live' })));
    const body = (await server.post(`/${db}/_find`, { selector: { n: { $gt: 2 }, status: { $ne: 'archived' } }, use_index: 'dd', execution_stats: true })).body;
    assert.deepEqual(docIds(body.docs), ['d4']);
    assert.equal(body.execution_stats.total_docs_examined, 1);
  });

  test('a query that does not wait for the index returns no document that matches no more', async () => {
    await fresh();
    await create({ index: { fields: ['kind'] }, ddoc: 'kind', name: 'kind', partitioned: false });
    const ids = async (kind, more) => docIds((await server.post(`/${db}/_find`, { selector: { kind }, use_index: 'kind', ...more })).body.docs);
    let revision;
    for (let round = 0; round < 30; ++round) {
      revision = expectStatus(await server.put(`/${db}/d`, { kind: 'a', round, ...(revision && { _rev: revision }) }), 201).rev;
      assert.deepEqual(await ids('a'), ['d']);
      revision = expectStatus(await server.put(`/${db}/d`, { kind: 'b', _rev: revision }), 201).rev;
      // The entry still says "a", as the index follows some milliseconds later.
      assert.deepEqual(await ids('a', { update: false }), []);
    }
  });

  test('wrong definitions are refused', async () => {
    await fresh();
    expectError(await create({}), 400, 'missing_required_key', 'Missing required key: index');
    expectStatus(await create({ index: { fields: [] } }), 400);
    expectStatus(await create({ index: { fields: 'a' } }), 400);
    expectStatus(await create({ index: { fields: [{ a: 'sideways' }] } }), 400);
    expectStatus(await create({ index: [] }), 400);
    expectError(await create({ index: { fields: ['a'] }, type: 'magic' }), 400, 'invalid_index', 'Invalid type for index: magic');
    expectStatus(await create({ index: { fields: ['a'], partial_filter_selector: { b: { $nothing: 1 } } } }), 400);
    expectStatus(await create({ index: { fields: ['a'] }, name: 5 }), 400);
    expectStatus(await create({ index: { fields: ['a'] }, partitioned: 'yes' }), 400);
    expectError(await server.put(`/${db}/_index`, {}), 405, 'method_not_allowed', 'Only GET,POST allowed');
    assert.equal((await list()).total_rows, 1);
  });

  test('writers and an index being built do not miss each other', async () => {
    await fresh('q=2');
    await server.fill(db, Array.from({ length: 3000 }, (_, n) => ({ _id: `early${n}`, v: 1 })));
    const writing = Promise.all(Array.from({ length: 8 }, async (_, w) => {
      for (let n = 0; n < 40; ++n) expectStatus(await server.put(`/${db}/late${w}-${n}`, { v: 1 }), 201);
    }));
    expectStatus(await create({ index: { fields: ['v'] }, ddoc: 'dd', name: 'nn' }), 200);
    await writing;
    const body = (await server.post(`/${db}/_find`, { selector: { v: 1 }, use_index: 'dd', limit: 10_000, execution_stats: true })).body;
    assert.equal(body.docs.length, 3320);
    assert.equal(new Set(docIds(body.docs)).size, 3320);
  });
});
