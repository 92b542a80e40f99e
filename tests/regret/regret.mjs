// What _find costs against the best single index that use_index could have named: a database of documents with ten
// fields (independent, correlated, rare, in the order of time, at one end of it), an index on each, random queries.
//
//   node regret.mjs [--documents 100000] [--queries 500] [--seed 1] [--json FILE]
//
// Regret is the whole charge over that of the best single index. Fails when a query returns other rows than by an index,
// or when the regrets are above the goals below.
import fs from 'node:fs';
import { Server } from '../integration/harness.mjs';

const options = { documents: 100_000, queries: 500, seed: 1, json: '' };
for (let i = 2; i < process.argv.length; i += 2) {
  const name = process.argv[i].slice(2);
  if (!(name in options)) throw new Error(`no option --${name}`);
  options[name] = typeof options[name] === 'number' ? Number(process.argv[i + 1]) : process.argv[i + 1];
}
const goals = { median: 1.05, p99: 2.25, worst: 4 };

// mulberry32
let state = options.seed >>> 0;
const random = () => {
  state = (state + 0x6D2B79F5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];

const n = options.documents;
const fields = ['zipf', 'group', 'rare', 'time', 'skew', 'even', 'few', 'anti', 'recent', 'early'];
const columns = Object.fromEntries(fields.map((name) => [name, new Int32Array(n)]));

function makeDocument(i) {
  const zipf = Math.floor(Math.min(Math.max(random(), 1e-9) ** (-1 / 0.8), 20_000));
  const rare = random();
  const values = {
    zipf,
    group: zipf % 64,
    rare: rare < 0.001 ? 2 : rare < 0.02 ? 1 : 0,
    time: i + below(64),
    skew: Math.floor(random() ** 2.5 * 2000),
    even: below(100_000),
    few: below(5),
    anti: zipf <= 3 ? below(50) : 50 + below(50),
    recent: i > n - n / 20 || i % 997 === 0 ? 1 + below(3) : 0,
    early: i < n / 20 ? 1 + below(3) : 0,
  };
  for (const name of fields) columns[name][i] = values[name];
  return { _id: `${String(zipf).padStart(5, '0')}-${i}`, ...values, text: 'x'.repeat(100) };
}

const valueOf = (field) => columns[field][below(n)];

function makeQuery() {
  const selector = {};
  const conditions = 1 + below(3);
  while (Object.keys(selector).length < conditions) {
    const field = pick(fields);
    if (field in selector) continue;
    let value = valueOf(field);
    if (field === 'rare') value = below(3);
    if ((field === 'recent' || field === 'early') && below(4)) value = 1 + below(3);
    if (field === 'zipf' && below(2)) value = Math.floor(20_000 ** random());
    const range = ['time', 'even', 'skew', 'anti'].includes(field) && (field === 'time' || below(2));
    if (!range) selector[field] = below(12) ? value : { $in: [value, valueOf(field)] };
    else if (below(2)) selector[field] = { $gte: value };
    else selector[field] = { $gte: value, $lt: value + 1 + Math.floor((field === 'time' ? n : 100_000) ** random()) };
  }
  const query = { selector, limit: pick([1, 20, 20, 20, 25, 100]) };
  if (below(10) < 6) query.sort = [{ [pick(['time', 'time', 'time', 'even', 'skew'])]: pick(['asc', 'desc']) }];
  if (below(20) === 0) query.skip = below(50);
  return query;
}

async function load(server) {
  await server.put('/data');
  const batch = 5_000;
  for (let i = 0; i < n; i += batch) {
    const docs = [];
    for (let k = i; k < Math.min(n, i + batch); ++k) docs.push(makeDocument(k));
    const reply = await server.post('/data/_bulk_docs', { docs });
    if (reply.status !== 201 || reply.body.some((row) => row.error)) throw new Error(`load: ${reply.text.slice(0, 300)}`);
  }
  for (const field of fields) {
    await server.post('/data/_index', { index: { fields: [field] }, ddoc: field, name: field });
  }
  for (const field of fields) {  // a query that names an index waits until it is built
    const body = { selector: { [field]: { $gte: 0 } }, use_index: field, limit: 1 };
    for (let tries = 0; ; ++tries) {
      const reply = await server.post('/data/_find', body);
      if (reply.status === 200 && !/not used/.test(reply.body.warning ?? '')) break;
      if (tries > 20) throw new Error(`index ${field}: ${reply.text}`);
    }
  }
}

async function find(server, query) {
  const reply = await server.post('/data/_find', query);
  if (reply.status !== 200) throw new Error(`${JSON.stringify(query)}: ${reply.text}`);
  return { charge: Number(reply.headers['x-request-charge']), docs: reply.body.docs, warning: reply.body.warning ?? '' };
}

const server = await Server.start({ patience: 20 });
let failed = false;
try {
  const begun = Date.now();
  await load(server);
  console.log(`${n} documents and ${fields.length} indexes in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  const regrets = [];
  let sum = 0;
  let bestSum = 0;
  const slow = [];
  while (regrets.length < options.queries) {
    const query = makeQuery();
    const plain = await find(server, query);
    let best = Infinity;
    let bestIndex = '';
    const indexes = new Set([...Object.keys(query.selector), ...(query.sort ? Object.keys(query.sort[0]) : [])]);
    for (const index of indexes) {
      const forced = await find(server, { ...query, use_index: index });
      if (/not used/.test(forced.warning)) continue;
      if (forced.charge < best) [best, bestIndex] = [forced.charge, index];
      if (query.sort) {
        const field = Object.keys(query.sort[0])[0];
        const a = plain.docs.map((doc) => doc[field]).join();
        const b = forced.docs.map((doc) => doc[field]).join();
        if (a !== b) {
          failed = true;
          console.log(`other rows by ${index}: ${JSON.stringify(query)}`);
        }
      } else if (plain.docs.length !== forced.docs.length) {
        failed = true;
        console.log(`${plain.docs.length} rows, ${forced.docs.length} by ${index}: ${JSON.stringify(query)}`);
      }
    }
    if (best === Infinity) continue;
    const regret = plain.charge / best;
    regrets.push(regret);
    sum += plain.charge;
    bestSum += best;
    slow.push([regret, `${plain.charge} RU, ${best} by ${bestIndex}: ${JSON.stringify(query)}`]);
  }
  regrets.sort((a, b) => a - b);
  const at = (share) => regrets[Math.min(regrets.length - 1, Math.floor(regrets.length * share))];
  const row = {
    documents: n, queries: regrets.length, median: at(0.5), p90: at(0.9), p99: at(0.99), worst: regrets.at(-1),
    above2: regrets.filter((one) => one > 2).length / regrets.length, chargeOverBest: sum / bestSum,
  };
  console.log(Object.entries(row).map(([name, value]) => `${name} ${Number(value.toFixed(3))}`).join(', '));
  slow.sort((a, b) => b[0] - a[0]);
  for (const [regret, text] of slow.slice(0, 8)) console.log(`  ${regret.toFixed(2)}  ${text}`);
  if (options.json) fs.writeFileSync(options.json, JSON.stringify(row));
  for (const [name, goal] of Object.entries(goals)) {
    if (row[name] > goal) {
      failed = true;
      console.log(`${name} ${row[name].toFixed(2)} is above ${goal}`);
    }
  }
} finally {
  await server.stop();
}
process.exitCode = failed ? 1 : 0;
