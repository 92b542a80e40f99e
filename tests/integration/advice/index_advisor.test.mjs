// Advice on indexes: what it promises is created, and measured.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { cosmosRequest } from '../cosmos_request.mjs';
import { expectError, expectStatus, Server } from '../harness.mjs';

const { BlogData } = await import(path.join(process.env.OCTAVO_SOURCE_DIR, 'tests/bench/cosmos/blog/data.mjs'));

const ERROR_MAX = 0.25;  // of a predicted charge, and of a predicted saving
const QUERIES = 60;
const mean = (numbers) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
/// The charge of a query, which must succeed.
function charge(reply) {
  expectStatus(reply, 200);
  const units = Number(reply.headers['x-request-charge'] ?? reply.headers['x-ms-request-charge'] ?? reply.trailers?.['x-request-charge']);
  assert.ok(units > 0, JSON.stringify(reply.headers));
  return units;
}

function near(actual, expected, what) {
  const error = Math.abs(actual - expected) / Math.max(expected, 1);
  assert.ok(error <= ERROR_MAX, `${what}: ${actual}, predicted ${expected}`);
}

const advise = async (server, db, body = {}) =>
  expectStatus(await server.post(`/${db}/_index_advisor`, body, { timeoutMs: 120_000 }), 200);

/// Creates an advised index of a database.
const create = async (server, db, { index, type, partitioned }) =>
  expectStatus(await server.post(`/${db}/_index`, { index, type, partitioned, ddoc: 'advised', name: 'advised' }), 200);

/// The mean charge of `ask(n)`.
async function measure(ask, count = QUERIES) {
  const charges = [];
  for (let n = 0; n < count; ++n) charges.push(charge(await ask(n)));
  return mean(charges);
}

/// Asks, takes the first advice on the shape that contains `words`, creates it, asks again; all as predicted.
async function proves(server, db, ask, words, make = create) {
  const before = await measure(ask);
  const advice = await advise(server, db);
  assert.ok(advice.create.length > 0, JSON.stringify(advice));
  const served = advice.create[0].serves.find(({ shape }) => shape.includes(words));
  assert.ok(served, JSON.stringify(advice.create[0]));
  near(before, served.now, 'now');
  await make(server, db, advice.create[0], ask);
  const measured = await measure(ask);
  near(measured, served.then, 'then');
  near(before - measured, served.now - served.then, 'saving');
  return { advice, served, measured };
}

describe('advice on indexes of a blog and a shop', () => {
  let server;
  const blog = new BlogData({ users: 12, seed: 3 });
  const posts = blog.users.flatMap((_, user) =>
    Array.from({ length: blog.postCountOf(user) }, (__, post) => blog.thread(user, post)))
    .flatMap(({ post, comments, likes }) => [post, ...comments.slice(0, 6), ...likes.slice(0, 6)]);
  before(async () => {
    server = await Server.start({ args: ['--storage-durability', 'ephemeral'] });
  });
  after(() => server?.stop());

  async function blogDatabase() {
    const db = await server.database();
    for (let first = 0; first < posts.length; first += 1000) {
      await server.fill(db, posts.slice(first, first + 1000).map(({ id, ...rest }) => ({ _id: id, ...rest })));
    }
    return db;
  }

  async function container(name, items, resource = {}) {
    await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'b' } });
    const body = { id: name, partitionKey: { paths: ['/postId'], version: 2, kind: 'Hash' }, ...resource };
    expectStatus(await cosmosRequest(server, 'POST', '/dbs/b/colls', { body, headers: { 'x-ms-offer-throughput': '30000' } }), 201);
    for (const item of items) {
      const reply = await cosmosRequest(server, 'POST', `/dbs/b/colls/${name}/docs`, { body: item, partition: [item.postId] });
      expectStatus(reply, 201);
    }
    return `b%2F${name}`;
  }
  const query = (name, text, values = {}) => cosmosRequest(server, 'POST', `/dbs/b/colls/${name}/docs`, {
    body: { query: text, parameters: Object.entries(values).map(([key, value]) => ({ name: `@${key}`, value })) },
    headers: { 'Content-Type': 'application/query+json', 'x-ms-documentdb-isquery': 'true',
      'x-ms-documentdb-query-enablecrosspartition': 'true', 'x-ms-max-item-count': '1000' },
  });
  /// Adds the advised part to the policy of a container, and waits until it is built.
  const change = (name) => async (_, db, { index }) => {
    const target = `/dbs/b/colls/${name}`;
    const { indexingPolicy, ...resource } = expectStatus(await cosmosRequest(server, 'GET', target), 200);
    for (const [member, parts] of Object.entries(index)) indexingPolicy[member] = [...(indexingPolicy[member] ?? []), ...parts];
    expectStatus(await cosmosRequest(server, 'PUT', target, { body: { ...resource, indexingPolicy } }), 200);
    for (;;) {
      const reply = await cosmosRequest(server, 'GET', target, { headers: { 'x-ms-documentdb-populatequotainfo': 'true' } });
      if (reply.headers['x-ms-documentdb-collection-index-transformation-progress'] === '100') break;
    }
  };

  test('the posts of a user: an index of both properties, global, and the plan is the one foretold', async () => {
    const db = await blogDatabase();
    const selector = (n) => ({ userId: blog.users[n % blog.users.length].id, type: 'post' });
    const ask = (n) => server.post(`/${db}/_find`, { selector: selector(n), limit: 200 });
    const { advice, served } = await proves(server, db, ask, 'userId $eq ?');
    const [best] = advice.create;
    assert.deepEqual([best.type, best.partitioned], ['json', false]);
    assert.deepEqual(best.index.fields.map((field) => Object.keys(field)[0]).sort(), ['type', 'userId']);
    assert.deepEqual([served.tests_documents, served.sorts_in_memory, served.confidence], [false, false, 'recorded_rows']);
    const plan = expectStatus(await server.post(`/${db}/_explain`, { selector: selector(1), limit: 200 }), 200);
    assert.equal(plan.index.name, 'advised');
    assert.deepEqual([plan.plan.branches[0].tests_documents, plan.plan.sorts_in_memory], [false, false]);
  });

  test('the newest posts: an index that has the order, so that the limit ends the query', async () => {
    const db = await blogDatabase();
    const request = { selector: { type: 'post' }, sort: [{ creationDate: 'desc' }], limit: 20 };
    const { advice, served } = await proves(server, db, () => server.post(`/${db}/_find`, request), 'sort creationDate desc');
    assert.deepEqual(advice.create[0].index.fields.map((field) => Object.keys(field)[0]), ['type', 'creationDate']);
    assert.equal(served.sorts_in_memory, false);
    const verified = expectStatus(await server.post(`/${db}/_index_advisor/verify`, { ddoc: 'advised', name: 'advised' }), 200);
    const [shape] = verified.indexes[0].shapes;
    assert.deepEqual([shape.before.count, shape.after.count, verified.indexes[0].measured], [QUERIES, QUERIES, true]);
    near(shape.saved, served.now - served.then, 'verified');
    // At the pace since the first query with the index; before that, the slower the machine, the longer it took.
    const now = verified.recorded.since + verified.recorded.seconds;
    const days = Math.max(1, now - shape.after.from) / 86400;
    near(shape.saves_per_day, shape.saved * shape.after.count / days, 'per day');
  });

  test('SQL that hides its matches: what is foretold is the mean over all values', async () => {
    const db = await blogDatabase();
    const ask = (n) => server.post(`/${db}/_sql`, { query: 'SELECT VALUE COUNT(1) FROM c WHERE c.userId = @user',
      parameters: [{ name: '@user', value: blog.users[n % blog.users.length].id }] });
    const { served } = await proves(server, db, ask, 'COUNT');
    assert.equal(served.confidence, 'average_rows');
  });

  test('one index may serve several shapes by its first properties', async () => {
    const db = await blogDatabase();
    const ask = (n) => server.post(`/${db}/_find`, n % 2 === 0 ? { selector: { postId: posts[n].postId }, limit: 50 }
      : { selector: { postId: posts[n].postId, type: 'comment' }, limit: 50 });
    const { advice } = await proves(server, db, ask, 'postId $eq ?');
    assert.equal(advice.create.length, 1, JSON.stringify(advice.create));
    assert.equal(advice.create[0].serves.length, 2);
    assert.equal(Object.keys(advice.create[0].index.fields[0])[0], 'postId');
  });

  test('Q6 of the blog, a container: a composite index of type and creationDate', async () => {
    const db = await container('newest', posts.slice(0, 1500));
    const text = "SELECT TOP 20 * FROM p WHERE p.type = 'post' ORDER BY p.creationDate DESC";
    const { advice } = await proves(server, db, () => query('newest', text), 'ORDER BY', change('newest'));
    const [best] = advice.create;
    assert.equal(best.type, 'composite');
    assert.deepEqual(best.index.compositeIndexes[0].map(({ path }) => path), ['/type', '/creationDate']);
    const verified = expectStatus(await server.post(`/${db}/_index_advisor/verify`, { fields: best.index.compositeIndexes[0].map(({ path, order }) =>
      ({ [path.slice(1)]: order === 'descending' ? 'desc' : 'asc' })) }), 200);
    assert.equal(verified.indexes[0].measured, true);
  });

  test('Q3 of the blog with a policy that leaves the property out: an included path', async () => {
    const policy = { indexingMode: 'consistent', includedPaths: [{ path: '/postId/?' }], excludedPaths: [{ path: '/*' }] };
    const db = await container('posts', posts.slice(0, 1500), { indexingPolicy: policy });
    const ask = (n) => query('posts', "SELECT * FROM p WHERE p.userId = @user", { user: blog.users[n % 3].id });
    const { advice } = await proves(server, db, ask, 'userId', change('posts'));
    assert.deepEqual(advice.create[0].index, { includedPaths: [{ path: '/userId/?' }] });
  });

  test('queries of a logical partition of a shop get a partitioned index', async () => {
    const db = await server.database('partitioned=true');
    const orders = Array.from({ length: 3000 }, (_, n) => ({
      _id: `user${n % 6}:order${n}`, type: 'order', status: n % 25 === 0 ? 'open' : 'sent', total: n, note: 'x'.repeat(200),
    }));
    for (let first = 0; first < orders.length; first += 1000) await server.fill(db, orders.slice(first, first + 1000));
    const ask = (n) => server.post(`/${db}/_partition/user${n % 6}/_find`, { selector: { status: 'open' }, limit: 100 });
    const { advice } = await proves(server, db, ask, 'status $eq ?');
    assert.equal(advice.create[0].partitioned, true);
    assert.equal(advice.create[0].serves[0].in_partition, true);
  });

  test('of many writes and few queries nothing is advised: it would cost more than it saves', async () => {
    const db = await server.database();
    const ask = () => server.post(`/${db}/_find`, { selector: { group: 7 }, limit: 100 });
    const docs = (from, count) => Array.from({ length: count }, (_, n) => ({ _id: `d${from + n}`, group: n % 50 }));
    await server.fill(db, docs(0, 500));
    await measure(ask, 10);
    const advice = await advise(server, db);
    assert.equal(advice.create.length, 1);
    const gained = (advice.create[0].saves_per_day * Math.max(1, advice.recorded.seconds)) / 86400;
    const writes = Math.ceil((2 * gained) / 0.45);
    for (let first = 500; first < 500 + writes; first += 1000) await server.fill(db, docs(first, 1000));
    const later = await advise(server, db);
    assert.deepEqual(later.create, []);
    assert.ok(later.writes.per_day > 0 && later.writes.rows_per_write === 1, JSON.stringify(later.writes));
  });

  test('indexes that no recorded query used are listed with their costs, and nothing says that they should go', async () => {
    const db = await server.database();
    await server.fill(db, Array.from({ length: 300 }, (_, n) => ({ _id: `d${n}`, a: n % 10, b: n })));
    for (const field of ['a', 'b']) {
      expectStatus(await server.post(`/${db}/_index`, { index: { fields: [field] }, ddoc: field, name: field }), 200);
    }
    assert.deepEqual((await advise(server, db)).unused, []);  // no query was recorded: nothing is known
    await measure(() => server.post(`/${db}/_find`, { selector: { a: 3 } }), 3);
    await server.put(`/${db}/d1?rev=${(await server.get(`/${db}/d1`)).body._rev}`, { a: 1, b: 2 });
    const { unused } = await advise(server, db);
    assert.deepEqual(unused.map(({ ddoc, name }) => [ddoc, name]), [['_design/b', 'b']]);
    assert.ok(unused[0].costs_per_day > 0 && unused[0].days >= 0);
    await measure(() => server.post(`/${db}/_find`, { selector: { b: 3 } }), 1);
    assert.deepEqual((await advise(server, db)).unused, []);
  });

  test('without recorded queries nothing is advised, and too few are called too few', async () => {
    const db = await server.database();
    await server.fill(db, [{ _id: 'a', b: 1 }]);
    const advice = await advise(server, db);
    assert.deepEqual([advice.create, advice.unused, advice.documents], [[], [], 1]);
    assert.deepEqual([advice.recorded.requests, advice.recorded.since, advice.recorded.enough], [0, null, false]);
    assert.deepEqual([advice.writes.per_day, advice.writes.rows_per_write], [null, null]);
  });

  test('the reply has no values of queries or documents', async () => {
    const db = await blogDatabase();
    await measure(() => server.post(`/${db}/_find`, { selector: { userId: 'secret-value', title: { $gt: 'also-secret' } } }), 3);
    const text = JSON.stringify(await advise(server, db)) + JSON.stringify((await server.get(`/${db}/_index_advisor/verify`)).body);
    assert.doesNotMatch(text, /secret/);
  });

  test('at most `max` indexes are advised', async () => {
    const db = await blogDatabase();
    for (const field of ['userId', 'postId', 'title', 'creationDate']) {
      await measure(() => server.post(`/${db}/_find`, { selector: { [field]: 'x' } }), 20);
    }
    assert.equal((await advise(server, db, { max: 2 })).create.length, 2);
    assert.equal((await advise(server, db)).create.length, 4);
  });
});

describe('the index advisor', () => {
  let server;
  before(async () => {
    server = await Server.start({ admin: true });
  });
  after(() => server?.stop());

  test('wrong requests are refused, naming the member', async () => {
    const db = await server.database();
    const wrong = [
      [{ min: 1 }, /Unknown member of the request: min/], [{ max: 0 }, /`max` must be a whole number from 1 to 20/],
      [{ max: 21 }, /`max`/], [{ max: '5' }, /`max`/], [{ max: 1.5 }, /`max`/], [{ max: null }, /`max`/],
    ];
    for (const [body, reason] of wrong) {
      const reply = await server.post(`/${db}/_index_advisor`, body);
      expectError(reply, 400, 'bad_request');
      assert.match(reply.body.reason, reason);
    }
    expectError(await server.post(`/${db}/_index_advisor`, []), 400, 'bad_request');
    expectError(await server.post('/absent/_index_advisor', {}), 404, 'not_found');
    assert.equal((await server.get(`/${db}/_index_advisor`)).status, 405);
  });

  test('wrong requests to verify are refused', async () => {
    const db = await server.database();
    const verify = (body) => server.post(`/${db}/_index_advisor/verify`, body);
    expectError(await verify({}), 400, 'bad_request');
    expectError(await verify({ index: 'a' }), 400, 'bad_request');
    expectError(await verify({ ddoc: 5 }), 400, 'bad_request');
    expectError(await verify({ name: '' }), 400, 'bad_request');
    expectError(await verify({ fields: 'a' }), 400, 'invalid_sort_json');
    expectError(await verify({ ddoc: 'a', name: 'b' }), 404, 'not_found');
    expectError(await verify({ fields: ['a'] }), 404, 'not_found');
    assert.deepEqual(expectStatus(await server.get(`/${db}/_index_advisor/verify`), 200).indexes, []);
  });

  test('only administrators of the database may ask', async () => {
    const db = await server.database();
    expectStatus(await server.put('/_users/org.couchdb.user:ann', { name: 'ann', password: 'secret', roles: [], type: 'user' }), 201);
    expectStatus(await server.put(`/${db}/_security`, { members: { names: ['ann'] }, admins: { names: ['bob'] } }), 200);
    const auth = { auth: 'ann:secret' };
    expectError(await server.post(`/${db}/_index_advisor`, {}, auth), 403, 'forbidden');
    expectError(await server.get(`/${db}/_index_advisor/verify`, auth), 403, 'forbidden');
    expectError(await server.post(`/${db}/_index_advisor/verify`, { fields: ['a'] }, auth), 403, 'forbidden');
  });

  test('one advisor runs at a time, of either kind', async () => {
    const db = await server.database();
    for (let n = 0; n < 20; ++n) {
      await server.fill(db, Array.from({ length: 2000 }, (_, i) => ({ _id: `${n}-${i}`, a: i, b: 'x'.repeat(100) })));
    }
    const replies = await Promise.all([server.post(`/${db}/_index_advisor`, {}), server.post(`/${db}/_partition_advisor`, { candidates: ['/a'] })]);
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 409]);
    expectError(replies.find(({ status }) => status === 409), 409, 'advisor_running');
    expectStatus(await server.post(`/${db}/_index_advisor`, {}), 200);
  });
});
