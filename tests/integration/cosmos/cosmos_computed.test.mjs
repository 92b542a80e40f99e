// Computed properties, by @azure/cosmos: what a container accepts, queries of every shape, a changed definition, and the
// same by the other API, in stored procedures and in conditions of patches.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, errorOf, newContainer } from '../cosmos.mjs';
import { Server } from '../harness.mjs';

const computedProperties = [
  { name: 'cp_lowerName', query: 'SELECT VALUE LOWER(c.name) FROM c' },
  { name: 'cp_20PercentDiscount', query: 'SELECT VALUE (c.price * 0.2) FROM c' },
  { name: 'cp_primaryCategory', query: "SELECT VALUE SUBSTRING(c.categoryName, 0, INDEX_OF(c.categoryName, ',')) FROM c" },
  { name: 'cp_tags', query: "SELECT VALUE ARRAY_CONCAT(c.tags ?? [], ['all']) FROM root c" },
];
const indexingPolicy = {
  indexingMode: 'consistent', automatic: true,
  includedPaths: [{ path: '/*' }, { path: '/cp_lowerName/?' }], excludedPaths: [{ path: '/"_etag"/?' }],
  compositeIndexes: [[{ path: '/cp_primaryCategory', order: 'ascending' }, { path: '/cp_lowerName', order: 'descending' }]],
};
const products = [
  { id: 'bike', pk: 'a', name: 'Touring-1000', price: 100, categoryName: 'Bikes, Touring', tags: ['wheels'], stock: 5 },
  { id: 'tyre', pk: 'b', name: 'LL Tyre', price: 20, categoryName: 'Parts, Wheels', tags: ['wheels', 'rubber'], stock: 1 },
  { id: 'vest', pk: 'c', name: 'classic Vest', price: 60, categoryName: 'Clothes, Vests', stock: 9 },
  { id: 'gift', pk: 'a', name: 'Voucher', price: 10, stock: 0, cp_lowerName: 'what is stored' },
];

describe('computed properties of the Cosmos DB API', () => {
  let server, client, container;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { computedProperties, indexingPolicy, throughput: 30_000 });
    for (const product of products) await container.items.create(product);
  });
  after(() => server?.stop());

  const all = async (query, options) => (await container.items.query(query, options).fetchAll()).resources;

  test('the container shows them, and its policy may name them', async () => {
    const { resource } = await container.read();
    assert.deepEqual(resource.computedProperties, computedProperties);
    assert.deepEqual(resource.indexingPolicy.compositeIndexes, indexingPolicy.compositeIndexes);
  });

  test('the queries of the documentation', async () => {
    assert.deepEqual(
      await all('SELECT c.cp_lowerName FROM c WHERE c.price > 50 ORDER BY c.cp_lowerName'),
      [{ cp_lowerName: 'classic vest' }, { cp_lowerName: 'touring-1000' }],
    );
    assert.deepEqual((await all('SELECT VALUE c.price - c.cp_20PercentDiscount FROM c WHERE c.price - c.cp_20PercentDiscount < 50')).sort(), [16, 48, 8].sort());
    assert.deepEqual(
      (await all('SELECT COUNT(1) AS n, c.cp_primaryCategory FROM c GROUP BY c.cp_primaryCategory')).map((group) => `${group.cp_primaryCategory}:${group.n}`).sort(),
      ['Bikes:1', 'Clothes:1', 'Parts:1', 'undefined:1'],
    );
    assert.deepEqual(await all('SELECT VALUE c.id FROM c ORDER BY c.cp_primaryCategory ASC, c.cp_lowerName DESC'), ['gift', 'bike', 'vest', 'tyre']);
  });

  test('in WHERE, JOIN, DISTINCT, aggregates and subqueries; by pages; within a partition', async () => {
    assert.deepEqual(await all("SELECT VALUE c.id FROM c WHERE c.cp_lowerName = 'll tyre'"), ['tyre']);
    assert.deepEqual(await all("SELECT VALUE c.id FROM c WHERE STARTSWITH(c.cp_lowerName, 'v')", { partitionKey: 'a' }), ['gift']);
    assert.deepEqual((await all("SELECT VALUE c.id FROM c JOIN t IN c.cp_tags WHERE t = 'wheels'")).sort(), ['bike', 'tyre']);
    assert.deepEqual((await all('SELECT DISTINCT VALUE t FROM c JOIN t IN c.cp_tags')).sort(), ['all', 'rubber', 'wheels']);
    assert.deepEqual(await all('SELECT VALUE SUM(c.cp_20PercentDiscount) FROM c'), [38]);
    assert.deepEqual(await all("SELECT VALUE c.id FROM c WHERE EXISTS(SELECT 1 FROM t IN c.cp_tags WHERE t = 'rubber')"), ['tyre']);
    const sorted = { forceQueryPlan: true, maxItemCount: 1 };
    for (const options of [{ maxItemCount: 1 }, sorted, {}]) {
      assert.deepEqual(await all('SELECT VALUE c.id FROM c ORDER BY c.cp_lowerName DESC', options), ['gift', 'bike', 'tyre', 'vest']);
    }
  });

  test('items themselves do not have them; what is stored under the name is hidden from queries only', async () => {
    const { resource } = await container.item('gift', 'a').read();
    assert.equal(resource.cp_lowerName, 'what is stored');
    assert.ok(!('cp_tags' in resource));
    const [whole] = await all("SELECT * FROM c WHERE c.cp_lowerName = 'voucher'");
    assert.equal(whole.cp_lowerName, 'what is stored');
    assert.ok(!('cp_tags' in whole));
    assert.deepEqual(await all("SELECT VALUE c.cp_lowerName FROM c WHERE c.id = 'gift'"), ['voucher']);
    assert.deepEqual(await all("SELECT VALUE c.id FROM c WHERE c.cp_lowerName = 'what is stored'"), []);
    const feed = (await container.items.readAll().fetchAll()).resources;
    assert.ok(feed.every((item) => !('cp_tags' in item)));
  });

  test('an invalid definition is refused, and the container is not created', async () => {
    const { database } = await client.databases.create({ id: 'refusals' });
    const refused = [
      [{ name: 'x', query: 'selec' }, /computed property 'x' is not valid.*SC1001/],
      [{ name: 'x', query: 'SELECT c.name FROM c' }, /SELECT VALUE/],
      [{ name: 'x', query: 'SELECT VALUE c.a FROM c WHERE c.a > 1' }, /must not have WHERE/],
      [{ name: 'x', query: 'SELECT VALUE GetCurrentDateTime() FROM c' }, /value changes by itself/],
      [{ name: 'x', query: 'SELECT VALUE udf.f(c.a) FROM c' }, /user-defined/],
      [{ name: 'x', query: 'SELECT VALUE COUNT(c.a) FROM c' }, /aggregates/],
      [{ name: 'id', query: 'SELECT VALUE c.a FROM c' }, /reserved/],
      [{ name: '_ts', query: 'SELECT VALUE c.a FROM c' }, /reserved/],
      [{ query: 'SELECT VALUE c.a FROM c' }, /name and a query/],
      ['x', /name and a query/],
    ];
    for (const [property, words] of refused) {
      const error = await errorOf(database.containers.create({ id: 'items', partitionKey: '/pk', computedProperties: [property] }));
      assert.equal(error.code, 400, JSON.stringify(property));
      assert.match(error.body.message, words);
    }
    const twice = [1, 2].map((n) => ({ name: 'x', query: `SELECT VALUE c.a + ${n} FROM c` }));
    assert.match((await errorOf(database.containers.create({ id: 'items', partitionKey: '/pk', computedProperties: twice }))).body.message, /another one of this name/);
    const many = Array.from({ length: 21 }, (_, n) => ({ name: `p${n}`, query: 'SELECT VALUE c.a FROM c' }));
    assert.match((await errorOf(database.containers.create({ id: 'items', partitionKey: '/pk', computedProperties: many }))).body.message, /at most 20/);
    assert.equal((await errorOf(database.container('items').read())).code, 404);
  });

  test('a replaced definition counts at once, by both APIs', async () => {
    const changed = await newContainer(client, { computedProperties: [{ name: 'cp', query: 'SELECT VALUE c.n + 1 FROM c' }] });
    await changed.items.create({ id: '1', pk: 'a', n: 1 });
    const ask = async () => (await changed.items.query('SELECT VALUE c.cp FROM c').fetchAll()).resources;
    const couch = async () => (await server.post(`/${changed.database.id}%2Fitems/_sql`, { query: 'SELECT VALUE c.cp FROM c' })).body.docs;
    assert.deepEqual([await ask(), await couch()], [[2], [2]]);
    const definition = (await changed.read()).resource;
    await changed.replace({ ...definition, computedProperties: [{ name: 'cp', query: 'SELECT VALUE c.n * 10 FROM c' }] });
    assert.deepEqual([await ask(), await couch()], [[10], [10]]);
    const bad = await errorOf(changed.replace({ ...definition, computedProperties: [{ name: 'cp', query: 'SELECT VALUE d.n FROM c' }] }));
    assert.equal(bad.code, 400);
    await changed.replace({ ...definition, computedProperties: undefined });
    assert.deepEqual([await ask(), await couch()], [[], []]);
  });

  test('stored procedures query them, and conditions of patches know them', async () => {
    const { resource: procedure } = await container.scripts.storedProcedures.create({
      id: 'names',
      body: `function () {
        const collection = getContext().getCollection();
        collection.queryDocuments(collection.getSelfLink(), 'SELECT VALUE c.cp_lowerName FROM c ORDER BY c.cp_lowerName', function (error, rows) {
          if (error) throw error;
          getContext().getResponse().setBody(rows);
        });
      }`,
    });
    const { resource } = await container.scripts.storedProcedure(procedure.id).execute('a', []);
    assert.deepEqual(resource, ['touring-1000', 'voucher']);
    const patch = (condition) => container.item('tyre', 'b').patch({ condition, operations: [{ op: 'incr', path: '/stock', value: 1 }] });
    assert.equal((await patch("from c where c.cp_lowerName = 'll tyre'")).resource.stock, 2);
    assert.equal((await errorOf(patch("from c where c.cp_lowerName = 'LL Tyre'"))).code, 412);
  });

  test('they are there after a restart', async () => {
    await server.stop({ keepFolder: true });
    await server.relaunch();
    client = cosmosClient(server);
    container = client.database(container.database.id).container('items');
    assert.deepEqual(await all("SELECT VALUE c.cp_lowerName FROM c WHERE c.id = 'vest'"), ['classic vest']);
  });
});
