import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { eventually, expectError, expectStatus, Server, sleep } from '../harness.mjs';

const COUNT = 300;

// What comes without an order, in one.
const rising = (values) => [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

describe('_sql', () => {
  let server, db, parts;
  before(async () => {
    server = await Server.start();
    db = await server.database('q=2');
    await server.fill(db, Array.from({ length: COUNT }, (_, n) => ({
      _id: `d${String(n).padStart(4, '0')}`, n, mod: n % 10, city: `city${n % 7}`, tags: ['all', `t${n % 3}`],
      address: { zip: 1000 + n, 'street name': 'É' }, ...(n % 2 && { odd: true }) })));
    parts = await server.database('partitioned=true&q=4');
    await server.fill(parts, Array.from({ length: COUNT }, (_, n) => ({ _id: `p${n % 5}:d${n}`, n, mod: n % 10 })));
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['mod', 'n'] }, ddoc: 'by-mod', name: 'by-mod' }), 200);
    expectStatus(await server.post(`/${parts}/_index`, { index: { fields: ['mod'] }, ddoc: 'local', name: 'local', partitioned: true }), 200);
  });
  after(() => server?.stop());

  const sql = async (query, more = {}) => expectStatus(await server.post(`/${db}/_sql`, { query, ...more }), 200);
  const docs = async (query, more) => (await sql(query, more)).docs;

  test('documents come with _id and _rev, 25 unless said', async () => {
    const body = await sql('SELECT * FROM c');
    assert.equal(body.docs.length, 25);
    const [first] = await docs('SELECT * FROM c ORDER BY c._id', { limit: 1 });
    assert.equal(first._id, 'd0000');
    assert.match(first._rev, /^1-[0-9a-f]{32}$/);
    assert.deepEqual(first.address, { zip: 1000, 'street name': 'É' });
    assert.equal(typeof body.bookmark, 'string');
    assert.equal((await docs('SELECT * FROM c', { limit: 7 })).length, 7);
    assert.deepEqual(await docs('SELECT * FROM c', { limit: 0 }), []);
  });

  test('projections, conditions, parameters', async () => {
    assert.deepEqual(await docs('SELECT c.n, c.address.zip AS zip, c.address["street name"] FROM c WHERE c.n = @n',
      { parameters: [{ name: '@n', value: 42 }] }), [{ n: 42, zip: 1042, 'street name': 'É' }]);
    assert.deepEqual(await docs("SELECT VALUE c.n FROM c WHERE c.city = 'city3' AND c.n < 20 AND NOT IS_DEFINED(c.odd)"), [10]);
    assert.deepEqual(rising(await docs('SELECT VALUE c.n FROM c WHERE c.n IN (@a, 5) OR c.address.zip BETWEEN 1298 AND @b',
      { parameters: [{ name: '@a', value: 3 }, { name: '@b', value: 2000 }] })), [3, 5, 298, 299]);
  });

  test('numbers beyond doubles are the same in documents, parameters and queries', async () => {
    const numbers = await server.database();
    for (const [id, number] of [['large', '1e400'], ['low', '-1e400'], ['small', `0.${'0'.repeat(400)}1`]]) {
      expectStatus(await server.put(`/${numbers}/${id}`, `{"v":${number}}`), 201);
    }
    const found = async (condition, parameters = '[]') => {
      const body = `{"query":"SELECT VALUE c._id FROM c WHERE ${condition}","parameters":${parameters}}`;
      return expectStatus(await server.post(`/${numbers}/_sql`, body), 200).docs;
    };
    for (const [id, number] of [['large', '1e400'], ['low', '-1e400'], ['small', '0'], ['small', '1e-400']]) {
      assert.deepEqual(await found(`c.v = ${number}`), [id], number);
      assert.deepEqual(await found('c.v = @x', `[{"name":"@x","value":${number}}]`), [id], `a parameter ${number}`);
    }
  });

  test('joins, subqueries, functions', async () => {
    assert.deepEqual(rising(await docs("SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n < 3 AND t != 'all'")), ['t0', 't1', 't2']);
    assert.deepEqual(await docs("SELECT VALUE ARRAY(SELECT VALUE UPPER(t) FROM t IN c.tags) FROM c WHERE c.n = 1"), [['ALL', 'T1']]);
    assert.deepEqual(rising(await docs("SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(c.tags, 't2') AND c.n < 6")), [2, 5]);
  });

  test('order, groups, aggregates, distinct', async () => {
    assert.deepEqual(await docs('SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC'), [299, 298, 297]);
    assert.deepEqual(await docs('SELECT VALUE c.n FROM c ORDER BY c.mod DESC, c.n OFFSET 1 LIMIT 2'), [19, 29]);
    assert.deepEqual(await docs('SELECT VALUE COUNT(1) FROM c'), [COUNT]);
    assert.deepEqual(await docs('SELECT c.mod, COUNT(1) AS n, AVG(c.n) AS mean FROM c WHERE c.mod < 2 GROUP BY c.mod'),
      [{ mod: 0, n: 30, mean: 145 }, { mod: 1, n: 30, mean: 146 }]);
    assert.deepEqual(await docs('SELECT DISTINCT VALUE c.city FROM c'), ['city0', 'city1', 'city2', 'city3', 'city4', 'city5', 'city6']);
  });

  for (const query of ['SELECT VALUE c.n FROM c', 'SELECT VALUE c.n FROM c WHERE c.mod = 4',
    'SELECT VALUE c.n FROM c ORDER BY c.city', 'SELECT c.n, t FROM c JOIN t IN c.tags WHERE c.n < 50',
    'SELECT c.n, COUNT(1) AS k FROM c WHERE c.n < 40 GROUP BY c.n', 'SELECT DISTINCT c.mod, c.city FROM c',
    'SELECT VALUE c.n FROM c OFFSET 10 LIMIT 50']) {
    test(`bookmarks page through ${query}`, async () => {
      const all = await docs(query, { limit: 10_000 });
      const paged = [];
      let bookmark;
      do {
        const page = await sql(query, { limit: 13, bookmark });
        assert.ok(page.docs.length <= 13);
        paged.push(...page.docs);
        bookmark = page.bookmark;
      } while (bookmark);
      assert.deepEqual(paged, all);
    });
  }

  test('an index is used, and execution_stats tell the truth', async () => {
    const body = await sql('SELECT VALUE c.n FROM c WHERE c.mod = 4 AND c.n > 200', { execution_stats: true });
    assert.deepEqual(rising(body.docs), [204, 214, 224, 234, 244, 254, 264, 274, 284, 294]);
    assert.equal(body.execution_stats.total_docs_examined, 10);
    assert.equal(body.execution_stats.total_keys_examined, 10);
    assert.equal(body.execution_stats.results_returned, 10);
    assert.equal(typeof body.execution_stats.execution_time_ms, 'number');
    const one = await sql("SELECT * FROM c WHERE c._id = 'd0007'", { execution_stats: true });
    assert.equal(one.docs[0].n, 7);
    assert.equal(one.execution_stats.total_docs_examined, 1);
  });

  test('what was just written is seen through the index', async () => {
    for (let n = 0; n < 20; n += 1) {
      expectStatus(await server.put(`/${db}/new${n}`, { mod: 77, n }), 201);
      assert.equal((await docs('SELECT VALUE c.n FROM c WHERE c.mod = 77', { limit: 100 })).length, n + 1);
    }
    expectStatus(await server.post(`/${db}/_bulk_docs`, {
      docs: (await docs('SELECT c._id, c._rev FROM c WHERE c.mod = 77')).map((doc) => ({ ...doc, _deleted: true })) }), 201);
    assert.deepEqual(await docs('SELECT * FROM c WHERE c.mod = 77'), []);
  });

  test('a program that deletes what it has read reads everything, also by long values that begin alike', async () => {
    for (const length of [200, 300, 4000, 6000]) {
      const own = await server.database();
      await server.fill(own, Array.from({ length: 30 }, (_, n) => ({ _id: `i${n}`, s: 'x'.repeat(length) + (100 + n) })));
      const read = [];
      for (let bookmark; bookmark !== null; ) {
        const page = expectStatus(await server.post(`/${own}/_sql`, { query: 'SELECT c._id, c._rev FROM c ORDER BY c.s', limit: 5, bookmark }), 200);
        for (const { _id, _rev } of page.docs) expectStatus(await server.delete(`/${own}/${_id}?rev=${_rev}`), 200);
        read.push(...page.docs.map((row) => row._id));
        bookmark = page.bookmark;
      }
      assert.deepEqual(read, Array.from({ length: 30 }, (_, n) => `i${n}`), `${length}`);
    }
  });

  test('one partition', async () => {
    const ask = async (query, more = {}) =>
      expectStatus(await server.post(`/${parts}/_partition/p3/_sql`, { query, ...more }), 200);
    assert.deepEqual((await ask('SELECT VALUE COUNT(1) FROM c')).docs, [60]);
    const body = await ask('SELECT VALUE c._id FROM c WHERE c.mod = 8', { limit: 3, execution_stats: true });
    assert.ok(body.docs.every((id) => id.startsWith('p3:')));
    assert.equal(body.execution_stats.total_docs_examined, 4);  // one more tells whether the page is the last
    expectError(await server.post(`/${db}/_partition/p3/_sql`, { query: 'SELECT 1' }), 400, 'bad_request');
  });

  test('errors say where they are', async () => {
    const refuse = async (body, word, reason) => expectError(await server.post(`/${db}/_sql`, body), 400, word, reason);
    await refuse({ query: 'SELECT * FROM c WHERE c.x = = 1' }, 'invalid_sql',
      "Syntax error, incorrect syntax near '='. (SC1001 at 28..29)");
    await refuse({ query: 'SELECT d.x FROM c' }, 'invalid_sql');
    await refuse({ query: 'SELECT @missing' }, 'invalid_sql');
    await refuse({ query: 'SELECT VALUE udf.f(1) FROM c' }, 'unknown_udf');
    await refuse({ query: 'SELECT * FROM c', bookmark: 'nonsense' }, 'invalid_continuation');
    await refuse({ query: 5 }, 'invalid_sql_request');
    await refuse({}, 'invalid_sql_request');
    await refuse({ query: 'SELECT 1', limit: -1 }, 'invalid_sql_request');
    await refuse({ query: 'SELECT 1', surprise: 1 }, 'invalid_sql_request');
    await refuse({ query: 'SELECT 1', parameters: [{ name: 'x' }] }, 'invalid_sql');
    expectError(await server.post('/nowhere/_sql', { query: 'SELECT 1' }), 404, 'not_found');
    expectError(await server.request('POST', `/${db}/_sql`, { body: 'SELECT 1', headers: { 'content-type': 'text/plain' } }), 415, 'bad_content_type');
  });

  test('a long result is streamed, a hostile query bounded', async () => {
    const many = await docs('SELECT a.n, b FROM c a JOIN b IN a.tags JOIN d IN a.tags JOIN e IN a.tags', { limit: 100_000 });
    assert.equal(many.length, COUNT * 8);
    expectError(await server.post(`/${db}/_sql`, { query: `SELECT VALUE ${'('.repeat(5000)}` }), 400, 'invalid_sql');
    const bomb = Array.from({ length: 9 }, (_, i) => `JOIN t${i} IN (SELECT VALUE [1, 2, 3, 4, 5, 6, 7, 8, 9])`).join(' ');
    expectError(await server.post(`/${db}/_sql`, { query: `SELECT VALUE (SELECT VALUE COUNT(1) FROM c ${bomb}) FROM c` }), 413, 'resource_limit');
    expectStatus(await server.get('/_up'), 200);
  });

  test('a query over endless combinations does not delay others, and ends when its client has left', async () => {
    const big = await server.database();
    await server.fill(big, [{ _id: 'big', arr: Array.from({ length: 2000 }, (_, n) => n) }, { _id: 'small' }]);
    const query = 'SELECT VALUE 1 FROM c JOIN x IN c.arr JOIN y IN c.arr JOIN z IN c.arr WHERE x + y + z = -1';
    const ticks = () => fs.readFileSync(`/proc/${server.process.pid}/stat`, 'utf8').split(' ').slice(13, 15).reduce((sum, n) => sum + Number(n), 0);
    const ticksIn = async (ms) => {
      const before = ticks();
      await sleep(ms);
      return ticks() - before;
    };
    const leaving = new AbortController();
    const left = assert.rejects(fetch(`${server.url}/${big}/_sql`, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }), signal: leaving.signal }));
    await eventually(async () => await ticksIn(1000) > 3, 20_000);
    const replies = await Promise.all(Array.from({ length: 8 }, () => server.get(`/${big}/small`)));
    for (const reply of replies) expectStatus(reply, 200);
    leaving.abort();
    await left;
    await eventually(async () => await ticksIn(1000) <= 1, 30_000);
  });

  test('a text that many results share is bounded by what it would be', async () => {
    const big = await server.database();
    await server.fill(big, [{ _id: 'big', s: 'x'.repeat(1_000_000), arr: Array.from({ length: 300 }, (_, n) => n) }]);
    for (const query of ['SELECT VALUE ARRAY(SELECT VALUE x FROM x IN c.arr ORDER BY c.s) FROM c',
      'SELECT VALUE StringJoin(ARRAY(SELECT VALUE "a" FROM x IN c.arr), c.s) FROM c',
      `SELECT ${Array.from({ length: 100 }, (_, n) => `c.s AS a${n}`).join()} FROM c`]) {
      expectError(await server.post(`/${big}/_sql`, { query }), 413, 'resource_limit');
    }
  });
});
