// Advice on partition keys: requests by key, a sample of the documents, and the page with charts.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosRequest } from '../cosmos_request.mjs';
import { expectError, expectStatus, Server } from '../harness.mjs';

const SAMPLED_ONE_IN = 64;

describe('requests by key', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const ask = async (db, body, on = server) => expectStatus(await on.post(`/${db}/_partition_advisor`, body), 200);
  // Requests for the document that `idOf` gives for each number, some of them at a time.
  async function repeat(count, request) {
    for (let n = 0; n < count; n += 50) {
      await Promise.all(Array.from({ length: Math.min(50, count - n) }, async (_, i) => expectStatus(await request(n + i), 200)));
    }
  }

  test('show which values of a candidate are read most, with the error of the sample', async () => {
    const db = await server.database();
    await server.fill(db, Array.from({ length: 20 }, (_, n) => ({ _id: `d${n}`, user: n < 10 ? 'ann' : `u${n}`, n })));
    // Nine of ten reads are of documents of one user.
    const reads = 4_000;
    await repeat(reads, (n) => server.get(`/${db}/d${n % 10 === 0 ? 10 : n % 10}`));
    const advice = await ask(db, { candidates: ['/user', '/n'], throughput: 40_000 });
    const { recorded, one_in: oneIn, since } = advice.point_requests;
    assert.equal(oneIn, SAMPLED_ONE_IN);
    assert.ok(Math.abs(recorded - reads / SAMPLED_ONE_IN) < 35, `${recorded} recorded`);
    assert.ok(Math.abs(since - Date.now() / 1000) < 60, String(since));
    const user = advice.candidates.find(({ key }) => key === '/user').requests;
    assert.equal(user.found, recorded);
    const [hottest] = user.hottest;
    assert.equal(hottest.value, 'ann');
    assert.ok(Math.abs(hottest.share - 0.9) < 2.5 * hottest.error + 0.05, JSON.stringify(hottest));
    assert.ok(hottest.error > 0.02 && hottest.error < 0.2, JSON.stringify(hottest));
    assert.ok(user.usable < 13_000, String(user.usable));
    assert.equal(user.physical_shares.length, 4);
    assert.match(advice.candidates.find(({ key }) => key === '/user').reasons.join('\n'), /^requests: .* are for "ann", so only \d+ of 40000 RU\/s/m);
    // The same requests are of many values of the other key.
    const number = advice.candidates.find(({ key }) => key === '/n').requests;
    assert.ok(number.hottest[0].share < 0.4, JSON.stringify(number.hottest[0]));
  });

  test('are also those of the Azure Cosmos DB API, reads and writes', async () => {
    expectStatus(await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'shop' } }), 201);
    const definition = { id: 'orders', partitionKey: { paths: ['/customer'], version: 2, kind: 'Hash' } };
    expectStatus(await cosmosRequest(server, 'POST', '/dbs/shop/colls', { body: definition }), 201);
    const path = '/dbs/shop/colls/orders/docs';
    const item = { id: 'o1', customer: 'ann' };
    const headers = { 'x-ms-documentdb-is-upsert': 'true' };
    expectStatus(await cosmosRequest(server, 'POST', path, { body: item, partition: ['ann'], headers }), 201);
    await repeat(1_500, () => cosmosRequest(server, 'GET', `${path}/o1`, { partition: ['ann'] }));
    await repeat(1_500, () => cosmosRequest(server, 'POST', path, { body: item, partition: ['ann'], headers }));
    const advice = await ask('shop%2Forders', { candidates: ['/customer'] });
    const { reads, writes } = advice.point_requests;
    assert.ok(reads >= 5 && writes >= 5, `${reads} reads, ${writes} writes`);
    const [hottest] = advice.candidates[0].requests.hottest;
    assert.deepEqual([hottest.value, hottest.share, hottest.reads, hottest.writes], ['ann', 1, reads, writes]);
  });

  test('for documents that are gone belong to no value', async () => {
    const db = await server.database();
    await server.fill(db, [{ _id: 'kept', k: 1 }]);
    for (let n = 0; n < 640; ++n) assert.equal((await server.get(`/${db}/none`)).status, 404);
    const advice = await ask(db, { candidates: ['/k'] });
    const { reads, writes } = advice.point_requests;
    assert.ok(reads > 0);
    // The write of the document that is there may be among those that the sample has.
    assert.equal(advice.candidates[0].requests?.found ?? 0, writes);
  });

  test('are not recorded with advice.record = false', async (t) => {
    const silent = await Server.startFor(t, { args: ['--advice-record=false'] });
    const db = await silent.database();
    await silent.fill(db, [{ _id: 'a', k: 1 }]);
    await repeat(1_000, () => silent.get(`/${db}/a`));
    const advice = await ask(db, { candidates: ['/k'] }, silent);
    assert.deepEqual(advice.point_requests, { recorded: 0, reads: 0, writes: 0, one_in: SAMPLED_ONE_IN, since: null });
  });
});

describe('advice from a sample', () => {
  let server;
  before(async () => {
    server = await Server.start({ args: ['--storage-durability', 'ephemeral'] });
  });
  after(() => server?.stop());

  const sample = async (db, more) =>
    expectStatus(await server.post(`/${db}/_partition_advisor`, { mode: 'sample', ...more }, { timeoutMs: 60_000 }), 200);

  test('each document has the same chance, also one after many that were replaced', async () => {
    const db = await server.database('q=1');
    // Each document `after` follows nine that are written again later, so that there are gaps before it in the feed: who takes
    // the next document in place of a gap takes it ten times as often as others.
    const docs = [];
    const replaced = [];
    const add = (kind) => docs.push({ _id: `d${100_000 + docs.length}`, kind, n: 100_000 + docs.length });  // of one size
    for (let n = 0; n < 2_000; ++n) {
      for (let i = 0; i < 9; ++i) add('twice');
      add('after');
    }
    for (let n = 0; n < 24_000; ++n) add('plain');
    const write = async (all) => {
      for (let from = 0; from < all.length; from += 2_000) {
        const batch = all.slice(from, from + 2_000);
        const revs = await server.fill(db, batch);
        batch.forEach((doc, i) => doc.kind === 'twice' && !doc._rev && replaced.push({ ...doc, _rev: revs[i] }));
      }
    };
    await write(docs);
    await write(replaced);
    const documents = docs.length;
    const advice = await sample(db, { candidates: ['/kind', '/n'], throughput: 20_000 });
    assert.equal(advice.exact, false);
    assert.equal(advice.documents, documents);
    assert.deepEqual(advice.sample, { documents: 20_000, share_error: 0.0069 });
    const [kind, number] = ['/kind', '/n'].map((key) => advice.candidates.find((each) => each.key === key));
    assert.deepEqual(kind.values, { estimate: null, low: 3, high: null });
    const total = advice.bytes;
    for (const [value, share] of [['plain', 24 / 44], ['twice', 18 / 44], ['after', 2 / 44]]) {
      const { bytes, error_max: error } = kind.storage.largest.find((each) => each.value === value);
      assert.ok(Math.abs(bytes / total - share) < 2.5 * advice.sample.share_error, `${value}: ${bytes / total}, expected ${share}`);
      assert.ok(error > 0 && error < bytes / 5, `${value}: ${bytes} ± ${error}`);
    }
    // Of a value for each document, a sample says nothing but that there are many.
    assert.equal(number.values.low, 20_000);
    assert.deepEqual(number.storage.largest, []);
    assert.match(number.reasons.join('\n'), /too few documents in the sample/);
  });

  test('of few documents all are read', async () => {
    const db = await server.database();
    await server.fill(db, [{ _id: 'a', k: 1 }]);
    const advice = await sample(db, { candidates: ['/k'] });
    assert.deepEqual([advice.exact, advice.documents, advice.sample], [true, 1, undefined]);
  });
});

describe('the page with charts', () => {
  let server;
  before(async () => {
    server = await Server.start({ admin: true });
  });
  after(() => server?.stop());

  const html = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

  /// The names of the elements that a page has, if each that begins also ends, in order.
  function elementsOf(page) {
    const open = [];
    const seen = new Set();
    for (const [, end, name, rest] of page.matchAll(/<(\/?)([a-z0-9]+)([^>]*)>/g)) {
      seen.add(name);
      if (end) assert.equal(open.pop(), name, page.slice(0, 300));
      else if (!rest.endsWith('/') && name !== 'meta') open.push(name);
    }
    assert.deepEqual(open, []);
    return seen;
  }

  test('shows what JSON says, escapes all text, and may not load or run anything', async () => {
    const db = await server.database();
    const evil = '<script>alert(1)</script>"\'&';
    await server.fill(db, Array.from({ length: 30 }, (_, n) => ({ _id: `d${n}`, user: n % 3 ? 'ann' : evil, [evil]: n % 3, at: `2026-01-${n + 1}` })));
    for (let n = 0; n < 3; ++n) expectStatus(await server.post(`/${db}/_find`, { selector: { [evil]: 1 } }), 200);
    const question = { candidates: ['/user', ['/user', '/at'], `/"${evil.replaceAll('"', '\\"')}"`], throughput: 30_000 };
    const reply = await server.post(`/${db}/_partition_advisor`, question, html);
    const page = expectStatus(reply, 200);
    assert.match(reply.headers['content-type'], /^text\/html/);
    assert.match(reply.headers['content-security-policy'], /default-src 'none'/);
    assert.equal(reply.headers['x-content-type-options'], 'nosniff');
    const elements = elementsOf(page);
    for (const name of ['svg', 'rect', 'table', 'title']) assert.ok(elements.has(name), name);
    assert.ok(!elements.has('script') && !elements.has('b'), [...elements].join());
    assert.ok(page.includes('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;'), page);
    assert.ok(!/(?:src|href)=|url\(|@import/.test(page), page);
    assert.match(page, /is recommended\.|No candidate is good\./);
    const advice = expectStatus(await server.post(`/${db}/_partition_advisor`, question), 200);
    for (const reason of advice.candidates.flatMap(({ reasons }) => reasons)) {
      const escaped = reason.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
      assert.ok(page.includes(escaped), reason);
    }
  });

  test('is what a browser gets, with the members of the request as parameters', async () => {
    const db = await server.database();
    await server.fill(db, Array.from({ length: 30 }, (_, n) => ({ _id: `d${n}`, k: n % 15, at: 1e9 + n * 86400 })));
    const path = `/${db}/_partition_advisor?candidates=${encodeURIComponent('["/k"]')}&time=/at&throughput=20000`;
    const page = expectStatus(await server.get(path, html), 200);
    assert.ok(page.startsWith('<!DOCTYPE html>'), page);
    const advice = expectStatus(await server.get(path), 200);
    assert.deepEqual([advice.throughput, advice.days_observed, advice.candidates.map(({ key }) => key)], [20_000, 29, ['/k']]);
    expectStatus(await server.get(`/${db}/_partition_advisor`, html), 200);  // proposed candidates
    expectError(await server.get(`/${db}/_partition_advisor?more=1`), 400, 'bad_request');
    expectError(await server.get(path, { auth: false }), 401, 'unauthorized');
  });
});
