import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import sdk from '@ibm-cloud/cloudant';
import core from 'ibm-cloud-sdk-core';
import nano from 'nano';
import { expectError, expectStatus, ids, patience, Server, sleep } from '../harness.mjs';

const { CloudantV1 } = sdk;
const { NoAuthAuthenticator } = core;

const byWords = `function (doc) {
  if (doc.type !== 'product') return;
  index('default', doc.name + ' ' + doc.description);
  index('name', doc.name, { store: true });
  index('brand', doc.brand, { store: true, facet: true });
  index('price', doc.price, { store: true, facet: true });
}`;
const design = (partitioned, more = {}) => ({
  indexes: {
    products: { analyzer: { name: 'perfield', default: 'english', fields: { brand: 'keyword' } }, index: byWords },
    ...more,
  },
  ...(partitioned === undefined ? {} : { options: { partitioned } }),
});
const products = [
  { _id: 'kitchen:scales', type: 'product', brand: 'Salter', name: 'Digital scales', description: 'slim and red', price: 14.99 },
  { _id: 'kitchen:mixer', type: 'product', brand: 'Kenwood', name: 'Stand mixer', description: 'heavy and red', price: 199.99 },
  { _id: 'garden:hose', type: 'product', brand: 'Salter', name: 'Garden hose', description: 'green', price: 25 },
  { _id: 'garden:note', type: 'note', name: 'red scales' },
];

describe('search', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database();
    await server.fill(db, products);
    expectStatus(await server.put(`/${db}/_design/shop`, design()), 201);
  });
  after(() => server?.stop());

  const search = (query) => server.get(`/${db}/_design/shop/_search/products?${query}`);
  const found = async (query) => ids(expectStatus(await search(query), 200).rows).sort();
  const post = (body) => server.post(`/${db}/_design/shop/_search/products`, body);

  test('words find documents, with score, fields and bookmark', async () => {
    const body = expectStatus(await search('q=scale'), 200);
    assert.equal(body.total_rows, 1);
    assert.equal(typeof body.bookmark, 'string');
    const [row] = body.rows;
    assert.equal(row.id, 'kitchen:scales');
    assert.deepEqual(row.fields, { name: 'Digital scales', brand: 'Salter', price: 14.99 });
    assert.equal(row.order.length, 2);
    assert.ok(row.order[0] > 0);
    assert.equal(row.doc, undefined);
  });

  test('documents come along when asked for', async () => {
    const [row] = expectStatus(await search('q=scale&include_docs=true'), 200).rows;
    assert.equal(row.doc._id, 'kitchen:scales');
    assert.equal(row.doc.description, 'slim and red');
  });

  test('Lucene query syntax', async () => {
    assert.deepEqual(await found('q=red+scales'), ['kitchen:mixer', 'kitchen:scales']);
    assert.deepEqual(await found('query=%2Bred+-mixer'), ['kitchen:scales']);
    assert.deepEqual(await found('q=brand:Salter+AND+price:%5B20+TO+30%5D'), ['garden:hose']);
    assert.deepEqual(await found('q=price:%5B20+TO+Infinity%5D'), ['garden:hose', 'kitchen:mixer']);
    assert.deepEqual(await found('q=price:25'), ['garden:hose']);
    assert.deepEqual(await found('q=name:%22garden+hose%22'), ['garden:hose']);
    assert.deepEqual(await found('q=digi*'), ['kitchen:scales']);
    assert.deepEqual(await found('q=mixre~'), ['kitchen:mixer']);
    assert.deepEqual(await found('q=mixre~0'), []);
    assert.equal((await found('q=*:*')).length, 3);
  });

  test('what was written before the search began is found, what was deleted is not', async () => {
    for (let n = 0; n < 20; ++n) {
      const put = expectStatus(await server.put(`/${db}/new${n}`, { type: 'product', name: `fresh${n}`, brand: 'x', price: n }), 201);
      assert.deepEqual(await found(`q=fresh${n}`), [`new${n}`]);
      const changed = expectStatus(await server.put(`/${db}/new${n}`, { _rev: put.rev, type: 'product', name: `changed${n}`, brand: 'x', price: n }), 201);
      assert.deepEqual(await found(`q=fresh${n}`), []);
      assert.deepEqual(await found(`q=changed${n}`), [`new${n}`]);
      expectStatus(await server.delete(`/${db}/new${n}?rev=${changed.rev}`), 200);
      assert.deepEqual(await found(`q=changed${n}`), []);
    }
  });

  test('stale=ok does not wait, and is the only value', async () => {
    expectStatus(await search('q=red&stale=ok'), 200);
    expectError(await search('q=red&stale=update_after'), 400, 'query_parse_error', 'stale only available as stale=ok');
  });

  test('sorting, paging and include_fields', async () => {
    const first = expectStatus(await post({ q: '*:*', sort: '-price<number>', limit: 2, include_fields: ['price'] }), 200);
    assert.deepEqual(ids(first.rows), ['kitchen:mixer', 'garden:hose']);
    assert.deepEqual(first.rows[0].fields, { price: 199.99 });
    assert.equal(first.rows[0].order[0], 199.99);
    const second = expectStatus(await post({ q: '*:*', sort: '-price<number>', limit: 2, bookmark: first.bookmark }), 200);
    assert.deepEqual(ids(second.rows), ['kitchen:scales']);
    const third = expectStatus(await post({ q: '*:*', sort: '-price<number>', limit: 2, bookmark: second.bookmark }), 200);
    assert.deepEqual(third.rows, []);
    assert.equal(third.total_rows, 3);
    assert.deepEqual(ids(expectStatus(await search(`q=*:*&sort=${encodeURIComponent('["brand<string>","price<number>"]')}`), 200).rows),
      ['kitchen:mixer', 'kitchen:scales', 'garden:hose']);
    expectError(await post({ q: '*:*', bookmark: first.bookmark }), 400, 'bad_request', 'sort order not compatible with given bookmark');
    expectError(await post({ q: '*:*', bookmark: `${first.bookmark.slice(0, -2)}xx` }), 400, 'bad_request', 'Invalid bookmark parameter supplied');
    expectError(await post({ q: '*:*', sort: 'price<date>' }), 400, 'bad_request', 'Unrecognized type: date');
  });

  test('sorting by the distance from a point', async () => {
    const map = await server.database();
    await server.fill(map, [{ _id: 'Lima', lon: -77.03, lat: -12.05 }, { _id: 'Aberdeen', lon: -2.15, lat: 57.15 }]);
    const index = "function (doc) { index('lon', doc.lon); index('lat', doc.lat); }";
    expectStatus(await server.put(`/${map}/_design/d`, { indexes: { places: { index } } }), 201);
    const near = (sort) => server.post(`/${map}/_design/d/_search/places`, { q: '*:*', sort });
    const { rows } = expectStatus(await near('<distance,lon,lat,-74.0059,40.7127,km>'), 200);
    assert.deepEqual(ids(rows), ['Aberdeen', 'Lima']);
    assert.equal(Math.round(rows[0].order[0]), 5284);
    assert.deepEqual(ids(expectStatus(await near('-<distance,lon,lat,-74.0059,40.7127,mi>'), 200).rows), ['Lima', 'Aberdeen']);
    expectError(await near('<distance,lon,lat,-74.0059,40.7127>'), 400, 'bad_request', /Unrecognized sort parameter/);
  });

  test('facets: counts, ranges, drilldown', async () => {
    const ranges = JSON.stringify({ price: { cheap: '[0 TO 100]', dear: '{100 TO Infinity]' } });
    const body = expectStatus(await search(`q=*:*&limit=0&counts=["brand"]&ranges=${encodeURIComponent(ranges)}`), 200);
    assert.deepEqual(body.counts, { brand: { Salter: 2, Kenwood: 1 } });
    assert.deepEqual(body.ranges, { price: { cheap: 2, dear: 1 } });
    assert.deepEqual(body.rows, []);
    assert.deepEqual(await found('q=*:*&drilldown=["brand","Salter"]'), ['garden:hose', 'kitchen:scales']);
    assert.deepEqual(ids(expectStatus(await post({ q: 'red', drilldown: [['brand', 'Salter']] }), 200).rows), ['kitchen:scales']);
    expectError(await search('q=*:*&counts=["nothing"]'), 400, 'bad_request');
    expectError(await search('q=*:*&ranges={"price":{"x":"nonsense"}}'), 400, 'bad_request');
  });

  test('groups', async () => {
    const body = expectStatus(await post({ q: '*:*', group_field: 'brand', group_sort: '-price<number>', sort: 'price<number>', limit: 1 }), 200);
    assert.equal(body.total_rows, 3);
    assert.deepEqual(body.groups.map((group) => [group.by, group.total_rows, ids(group.rows)]),
      [['Kenwood', 1, ['kitchen:mixer']], ['Salter', 2, ['kitchen:scales']]]);
    const old = expectStatus(await search('q=*:*&group_by=brand&group_limit=1'), 200);
    assert.equal(old.total_hits, 3);
    assert.equal(old.groups.length, 1);
    assert.ok(Array.isArray(old.groups[0].hits));
    expectError(await search('q=*:*&group_field=price<number>'), 400, 'bad_request');
    expectError(await search('q=*:*&group_field=brand&group_limit=201'), 400, 'query_parse_error');
  });

  test('highlights', async () => {
    const [row] = expectStatus(await post({ q: 'name:scales', highlight_fields: ['name'], highlight_pre_tag: '<b>', highlight_post_tag: '</b>' }), 200).rows;
    assert.deepEqual(row.highlights, { name: ['Digital <b>scales</b>'] });
  });

  test('errors in the words of CouchDB', async () => {
    expectError(await search(''), 400, 'query_parse_error', "Query must include a 'q' or 'query' argument");
    expectError(await search('q=a+AND'), 400, 'bad_request', /^Cannot parse 'a AND': Encountered "<EOF>"/);
    expectError(await search('q=*a'), 400, 'bad_request', "Cannot parse '*a': '*' or '?' not allowed as first character in WildcardQuery");
    expectError(await search('q=a&limit=201'), 400, 'query_parse_error', 'Value for limit is too large, must not exceed 200');
    expectError(await search('q=a&limit=-1'), 400, 'query_parse_error');
    expectError(await search('q=a&limit=x'), 400, 'query_parse_error');
    expectError(await search('q=a&partition=x'), 400, 'bad_request', '`partition` not supported on this index');
    expectError(await server.get(`/${db}/_design/shop/_search/other?q=a`), 404, 'not_found', 'other not found.');
    expectError(await server.get(`/${db}/_design/other/_search/products?q=a`), 404, 'not_found', 'missing');
    expectStatus(await server.request('PUT', `/${db}/_design/shop/_search/products`, { body: {} }), 405);
  });

  test('hostile queries get a clear answer soon', async () => {
    const started = Date.now();
    expectStatus(await post({ q: '('.repeat(20000) }), 400);
    expectStatus(await post({ q: 'a '.repeat(5000) }), 400);
    expectStatus(await post({ q: `${'(a '.repeat(90)}${')'.repeat(90)}` }), 200);
    expectStatus(await post({ q: 'x'.repeat(70000) }), 400);
    expectStatus(await post({ q: `/${'(a*)*'.repeat(20)}b/` }), 200);
    expectStatus(await post({ q: 'a~2 OR b~2 OR c~2' }), 200);
    expectStatus(await post({ q: 7 }), 400);
    expectStatus(await post({ q: 'a', sort: Array(100).fill('price') }), 400);
    expectStatus(await post({ q: 'a', drilldown: 'x' }), 400);
    expectStatus(await post({ q: 'a', include_fields: [[]] }), 400);
    expectStatus(await post({ q: '\u0000 \ud83d\ude00 ￿' }), 200);
    expectStatus(await post([]), 400);
    assert.ok(Date.now() - started < 10000 * patience);
  });

  test('a regular expression costs little for one term, and is refused when it is too long', async () => {
    const letters = await server.database();
    await server.fill(letters, Array.from({ length: 5 }, (_, n) => ({ _id: `d${n}`, text: `${n}${'a'.repeat(8000)}` })));
    const index = { analyzer: 'keyword', index: "function (doc) { index('text', doc.text); }" };
    expectStatus(await server.put(`/${letters}/_design/d`, { indexes: { whole: index } }), 201);
    const ask = (pattern) => server.post(`/${letters}/_design/d/_search/whole`, { q: `text:/${pattern}/` });
    const matching = async (pattern) => ids(expectStatus(await ask(pattern), 200).rows).sort();
    assert.deepEqual(await matching('[13]a+'), ['d1', 'd3']);
    // Without a limit each would take longer than the age of the universe, or minutes.
    for (const hostile of ['.(a+a+)+b', '([0-9a]+)+b', '(.*a){12}b', '.(a|aa)+b', `.*${'a'.repeat(7000)}b`]) {
      assert.deepEqual(await matching(hostile), [], hostile.slice(0, 20));
    }
    expectError(await ask('a'.repeat(8193)), 400, 'bad_request', /^The regular expression has \d+ bytes; at most 8192 are allowed\.$/);
    expectError(await ask('(a'), 400, 'bad_request', 'Not a regular expression: /(a/');
  });

  test('_search_info, _search_disk_size, _search_cleanup', async () => {
    const info = expectStatus(await server.get(`/${db}/_design/shop/_search_info/products`), 200);
    assert.equal(info.name, '_design/shop/products');
    assert.equal(info.search_index.doc_count, 3);
    assert.ok(info.search_index.pending_seq > 0);
    const size = expectStatus(await server.get(`/${db}/_design/shop/_search_disk_size/products`), 200);
    assert.deepEqual(Object.keys(size.search_index), ['disk_size']);
    assert.deepEqual(expectStatus(await server.post(`/${db}/_search_cleanup`, {}), 202), { ok: true });
    assert.equal((await found('q=*:*')).length, 3);
  });

  test('_search_analyze shows the terms', async () => {
    assert.deepEqual(expectStatus(await server.get('/_search_analyze?analyzer=english&text=the+running+dogs'), 200), { tokens: ['run', 'dog'] });
    assert.deepEqual(expectStatus(await server.post('/_search_analyze', { analyzer: { name: 'standard', stopwords: ['dogs'] }, text: 'The Dogs' }), 200),
      { tokens: ['the'] });
    for (const name of ['arabic', 'brazilian', 'cjk', 'chinese', 'czech', 'german', 'japanese', 'polish', 'thai', 'keyword', 'email']) {
      assert.ok(expectStatus(await server.get(`/_search_analyze?analyzer=${name}&text=kitchen`), 200).tokens.length > 0, name);
    }
    expectError(await server.get('/_search_analyze?analyzer=klingon&text=x'), 400, 'no_such_analyzer');
    expectError(await server.get('/_search_analyze?analyzer=keyword&text=%FF%FE'), 400, 'bad_request', 'text parameter must be UTF-8');
    expectError(await server.get('/_search_analyze?text=x'), 400, 'bad_request', 'analyzer parameter is mandatory');
    expectError(await server.get('/_search_analyze?analyzer=simple'), 400, 'bad_request', 'text parameter is mandatory');
  });

  test('_search_analyze refuses a text that is too long', async () => {
    const analyze = (bytes) => server.post('/_search_analyze', { analyzer: 'keyword', text: 'x'.repeat(bytes) });
    expectStatus(await analyze(1024 * 1024), 200);
    expectError(await analyze(1024 * 1024 + 1), 413, 'too_large', 'text must not be longer than 1048576 bytes');
  });

  test('an index with an unknown analyzer says so', async () => {
    await server.put(`/${db}/_design/odd`, { indexes: { odd: { analyzer: 'klingon', index: 'function (doc) {}' } } });
    expectError(await server.get(`/${db}/_design/odd/_search/odd?q=a`), 400, 'no_such_analyzer');
  });

  test('a function that throws for some documents indexes the others; a changed one is indexed again', async () => {
    const other = await server.database();
    await server.fill(other, [{ _id: 'a', words: 'red' }, { _id: 'b' }]);
    const put = expectStatus(await server.put(`/${other}/_design/d`, { indexes: { i: { index: "function (doc) { index('default', doc.words.trim()); }" } } }), 201);
    assert.deepEqual(ids(expectStatus(await server.get(`/${other}/_design/d/_search/i?q=red`), 200).rows), ['a']);
    await server.put(`/${other}/_design/d`, { _rev: put.rev, indexes: { i: { index: "function (doc) { index('default', doc._id); }" } } });
    assert.deepEqual(ids(expectStatus(await server.get(`/${other}/_design/d/_search/i?q=b`), 200).rows), ['b']);
    assert.deepEqual(expectStatus(await server.get(`/${other}/_design/d/_search/i?q=red`), 200).rows, []);
  });

  test('a search that waits while its design document changes searches the new index', async () => {
    const other = await server.database();
    await server.fill(other, Array.from({ length: 40 }, (_, n) => ({ _id: `d${n}`, n })));
    const slow = "function (doc) { var t = Date.now(); while (Date.now() - t < 100) {} index('default', 'old'); }";
    const put = expectStatus(await server.put(`/${other}/_design/d`, { indexes: { i: { index: slow } } }), 201);
    const searching = server.get(`/${other}/_design/d/_search/i?q=new&limit=200`);
    await sleep(300);
    await server.put(`/${other}/_design/d`, { _rev: put.rev, indexes: { i: { index: "function (doc) { index('default', 'new'); }" } } });
    assert.equal(expectStatus(await searching, 200).rows.length, 40);
  });

  test('nano', async () => {
    const client = nano(server.url).use(db);
    const body = await client.search('shop', 'products', { q: 'red', sort: 'price<number>', include_docs: true });
    assert.deepEqual(ids(body.rows), ['kitchen:scales', 'kitchen:mixer']);
    assert.equal(body.rows[0].doc.brand, 'Salter');
  });

  test('@ibm-cloud/cloudant', async () => {
    const client = CloudantV1.newInstance({ authenticator: new NoAuthAuthenticator() });
    client.setServiceUrl(server.url);
    const searched = await client.postSearch({ db, ddoc: 'shop', index: 'products', query: 'red', counts: ['brand'], sort: ['price<number>'] });
    assert.deepEqual(ids(searched.result.rows), ['kitchen:scales', 'kitchen:mixer']);
    assert.deepEqual(searched.result.counts, { brand: { Salter: 1, Kenwood: 1 } });
    const grouped = await client.postSearch({ db, ddoc: 'shop', index: 'products', query: '*:*', groupField: 'brand' });
    assert.equal(grouped.result.groups.length, 2);
    assert.deepEqual((await client.postSearchAnalyze({ analyzer: 'english', text: 'running' })).result.tokens, ['run']);
    assert.equal((await client.getSearchInfo({ db, ddoc: 'shop', index: 'products' })).result.searchIndex.docCount, 3);
  });
});

describe('search in a partitioned database', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true&q=2');
    await server.fill(db, products);
    await server.put(`/${db}/_design/local`, design());
    await server.put(`/${db}/_design/global`, design(false));
  });
  after(() => server?.stop());

  const local = (partition, query) => server.get(`/${db}/_partition/${partition}/_design/local/_search/products?${query}`);

  test('a partition is searched by itself', async () => {
    assert.deepEqual(ids(expectStatus(await local('kitchen', 'q=red+hose'), 200).rows).sort(), ['kitchen:mixer', 'kitchen:scales']);
    assert.deepEqual(ids(expectStatus(await local('garden', 'q=*:*'), 200).rows), ['garden:hose']);
    assert.equal(expectStatus(await local('nowhere', 'q=*:*'), 200).total_rows, 0);
    assert.deepEqual(ids(expectStatus(await server.get(`/${db}/_design/local/_search/products?q=red&partition=kitchen`), 200).rows).length, 2);
    assert.deepEqual(ids(expectStatus(await server.post(`/${db}/_partition/kitchen/_design/local/_search/products`, { q: 'digital' }), 200).rows), ['kitchen:scales']);
  });

  test('terms that are frequent in other partitions find all of this one', async () => {
    const many = await server.database('partitioned=true&q=1');
    const docs = Array.from({ length: 300 }, (_, n) => ({ _id: `p${(n * 7) % 5}:${n}`, a: n % 4 }));
    await server.fill(many, docs);
    await server.put(`/${many}/_design/d`, { language: 'javascript', indexes: { i: { index: "function (doc) { index('a', doc.a); }" } } });
    for (const partition of ['p0', 'p1', 'p2', 'p3', 'p4']) {
      for (const a of [0, 1, 2, 3]) {
        const found = expectStatus(await server.get(`/${many}/_partition/${partition}/_design/d/_search/i?q=a:${a}&limit=200`), 200);
        const wanted = docs.filter((doc) => doc.a === a && doc._id.startsWith(`${partition}:`));
        assert.deepEqual(ids(found.rows).sort(), ids(wanted.map((doc) => ({ id: doc._id }))).sort());
      }
    }
  });

  test('a global index is searched as a whole', async () => {
    assert.deepEqual(ids(expectStatus(await server.get(`/${db}/_design/global/_search/products?q=salter+OR+brand:Salter`), 200).rows).sort(),
      ['garden:hose', 'kitchen:scales']);
  });

  test('the wrong kind of search is refused', async () => {
    expectError(await server.get(`/${db}/_design/local/_search/products?q=a`), 400, 'bad_request',
      '`partition` parameter is mandatory for queries to this index.');
    expectError(await server.get(`/${db}/_partition/kitchen/_design/global/_search/products?q=a`), 400, 'bad_request',
      '`partition` not supported on this index');
    expectError(await local('kitchen', 'q=a&counts=["brand"]'), 400, 'bad_request',
      '`partition` and any of `drilldown`, `ranges`, `group_field`, `group_sort`, `group_limit` or `group_by` are incompatible');
    expectError(await local('kitchen', 'q=a&partition=garden'), 400, 'bad_request');
  });

  test('@ibm-cloud/cloudant', async () => {
    const client = CloudantV1.newInstance({ authenticator: new NoAuthAuthenticator() });
    client.setServiceUrl(server.url);
    const { result } = await client.postPartitionSearch({ db, partitionKey: 'kitchen', ddoc: 'local', index: 'products', query: 'red' });
    assert.equal(result.totalRows, 2);
  });
});

describe('search through restarts', () => {
  const words = { indexes: { words: { index: "function (doc) { index('default', doc.text); index('n', doc.n); }" } } };
  const count = async (server, q) => expectStatus(await server.get(`/words/_design/d/_search/words?q=${q}&limit=0`), 200).total_rows;

  test('kill -9 while documents are written loses nothing and repeats nothing', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/words');
    await server.put('/words/_design/d', words);
    let written = 0;
    for (let round = 0; round < 4; ++round) {
      const until = Date.now() + 1500;
      while (Date.now() < until) {
        const docs = Array.from({ length: 50 }, (_, n) => ({ _id: `d${written + n}`, text: `word${written + n} all`, n: written + n }));
        expectStatus(await server.post('/words/_bulk_docs', { docs }), 201);
        written += docs.length;
        if (written % 500 === 0) assert.equal(await count(server, 'all'), written);
      }
      await server.kill();
      await server.relaunch();
      assert.equal(await count(server, 'all'), written);
      assert.equal(await count(server, `word${written - 1}`), 1);
      assert.equal(await count(server, `n:%5B0+TO+${written - 1}%5D`), written);
    }
  });

  test('a torn index folder is built again', async (t) => {
    const server = await Server.startFor(t);
    await server.put('/words');
    await server.put('/words/_design/d', words);
    await server.fill('words', Array.from({ length: 200 }, (_, n) => ({ _id: `d${n}`, text: `word${n} all`, n })));
    assert.equal(await count(server, 'all'), 200);
    await server.stop({ keepFolder: true });
    const databases = path.join(server.dataDir, 'databases');
    let torn = 0;
    for (const tag of fs.readdirSync(databases)) {
      for (const name of fs.readdirSync(path.join(databases, tag)).filter((entry) => entry.startsWith('search-'))) {
        const lucene = path.join(databases, tag, name, 'lucene');
        for (const file of fs.readdirSync(lucene).filter((entry) => entry.endsWith('.tis') || entry.endsWith('.frq'))) {
          fs.truncateSync(path.join(lucene, file), 10);
          ++torn;
        }
      }
    }
    assert.ok(torn > 0);
    await server.relaunch();
    // The first search may be the one that meets the damage.
    await server.get('/words/_design/d/_search/words?q=all');
    assert.equal(await count(server, 'all'), 200);
    assert.equal(await count(server, 'word7'), 1);
  });
});

describe('Mango indexes of type text', () => {
  let server, db;
  const find = async (body) => expectStatus(await server.post(`/${db}/_find`, body), 200);
  const found = async (selector, more = {}) => (await find({ selector, ...more })).docs.map((doc) => doc._id).sort();
  before(async () => {
    server = await Server.start();
    db = await server.database();
    await server.fill(db, [
      { _id: 'a', title: 'Red kitchen scales', year: 2019, tags: ['kitchen', 'red'], sold: true },
      { _id: 'b', title: 'Blue kettle', year: 2021, tags: ['kitchen'], sold: false },
      { _id: 'c', title: 'Garden hose', year: 2021, maker: { city: 'Bonn' } },
    ]);
    assert.equal(expectStatus(await server.post(`/${db}/_index`, { type: 'text', name: 'all', ddoc: 'text', index: {} }), 200).result, 'created');
    assert.equal(expectStatus(await server.post(`/${db}/_index`, { type: 'text', name: 'all', ddoc: 'text', index: {} }), 200).result, 'exists');
  });
  after(() => server?.stop());

  test('are listed', async () => {
    const list = expectStatus(await server.get(`/${db}/_index`), 200);
    assert.equal(list.total_rows, 2);
    assert.equal(list.indexes[1].type, 'text');
    assert.equal(list.indexes[1].ddoc, '_design/text');
    assert.deepEqual(list.indexes[1].def.fields, []);
  });

  test('answer $text, alone and with other conditions', async () => {
    assert.deepEqual(await found({ $text: 'kitchen' }), ['a', 'b']);
    assert.deepEqual(await found({ $text: 'kitchen', year: { $gt: 2020 } }), ['b']);
    assert.deepEqual(await found({ $and: [{ $text: 'kettle OR hose' }, { sold: false }] }), ['b']);
    assert.deepEqual(await found({ title: { $text: 'Red*' } }), []);
    assert.deepEqual(await found({ $text: 'nothing' }), []);
  });

  test('answer selectors that no JSON index serves', async () => {
    assert.deepEqual(await found({ year: 2021 }), ['b', 'c']);
    assert.deepEqual(await found({ 'maker.city': 'Bonn' }), ['c']);
    assert.deepEqual(await found({ tags: { $in: ['red'] } }), ['a']);
    assert.deepEqual(await found({ tags: { $elemMatch: { $eq: 'kitchen' } } }), ['a', 'b']);
    assert.deepEqual(await found({ year: { $gte: 2020 }, sold: { $exists: false } }), ['c']);
    assert.deepEqual(await found({ $or: [{ year: 2019 }, { title: 'Garden hose' }] }), ['a', 'c']);
    assert.deepEqual(await found({ tags: { $size: 2 } }), ['a']);
    assert.deepEqual(await found({ title: { $regex: '^G' } }), ['c']);
    assert.deepEqual(await found({ year: { $ne: 2021 } }), ['a']);
  });

  test('sort, fields, limit and bookmarks', async () => {
    const first = await find({ selector: { year: { $gt: 0 } }, sort: [{ 'year:number': 'desc' }, { 'title:string': 'asc' }], fields: ['_id'], limit: 2 });
    assert.deepEqual(first.docs, [{ _id: 'b' }, { _id: 'c' }]);
    const second = await find({ selector: { year: { $gt: 0 } }, sort: [{ 'year:number': 'desc' }, { 'title:string': 'asc' }], fields: ['_id'], limit: 2, bookmark: first.bookmark });
    assert.deepEqual(second.docs, [{ _id: 'a' }]);
    assert.deepEqual((await find({ selector: { year: { $gt: 0 } }, sort: ['year'], fields: ['_id'], limit: 1 })).docs, [{ _id: 'a' }]);
    expectError(await server.post(`/${db}/_find`, { selector: { $text: 'kitchen' }, sort: ['year'] }), 400, 'text_sort_error');
    assert.deepEqual(await found({ year: { $gt: 0 } }, { skip: 2, sort: ['year'] }), ['c']);
  });

  test('what was just written is found', async () => {
    const put = expectStatus(await server.put(`/${db}/new`, { title: 'Brandnew', year: 2030 }), 201);
    assert.deepEqual(await found({ $text: 'brandnew' }), ['new']);
    await server.delete(`/${db}/new?rev=${put.rev}`);
    assert.deepEqual(await found({ $text: 'brandnew' }), []);
  });

  test('_explain shows the query', async () => {
    const body = expectStatus(await server.post(`/${db}/_explain`, { selector: { $text: 'kitchen', year: 2019 } }), 200);
    assert.equal(body.index.type, 'text');
    assert.equal(body.query, '($default:kitchen AND year\\:number:[2019 TO 2019])');
    assert.equal(body.sort, 'relevance');
  });

  test('a selector that rejects nearly all that the index finds comes to its end', async () => {
    const other = await server.database();
    await server.fill(other, Array.from({ length: 3000 }, (_, n) => ({ _id: `d${n}`, title: 'common', n })));
    await server.post(`/${other}/_index`, { type: 'text', index: {} });
    const query = { selector: { $text: 'common', n: { $mod: [3000, 2999] } }, limit: 1, execution_stats: true };
    const { docs, execution_stats: stats } = expectStatus(await server.post(`/${other}/_find`, query), 200);
    assert.deepEqual(docs.map((doc) => doc.n), [2999]);
    assert.equal(stats.total_docs_examined, 3000);
  });

  test('$text cannot be aggregated, and says so', async () => {
    expectError(await server.post(`/${db}/_find`, { selector: { $text: 'kitchen' }, count: true }), 400, 'invalid_selector');
  });

  test('an index of some fields serves what it holds, and $text without any index is refused', async () => {
    const other = await server.database();
    await server.fill(other, [{ _id: 'a', title: 'x', year: 1 }]);
    const refused = await server.post(`/${other}/_find`, { selector: { $text: 'x' } });
    expectError(refused, 400, 'no_usable_index');
    await server.post(`/${other}/_index`, { type: 'text', ddoc: 't', name: 't', index: { fields: [{ name: 'title', type: 'string' }], default_field: { enabled: false } } });
    expectError(await server.post(`/${other}/_find`, { selector: { $text: 'x' } }), 400, 'no_usable_index');
    assert.equal(expectStatus(await server.post(`/${other}/_explain`, { selector: { title: 'x' } }), 200).index.type, 'text');
    assert.equal(expectStatus(await server.post(`/${other}/_explain`, { selector: { year: 1 } }), 200).index.type, 'special');
    expectError(await server.post(`/${other}/_index`, { type: 'text', index: { fields: [{ name: 'a' }] } }), 400, 'invalid_index_fields_definition');
    expectStatus(await server.delete(`/${other}/_index/t/text/t`), 200);
    assert.equal(expectStatus(await server.get(`/${other}/_index`), 200).total_rows, 1);
  });
});
