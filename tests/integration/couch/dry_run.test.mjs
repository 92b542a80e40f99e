// `Prefer: dry-run`: the plan of a query and what it would cost, without running it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, newContainer } from '../cosmos.mjs';
import { expectError, expectStatus, Server } from '../harness.mjs';

const dry = { headers: { Prefer: 'return=minimal, dry-run' } };

describe('dry runs', () => {
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true');
    const docs = [...Array(200).keys()].map((n) => ({ _id: `p${n % 4}:${n}`, n, kind: n % 2 ? 'odd' : 'even', text: 'x'.repeat(500) }));
    await server.fill(db, docs);
  });
  after(() => server?.stop());

  test('_find says its plan, what it would read and cost', async () => {
    const reply = await server.post(`/${db}/_find`, { selector: { kind: 'odd' }, limit: 1000 }, dry);
    const told = expectStatus(reply, 200);
    assert.equal(reply.headers['preference-applied'], 'dry-run');
    assert.equal(told.dry_run, true);
    assert.equal(told.docs, undefined);
    assert.equal(told.plan.branches.length, 1);
    assert.equal(told.estimate.keys_examined, 200);
    const real = await server.post(`/${db}/_find`, { selector: { kind: 'odd' }, limit: 1000 });
    assert.equal(real.body.docs.length, 100);
    const charged = Number(real.headers['x-request-charge']);
    assert.ok(Math.abs(told.estimate.request_charge - charged) < charged / 3, `${told.estimate.request_charge} ${charged}`);
  });

  test('an index makes it cheaper, and the dry run knows', async () => {
    const query = { selector: { n: { $gte: 190 } }, limit: 1000 };
    const before = expectStatus(await server.post(`/${db}/_find`, query, dry), 200);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, name: 'n', partitioned: false }), 200);
    expectStatus(await server.post(`/${db}/_find`, query), 200);
    const after = expectStatus(await server.post(`/${db}/_find`, query, dry), 200);
    assert.equal(after.estimate.keys_examined, 10);
    assert.ok(after.estimate.request_charge < before.estimate.request_charge / 2);
  });

  test('of a partition, it is about the partition', async () => {
    const told = expectStatus(await server.post(`/${db}/_partition/p1/_find`, { selector: { kind: 'odd' } }, dry), 200);
    assert.equal(told.estimate.keys_examined, 50);
  });

  test('_sql, too', async () => {
    const reply = await server.post(`/${db}/_sql`, { query: "SELECT c.n FROM c WHERE c.kind = 'odd'", limit: 1000 }, dry);
    const told = expectStatus(reply, 200);
    assert.equal(told.dry_run, true);
    assert.equal(told.estimate.keys_examined, 200);
    const real = await server.post(`/${db}/_sql`, { query: "SELECT c.n FROM c WHERE c.kind = 'odd'", limit: 1000 });
    const charged = Number(real.headers['x-request-charge']);
    assert.ok(Math.abs(told.estimate.request_charge - charged) < charged, `${told.estimate.request_charge} ${charged}`);
    assert.ok(Number(reply.headers['x-request-charge'] ?? 0) < charged);
  });

  test('_sql and the Cosmos DB API name the indexes that are not used, with the reason', async () => {
    const reasonFor = (candidates, name) => {
      const found = candidates.find(({ index }) => index.name === name);
      return found?.analysis.reasons[0].name;
    };
    const other = await server.database();
    await server.fill(other, [...Array(300).keys()].map((n) => ({ n, even: n % 2 === 0 })));
    for (const field of ['n', 'even']) {
      expectStatus(await server.post(`/${other}/_index`, { index: { fields: [field] }, ddoc: field, name: field }), 200);
    }
    const query = 'SELECT * FROM c WHERE c.n < 30';
    expectStatus(await server.post(`/${other}/_sql`, { query }), 200);
    const told = expectStatus(await server.post(`/${other}/_sql`, { query }, dry), 200);
    assert.equal(reasonFor(told.index_candidates, '_all_docs'), 'unfavored_type');
    assert.equal(reasonFor(told.index_candidates, 'even'), 'field_mismatch');

    const container = await newContainer(cosmosClient(server));
    for (let n = 0; n < 300; n++) await container.items.create({ id: `${n}`, pk: 'x', n });
    const { resources: [shown] } = await container.items
      .query('SELECT * FROM c WHERE c.n = 3', { partitionKey: 'x', initialHeaders: { Prefer: 'dry-run' } }).fetchNext();
    assert.equal(reasonFor(shown.indexCandidates, '_all_docs'), 'unfavored_type');
  });

  test('a bad query is a bad query', async () => {
    expectError(await server.post(`/${db}/_find`, { selector: { $nonsense: 1 } }, dry), 400, 'invalid_operator');
    expectStatus(await server.post(`/${db}/_sql`, { query: 'SELECT' }, dry), 400);
  });

  test('a query of the Cosmos DB API answers one document', async () => {
    const container = await newContainer(cosmosClient(server));
    for (let n = 0; n < 20; n++) await container.items.create({ id: `${n}`, pk: 'x', n });
    const { resources } = await container.items
      .query('SELECT * FROM c', { partitionKey: 'x', initialHeaders: { Prefer: 'dry-run' } }).fetchNext();
    assert.equal(resources.length, 1);
    assert.equal(resources[0].dryRun, true);
    assert.equal(resources[0].estimate.keys_examined, 20);
    assert.ok(resources[0].plan.branches.length === 1);
  });
});

describe('queries with a limit of what they may cost', () => {
  const most = 5;
  const header = { headers: { 'X-Max-Request-Charge': String(most) } };
  // Some rows are read between two looks at the charge, and the last result is written whole; the physical partition
  // that was begun last is charged whole, too.
  const atMost = most + 4 + 3.5;
  let server, db;
  before(async () => {
    server = await Server.start();
    db = await server.database('partitioned=true&q=2');
    const docs = [...Array(400).keys()].map((n) => ({ _id: `p${n % 4}:${n}`, n, kind: n % 2 ? 'odd' : 'even', list: [n, -n], text: 'x'.repeat(300) }));
    await server.fill(db, docs);
    expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n'] }, name: 'n', ddoc: 'n', partitioned: false }), 200);
  });
  after(() => server?.stop());

  // All pages of a query: { docs, pages, stopped: how many of them ended by the charge }.
  const pagesOf = async (path, query) => {
    const all = { docs: [], pages: 0, stopped: 0 };
    for (let bookmark; ; ) {
      const reply = await server.post(path, { ...query, ...(bookmark && { bookmark }) }, header);
      const page = expectStatus(reply, 200);
      assert.ok(Number(reply.headers['x-request-charge']) <= atMost, reply.headers['x-request-charge']);
      all.docs.push(...page.docs);
      ++all.pages;
      if (!page.stopped) return all;
      assert.equal(page.stopped, 'max_request_charge');
      assert.notEqual(page.bookmark, bookmark);
      ++all.stopped;
      bookmark = page.bookmark;
      assert.ok(all.pages < 400);
    }
  };
  const numbers = (docs) => docs.map((doc) => doc.n).sort((a, b) => a - b);
  const range = (from, to, step = 1) => Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => from + i * step);

  test('_find continues from its bookmark and returns everything once', async () => {
    for (const [selector, expected] of [
      [{ kind: 'odd' }, range(1, 400, 2)],
      [{ n: { $gte: 100 } }, range(100, 400)],
      [{ $or: [{ n: { $lt: 50 } }, { n: { $gte: 350 } }] }, [...range(0, 50), ...range(350, 400)]],
      [{ kind: 'none' }, []],
    ]) {
      const { docs, stopped } = await pagesOf(`/${db}/_find`, { selector, limit: 1000 });
      assert.deepEqual(numbers(docs), expected, JSON.stringify(selector));
      assert.ok(stopped > 1, `${stopped}`);
    }
    const sorted = await pagesOf(`/${db}/_find`, { selector: { n: { $gte: 100 } }, sort: [{ n: 'desc' }], limit: 1000 });
    assert.deepEqual(sorted.docs.map((doc) => doc.n), range(100, 400).reverse());
    const partition = await pagesOf(`/${db}/_partition/p1/_find`, { selector: { kind: 'odd' }, limit: 1000 });
    assert.deepEqual(numbers(partition.docs), range(1, 400, 4));
  });

  test('_sql too, in the middle of a JOIN', async () => {
    const plain = await pagesOf(`/${db}/_sql`, { query: "SELECT c.n FROM c WHERE c.kind = 'odd'", limit: 1000 });
    assert.deepEqual(numbers(plain.docs), range(1, 400, 2));
    assert.ok(plain.stopped > 1);
    const joined = await pagesOf(`/${db}/_sql`, { query: 'SELECT x AS n FROM c JOIN x IN c.list WHERE c.n > 0', limit: 1000 });
    assert.deepEqual(numbers(joined.docs), range(-399, 400).filter((n) => n !== 0));
  });

  test('what has to see everything first is refused when that costs too much', async () => {
    for (const query of [{ selector: { kind: 'odd' }, sort: ['text'] }, { selector: { kind: 'odd' }, count: true }]) {
      expectError(await server.post(`/${db}/_find`, query, header), 400, 'request_charge_exceeded');
    }
    expectError(await server.post(`/${db}/_sql`, { query: 'SELECT VALUE COUNT(1) FROM c WHERE c.text != "y"' }, header), 400, 'request_charge_exceeded');
    const dear = { headers: { 'X-Max-Request-Charge': '1000' } };
    assert.equal(expectStatus(await server.post(`/${db}/_find`, { selector: { kind: 'odd' }, count: true }, dear), 200).count, 200);
  });

  test('a search by an index of type text is one piece: neither ended in the middle nor known before', async () => {
    await server.post(`/${db}/_index`, { type: 'text', name: 'words', index: {}, partitioned: false });
    const search = { selector: { $text: 'odd' } };
    expectError(await server.post(`/${db}/_find`, search, header), 400, 'bad_request', 'X-Max-Request-Charge does not work with indexes of type text.');
    const dry = await server.post(`/${db}/_find`, search, { headers: { Prefer: 'dry-run' } });
    expectError(dry, 400, 'bad_request', 'Prefer: dry-run does not work with indexes of type text; _explain shows the plan.');
    assert.ok(expectStatus(await server.post(`/${db}/_find`, search), 200).docs.length > 0);
    assert.equal(expectStatus(await server.post(`/${db}/_explain`, search), 200).index.type, 'text');
  });

  test('an invalid limit is refused', async () => {
    for (const value of ['0', '-1', 'much', 'nan', '1e999']) {
      expectError(await server.post(`/${db}/_find`, { selector: {} }, { headers: { 'X-Max-Request-Charge': value } }), 400, 'bad_request');
    }
  });

  test('the Cosmos DB API continues from its continuation', async () => {
    const container = await newContainer(cosmosClient(server));
    for (let n = 0; n < 200; ++n) await container.items.create({ id: `${n}`, pk: `p${n % 3}`, n, text: 'x'.repeat(300) });
    const query = container.items.query('SELECT c.n FROM c WHERE c.n >= 50', { initialHeaders: header.headers });
    const found = [];
    let pages = 0;
    for (; query.hasMoreResults(); ++pages) {
      const { resources, requestCharge } = await query.fetchNext();
      assert.ok(requestCharge <= atMost, `${requestCharge}`);
      found.push(...(resources ?? []));
    }
    assert.deepEqual(numbers(found), range(50, 200));
    assert.ok(pages > 2, `${pages}`);
  });
});
