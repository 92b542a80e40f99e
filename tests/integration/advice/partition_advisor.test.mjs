// Advice on partition keys: what it says of the connected cars of a year, and what it refuses.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosRequest } from '../cosmos_request.mjs';
import { expectError, expectStatus, Server } from '../harness.mjs';
import { BYTES, cars, EACH, telemetry } from './connected_cars.mjs';

const GB = 2 ** 30;
const LOGICAL_BYTES_MAX = Math.floor((20 * GB) / EACH);
const THROUGHPUT = 80_000;
const DOCUMENTS_PER_CALL = 2_500;
const QUERIES_OF_A_KIND = 334;
const composite = { concat: ['/id', '/month'], separator: '-' };

const near = (actual, expected, tolerance, what) =>
  assert.ok(Math.abs(actual / expected - 1) <= tolerance, `${what}: ${actual}, expected ${expected}`);

async function load(server, db) {
  let docs = [];
  const send = async () => {
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
    docs = [];
  };
  for (const document of telemetry()) {
    docs.push(document);
    if (docs.length === DOCUMENTS_PER_CALL) await send();
  }
  await send();
}

/// The three queries of the fleet's operators, as often as the advisor needs.
async function askForTelemetry(server, db) {
  for (let n = 0; n < QUERIES_OF_A_KIND; ++n) {
    const { id } = cars[n];
    const replies = await Promise.all([
      server.post(`/${db}/_find`, { selector: { year: 2019 + (n % 2) } }),
      server.post(`/${db}/_sql`, { query: 'SELECT * FROM c WHERE c.year = 2020 AND c.model = @model', parameters: [{ name: '@model', value: `m${n}` }] }),
      server.post(`/${db}/_find`, { selector: { id } }),
    ]);
    replies.forEach((reply) => expectStatus(reply, 200));
  }
}

describe('partition keys for connected cars', () => {
  let server, db, advice;
  const question = {
    candidates: ['/model', '/month', '/id', composite, ['/id', '/month']], time: '/at', throughput: THROUGHPUT, mode: 'exact',
  };
  const adviceOn = (key) => advice.candidates.find((each) => JSON.stringify(each.key) === JSON.stringify(key));
  before(async () => {
    server = await Server.start({
      args: ['--storage-durability', 'ephemeral', '--database-logical-partition-bytes-max', String(LOGICAL_BYTES_MAX)],
    });
    db = await server.database();
    await askForTelemetry(server, db);  // while that is fast: shapes do not depend on what is stored
    await load(server, db);
    advice = expectStatus(await server.post(`/${db}/_partition_advisor`, question, { timeoutMs: 120_000 }), 200);
  });
  after(() => server?.stop());

  test('all documents are read', () => {
    assert.equal(advice.documents, 256_230);
    assert.equal(advice.bytes, 256_230 * BYTES);
    assert.deepEqual([advice.exact, advice.current, advice.physical_partitions, advice.without_time], [true, null, 8, 0]);
    near(advice.days_observed, 365, 0.01, 'days');
    assert.equal(advice.warning, undefined);
  });

  test('the model is rejected: few values, one of them full in two weeks, and too many writes for it', () => {
    const model = adviceOn('/model');
    assert.equal(model.verdict, 'rejected');
    assert.deepEqual(model.values, { estimate: 24, low: 24, high: 24 });
    const [largest] = model.storage.largest;
    assert.equal(largest.value, 'model-a');
    near(largest.per_day, (1.339 * GB) / EACH, 0.01, 'growth');
    near(largest.full_after_days, 14.9, 0.01, 'full');
    assert.equal(largest.full_in_days, 0);
    near(model.throughput.writes_hottest_share, 0.2, 0.02, 'share');
    near(model.throughput.usable, 50_000, 0.02, 'usable');
    assert.deepEqual(model.throughput.over_10000, ['model-a']);
  });

  test('the month is rejected: full although it closes, and all present writes are in one logical partition', () => {
    const month = adviceOn('/month');
    assert.equal(month.verdict, 'rejected');
    assert.equal(month.values.estimate, 12);
    near(month.storage.closes_after_days, 30.5, 0.03, 'life');
    near(month.storage.largest[0].per_day, (6.695 * GB) / EACH, 0.04, 'growth');
    near(month.storage.largest[0].full_after_days, 3, 0.04, 'full');
    assert.equal(month.throughput.writes_hottest_share, 1);
    assert.equal(month.throughput.usable, 10_000);
    assert.deepEqual(month.throughput.over_10000, ['2020-05']);
  });

  test('the car is rejected for three years, because of the cars that drive most; a typical one has ten years', () => {
    const car = adviceOn('/id');
    assert.equal(car.verdict, 'rejected');
    assert.equal(car.values.estimate, cars.length);
    assert.equal(car.storage.closes_after_days, null);
    const [largest] = car.storage.largest;
    near(largest.per_day, 2212, 0.02, 'growth');
    near(largest.full_after_days, 2.66 * 365, 0.02, 'full');
    assert.ok(largest.full_in_days > 0 && largest.full_in_days < 3 * 365);
    near(car.storage.typical.full_after_days, 10.6 * 365, 0.02, 'typical');
    near(car.throughput.writes_hottest_share, 0.0031, 0.05, 'share');
    assert.equal(car.throughput.usable, THROUGHPUT);
    assert.match(car.reasons.join('\n'), /a typical value is full after 3\d{3}/);
  });

  test('car and month as a hierarchical key is recommended: each value closes far below the limit', () => {
    const both = adviceOn(['/id', '/month']);
    assert.deepEqual([both.verdict, both.rank, both.kind], ['recommended', 1, 'hierarchical']);
    assert.equal(both.values.estimate, 12_000);
    near(both.storage.closes_after_days, 30.5, 0.05, 'life');
    const [largest] = both.storage.largest;
    assert.deepEqual([largest.value[1].length, largest.full_in_days, largest.full_after_days], [7, null, null]);
    near(largest.bytes, 67_459, 0.05, 'bytes');
    near(both.throughput.writes_hottest_share, 0.0031, 0.2, 'share');
    assert.equal(both.throughput.usable, THROUGHPUT);
    assert.match(both.reasons[0], /^storage: values close after/);
  });

  test('the same in one property is good, and spreads the months of a car', () => {
    const joined = adviceOn(composite);
    assert.deepEqual([joined.verdict, joined.rank, joined.kind], ['good', 2, 'composite']);
    assert.equal(joined.values.estimate, 12_000);
    assert.match(joined.storage.largest[0].value, /^c\w+-20\d\d-\d\d$/);
    assert.ok(Math.max(...joined.storage.physical_shares) < Math.max(...adviceOn(['/id', '/month']).storage.physical_shares));
  });

  test('the recorded queries are shown by shape, without values, and with the keys under which they fan out', () => {
    assert.deepEqual([advice.recorded.requests, advice.recorded.enough], [3 * QUERIES_OF_A_KIND, true]);
    near(advice.recorded.since, Date.now() / 1000, 0.001, 'since');
    const shares = [['/model', 0.6667], ['/month', 1], ['/id', 0.6667], [composite, 1], [['/id', '/month'], 0.6667]];
    for (const [key, share] of shares) assert.equal(adviceOn(key).queries.fan_out_share, share, JSON.stringify(key));
    const shapes = adviceOn('/id').queries.by_shape.map(({ shape, count, fans_out, in_partition }) => [shape, count, fans_out, in_partition]);
    assert.deepEqual(shapes.sort(), [
      ['SELECT * FROM c WHERE c.year = ? AND c.model = ?', QUERIES_OF_A_KIND, true, false],
      ['id $eq ?', QUERIES_OF_A_KIND, false, false],
      ['year $eq ?', QUERIES_OF_A_KIND, true, false],
    ]);
  });

  test('without candidates, properties of recorded queries are proposed, alone and with the month', async () => {
    const { candidates, time, ...rest } = question;
    assert.equal(candidates.length, 5);
    const proposed = expectStatus(await server.post(`/${db}/_partition_advisor`, { ...rest, time }, { timeoutMs: 120_000 }), 200);
    const keys = proposed.candidates.map(({ key }) => JSON.stringify(key)).sort();
    assert.deepEqual(keys, ['"/id"', '"/model"', '["/id","/month"]', '["/model","/month"]', '["/year","/month"]']);
    assert.deepEqual([proposed.candidates[0].key, proposed.candidates[0].verdict], [['/id', '/month'], 'recommended']);
  });

  test('the shares of the physical partitions are those that a container gets', async () => {
    expectStatus(await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'fleet' } }), 201);
    const definition = { id: 'by-car', partitionKey: { paths: ['/id'], version: 2, kind: 'Hash' } };
    const headers = { 'x-ms-offer-throughput': String(THROUGHPUT) };
    expectStatus(await cosmosRequest(server, 'POST', '/dbs/fleet/colls', { body: definition, headers }), 201);
    const { partitions } = expectStatus(await server.get('/fleet%2Fby-car/_throughput'), 200);
    assert.equal(partitions.length, 8);
    const ids = cars.map(({ id, minutes }) => ({ id, minutes }));
    const shards = await Promise.all(ids.map(({ id }) => server.get(`/fleet%2Fby-car/_shards/${id}:x`)));
    const minutes = new Map(partitions.map(({ range }) => [range, 0]));
    shards.forEach((reply, index) => {
      const { range } = expectStatus(reply, 200);
      minutes.set(range, minutes.get(range) + ids[index].minutes);
    });
    const total = ids.reduce((sum, each) => sum + each.minutes, 0);
    const shares = adviceOn('/id').storage.physical_shares;
    [...minutes.values()].forEach((each, index) => near(shares[index], each / total, 0.02, `share ${index}`));
  });

  test('a sample leads to the same verdicts for keys with few values, with shares within its error', async () => {
    const sampled = expectStatus(await server.post(`/${db}/_partition_advisor`, { ...question, mode: 'sample' }, { timeoutMs: 120_000 }), 200);
    assert.deepEqual([sampled.exact, sampled.documents, sampled.sample.documents], [false, 256_230, 20_000]);
    for (const key of ['/model', '/month']) {
      const [exact, other] = [adviceOn(key), sampled.candidates.find((each) => each.key === key)];
      assert.equal(other.verdict, exact.verdict, key);
      exact.storage.physical_shares.forEach((share, i) =>
        assert.ok(Math.abs(share - other.storage.physical_shares[i]) < 2.5 * sampled.sample.share_error, `${key}: ${share}`));
      // Values of nearly the same size may stand in one of the two lists only.
      const shown = new Map(other.storage.largest.map((each) => [JSON.stringify(each.value), each]));
      const both = exact.storage.largest.filter(({ value }) => shown.has(JSON.stringify(value)));
      assert.ok(both.length > 0, key);
      for (const { value, bytes } of both) {
        const same = shown.get(JSON.stringify(value));
        assert.ok(Math.abs(bytes - same.bytes) < 2.5 * same.error_max, `${key}: ${bytes}, ${same.bytes} ± ${same.error_max}`);
      }
    }
    // A car and month has too few documents in the sample.
    const both = sampled.candidates.find(({ kind }) => kind === 'hierarchical');
    assert.match(both.reasons.join('\n'), /all documents must be read/);
  });

  test('as a page it shows the conclusions and charts of the slides', async () => {
    const page = expectStatus(await server.post(`/${db}/_partition_advisor`, question, { timeoutMs: 120_000, headers: { Accept: 'text/html' } }), 200);
    assert.match(page, /<strong>\[&quot;\/id&quot;,&quot;\/month&quot;\] is recommended\.<\/strong>/);
    assert.match(page, /<h2><code>\/model<\/code> <span class="rejected">rejected/);
    assert.match(page, /model-a: [\d.]+ MB/);
    assert.equal(page.match(/<section>/g).length, question.candidates.length);
  });

  test('one advisor runs at a time', async () => {
    const replies = await Promise.all([1, 2].map(() => server.post(`/${db}/_partition_advisor`, question, { timeoutMs: 120_000 })));
    const [first, second] = replies.sort((a, b) => a.status - b.status);
    expectStatus(first, 200);
    expectError(second, 409, 'advisor_running');
    expectStatus(await server.post(`/${db}/_partition_advisor`, question, { timeoutMs: 120_000 }), 200);
  });
});

describe('the partition advisor', () => {
  let server;
  before(async () => {
    server = await Server.start({ admin: true, args: ['--cosmos-key', 'emulator'] });
  });
  after(() => server?.stop());
  const ask = (db, body, options) => server.post(`/${db}/_partition_advisor`, body, options);
  const HOUR_S = 3600;

  test('deleted documents and design documents do not count, and documents without the key share a value', async () => {
    const db = await server.database();
    await server.fill(db, [{ _id: 'a', city: 'Oslo' }, { _id: 'b', city: 'Rome' }, { _id: 'c' }, { _id: 'd', city: ['x'] }, { _id: 'e', city: null }]);
    const [rev] = await server.fill(db, [{ _id: 'f', city: 'Bern' }]);
    expectStatus(await server.delete(`/${db}/f?rev=${rev}`), 200);
    expectStatus(await server.put(`/${db}/_design/d`, { city: 'Kiel' }), 201);
    const advice = expectStatus(await ask(db, { candidates: ['/city'] }), 200);
    assert.equal(advice.documents, 5);
    const [city] = advice.candidates;
    assert.deepEqual([city.values.estimate, city.missing], [4, 2]);
    assert.deepEqual(new Set(city.storage.largest.map(({ value }) => JSON.stringify(value))), new Set(['"Oslo"', '"Rome"', '{}', 'null']));
    assert.match(city.reasons.join('\n'), /2 documents lack the key/);
  });

  test('documents of one day say nothing of growth, and the reply says so', async () => {
    const db = await server.database();
    await server.fill(db, [{ _id: 'a', k: 1 }, { _id: 'b', k: 2 }]);
    const advice = expectStatus(await ask(db, { candidates: ['/k'] }), 200);
    assert.match(advice.warning, /growth is unknown/);
    assert.equal(advice.candidates[0].storage.largest[0].per_day, null);
    assert.equal(advice.candidates[0].throughput.usable, null);
  });

  test('times are seconds, milliseconds or texts; documents without a time are counted', async () => {
    const db = await server.database();
    await server.fill(db, [
      { _id: 'a', k: 1, at: 0 }, { _id: 'b', k: 1, at: 10 * 24 * HOUR_S }, { _id: 'c', k: 1, at: 1.5e12 }, { _id: 'd', k: 1, at: '2017-07-14' },
      { _id: 'e', k: 1, at: 'noon' }, { _id: 'f', k: 1 },
    ]);
    const advice = expectStatus(await ask(db, { candidates: ['/k'], time: '/at' }), 200);
    assert.equal(advice.without_time, 2);
    near(advice.days_observed, 1.5e9 / (24 * HOUR_S), 0.001, 'days');
  });

  test('an empty database gives empty advice', async () => {
    const db = await server.database();
    const advice = expectStatus(await ask(db, { candidates: ['/k', ['/a', '/b']], throughput: 20_000 }), 200);
    assert.deepEqual(advice.candidates.map(({ values, storage }) => [values.estimate, storage.largest.length, storage.physical_shares]),
      [[0, 0, [0, 0]], [0, 0, [0, 0]]]);
  });

  test('the first value of a hierarchical key must fit into a physical partition, too', async () => {
    const db = await server.database();
    const docs = Array.from({ length: 400 }, (_, n) => ({ _id: `${n}`, country: n % 10 ? 'de' : `c${n}`, car: `${n}`, at: n * 4 * HOUR_S }));
    await server.fill(db, docs);
    const advice = expectStatus(await ask(db, { candidates: [['/country', '/car'], '/car'], time: '/at', throughput: 40_000 }), 200);
    assert.deepEqual(advice.candidates.map(({ key, verdict }) => [key, verdict]), [['/car', 'recommended'], [['/country', '/car'], 'rejected']]);
    assert.match(advice.candidates[1].reasons.join('\n'), /have the first value "de", and share a physical partition/);
  });

  test('for a container the present key is shown, and whether ids could collide under another one', async () => {
    expectStatus(await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'shop' } }), 201);
    const definition = { id: 'orders', partitionKey: { paths: ['/customer'], version: 2, kind: 'Hash' } };
    expectStatus(await cosmosRequest(server, 'POST', '/dbs/shop/colls', { body: definition }), 201);
    for (const customer of ['ann', 'bob']) {
      const headers = { 'x-ms-documentdb-partitionkey': JSON.stringify([customer]) };
      expectStatus(await cosmosRequest(server, 'POST', '/dbs/shop/colls/orders/docs', { body: { id: '1', customer, day: '2026-01-01' }, headers }), 201);
    }
    const query = { query: 'SELECT * FROM c WHERE c.day IN ("2026-01-01", "2026-01-02") -- a comment', parameters: [] };
    const queryHeaders = { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' };
    for (const headers of [{ 'x-ms-documentdb-partitionkey': '["ann"]' }, { 'x-ms-documentdb-query-enablecrosspartition': 'true' }]) {
      expectStatus(await cosmosRequest(server, 'POST', '/dbs/shop/colls/orders/docs', { body: query, headers: { ...queryHeaders, ...headers } }), 200);
    }
    const advice = expectStatus(await ask('shop%2Forders', { candidates: ['/day', ['/customer', '/day'], '/id'] }), 200);
    assert.equal(advice.current, '/customer');
    const collisions = Object.fromEntries(advice.candidates.map(({ key, collisions_possible }) => [JSON.stringify(key), collisions_possible]));
    assert.deepEqual(collisions, { '"/day"': true, '["/customer","/day"]': false, '"/id"': true });
    const { by_shape: shapes } = advice.candidates.find(({ kind }) => kind === 'hierarchical').queries;
    assert.deepEqual(shapes.map(({ shape, in_partition, fans_out }) => [shape, in_partition, fans_out]).sort(),
      [['SELECT * FROM c WHERE c.day IN (?)', false, true], ['SELECT * FROM c WHERE c.day IN (?)', true, false]]);
  });

  test('with advice.record = false no query is recorded', async (t) => {
    const silent = await Server.startFor(t, { args: ['--advice-record=false'] });
    const db = await silent.database();
    await silent.fill(db, [{ _id: 'a', k: 1 }]);
    expectStatus(await silent.post(`/${db}/_find`, { selector: { k: 1 } }), 200);
    const advice = expectStatus(await silent.post(`/${db}/_partition_advisor`, { candidates: ['/k'] }), 200);
    assert.deepEqual(advice.recorded, { requests: 0, since: null, enough: false });
    assert.equal(advice.candidates[0].queries, null);
  });

  test('few recorded queries are shown, but do not decide', async () => {
    const db = await server.database();
    await server.fill(db, Array.from({ length: 20 }, (_, n) => ({ _id: `${n}`, a: n, b: n })));
    for (let n = 0; n < 3; ++n) expectStatus(await server.post(`/${db}/_find`, { selector: { b: n } }), 200);
    const advice = expectStatus(await ask(db, { candidates: ['/a', '/b'] }), 200);
    assert.deepEqual([advice.recorded.requests, advice.recorded.enough], [3, false]);
    assert.deepEqual(advice.candidates.map(({ key, queries }) => [key, queries.fan_out_share]), [['/a', 1], ['/b', 0]]);
  });

  test('without candidates and without queries, the id is proposed, if there are enough documents', async () => {
    const db = await server.database();
    await server.fill(db, Array.from({ length: 20 }, (_, n) => ({ _id: `${n}`, day: `2026-01-${String(n + 1).padStart(2, '0')}` })));
    const advice = expectStatus(await ask(db, {}), 200);
    assert.deepEqual(advice.candidates.map(({ key }) => key), ['/_id', ['/_id', '/day']]);
    const few = await server.database();
    await server.fill(few, [{ _id: 'a' }]);
    assert.deepEqual(expectStatus(await ask(few, {}), 200).candidates, []);
  });

  test('wrong requests are refused', async () => {
    const db = await server.database();
    const wrong = [
      [{ candidates: [] }, /`candidates` must be a list of 1 to 16/],
      [{ candidates: Array(17).fill('/a') }, /`candidates` must be a list of 1 to 16/],
      [{ candidates: ['model'] }, /The path 'model' is not valid/],
      [{ candidates: [['/a', 'b']] }, /The path 'b' is not valid/],
      [{ candidates: [['/a', '/b', '/c', '/d']] }, /is no candidate/],
      [{ candidates: [7] }, /7 is no candidate/],
      [{ candidates: [{ concat: ['/a'] }] }, /is no candidate/],
      [{ candidates: [{ concat: ['/a', '/b'], with: '-' }] }, /is no candidate/],
      [{ candidates: ['/a'], time: 'at' }, /The path 'at' is not valid/],
      [{ candidates: ['/a'], time: 7 }, /`time` must be a path/],
      [{ candidates: ['/a'], throughput: 0 }, /`throughput` must be a whole number from 1/],
      [{ candidates: ['/a'], horizon_days: 1.5 }, /`horizon_days` must be a whole number from 1/],
      [{ candidates: ['/a'], mode: 'quick' }, /`mode` must be "exact", .* or "sample"/],
      [{ candidates: ['/a'], sample: 7 }, /Unknown member of the request: sample/],
    ];
    for (const [body, reason] of wrong) {
      const reply = await ask(db, body);
      expectError(reply, 400, 'bad_request');
      assert.match(reply.body.reason, reason);
    }
    expectError(await ask(db, '[]'), 400, 'bad_request');
    expectError(await ask('none', { candidates: ['/a'] }), 404, 'not_found');
  });

  test('only administrators may ask', async () => {
    const db = await server.database();
    expectStatus(await server.put('/_users/org.couchdb.user:ann', { name: 'ann', password: 'secret', roles: [], type: 'user' }), 201);
    expectStatus(await server.put(`/${db}/_security`, { members: { names: ['ann'] }, admins: { names: ['bob'] } }), 200);
    expectError(await ask(db, { candidates: ['/a'] }, { auth: 'ann:secret' }), 403, 'forbidden');
    expectError(await ask(db, { candidates: ['/a'] }, { auth: false }), 401, 'unauthorized');
    expectStatus(await server.put(`/${db}/_security`, { admins: { names: ['ann'] } }), 200);
    expectStatus(await ask(db, { candidates: ['/a'] }, { auth: 'ann:secret' }), 200);
  });
});
