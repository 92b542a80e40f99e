// Automatic indexes: the indexing policy of containers by @azure/cosmos, and auto_index of the CouchDB API.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

const PEOPLE = 600;
const person = (n) => ({
  id: `i${n}`, pk: `k${n % 3}`, n, name: `name${String(n).padStart(4, '0')}`, group: `g${n % 20}`, score: (n * 7) % 100,
  tags: [`t${n % 50}`, n % 2 ? 'odd' : 'even'], lines: [{ sku: `s${n % 40}`, count: n % 5 }], address: { city: `c${n % 30}`, zip: n % 60 },
  ...(n % 10 === 0 ? {} : { rank: n % 13 }),
});
const people = Array.from({ length: PEOPLE }, (_, n) => person(n));

async function fill(container) {
  for (let at = 0; at < people.length; at += 100) {
    const operations = people.slice(at, at + 100).map((resourceBody) => ({ operationType: 'Create', partitionKey: resourceBody.pk, resourceBody }));
    for (const result of await container.items.executeBulkOperations(operations)) assert.equal(result.response?.statusCode, 201);
  }
}

async function indexed(container) {
  for (let tries = 0; tries < 500; ++tries) {
    const { headers } = await container.read({ populateQuotaInfo: true });
    if (headers['x-ms-documentdb-collection-index-transformation-progress'] === '100') return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail('the index was not built');
}

describe('the indexing policy of a container', () => {
  let server, client, container, bare;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { indexingPolicy: { compositeIndexes: [[{ path: '/score', order: 'descending' }, { path: '/name', order: 'ascending' }]], includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/secret/*' }] } });
    bare = await newContainer(client, { indexingPolicy: { indexingMode: 'none', automatic: false } });
    await fill(container);
    await fill(bare);
    await indexed(container);
  });
  after(() => server?.stop());

  const ask = async (query, options, where = container) => {
    const iterator = where.items.query(query, { populateQueryMetrics: true, populateIndexMetrics: true, ...options });
    const answer = { items: [], read: 0, charge: 0 };
    while (iterator.hasMoreResults()) {
      const page = await iterator.fetchNext();
      answer.items.push(...(page.resources ?? []));
      answer.charge += page.requestCharge;
      for (const metrics of Object.values(page.headers['x-ms-documentdb-query-metrics'] ?? {})) answer.read += metrics.retrievedDocumentCount;
      answer.indexes ??= JSON.parse(page.indexMetrics || '{}');
    }
    return answer;
  };
  const single = (indexes) => indexes.UtilizedIndexes.SingleIndexes.map((index) => index.IndexSpec);
  const composite = (indexes) => indexes.UtilizedIndexes.CompositeIndexes.map((index) => index.IndexSpecs);

  for (const [what, query, spec, expected] of [
    ['equality', "SELECT VALUE c.n FROM c WHERE c.name = 'name0042'", '/name/?', (p) => p.name === 'name0042'],
    ['a nested path', "SELECT VALUE c.n FROM c WHERE c.address.city = 'c7'", '/address/city/?', (p) => p.address.city === 'c7'],
    ['a range of numbers', 'SELECT VALUE c.n FROM c WHERE c.n >= 100 AND c.n < 110', '/n/?', (p) => p.n >= 100 && p.n < 110],
    ['a range of strings', "SELECT VALUE c.n FROM c WHERE c.name > 'name0590'", '/name/?', (p) => p.name > 'name0590'],
    ['IN', 'SELECT VALUE c.n FROM c WHERE c.n IN (3, 5, 8, "x")', '/n/?', (p) => [3, 5, 8].includes(p.n)],
    ['a prefix', "SELECT VALUE c.n FROM c WHERE STARTSWITH(c.name, 'name001')", '/name/?', (p) => p.name.startsWith('name001')],
    ['an element of an array', "SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(c.tags, 't49')", '/tags/[]/?', (p) => p.tags.includes('t49')],
    ['a property of an element', "SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(c.lines, {'sku': 's39'}, true)", '/lines/[]/sku/?', (p) => p.lines[0].sku === 's39'],
    ['a joined element', "SELECT VALUE c.n FROM c JOIN l IN c.lines WHERE l.sku = 's38'", '/lines/[]/sku/?', (p) => p.lines[0].sku === 's38'],
  ]) {
    test(`${what} reads what it finds`, async () => {
      const found = await ask(query);
      const wanted = people.filter(expected).map((p) => p.n);
      assert.deepEqual(found.items.sort((a, b) => a - b), wanted);
      assert.equal(found.read, wanted.length);
      assert.deepEqual(single(found.indexes), [spec]);
      const scanned = await ask(query, {}, bare);
      assert.deepEqual(scanned.items.sort((a, b) => a - b), wanted);
      assert.equal(scanned.read, PEOPLE);
      assert.ok(scanned.charge > found.charge, `${scanned.charge} RU by a scan, ${found.charge} by the index`);
    });
  }

  test('an order on any path ends with its limit, within a key and over all', async () => {
    const down = await ask('SELECT TOP 5 VALUE c.name FROM c ORDER BY c.name DESC');
    assert.deepEqual(down.items, people.slice(-5).reverse().map((p) => p.name));
    assert.ok(down.read <= 6, `${down.read} documents`);
    const within = await ask('SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n', { partitionKey: 'k2' });
    assert.deepEqual(within.items, [2, 5, 8, 11]);
    assert.ok(within.read <= 5, `${within.read} documents`);
    assert.deepEqual(single(within.indexes), ['/n/?', '/pk/?']);
  });

  test('an order has the items without the property: first, or last with DESC', async () => {
    const missing = people.filter((p) => p.rank === undefined).length;
    for (const direction of ['', ' DESC']) {
      const query = `SELECT c.id, c.rank FROM c ORDER BY c.rank${direction}`;
      const { items } = await ask(query, { maxItemCount: 7 });
      const ranks = items.map((item) => item.rank ?? -1);
      assert.equal(new Set(items.map((item) => item.id)).size, PEOPLE);
      assert.deepEqual(ranks, ranks.toSorted((a, b) => (direction ? b - a : a - b)), query);
      assert.equal(ranks.filter((rank) => rank === -1).length, missing);
      const top = await ask(query.replace('SELECT', 'SELECT TOP 5'));
      assert.ok(top.read <= 6, `${top.read} documents`);
      assert.deepEqual(single(top.indexes), ['/rank/?']);
      const within = await ask(query, { partitionKey: 'k1' });
      assert.equal(within.items.length, PEOPLE / 3);
    }
    const defined = await ask('SELECT TOP 5 VALUE c.rank FROM c WHERE IS_DEFINED(c.rank) ORDER BY c.rank');
    assert.deepEqual(defined.items, [0, 0, 0, 0, 0]);
    const lacking = await ask('SELECT VALUE c.n FROM c WHERE NOT IS_DEFINED(c.rank)');
    assert.equal(lacking.items.length, missing);
    assert.equal(lacking.read, missing);
  });

  test('items without the property are not lost to a condition that does not need it', async () => {
    const missing = people.filter((p) => p.rank === undefined).map((p) => p.n);
    const { items } = await ask('SELECT VALUE c.n FROM c WHERE NOT IS_DEFINED(c.rank) ORDER BY c.n');
    assert.deepEqual(items, missing);
    assert.equal((await ask('SELECT VALUE c.n FROM c WHERE c.rank != 3')).items.length, people.filter((p) => p.rank !== undefined && p.rank !== 3).length);
  });

  test('a composite index gives the order of two properties', async () => {
    const { items, read, indexes } = await ask('SELECT TOP 6 VALUE c.n FROM c ORDER BY c.score DESC, c.name ASC');
    const wanted = [...people].sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1)).slice(0, 6).map((p) => p.n);
    assert.deepEqual(items, wanted);
    assert.ok(read <= 7, `${read} documents`);
    assert.deepEqual(composite(indexes), [['/score DESC', '/name ASC']]);
  });

  test('index metrics name what would be of use, in both forms', async () => {
    const { indexes } = await ask("SELECT * FROM c WHERE c.group = 'g1' AND c.n > 590");
    assert.deepEqual(indexes.PotentialIndexes.CompositeIndexes.map((index) => index.IndexSpecs), [['/group ASC', '/n ASC']]);
    const other = await ask("SELECT * FROM c WHERE c.secret.word = 'x'");
    assert.deepEqual(other.indexes.PotentialIndexes.SingleIndexes.map((index) => index.IndexSpec), ['/secret/word/?']);
    assert.deepEqual(single(other.indexes), []);
    const [, db] = container.url.match(/dbs\/([^/]+)/);
    const reply = await cosmosRequest(server, 'POST', `/dbs/${db}/colls/items/docs`, {
      body: { query: 'SELECT * FROM c WHERE c.n = 1' },
      headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true', 'x-ms-documentdb-query-enablecrosspartition': 'true', 'x-ms-cosmos-populateindexmetrics': 'true' },
    });
    assert.equal(reply.status, 200);
    const flat = JSON.parse(Buffer.from(reply.headers['x-ms-cosmos-index-utilization'], 'base64').toString());
    assert.equal(flat.UtilizedSingleIndexes[0].IndexSpec, '/n/?');
    assert.deepEqual(flat.PotentialCompositeIndexes, []);
    // The order in which items are stored is the index of the partition key.
    assert.deepEqual(single((await ask('SELECT * FROM c', { partitionKey: 'x' })).indexes), ['/pk/?']);
    assert.deepEqual(single((await ask('SELECT * FROM c')).indexes), []);
  });

  test('a policy is automatic unless it has no index, whatever a client sends', async () => {
    const manual = await newContainer(client, { indexingPolicy: { automatic: false, includedPaths: [{ path: '/*' }] } });
    assert.equal((await manual.read()).resource.indexingPolicy.automatic, true);
    for (let n = 0; n < 200; ++n) await manual.items.create({ id: `${n}`, pk: 'x', n });
    const { items, read } = await ask('SELECT VALUE c.n FROM c WHERE c.n = 7', {}, manual);
    assert.deepEqual([items, read], [[7], 1]);
  });

  test('writes cost what their index costs', async () => {
    const full = await container.items.upsert({ ...person(1), id: 'cost', pk: 'cost' });
    const none = await bare.items.upsert({ ...person(1), id: 'cost', pk: 'cost' });
    assert.ok(full.requestCharge > none.requestCharge + 3, `${full.requestCharge} and ${none.requestCharge}`);
    await container.item('cost', 'cost').delete();
    await bare.item('cost', 'cost').delete();
  });

  test('every write is in the index at once, also what a batch or a patch writes', async () => {
    const count = async (condition) => (await ask(`SELECT VALUE COUNT(1) FROM c WHERE ${condition}`)).items[0];
    await container.items.create({ id: 'x1', pk: 'x', mark: 'one' });
    assert.equal(await count("c.mark = 'one'"), 1);
    await container.item('x1', 'x').patch([{ op: 'set', path: '/mark', value: 'two' }]);
    assert.equal(await count("c.mark = 'one'"), 0);
    assert.equal(await count("c.mark = 'two'"), 1);
    await container.items.batch([{ operationType: 'Create', resourceBody: { id: 'x2', pk: 'x', mark: 'two' } }, { operationType: 'Delete', id: 'x1' }], 'x');
    assert.equal(await count("c.mark = 'two'"), 1);
    // All or nothing.
    await container.items.batch([{ operationType: 'Create', resourceBody: { id: 'x3', pk: 'x', mark: 'two' } }, { operationType: 'Read', id: 'missing' }], 'x');
    assert.equal(await count("c.mark = 'two'"), 1);
    await container.item('x2', 'x').delete();
  });

  test('a changed policy is built while queries run, and survives a restart', async () => {
    const { resource } = await container.read();
    resource.indexingPolicy = { includedPaths: [{ path: '/group/?' }], excludedPaths: [{ path: '/*' }], compositeIndexes: [] };
    await container.replace(resource);
    const query = "SELECT VALUE c.n FROM c WHERE c.group = 'g3' AND c.name < 'name0100'";
    const wanted = people.filter((p) => p.group === 'g3' && p.name < 'name0100').map((p) => p.n);
    for (let i = 0; i < 10; ++i) assert.deepEqual((await ask(query)).items.sort((a, b) => a - b), wanted);
    await indexed(container);
    const after = await ask(query);
    assert.deepEqual(single(after.indexes), ['/group/?']);
    assert.deepEqual(after.indexes.PotentialIndexes.SingleIndexes.map((index) => index.IndexSpec), ['/name/?']);
    await server.kill();
    await server.launch();
    container = cosmosClient(server).database(container.database.id).container(container.id);
    await indexed(container);
    const again = await ask(query);
    assert.deepEqual(again.items.sort((a, b) => a - b), wanted);
    assert.deepEqual(single(again.indexes), ['/group/?']);
  });

  test('pages that an index began continue when the policy removes it', async () => {
    const own = await newContainer(cosmosClient(server));
    await fill(own);
    await indexed(own);
    const changes = [{ indexingMode: 'none', automatic: false }, { indexingMode: 'consistent', includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/rank/?' }] }];
    for (const policy of changes) {
      for (const [query, isAsked] of [
        ['SELECT c.id, c.rank FROM c WHERE c.rank > 9', (p) => p.rank > 9],
        ['SELECT c.id, c.rank FROM c ORDER BY c.rank', () => true],
        ['SELECT c.id, c.rank FROM c ORDER BY c.rank DESC', () => true],
        ['SELECT c.id, c.rank, t FROM c JOIN t IN c.tags WHERE c.rank = 7', (p) => p.rank === 7],
      ]) {
        const { resource } = await own.read();
        resource.indexingPolicy = { indexingMode: 'consistent', includedPaths: [{ path: '/*' }], excludedPaths: [] };
        await own.replace(resource);
        await indexed(own);
        const rows = [];
        let continuationToken;
        for (let page = 0; page === 0 || continuationToken; ++page) {
          const answer = await own.items.query(query, { maxItemCount: 25, continuationToken }).fetchNext();
          rows.push(...answer.resources);
          continuationToken = answer.continuationToken;
          if (page !== 1) continue;
          await own.replace({ ...resource, indexingPolicy: policy });
          await indexed(own);
        }
        const copies = query.includes('JOIN') ? 2 : 1;
        const expected = people.filter(isAsked);
        assert.equal(rows.length, expected.length * copies, query);
        assert.deepEqual(new Set(rows.map((row) => row.id)), new Set(expected.map((p) => p.id)), query);
        if (query.includes('ORDER')) {
          const ranks = rows.map((row) => row.rank ?? -1);
          assert.deepEqual(ranks, ranks.toSorted((a, b) => (query.includes('DESC') ? b - a : a - b)), query);
        }
      }
    }
  });

  test('a page that is being read is completed when the policy removes its index', async () => {
    const own = await newContainer(cosmosClient(server));
    await fill(own);
    await indexed(own);
    await own.scripts.userDefinedFunctions.create({ id: 'slow', body: 'function () { for (var end = Date.now() + 3; Date.now() < end;); return true; }' });
    assert.equal((await ask('SELECT TOP 1 VALUE c.id FROM c ORDER BY c.rank', {}, own)).read, 1);
    const running = ask('SELECT c.id, c.rank FROM c WHERE udf.slow() ORDER BY c.rank', { maxItemCount: 1000 }, own);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { resource } = await own.read();
    await own.replace({ ...resource, indexingPolicy: { indexingMode: 'none', automatic: false } });
    const { items } = await running;
    assert.deepEqual(new Set(items.map((item) => item.id)), new Set(people.map((p) => p.id)));
    const ranks = items.map((item) => item.rank ?? -1);
    assert.deepEqual(ranks, ranks.toSorted((a, b) => a - b));
  });

  test('_find of the CouchDB API uses the container\'s index, whose strings are in another order', async () => {
    const db = encodeURIComponent(`${container.url.match(/dbs\/([^/]+)/)[1]}/items`);
    const explained = await server.post(`/${db}/_explain`, { selector: { group: 'g3' } });
    assert.equal(explained.status, 200, explained.text);
    const found = await server.post(`/${db}/_find`, { selector: { group: 'g3' }, limit: 1000, execution_stats: true });
    assert.equal(found.body.docs.length, people.filter((p) => p.group === 'g3').length);
    assert.equal(found.body.execution_stats.total_keys_examined, found.body.docs.length);
    // A character that the collation ignores: equal for _find, not for SQL.
    await container.items.create({ id: 'ignored', pk: 'k0', group: 'g3\u200b' });
    const equal = await server.post(`/${db}/_find`, { selector: { group: { $in: ['g3', 'none'] } }, limit: 1000, execution_stats: true });
    assert.equal(equal.body.docs.length, found.body.docs.length + 1);
    assert.equal(equal.body.execution_stats.total_keys_examined, equal.body.docs.length);
    assert.deepEqual((await ask("SELECT VALUE COUNT(1) FROM c WHERE c.group = 'g3'")).items, [found.body.docs.length]);
    await container.item('ignored', 'k0').delete();
    // In ICU's order G2 stands between g2 and g3; by its bytes, before all of them.
    const range = await server.post(`/${db}/_find`, { selector: { group: { $gt: 'G2', $lt: 'g4' } }, limit: 1000 });
    assert.equal(range.body.docs.length, people.filter((p) => p.group === 'g3').length);
  });
});

describe('a database that indexes automatically', () => {
  let server;
  before(async () => {
    server = await Server.start();
    assert.equal((await server.request('PUT', '/auto?auto_index=true')).status, 201);
    assert.equal((await server.request('PUT', '/parts?auto_index=true&partitioned=true')).status, 201);
    for (const [db, prefix] of [['auto', ''], ['parts', 'p:']]) {
      const docs = people.map(({ id, ...rest }) => ({ _id: prefix + id, ...rest }));
      assert.equal((await server.post(`/${db}/_bulk_docs`, { docs })).status, 201);
      for (let tries = 0; tries < 500; ++tries) {
        const { body } = await server.post(`/${db}/_explain`, { selector: { n: 1 } });
        if (body.index.type === 'automatic') break;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  });
  after(() => server?.stop());

  const find = async (target, body) => {
    const reply = await server.post(`/${target}/_find`, { limit: 1000, execution_stats: true, ...body });
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  };

  test('says so, and refuses what is neither true nor false', async () => {
    assert.deepEqual((await server.get('/auto')).body.props, { auto_index: true });
    assert.deepEqual((await server.get('/parts')).body.props, { partitioned: true, auto_index: true });
    assert.equal((await server.request('PUT', '/other?auto_index=maybe')).status, 400);
  });

  for (const target of ['auto', 'parts', 'parts/_partition/p']) {
    test(`_find of ${target} needs no _index`, async () => {
      const equal = await find(target, { selector: { 'address.city': 'c7' } });
      assert.equal(equal.docs.length, 20);
      assert.equal(equal.execution_stats.total_docs_examined, 20);
      assert.equal(equal.warning, undefined);
      const sorted = await find(target, { selector: { name: { $gte: 'name0300' } }, sort: [{ name: 'desc' }], limit: 3, fields: ['n'] });
      assert.deepEqual(sorted.docs.map((doc) => doc.n), [599, 598, 597]);
      assert.ok(sorted.execution_stats.total_docs_examined <= 4);
      const listed = await find(target, { selector: { n: { $in: [1, 2, 900] } } });
      assert.equal(listed.docs.length, 2);
      const either = await find(target, { selector: { $or: [{ n: 3 }, { name: 'name0004' }] } });
      assert.deepEqual(either.docs.map((doc) => doc.n).sort(), [3, 4]);
      const element = await find(target, { selector: { tags: { $elemMatch: { $eq: 't49' } } } });
      assert.equal(element.docs.length, 12);
      assert.equal(element.execution_stats.total_docs_examined, 12);
    });
  }

  test('_explain shows the path that is used', async () => {
    const { body } = await server.post('/auto/_explain', { selector: { score: 5 } });
    assert.deepEqual(body.index, { ddoc: null, name: '/score', type: 'automatic', def: { fields: [{ score: 'asc' }] } });
  });

  test('an index that a client made is preferred', async () => {
    await server.post('/auto/_index', { index: { fields: ['group', 'n'] }, name: 'made' });
    const { body } = await server.post('/auto/_explain', { selector: { group: 'g1', n: { $gt: 500 } }, fields: ['n'] });
    assert.equal(body.index.name, 'made');
  });
});
