// What people write into design documents may be slow. It must cost only those who asked for it: not the end
// of the server, not the deletion of its database, not the views, searches and requests of other databases.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually, expectError, expectStatus, patience, Server, sleep } from '../harness.mjs';

/// Busy for `ms` milliseconds of the clock, however fast the machine is.
const busy = (ms) => `var begun = Date.now(); while (Date.now() - begun < ${ms}) {}`;
const endless = 'while (true) {}';
const docs = (count, more = {}) => Array.from({ length: count }, (_, n) => ({ _id: `d${n}`, n, ...more }));

async function took(work) {
  const begun = Date.now();
  const result = await work();
  return { result, ms: Date.now() - begun };
}

describe('the end of the server', () => {
  test('waits for no function, and for no attempt that is planned', async (context) => {
    const server = await Server.startFor(context, {
      args: ['--javascript-call-time=300s', '--shutdown-timeout=300ms'],
    });
    const db = await server.database();
    await server.fill(db, docs(3));
    const design = {
      views: { loops: { map: `function(doc) { ${endless} }` } },
      indexes: { loops: { index: `function(doc) { ${endless} }` } },
      filters: { loops: `function(doc) { ${endless} }` },
      updates: { loops: `function(doc, req) { ${endless} }` },
    };
    expectStatus(await server.put(`/${db}/_design/d`, design), 201);
    expectStatus(await server.put(`/${db}/_design/e`, { views: { r: { map: 'function(doc) { emit(doc.n, 1); }', reduce: `function(keys, values) { ${endless} }` } } }), 201);
    const cut = [
      server.get(`/${db}/_design/d/_view/loops`),
      server.get(`/${db}/_design/d/_search/loops?q=a`),
      server.get(`/${db}/_changes?filter=d/loops`),
      server.post(`/${db}/_design/d/_update/loops`),
      server.get(`/${db}/_design/e/_view/r`),
    ].map((asked) => asked.catch(() => undefined));
    await sleep(700);
    const { ms } = await took(() => server.stop());
    await Promise.all(cut);
    assert.ok(ms < 3_000 * patience, `${ms} ms`);
    assert.ok(!server.lines.some((line) => line.includes('ending without it')), server.lines.join('\n'));
  });

  test('waits for no second attempt of a view that failed', async (context) => {
    const server = await Server.startFor(context, { args: ['--javascript-call-time=50ms'] });
    const db = await server.database();
    await server.fill(db, docs(1));
    expectStatus(await server.put(`/${db}/_design/d`, { views: { loops: { map: `function(doc) { ${endless} }` } } }), 201);
    expectError(await server.get(`/${db}/_design/d/_view/loops`), 500, 'resource_limit');
    const { ms } = await took(() => server.stop());
    assert.ok(ms < 1_900 * patience, `${ms} ms`);
  });
});

describe('slow functions', () => {
  let server;
  before(async () => {
    server = await Server.start({ args: ['--worker-threads=2', '--io-threads=2'] });
  });
  after(() => server?.stop());

  /// How long other requests take while something slow runs.
  async function otherRequests(count = 3) {
    let longest = 0;
    for (let n = 0; n < count; ++n) {
      const { result: name, ms } = await took(() => server.database());
      longest = Math.max(longest, ms);
      expectStatus(await server.delete(`/${name}`), 200);
    }
    return longest;
  }

  test('a slow reduce ends with its database, which does not wait for it', async () => {
    const db = await server.database();
    await server.fill(db, docs(2_000));
    const reduce = `function(keys, values, rereduce) { ${busy(300)} return values.length; }`;
    expectStatus(await server.put(`/${db}/_design/d`, { views: { r: { map: 'function(doc) { emit(doc.n, 1); }', reduce } } }), 201);
    const waiting = server.get(`/${db}/_design/d/_view/r`).catch(() => undefined);
    await sleep(600);
    const others = otherRequests();
    const { ms } = await took(async () => expectStatus(await server.delete(`/${db}`), 200));
    assert.ok(ms < 2_500 * patience, `deletion: ${ms} ms`);
    assert.ok((await others) < 2_500 * patience);
    await waiting;
  });

  test('the views of one database do not wait for those of others', async () => {
    const slow = [];
    for (let n = 0; n < 2; ++n) {
      const db = await server.database();
      await server.fill(db, docs(100));
      expectStatus(await server.put(`/${db}/_design/d`, { views: { v: { map: `function(doc) { ${busy(400)} emit(doc.n, 1); }` } } }), 201);
      slow.push(db);
    }
    const db = await server.database();
    await server.fill(db, docs(50));
    await sleep(1_500);
    expectStatus(await server.put(`/${db}/_design/d`, { views: { v: { map: 'function(doc) { emit(doc.n, 1); }', reduce: '_sum' } } }), 201);
    const { result, ms } = await took(() => server.get(`/${db}/_design/d/_view/v`));
    assert.equal(expectStatus(result, 200).rows[0].value, 50);
    assert.ok(ms < 3_000 * patience, `${ms} ms`);
    for (let n = 0; n < 3; ++n) {
      await server.put(`/${db}/more${n}`, { n });
      const again = await took(() => server.get(`/${db}/_design/d/_view/v`));
      assert.equal(expectStatus(again.result, 200).rows[0].value, 51 + n);
      assert.ok(again.ms < 3_000 * patience, `${again.ms} ms`);
    }
    // The slow ones get on meanwhile.
    const progress = async (name) => (await server.get(`/${name}/_design/d/_view/v?update=false&limit=0`)).body.total_rows;
    for (const name of slow) await eventually(async () => (await progress(name)) > 0, 10_000);
    for (const name of slow) expectStatus(await server.delete(`/${name}`), 200);
  });

  test('a search index does not keep its readers waiting, nor others', async () => {
    const db = await server.database();
    await server.fill(db, docs(60));
    expectStatus(await server.put(`/${db}/_design/d`, { indexes: { i: { index: `function(doc) { ${busy(400)} index('n', doc.n); }` } } }), 201);
    await sleep(500);
    const asked = Array.from({ length: 4 }, () => took(() => server.get(`/${db}/_design/d/_search_info/i`)));
    const others = await otherRequests();
    assert.ok(others < 2_500 * patience, `${others} ms`);
    for (const { result, ms } of await Promise.all(asked)) {
      expectStatus(result, 200);
      assert.ok(ms < 3_500 * patience, `${ms} ms`);
    }
    const { ms } = await took(async () => expectStatus(await server.delete(`/${db}`), 200));
    assert.ok(ms < 2_500 * patience, `deletion: ${ms} ms`);
  });

  test('a filter of a change feed does not delay writes', async () => {
    const db = await server.database();
    await server.fill(db, docs(16));
    expectStatus(await server.put(`/${db}/_design/f`, { filters: { slow: `function(doc) { ${busy(700)} return true; }` } }), 201);
    const feed = server.get(`/${db}/_changes?filter=f/slow`);
    await sleep(300);
    const filler = randomBytes(750_000).toString('base64');
    const { ms } = await took(async () => {
      for (let n = 0; n < 12; ++n) {
        expectStatus(await server.put(`/${db}/big${n}`, { filler }), 201);
        expectStatus(await server.get(`/${db}/d0`), 200);
      }
    });
    assert.ok(ms < 4_000 * patience, `${ms} ms`);
    const rows = expectStatus(await feed, 200).results;
    const found = new Set(rows.map((row) => row.id));
    for (let n = 0; n < 16; ++n) assert.ok(found.has(`d${n}`), `d${n}`);
    assert.equal(found.size, rows.length);
  });

  test('a filter gives the rows, the limits and the end that a feed without one has', async () => {
    const db = await server.database('q=2');
    await server.fill(db, docs(200, { kept: true }));
    expectStatus(await server.put(`/${db}/_design/f`, { filters: { kept: 'function(doc) { return !!doc.kept; }' } }), 201);
    const plain = expectStatus(await server.get(`/${db}/_changes?include_docs=true`), 200);
    const wanted = plain.results.filter((row) => row.doc.kept);
    const all = expectStatus(await server.get(`/${db}/_changes?filter=f/kept&include_docs=true`), 200);
    assert.deepEqual(all.results, wanted);
    assert.equal(all.last_seq, plain.last_seq);
    assert.equal(all.pending, 0);
    // Page by page, from where the last one ended.
    const paged = [];
    for (let since = '0', page; ; since = page.last_seq) {
      page = expectStatus(await server.get(`/${db}/_changes?filter=f/kept&include_docs=true&limit=7&since=${since}`), 200);
      if (page.results.length === 0) break;
      assert.equal(page.last_seq, page.results.length === 7 ? page.results[6].seq : page.last_seq);
      paged.push(...page.results);
    }
    assert.deepEqual(paged, wanted);
    const falling = expectStatus(await server.get(`/${db}/_changes?filter=f/kept&descending=true&include_docs=true`), 200);
    assert.deepEqual(falling.results, wanted.toReversed());
  });

  test('reduces at query time leave the workers to others', async () => {
    const db = await server.database();
    await server.fill(db, docs(3));
    // Quick while the index is built: only a query asks for one row alone.
    const reduce = `function(keys, values, rereduce) { if (values.length === 1) { ${busy(600)} } return values.length; }`;
    expectStatus(await server.put(`/${db}/_design/d`, { views: { r: { map: 'function(doc) { emit(doc.n, 1); }', reduce } } }), 201);
    expectStatus(await server.get(`/${db}/_design/d/_view/r`), 200);
    const asked = Array.from({ length: 16 }, () => server.get(`/${db}/_design/d/_view/r?key=1`));
    await sleep(200);
    const others = await otherRequests(1);
    assert.ok(others < 3_000 * patience, `${others} ms`);
    for (const reply of await Promise.all(asked)) assert.equal(expectStatus(reply, 200).rows[0].value, 1);
  });
});

describe('an index whose files cannot be opened', () => {
  test('is there again when they can', async (context) => {
    const server = await Server.startFor(context);
    const db = await server.database();
    await server.fill(db, docs(10));
    expectStatus(await server.put(`/${db}/_design/d`, { views: { v: { map: 'function(doc) { emit(doc.n); }' } } }), 201);
    assert.equal(expectStatus(await server.get(`/${db}/_design/d/_view/v`), 200).total_rows, 10);
    await server.stop({ keepFolder: true });
    const databases = path.join(server.dataDir, 'databases');
    const folder = fs.readdirSync(databases).map((tag) => path.join(databases, tag))
      .flatMap((one) => fs.readdirSync(one).filter((name) => name.startsWith('view-')).map((name) => path.join(one, name)))[0];
    const lock = path.join(folder, 'lock.mdb');
    fs.renameSync(lock, `${lock}.kept`);
    fs.mkdirSync(lock);
    await server.relaunch();
    assert.equal((await server.get(`/${db}/_design/d/_view/v`)).status, 500);
    expectStatus(await server.post(`/${db}/_view_cleanup`, {}), 202);
    assert.ok(fs.existsSync(path.join(folder, 'data.mdb')));
    fs.rmdirSync(lock);
    await eventually(async () => (await server.get(`/${db}/_design/d/_view/v`)).status === 200, 10_000);
    await server.stop({ keepFolder: true });
  });
});
