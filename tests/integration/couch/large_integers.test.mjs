// Integers beyond 64 bits in Mango, compared with exact arithmetic (BigInt): with and without indexes.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { docIds, expectError, expectStatus, patience, Server } from '../harness.mjs';

// A generator that prints its seed: `SEED=7` repeats a run.
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
let state = seed;
function random(below) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

// Few nearest doubles, many integers with each.
const anchors = [2n ** 63n, 2n ** 64n, 10n ** 23n, 2n ** 128n, 2n ** 1024n, 10n ** 330n];
function randomInteger() {
  const distance = [0n, 1n, 2n, 1000n, 2n ** 20n][random(5)] * BigInt(random(3) - 1);
  const value = anchors[random(anchors.length)] + distance;
  return random(2) ? value : -value;
}
const randomDouble = () => [2 ** 63, 2 ** 64, 1e23, 2 ** 128, 1e300, 0.5, 7.25][random(7)] * (random(2) ? 1 : -1);
const randomNumber = () => (random(4) ? randomInteger() : randomDouble());

// A large number with an exponent, as JSON.stringify would write it as an integer, and a rounded one.
const text = (value) =>
  typeof value === 'bigint' ? String(value)
  : typeof value === 'number' && !Number.isSafeInteger(value) ? value.toExponential()
  : JSON.stringify(value);
const json = (value) =>
  Array.isArray(value) ? `[${value.map(json)}]`
  : typeof value === 'object' && value !== null ? `{${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:${json(v)}`)}}`
  : text(value);

// JavaScript compares a BigInt and a number by their mathematical values.
const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const holds = {
  $eq: (value, argument) => order(value, argument) === 0,
  $ne: (value, argument) => order(value, argument) !== 0,
  $lt: (value, argument) => order(value, argument) < 0,
  $lte: (value, argument) => order(value, argument) <= 0,
  $gt: (value, argument) => order(value, argument) > 0,
  $gte: (value, argument) => order(value, argument) >= 0,
  $in: (value, list) => list.some((argument) => order(value, argument) === 0),
  $nin: (value, list) => list.every((argument) => order(value, argument) !== 0),
  $mod: (value, [divisor, remainder]) => typeof value === 'bigint' && value % divisor === remainder,
};

function randomCondition() {
  const operators = Object.keys(holds);
  const operator = operators[random(operators.length)];
  if (operator === '$in' || operator === '$nin') return [operator, Array.from({ length: 1 + random(12) }, randomNumber)];
  if (operator !== '$mod') return [operator, randomNumber()];
  const divisor = random(2) ? BigInt(1 + random(9)) : randomInteger();
  return ['$mod', [divisor, random(2) ? BigInt(random(9) - 4) : randomInteger() % divisor]];
}

describe(`integers beyond 64 bits (seed ${seed})`, () => {
  let server;
  const documents = Array.from({ length: 300 }, (_, i) => ({ _id: `d${String(i).padStart(3, '0')}`, n: randomNumber() }));
  const byValue = [...documents].sort((a, b) => order(a.n, b.n) || order(a._id, b._id));

  before(async () => {
    server = await Server.start();
    for (const db of ['scanned', 'indexed']) {
      expectStatus(await server.put(`/${db}?q=2`), 201);
      const body = `{"docs":[${documents.map(json)}]}`;
      expectStatus(await server.post(`/${db}/_bulk_docs`, body), 201);
    }
    expectStatus(await server.post('/indexed/_index', { index: { fields: ['n'] }, ddoc: 'by-n', name: 'by-n' }), 200);
  });
  after(() => server.stop());

  async function find(db, body) {
    const reply = await server.post(`/${db}/_find`, json(body));
    expectStatus(reply, 200);
    return docIds(reply.body.docs);
  }

  for (const db of ['scanned', 'indexed']) {
    test(`random conditions find what exact arithmetic finds (${db})`, { timeout: 60_000 * patience }, async () => {
      for (let i = 0; i < 300; ++i) {
        const [operator, argument] = randomCondition();
        const expected = documents.filter((doc) => holds[operator](doc.n, argument)).map((doc) => doc._id);
        const found = await find(db, { selector: { n: { [operator]: argument } }, fields: ['_id'], limit: 1000 });
        assert.deepEqual(found.sort(), expected, `${operator} ${json(argument)}`);
      }
    });

    test(`documents are sorted by exact values (${db})`, async () => {
      const rows = await find(db, { selector: { n: { $gt: null } }, sort: ['n'], fields: ['_id'], limit: 1000 });
      const values = new Map(documents.map((doc) => [doc._id, doc.n]));
      assert.equal(rows.length, documents.length);
      rows.forEach((id, i) => assert.equal(order(values.get(id), byValue[i].n), 0, `row ${i}`));
    });
  }

  test('an index answers equality with the one integer asked for', async () => {
    const reply = await server.post('/indexed/_find', `{"selector":{"n":${2n ** 64n}},"limit":1000,"execution_stats":true}`);
    const expected = documents.filter((doc) => order(doc.n, 2n ** 64n) === 0).length;
    assert.equal(reply.body.docs.length, expected);
    assert.equal(reply.body.execution_stats.total_keys_examined, expected);
  });

  test('a partial index filters by exact values, and its definition shows them', async () => {
    const filter = `{"n":{"$gt":${2n ** 64n}}}`;
    const index = `{"index":{"fields":["n"],"partial_filter_selector":${filter}},"ddoc":"large","name":"large"}`;
    expectStatus(await server.post('/indexed/_index', index), 200);
    const listed = await server.get('/indexed/_index');
    assert.match(listed.text, new RegExp(`"\\$gt":${2n ** 64n}[,}]`));
    const explained = await server.post('/indexed/_explain', `{"selector":${filter},"use_index":["large","large"]}`);
    expectStatus(explained, 200);
    assert.match(explained.text, new RegExp(`"\\$gt":${2n ** 64n}[,}]`));
    const expected = documents.filter((doc) => doc.n > 2n ** 64n).map((doc) => doc._id);
    const found = await find('indexed', { selector: { n: { $gt: 2n ** 64n } }, use_index: ['large', 'large'], limit: 1000 });
    assert.deepEqual(found.sort(), expected);
  });

  test('groups are of equal values', async () => {
    const reply = await server.post('/scanned/_find', { selector: {}, distinct: 'n', limit: 1000 });
    expectStatus(reply, 200);
    const different = byValue.filter((doc, i) => i === 0 || order(doc.n, byValue[i - 1].n) !== 0);
    assert.equal(reply.body.docs.length, different.length);
  });

  test('a limit that is such an integer is refused in words', async () => {
    const reply = await server.post('/scanned/_find', '{"selector":{},"limit":18446744073709551616}');
    expectError(reply, 400, 'invalid_non_neg_integer');
  });
});
