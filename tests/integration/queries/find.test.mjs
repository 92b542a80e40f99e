import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { docIds, expectError, expectStatus, Server } from '../harness.mjs';

const COUNT = 500;

describe('_find', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('q=2');
    await server.fill(db, Array.from({ length: COUNT }, (_, n) => ({
      _id: `d${String(n).padStart(4, '0')}`, n, mod: n % 10, city: `city${n % 7}`, nested: { deep: n % 3 },
      ...(n % 2 && { odd: true }), 'a.b': n, text: 'x'.repeat(50) })));
    await index({ fields: ['n'] }, 'by-n');
    await index({ fields: ['mod', 'n'] }, 'by-mod-n');
    await index({ fields: [{ city: 'desc' }, { n: 'desc' }] }, 'by-city-desc');
    await index({ fields: ['nested.deep'] }, 'by-deep');
    await index({ fields: ['a\\.b'] }, 'by-dotted');
    await index({ fields: ['n'], partial_filter_selector: { odd: true } }, 'odd-ones');
  });
  after(() => server?.stop());

  async function index(definition, ddoc) {
    return expectStatus(await server.post(`/${db}/_index`, { index: definition, ddoc, name: ddoc }), 200);
  }
  const find = async (query) => expectStatus(await server.post(`/${db}/_find`, query), 200);
  const withStats = (query) => find({ ...query, execution_stats: true });
  const explain = async (query) => expectStatus(await server.post(`/${db}/_explain`, query), 200);
  const numbers = (body) => body.docs.map((doc) => doc.n);

  test('the default limit is 25', async () => {
    assert.equal((await find({ selector: { n: { $gte: 0 } } })).docs.length, 25);
  });

  test('limit and skip', async () => {
    assert.deepEqual(numbers(await find({ selector: { n: { $gte: 10 } }, sort: ['n'], limit: 3, skip: 2 })), [12, 13, 14]);
    assert.deepEqual((await find({ selector: { n: { $gte: 10 } }, limit: 0 })).docs, []);
  });

  test('a page that skips every result has no bookmark', async () => {
    for (const sort of [['n'], ['text']]) {
      const body = await find({ selector: { _id: { $lt: 'd0010' } }, sort, skip: 10 });
      assert.deepEqual([body.docs, body.bookmark], [[], 'nil']);
    }
  });

  test('a range is read from its index and nothing more', async () => {
    const body = await withStats({ selector: { n: { $gte: 100, $lt: 110 } } });
    assert.deepEqual(numbers(body), [100, 101, 102, 103, 104, 105, 106, 107, 108, 109]);
    assert.equal(body.execution_stats.total_docs_examined, 10);
    assert.equal(body.execution_stats.results_returned, 10);
    assert.equal(typeof body.execution_stats.execution_time_ms, 'number');
    assert.equal(body.execution_stats.total_quorum_docs_examined, 0);
    assert.equal(body.warning, undefined);
  });

  test('a compound index serves equality on its first field and a range on its second', async () => {
    const body = await withStats({ selector: { mod: 3, n: { $gt: 400 } }, limit: 100 });
    assert.deepEqual(numbers(body), [403, 413, 423, 433, 443, 453, 463, 473, 483, 493]);
    assert.equal(body.execution_stats.total_docs_examined, 10);
    assert.equal((await explain({ selector: { mod: 3, n: { $gt: 400 } } })).index.ddoc, '_design/by-mod-n');
  });

  test('the first field of a compound index alone is enough', async () => {
    const body = await withStats({ selector: { mod: 3 }, limit: 100 });
    assert.equal(body.docs.length, 50);
    assert.equal(body.execution_stats.total_docs_examined, 50);
  });

  test('$in is served by the index', async () => {
    const body = await withStats({ selector: { n: { $in: [7, 77, 400, 9999] } } });
    assert.deepEqual(numbers(body), [7, 77, 400]);
    assert.ok(body.execution_stats.total_docs_examined <= 3, JSON.stringify(body.execution_stats));
  });

  test('$or over indexed fields is served by the indexes', async () => {
    const body = await withStats({ selector: { $or: [{ n: 5 }, { n: { $gte: 497 } }, { mod: 5, n: { $lt: 20 } }] }, limit: 100 });
    assert.deepEqual(numbers(body).sort((a, b) => a - b), [5, 15, 497, 498, 499]);
    assert.ok(body.execution_stats.total_docs_examined <= 7, JSON.stringify(body.execution_stats));
  });

  test('$beginsWith is a range of the index', async () => {
    const body = await withStats({ selector: { city: { $beginsWith: 'city3' } }, limit: 100 });
    assert.equal(body.docs.length, 71);
    assert.equal(body.execution_stats.total_docs_examined, 71);
  });

  test('nested and dotted fields have indexes', async () => {
    assert.equal((await explain({ selector: { 'nested.deep': 2 } })).index.ddoc, '_design/by-deep');
    const body = await withStats({ selector: { 'a\\.b': 42 } });
    assert.deepEqual(numbers(body), [42]);
    assert.equal(body.execution_stats.total_docs_examined, 1);
  });

  test('without a fitting index all documents are looked at, with a warning', async () => {
    const body = await withStats({ selector: { text: { $exists: true } }, limit: 1000 });
    assert.equal(body.docs.length, COUNT);
    assert.ok(body.execution_stats.total_docs_examined >= COUNT);
    assert.match(body.warning, /^No matching index found, create an index to optimize query time/i);
    const sides = await find({ selector: { $or: [{ _id: 'x' }, { _id: { $gt: 'y' } }] } });
    assert.match(sides.warning, /^No matching index found/, 'also for ranges of ids');
  });

  test('sort ascending, descending, and by two fields', async () => {
    assert.deepEqual(numbers(await find({ selector: { n: { $gt: 490 } }, sort: [{ n: 'desc' }], limit: 3 })), [499, 498, 497]);
    const body = await find({ selector: { mod: { $gte: 8 } }, sort: [{ mod: 'asc' }, { n: 'asc' }], limit: 52, fields: ['mod', 'n'] });
    assert.deepEqual(body.docs[0], { mod: 8, n: 8 });
    assert.deepEqual(body.docs[50], { mod: 9, n: 9 });
    const descending = await find({ selector: { city: 'city6' }, sort: [{ city: 'desc' }, { n: 'desc' }], limit: 2 });
    assert.deepEqual(numbers(descending), [496, 489]);
    const reversed = await find({ selector: { city: 'city6' }, sort: [{ city: 'asc' }, { n: 'asc' }], limit: 2 });
    assert.deepEqual(numbers(reversed), [6, 13]);
  });

  test('a sort by an index reads no more than it returns', async () => {
    const body = await withStats({ selector: { n: { $gt: null } }, sort: [{ n: 'desc' }], limit: 5 });
    assert.deepEqual(numbers(body), [499, 498, 497, 496, 495]);
    assert.ok(body.execution_stats.total_docs_examined <= 6, JSON.stringify(body.execution_stats));
  });

  test('a sort without an index is done in memory', async () => {
    const body = await find({ selector: { mod: 4 }, sort: [{ 'nested.deep': 'desc' }, { text: 'asc' }], limit: 100 });
    const deep = body.docs.map((doc) => doc.nested.deep);
    assert.equal(deep.length, 50);
    assert.deepEqual(deep, [...deep].sort().reverse());
  });

  test('a sort may mix directions', async () => {
    const body = await find({ selector: { n: { $lt: 20 } }, sort: [{ mod: 'desc' }, { n: 'asc' }], limit: 5, fields: ['mod', 'n'] });
    assert.deepEqual(body.docs, [{ mod: 9, n: 9 }, { mod: 9, n: 19 }, { mod: 8, n: 8 }, { mod: 8, n: 18 }, { mod: 7, n: 7 }]);
  });

  test('fields project, also nested ones', async () => {
    const body = await find({ selector: { n: 8 }, fields: ['_id', 'nested.deep', 'mod', 'not.there'] });
    assert.deepEqual(body.docs, [{ _id: 'd0008', nested: { deep: 2 }, mod: 8 }]);
  });

  test('fields that the index covers need no document', async () => {
    const body = await withStats({ selector: { mod: 3, n: { $lt: 50 } }, fields: ['mod', 'n'] });
    assert.deepEqual(body.docs, [3, 13, 23, 33, 43].map((n) => ({ mod: 3, n })));
    assert.equal(body.execution_stats.total_docs_examined, 0, JSON.stringify(body.execution_stats));
    assert.equal(body.execution_stats.total_keys_examined, 5);
    assert.equal((await explain({ selector: { mod: 3 }, fields: ['mod', 'n'] })).covering, true);
    assert.equal((await explain({ selector: { mod: 3 }, fields: ['mod', 'text'] })).covering, false);
  });

  test('bookmarks page through everything once, also in sorted and unindexed queries', async () => {
    for (const query of [{ selector: { n: { $gte: 0 } }, sort: ['n'] }, { selector: { n: { $gte: 0 } }, sort: [{ n: 'desc' }] },
      { selector: {} }, { selector: { mod: { $in: [1, 5, 9] } } }, { selector: { odd: true } }]) {
      const all = docIds((await find({ ...query, limit: 1000 })).docs);
      const seen = [];
      let bookmark;
      for (let page = 0; page < 100; ++page) {
        const body = await find({ ...query, limit: 37, ...(bookmark && { bookmark }) });
        if (body.docs.length === 0) break;
        seen.push(...docIds(body.docs));
        bookmark = body.bookmark;
      }
      assert.deepEqual(seen, all, JSON.stringify(query));
    }
  });

  test('a bookmark stays right when documents come in between', async () => {
    const other = await server.database();
    await server.post(`/${other}/_index`, { index: { fields: ['n'] } });
    await server.fill(other, Array.from({ length: 20 }, (_, n) => ({ _id: `d${n}`, n: n * 10 })));
    const page = async (bookmark) =>
      (await server.post(`/${other}/_find`, { selector: { n: { $gte: 0 } }, sort: ['n'], limit: 10, ...(bookmark && { bookmark }) })).body;
    const first = await page();
    await server.fill(other, [{ _id: 'before', n: 5 }, { _id: 'after', n: 105 }]);
    const second = await page(first.bookmark);
    assert.deepEqual(second.docs.map((doc) => doc.n).slice(0, 3), [100, 105, 110]);
  });

  test('an invalid bookmark is refused; nil is the beginning', async () => {
    expectError(await server.post(`/${db}/_find`, { selector: {}, bookmark: 'garbage' }), 400, 'invalid_bookmark');
    assert.equal((await find({ selector: {}, bookmark: 'nil', limit: 2 })).docs.length, 2);
  });

  test('use_index is obeyed by design document, by both names, and by either form', async () => {
    const selector = { n: { $gte: 0 }, mod: 3 };
    for (const hint of ['by-n', '_design/by-n', ['by-n'], ['by-n', 'by-n'], ['_design/by-n', 'by-n']]) {
      assert.equal((await explain({ selector, use_index: hint })).index.name, 'by-n', JSON.stringify(hint));
    }
  });

  test('a use_index that cannot serve is told, and without fallback refused', async () => {
    const body = await find({ selector: { mod: 1 }, use_index: 'no-such-index', limit: 1 });
    assert.match(body.warning, /no-such-index/);
    const refused = await server.post(`/${db}/_find`, { selector: { mod: 1 }, use_index: 'no-such-index', allow_fallback: false });
    expectError(refused, 400, 'invalid_index');
  });

  test('a partial index serves only those who name it and only what fits its filter', async () => {
    const selector = { odd: true, n: { $lt: 10 } };
    const body = await withStats({ selector, use_index: 'odd-ones' });
    assert.deepEqual(numbers(body), [1, 3, 5, 7, 9]);
    assert.equal(body.execution_stats.total_docs_examined, 5);
    assert.equal((await explain({ selector, use_index: 'odd-ones' })).index.name, 'odd-ones');
    assert.deepEqual(numbers(await find({ selector: { n: { $lt: 10 } }, use_index: 'odd-ones' })), [1, 3, 5, 7, 9]);
    assert.equal(numbers(await find({ selector: { n: { $lt: 10 } } })).length, 10);
  });

  test('_explain tells index, selector, range and options', async () => {
    const body = await explain({ selector: { n: { $gt: 5 } }, limit: 7, skip: 2, fields: ['n'] });
    assert.equal(body.dbname, db);
    assert.equal(body.index.name, 'by-n');
    assert.deepEqual(body.index.def.fields, [{ n: 'asc' }]);
    assert.deepEqual(body.selector, { n: { $gt: 5 } });
    assert.equal(body.limit, 7);
    assert.equal(body.skip, 2);
    assert.deepEqual(body.fields, ['n']);
    assert.equal(body.partitioned, false);
    assert.ok(Array.isArray(body.index_candidates));
    assert.ok(body.index_candidates.length >= 5);
    for (const candidate of body.index_candidates) assert.ok(candidate.index.name && candidate.analysis, JSON.stringify(candidate));
    assert.equal((await explain({ selector: { unknown: 1 } })).index.name, '_all_docs');
  });

  test('_explain estimates what a query reads and is charged by the chosen index and by others', async () => {
    const query = { selector: { n: { $gt: 450 }, 'nested.deep': 1 }, sort: ['n'], limit: 1000 };
    const ran = async (more) => {
      const reply = await server.post(`/${db}/_find`, { ...query, ...more, execution_stats: true });
      return { ...expectStatus(reply, 200).execution_stats, charge: Number(reply.headers['x-request-charge']) };
    };
    // The estimates are of entries and documents. The base of the request and the bytes of its results come in addition.
    const isNear = (estimate, charge) => assert.ok(charge > estimate + 2 && charge < estimate + 8, `${estimate} and ${charge} RU`);
    const { index, plan, index_candidates: candidates } = await explain(query);
    const byOrder = await ran({});
    assert.equal(index.name, 'by-n');
    assert.equal(byOrder.total_docs_examined, 49);
    assert.equal(plan.expected_charge, plan.charge_at_most);
    isNear(plan.expected_charge, byOrder.charge);

    const { analysis } = candidates.find((candidate) => candidate.index.name === 'by-deep');
    const byValue = await ran({ use_index: 'by-deep' });
    const rows = analysis.estimated_rows;
    assert.equal(byValue.total_docs_examined, 167);
    assert.ok(rows > 167 / 1.5 && rows < 167 * 1.5 && (!analysis.estimated_rows_exact || rows === 167), JSON.stringify(analysis));
    assert.equal(analysis.expected_charge, analysis.charge_at_most);
    assert.ok(analysis.charge_at_most > plan.charge_at_most);
    isNear(analysis.expected_charge, byValue.charge);
  });

  test('_explain expects less than the maximum of a query that may stop at its limit', async () => {
    const query = { selector: { mod: 3, n: { $gte: 400 } }, sort: ['n'], limit: 3, use_index: 'by-n' };
    const { plan } = await explain(query);
    const reply = await server.post(`/${db}/_find`, { ...query, execution_stats: true });
    assert.deepEqual(numbers(expectStatus(reply, 200)), [403, 413, 423]);
    assert.ok(reply.body.execution_stats.total_docs_examined < 50);
    assert.ok(plan.expected_charge > 0 && plan.expected_charge < plan.charge_at_most, JSON.stringify(plan));
    assert.ok(Number(reply.headers['x-request-charge']) < plan.charge_at_most + 8);
  });

  test('execution_stats show what each plan has read, and which was left', async () => {
    const other = await server.database();
    // Whatever is early is not rare: the walk in the order of time finds nothing for long.
    const docs = Array.from({ length: 5000 }, (_, n) => ({ time: n, early: n < 2500 ? 1 : 0, rare: n % 50 === 0 && n >= 2500 ? 1 : 0 }));
    expectStatus(await server.post(`/${other}/_bulk_docs`, { docs }), 201);
    for (const field of ['time', 'rare']) {
      expectStatus(await server.post(`/${other}/_index`, { index: { fields: [field] }, ddoc: field, name: field }), 200);
    }
    const query = { selector: { time: { $gte: 0 }, rare: 1 }, sort: ['time'], limit: 30, execution_stats: true };
    const reply = await server.post(`/${other}/_find`, query);
    const { plans, total_keys_examined: keys, total_docs_examined: documents } = expectStatus(reply, 200).execution_stats;
    const byName = Object.fromEntries(plans.map((plan) => [plan.indexes[0].name, plan]));
    assert.deepEqual(byName.time.indexes, [{ ddoc: '_design/time', name: 'time' }]);
    assert.equal(byName.time.left, true);
    assert.ok(byName.time.docs_examined > 0);
    assert.deepEqual(byName.rare, { indexes: [{ ddoc: '_design/rare', name: 'rare' }], keys_examined: 50, docs_examined: 50, left: false });
    assert.equal(byName.time.keys_examined + byName.rare.keys_examined, keys);
    assert.equal(byName.time.docs_examined + byName.rare.docs_examined, documents);

    const forced = expectStatus(await server.post(`/${other}/_find`, { ...query, use_index: 'rare' }), 200);
    assert.equal(forced.execution_stats.plans, undefined);
  });

  test('conflicts are shown when asked for', async () => {
    const hex = (letter) => letter.repeat(32);
    const other = await server.database();
    await server.post(`/${other}/_bulk_docs`, { new_edits: false, docs: ['a', 'b'].map((letter) => ({ _id: 'x', _rev: `1-${hex(letter)}`, n: 1 })) });
    const body = (await server.post(`/${other}/_find`, { selector: { n: 1 }, conflicts: true })).body;
    assert.deepEqual(body.docs[0]._conflicts, [`1-${hex('a')}`]);
    await server.put(`/${other}/plain`, { n: 1 });
    await server.post(`/${other}/_index`, { index: { fields: ['_conflicts'] } });
    const conflicted = expectStatus(await server.post(`/${other}/_find`, { selector: { _conflicts: { $exists: true } }, conflicts: true }), 200);
    assert.deepEqual(docIds(conflicted.docs), ['x']);
  });

  test('update, stable, stale and r are taken', async () => {
    for (const more of [{ update: false }, { update: true }, { stable: true }, { r: 1 }, { stale: 'ok' }]) {
      assert.deepEqual(numbers(await find({ selector: { n: 42 }, ...more })), [42], JSON.stringify(more));
    }
    expectError(await server.post(`/${db}/_find`, { selector: {}, r: 0 }), 400, 'invalid_pos_integer');
    expectError(await server.post(`/${db}/_find`, { selector: {}, update: 'no' }), 400, 'invalid_boolean');
  });

  test('an index sees updates and deletions at once', async () => {
    const other = await server.database('q=2');
    await server.post(`/${other}/_index`, { index: { fields: ['v'] }, ddoc: 'v' });
    const at = async (v) => docIds((await server.post(`/${other}/_find`, { selector: { v } })).body.docs);
    let { rev } = (await server.put(`/${other}/doc`, { v: 1 })).body;
    assert.deepEqual(await at(1), ['doc']);
    rev = (await server.put(`/${other}/doc`, { _rev: rev, v: 2 })).body.rev;
    assert.deepEqual(await at(1), []);
    assert.deepEqual(await at(2), ['doc']);
    await server.delete(`/${other}/doc?rev=${rev}`);
    assert.deepEqual(await at(2), []);
  });

  test('values of every type and of great length are found through an index, in collation order', async () => {
    const other = await server.database();
    await server.post(`/${other}/_index`, { index: { fields: ['v'] }, ddoc: 'v' });
    const values = [null, false, true, -1e300, -1.5, 0, 1, 1.5, 12345678901234567890n, 'a', 'A', 'b', 'ä', 'x'.repeat(3000), 'x'.repeat(3000) + 'y', [], [1], [1, 2], ['a'], {}, { a: 1 }, { a: 2 }, { b: 0 }];
    const docs = values.map((v, n) => `{"_id":"v${n}","v":${typeof v === 'bigint' ? v : JSON.stringify(v)}}`);
    const written = await server.post(`/${other}/_bulk_docs`, `{"docs":[${docs.join(',')}]}`);
    expectStatus(written, 201);
    const sorted = (await server.post(`/${other}/_find`, { selector: { v: { $gte: null } }, sort: ['v'], limit: 100 })).body;
    const type = (id) => { const v = values[Number(id.slice(1))]; return v === null ? 0 : typeof v === 'boolean' ? 1 : typeof v === 'number' || typeof v === 'bigint' ? 2 : typeof v === 'string' ? 3 : Array.isArray(v) ? 4 : 5; };
    const types = docIds(sorted.docs).map(type);
    assert.equal(types.length, values.length);
    assert.deepEqual(types, [...types].sort());
    for (const [n, v] of values.entries()) {
      const text = typeof v === 'bigint' ? String(v) : JSON.stringify(v);
      const reply = await server.post(`/${other}/_find`, `{"selector":{"v":{"$eq":${text}}}}`);
      assert.deepEqual(docIds(expectStatus(reply, 200).docs), [`v${n}`], text.slice(0, 50));
    }
  });

  test('wrong requests are refused', async () => {
    const refused = async (body, error) => expectError(await server.post(`/${db}/_find`, body), 400, error);
    await refused({}, 'missing_required_key');
    await refused({ selector: {}, limit: 'x' }, 'invalid_non_neg_integer');
    await refused({ selector: {}, limit: -1 }, 'invalid_non_neg_integer');
    await refused({ selector: {}, skip: 'x' }, 'invalid_non_neg_integer');
    await refused({ selector: {}, sort: 'n' }, 'invalid_sort_json');
    await refused({ selector: {}, sort: [{ n: 'up' }] }, 'invalid_sort_dir');
    await refused({ selector: {}, sort: [5] }, 'invalid_sort_field');
    await refused({ selector: {}, fields: 'n' }, 'invalid_fields');
    await refused({ selector: {}, execution_stats: 'yes' }, 'invalid_boolean');
    await refused({ selector: {}, unknown_key: 1 }, 'invalid_key');
    expectError(await server.post(`/${db}/_find`, '{"selector":', {}), 400, 'bad_request', /^invalid UTF-8 JSON/);
    expectError(await server.post(`/${db}/_find`, '{"selector":{},fields:["a"]}', {}), 400, 'bad_request',
      'invalid UTF-8 JSON at byte 15: a member name was expected');
    expectError(await server.post(`/${db}/_find`, '[]'), 400, 'bad_request', 'Request body must be a JSON object');
    expectError(await server.post(`/${db}/_find`, '{"selector":{}}', { headers: { 'Content-Type': 'text/plain' } }), 415, 'bad_content_type');
    expectError(await server.get(`/${db}/_find`), 405, 'method_not_allowed', 'Only POST allowed');
  });
});

describe('_find with query.find_strict', () => {
  test('refuses what CouchDB refuses', async (t) => {
    const server = await Server.startFor(t, { config: '[query]\nfind_strict = true\n' });
    const db = await server.database();
    await server.fill(db, [{ _id: 'a', n: 2, type: 'x' }, { _id: 'b', n: 1, type: 'x' }]);
    const find = (query) => server.post(`/${db}/_find`, query);
    const index = async (name, definition) => expectStatus(await server.post(`/${db}/_index`, { ddoc: name, name, index: definition }), 200);
    const all = { n: { $gt: 0 } };
    expectError(await find({ selector: all, sort: ['n'] }), 400, 'no_usable_index',
      'No index exists for this sort, try indexing by the sort fields.');
    expectError(await find({ selector: all, sort: ['n', { type: 'desc' }] }), 400, 'unsupported_mixed_sort');
    await index('n', { fields: ['n'] });
    assert.deepEqual(docIds(expectStatus(await find({ selector: all, sort: ['n'] }), 200).docs), ['b', 'a']);
    await index('partial', { fields: ['type'], partial_filter_selector: { type: 'x' } });
    const chosen = async (query) => expectStatus(await server.post(`/${db}/_explain`, { selector: { type: 'x' }, ...query }), 200).index.name;
    assert.equal(await chosen({}), '_all_docs');
    assert.equal(await chosen({ use_index: 'partial' }), 'partial');
    await server.stop();
  });
});
