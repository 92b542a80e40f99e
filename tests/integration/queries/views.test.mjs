// MapReduce views: rows, ranges, reduces, freshness, and every reply as CouchDB writes it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, Server, sleep } from '../harness.mjs';

const encode = (value) => encodeURIComponent(JSON.stringify(value));

/// Parameters as clients write them: keys are JSON, words are words.
const KEYS = ['key', 'keys', 'startkey', 'endkey', 'start_key', 'end_key'];
const parameters = (object) => Object.entries(object).map(([name, value]) =>
  `${name}=${KEYS.includes(name) ? encode(value) : encodeURIComponent(value)}`).join('&');

describe('views', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('q=2');
    await server.fill(db, [
      { _id: 'a', type: 'order', date: [2019, 1, 28], total: 10, tags: ['x', 'y'] },
      { _id: 'b', type: 'order', date: [2019, 1, 29], total: 20, tags: ['x'] },
      { _id: 'c', type: 'order', date: [2019, 2, 1], total: 30, tags: [] },
      { _id: 'd', type: 'order', date: [2020, 1, 1], total: 40.5, tags: ['y', 'y'] },
      { _id: 'e', type: 'user', name: 'bob' }]);
    await design('d', {
      views: {
        sales: { map: "function(doc) { if (doc.type === 'order') emit(doc.date, doc.total); }", reduce: '_sum' },
        stats: { map: "function(doc) { if (doc.type === 'order') emit(doc.date, doc.total); }", reduce: '_stats' },
        custom: { map: "function(doc) { if (doc.type === 'order') emit(doc.date, doc.total); }",
          reduce: 'function(keys, values, rereduce) { return Math.max.apply(null, values); }' },
        tags: { map: 'function(doc) { (doc.tags || []).forEach(function(tag) { emit(tag, null); }); }' },
        links: { map: "function(doc) { emit(doc._id, {_id: 'e'}); emit(doc._id, {_id: 'missing'}); }" },
        modules: { map: "function(doc) { emit(require('views/lib/tools').twice(doc.total || 0), null); }" },
        lib: { tools: 'exports.twice = function(n) { return 2 * n; };' } } });
  });
  after(() => server?.stop());

  async function design(name, body, revision) {
    return expectStatus(await server.put(`/${db}/_design/${name}`, { ...body, ...(revision && { _rev: revision }) }), 201);
  }
  const raw = (view, options = {}) => server.get(`/${db}/_design/d/_view/${view}?${parameters(options)}`);
  const rows = async (view, options = {}) => expectStatus(await raw(view, options), 200).rows;
  const ids = async (view, options) => (await rows(view, options)).map((row) => row.id);
  const refused = async (view, options, reason) => expectError(await raw(view, options), 400, 'query_parse_error', reason);

  test('the bytes of a reply are CouchDB’s', async () => {
    const tags = await raw('tags', { startkey: 'y' });
    assert.equal(tags.text, '{"total_rows":5,"offset":2,"rows":[\r\n{"id":"a","key":"y","value":null},\r\n' +
      '{"id":"d","key":"y","value":null},\r\n{"id":"d","key":"y","value":null}\r\n]}\n');
    const sum = await raw('sales', { group_level: 1 });
    assert.equal(sum.text, '{"rows":[\r\n{"key":[2019],"value":60},\r\n{"key":[2020],"value":40.5}\r\n]}\n');
    assert.equal((await raw('tags', { key: 'none' })).text, '{"total_rows":5,"offset":0,"rows":[\r\n\r\n]}\n');
    assert.equal((await raw('sales', { key: 'none' })).text, '{"rows":[\r\n\r\n]}\n');
  });

  test('reduce, group and group_level', async () => {
    assert.deepEqual(await rows('sales'), [{ key: null, value: 100.5 }]);
    assert.deepEqual((await rows('sales', { group_level: 2 })).map((row) => row.key), [[2019, 1], [2019, 2], [2020, 1]]);
    assert.deepEqual((await rows('sales', { group: true })).map((row) => row.value), [10, 20, 30, 40.5]);
    assert.deepEqual(await rows('sales', { startkey: [2019], endkey: [2019, {}] }), [{ key: null, value: 60 }]);
    assert.deepEqual(await rows('sales', { group_level: 1, descending: true, limit: 1 }), [{ key: [2020], value: 40.5 }]);
    assert.deepEqual(await rows('sales', { group_level: 1, skip: 1 }), [{ key: [2020], value: 40.5 }]);
    assert.deepEqual(await rows('sales', { group: true, keys: [[2020, 1, 1], [2019, 1, 28], [1]] }),
      [{ key: [2020, 1, 1], value: 40.5 }, { key: [2019, 1, 28], value: 10 }]);
    assert.deepEqual(await rows('stats', { endkey: [2019, 2] }),
      [{ key: null, value: { sum: 30, count: 2, min: 10, max: 20, sumsqr: 500 } }]);
    assert.deepEqual(await rows('custom', { group_level: 1 }), [{ key: [2019], value: 30 }, { key: [2020], value: 40.5 }]);
    assert.deepEqual((await rows('sales', { reduce: false })).map((row) => row.id), ['a', 'b', 'c', 'd']);
  });

  test('ranges', async () => {
    assert.deepEqual(await ids('tags', { key: 'x' }), ['a', 'b']);
    assert.deepEqual(await ids('tags', { keys: ['y', 'x'] }), ['a', 'd', 'd', 'a', 'b']);
    assert.deepEqual(await ids('tags', { keys: ['y', 'x'], descending: true }), ['b', 'a', 'd', 'd', 'a']);
    assert.deepEqual(await ids('tags', { keys: ['y', 'x'], skip: 1, limit: 3 }), ['d', 'd', 'a']);
    const absent = Array.from({ length: 5000 }, (_, n) => `zz${n}`);
    const posted = async (body, query = '') => expectStatus(await server.post(`/${db}/_design/d/_view/tags${query}`, body), 200);
    const all = await posted({ keys: [...absent, 'y', ...absent, 'x', ...absent] });
    assert.deepEqual(all.rows.map((row) => row.id), ['a', 'd', 'd', 'a', 'b']);
    assert.deepEqual([all.total_rows, all.offset], [5, 2]);
    assert.deepEqual((await posted({ keys: [...absent, 'y', ...absent, 'x'] }, '?descending=true')).rows.map((row) => row.id), ['b', 'a', 'd', 'd', 'a']);
    assert.deepEqual(await posted({ keys: absent }), { total_rows: 5, offset: 0, rows: [] });
    assert.deepEqual(await ids('tags', { startkey: 'x', startkey_docid: 'b', endkey: 'y', endkey_docid: 'a' }), ['b', 'a']);
    assert.deepEqual(await ids('tags', { startkey: 'x', endkey: 'y', inclusive_end: false }), ['a', 'b']);
    assert.deepEqual(await ids('tags', { descending: true, limit: 2 }), ['d', 'd']);
    assert.deepEqual(await ids('tags', { start_key: 'y', end_key: 'x', descending: true, skip: 2 }), ['a', 'b', 'a']);
    assert.deepEqual(await ids('tags', { skip: 100 }), []);
    const offset = async (options) => expectStatus(await raw('tags', options), 200).offset;
    assert.equal(await offset({ startkey: 'y', skip: 1 }), 3);
    assert.equal(await offset({ startkey: 'x', descending: true }), 3);
    assert.equal(await offset({ skip: 100 }), 5);
  });

  test('include_docs, conflicts and linked documents', async () => {
    const [first] = await rows('tags', { key: 'x', include_docs: true, conflicts: true });
    assert.equal(first.doc._id, 'a');
    assert.equal(first.doc.total, 10);
    const linked = await rows('links', { key: 'a', include_docs: true });
    assert.equal(linked[0].doc.name, 'bob');
    assert.equal(linked[1].doc, null);
  });

  test('modules in views.lib', async () => {
    assert.deepEqual((await rows('modules', { limit: 2 })).map((row) => row.key), [0, 20]);
  });

  test('POST takes parameters in the body, and the query string wins', async () => {
    const path = `/${db}/_design/d/_view/tags`;
    assert.equal(expectStatus(await server.post(path, { key: 'x' }), 200).rows.length, 2);
    assert.equal(expectStatus(await server.post(`${path}?limit=1`, { keys: ['x', 'y'], limit: 4 }), 200).rows.length, 1);
    expectError(await server.post(path, { keys: 'x' }), 400, 'bad_request', '`keys` body member must be an array.');
    expectError(await server.post(path, { queries: [] }), 400, 'bad_request',
      'The `queries` parameter is no longer supported at this endpoint');
  });

  test('several queries at once', async () => {
    const reply = await server.post(`/${db}/_design/d/_view/sales/queries`,
      { queries: [{ group_level: 1 }, { reduce: false, limit: 1 }, { key: [2020, 1, 1] }] });
    const { results } = expectStatus(reply, 200);
    assert.deepEqual(results.map((result) => result.rows.length), [2, 1, 1]);
    assert.equal(results[1].total_rows, 4);
    assert.ok(reply.text.startsWith('{"results":[\r\n{"rows":['));
    expectError(await server.post(`/${db}/_design/d/_view/sales/queries`, {}), 400, 'bad_request',
      'POST body must include `queries` parameter.');
  });

  test('no queries at all have no results', async () => {
    const path = `/${db}/_design/d/_view/by_kind/queries`;
    const { views } = expectStatus(await server.get(`/${db}/_design/d`), 200);
    const name = Object.keys(views).find((each) => each !== 'lib');
    assert.deepEqual(expectStatus(await server.post(path.replace('by_kind', name), { queries: [] }), 200).results, []);
  });

  test('bad parameters get CouchDB’s words', async () => {
    await refused('tags', { reduce: true }, 'Reduce is invalid for map-only views.');
    await refused('tags', { group: true }, 'Invalid use of grouping on a map view.');
    await refused('sales', { reduce: false, group_level: 1 }, 'Invalid use of grouping on a map view.');
    await refused('sales', { include_docs: true }, '`include_docs` is invalid for reduce');
    await refused('sales', { conflicts: true }, '`conflicts` is invalid for reduce views.');
    await refused('sales', { keys: [1] }, 'Multi-key fetchs for reduce views must use `group=true`');
    await refused('tags', { keys: [1], key: 1 }, '`keys` is incompatible with `key`, `start_key` and `end_key`');
    await refused('sales', { group: false, group_level: 1 },
      "Can't specify group=false and group_level>0 at the same time");
    await refused('tags', { startkey: 'y', endkey: 'x' },
      'No rows can match your key range, reverse your start_key and end_key or set descending=true');
    await refused('tags', { startkey: 'x', endkey: 'y', descending: true },
      'No rows can match your key range, reverse your start_key and end_key or set descending=false');
    await refused('tags', { update: 'maybe' }, 'Invalid value for `update`.');
    await refused('tags', { stale: 'no' }, 'Invalid value for `stale`.');
    await refused('tags', { stable: '1' }, 'Invalid value for `stable`.');
    await refused('tags', { limit: 'x' }, 'Invalid value for integer: "x"');
    await refused('tags', { descending: '1' }, 'Invalid boolean parameter: "1"');
    await refused('tags', { partition: 'p' }, '`partition` parameter is not supported in this design doc');
    expectError(await server.get(`/${db}/_design/d/_view/tags?key=x`), 400, 'bad_request');
    expectError(await server.get(`/${db}/_design/d/_view/nothing`), 404, 'not_found', 'missing_named_view');
    await server.put(`/${db}/_design/erlang`, { language: 'erlang', views: { v: { map: 'fun({Doc}) -> Emit(1, 2) end.' } } });
    expectError(await server.get(`/${db}/_design/erlang/_view/v`), 400, 'unknown_query_language');
    expectError(await server.get(`/${db}/_design/nothing/_view/nothing`), 404, 'not_found', 'missing');
  });

  test('sorted=false and update_seq', async () => {
    const unsorted = expectStatus(await raw('tags', { sorted: false }), 200);
    assert.deepEqual(Object.keys(unsorted), ['rows']);
    assert.match(expectStatus(await raw('tags', { update_seq: true }), 200).update_seq, /^\d+-/);
  });

  test('a query sees every write that was acknowledged before it', async () => {
    for (let n = 0; n < 20; ++n) {
      await server.put(`/${db}/new${n}`, { tags: [`t${n}`] });
      assert.deepEqual(await ids('tags', { key: `t${n}` }), [`new${n}`]);
    }
    for (let n = 0; n < 20; ++n) {
      const { _rev } = expectStatus(await server.get(`/${db}/new${n}`), 200);
      await server.delete(`/${db}/new${n}?rev=${_rev}`);
      assert.deepEqual(await ids('tags', { key: `t${n}` }), []);
    }
  });

  test('conflicts are seen by functions', async () => {
    await design('conflicts', { views: { all: { map: 'function(doc) { if (doc._conflicts) emit(doc._conflicts, null); }' } } });
    await server.post(`/${db}/_bulk_docs`, { new_edits: false, docs: [
      { _id: 'twice', _rev: '1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', n: 1 },
      { _id: 'twice', _rev: '1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', n: 2 }] });
    const found = expectStatus(await server.get(`/${db}/_design/conflicts/_view/all`), 200).rows;
    assert.deepEqual(found.map((row) => row.key), [['1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']]);
  });

  test('_info, and the same signature after a change of something else', async () => {
    await rows('tags', { limit: 1 });
    const { name, view_index: before } = expectStatus(await server.get(`/${db}/_design/d/_info`), 200);
    assert.equal(name, 'd');
    assert.equal(before.updates_pending.total >= 0, true);
    assert.equal(before.language, 'javascript');
    assert.ok(before.sizes.file > 0);
    const document = expectStatus(await server.get(`/${db}/_design/d`), 200);
    expectStatus(await server.put(`/${db}/_design/d`, { ...document, note: 'nothing that a view depends on' }), 201);
    const { view_index: later } = expectStatus(await server.get(`/${db}/_design/d/_info`), 200);
    assert.equal(later.signature, before.signature);
    expectError(await server.get(`/${db}/_design/nothing/_info`), 404, 'not_found', 'missing');
  });

  test('a changed view answers from the old index for those who do not wait', async () => {
    const own = await server.database();
    await server.fill(own, Array.from({ length: 300 }, (_, n) => ({ _id: `d${n}`, n })));
    const put = async (map, revision) => expectStatus(await server.put(`/${own}/_design/d`,
      { views: { v: { map } }, ...(revision && { _rev: revision }) }), 201);
    const first = await put('function(doc) { emit(1, null); }');
    const path = `/${own}/_design/d/_view/v`;
    assert.equal(expectStatus(await server.get(path), 200).rows.length, 300);
    // Slow enough to be met while it is built.
    await put('function(doc) { for (var i = 0, x = 0; i < 2e6; ++i) x += i % 7; emit(2, null); }', first.rev);
    const stale = expectStatus(await server.get(`${path}?update=false`), 200);
    assert.ok(stale.rows.length === 300);
    assert.ok([1, 2].includes(stale.rows[0].key));
    assert.equal(expectStatus(await server.get(`${path}?stale=ok&limit=1`), 200).rows.length, 1);
    assert.equal(expectStatus(await server.get(path), 200).rows[0].key, 2);
    assert.equal(expectStatus(await server.get(`${path}?update=lazy`), 200).rows[0].key, 2);
    assert.deepEqual(expectStatus(await server.post(`/${own}/_view_cleanup`, {}), 202), { ok: true });
  });

  test('a slow or endless function does not disturb others', async () => {
    const own = await server.database();
    await server.fill(own, [{ _id: 'a' }, { _id: 'b' }]);
    expectStatus(await server.put(`/${own}/_design/bad`, { views: { v: { map: 'function(doc) { while (true) {} }' } } }), 201);
    expectStatus(await server.put(`/${own}/_design/good`, { views: { v: { map: 'function(doc) { emit(doc._id); }' } } }), 201);
    assert.equal(expectStatus(await server.get(`/${own}/_design/good/_view/v`), 200).rows.length, 2);
    const bad = await server.get(`/${own}/_design/bad/_view/v`);
    assert.equal(bad.status, 500);
    assert.equal(expectStatus(await server.get(`/${own}/_design/good/_view/v`), 200).rows.length, 2);
    assert.equal(expectStatus(await server.get('/'), 200).couchdb, 'Welcome');
  });

  test('a function that throws leaves the document out', async () => {
    const own = await server.database();
    await server.fill(own, [{ _id: 'a', x: { y: 1 } }, { _id: 'b' }]);
    expectStatus(await server.put(`/${own}/_design/d`, { views: { v: { map: 'function(doc) { emit(doc.x.y); }' } } }), 201);
    const { rows: found } = expectStatus(await server.get(`/${own}/_design/d/_view/v`), 200);
    assert.deepEqual(found, [{ id: 'a', key: 1, value: null }]);
  });

  test('a long listing is streamed whole', async () => {
    const own = await server.database('q=3');
    await server.fill(own, Array.from({ length: 5000 }, (_, n) => ({ _id: `d${String(n).padStart(5, '0')}`, n, pad: 'x'.repeat(100) })));
    expectStatus(await server.put(`/${own}/_design/d`, { views: {
      all: { map: 'function(doc) { emit(doc.n, doc.pad); }', reduce: '_count' } } }), 201);
    const all = expectStatus(await server.get(`/${own}/_design/d/_view/all?reduce=false&include_docs=true`), 200);
    assert.deepEqual(all.rows.map((row) => row.key), Array.from({ length: 5000 }, (_, n) => n));
    const back = expectStatus(await server.get(`/${own}/_design/d/_view/all?reduce=false&descending=true&skip=4990`), 200);
    assert.deepEqual(back.rows.map((row) => row.key), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert.equal(back.offset, 4990);
    const grouped = expectStatus(await server.get(`/${own}/_design/d/_view/all?group=true`), 200);
    assert.equal(grouped.rows.length, 5000);
    const half = expectStatus(await server.get(`/${own}/_design/d/_view/all?startkey=1000&endkey=3499`), 200);
    assert.deepEqual(half.rows, [{ key: null, value: 2500 }]);
  });

  test('views of a database that was deleted are gone', async () => {
    const own = await server.database();
    await server.fill(own, [{ _id: 'a' }]);
    expectStatus(await server.put(`/${own}/_design/d`, { views: { v: { map: 'function(doc) { emit(1); }' } } }), 201);
    expectStatus(await server.get(`/${own}/_design/d/_view/v`), 200);
    expectStatus(await server.delete(`/${own}`), 200);
    expectError(await server.get(`/${own}/_design/d/_view/v`), 404, 'not_found');
    await sleep(10);
  });
});

describe('views of partitioned databases', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true&q=2');
    await server.fill(db, Array.from({ length: 90 }, (_, n) => ({ _id: `p${n % 3}:d${String(n).padStart(2, '0')}`, n, kind: n % 5 })));
    const map = 'function(doc) { emit([doc.kind, doc.n], doc.n); }';
    await server.put(`/${db}/_design/local`, { views: { v: { map, reduce: '_sum' } } });
    await server.put(`/${db}/_design/global`, { options: { partitioned: false }, views: { v: { map, reduce: '_sum' } } });
  });
  after(() => server?.stop());

  const local = (partition, options = {}) =>
    server.get(`/${db}/_partition/${partition}/_design/local/_view/v?${parameters(options)}`);

  test('a partition’s rows, alone', async () => {
    const all = expectStatus(await local('p1', { reduce: false }), 200);
    assert.equal(all.total_rows, 30);
    assert.ok(all.rows.every((row) => row.id.startsWith('p1:')));
    const kind = expectStatus(await local('p1', { reduce: false, startkey: [2], endkey: [2, {}] }), 200);
    assert.deepEqual(kind.rows.map((row) => row.key[1]), [7, 22, 37, 52, 67, 82]);
    assert.equal(kind.offset, 12);
    const sums = expectStatus(await local('p1', { group_level: 1 }), 200).rows;
    assert.equal(sums.length, 5);
    assert.equal(sums.reduce((sum, row) => sum + row.value, 0), Array.from({ length: 30 }, (_, i) => 3 * i + 1).reduce((a, b) => a + b));
    assert.deepEqual(expectStatus(await local('missing'), 200).rows, []);
    const down = expectStatus(await local('p2', { reduce: false, descending: true, limit: 2 }), 200);
    assert.deepEqual(down.rows.map((row) => row.key), [[4, 89], [4, 74]]);
    const several = await server.post(`/${db}/_partition/p0/_design/local/_view/v/queries`, { queries: [{}, { group_level: 1 }] });
    assert.equal(expectStatus(several, 200).results[1].rows.length, 5);
  });

  test('a body that names another partition than the path is refused', async () => {
    const path = `/${db}/_partition/p0/_design/local/_view/v`;
    expectError(await server.post(path, { partition: 'p1' }), 400, 'query_parse_error');
    expectError(await server.post(`${path}/queries`, { queries: [{ partition: 'p1' }] }), 400, 'query_parse_error');
    expectStatus(await server.post(path, { partition: 'p0' }), 200);
  });

  test('an encoded slash of a design document is redirected; what is no function says so', async () => {
    const moved = await server.get(`/${db}/_design%2Fglobal/_view/v?limit=1`);
    assert.equal(moved.status, 301);
    assert.equal(moved.headers.location, `/${db}/_design/global/_view/v?limit=1`);
    assert.equal((await server.get(`/${db}/_design/global/_view`)).status, 405);
    assert.equal((await server.get(`/${db}/_design/global/_view/v/x`)).status, 405);
    expectError(await server.get(`/${db}/_design/global/_nope/x`), 404, 'not_found', 'missing');
  });

  test('each kind of view is asked in its own way', async () => {
    expectError(await server.get(`/${db}/_design/local/_view/v`), 400, 'query_parse_error',
      '`partition` parameter is mandatory for queries to this view.');
    expectError(await server.get(`/${db}/_partition/p1/_design/global/_view/v`), 400, 'query_parse_error',
      '`partition` parameter is not supported in this design doc');
    assert.equal(expectStatus(await server.get(`/${db}/_design/global/_view/v`), 200).rows[0].value, 4005);
  });
});

test('a database that is deleted while its new views are read is nothing to warn of', async (t) => {
  const log = [];
  const server = await Server.startFor(t, { onLine: (line) => log.push(line) });
  for (let round = 0; round < 60; ++round) {
    const db = await server.database();
    expectStatus(await server.put(`/${db}/_design/d`, { views: { v: { map: 'function(doc) { emit(doc.n); }' } } }), 201);
    expectStatus(await server.delete(`/${db}`), 200);
  }
  assert.deepEqual(log.filter((line) => line.includes(' warning ') && line.includes('definitions')), []);
});

describe('views over a restart', () => {
  test('an index resumes where it was, and kill -9 loses nothing', async (t) => {
    const server = await Server.startFor(t);
    const db = await server.database();
    await server.fill(db, Array.from({ length: 1000 }, (_, n) => ({ _id: `d${n}`, n })));
    await server.put(`/${db}/_design/d`, { views: { v: { map: 'function(doc) { emit(doc.n % 10, doc.n); }', reduce: '_sum' } } });
    const path = `/${db}/_design/d/_view/v`;
    assert.equal(expectStatus(await server.get(path), 200).rows[0].value, 499500);
    await server.put(`/${db}/more`, { n: 500 });
    await server.kill();
    await server.launch();
    assert.equal(expectStatus(await server.get(path), 200).rows[0].value, 500000);
    assert.equal(expectStatus(await server.get(`${path}?group=true&key=3`), 200).rows[0].value, 49800);
  });
});
