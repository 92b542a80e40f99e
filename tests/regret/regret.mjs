// What _find, and SQL with and without ORDER BY, cost against the best single index that use_index could have named for
// the same _find: the documents and queries of workload.mjs, with an index on each field.
//
//   node regret.mjs [--documents 100000] [--queries 500] [--sql 250] [--mixed 250] [--unordered 250] [--seed 1]
//                   [--cap 0] [--json FILE] [--data workload]
//
// --data telemetry: the documents and queries of telemetry.mjs, and queries by _find only.
// --cap: an index that costs more than this many times the charge is not read to its end, and counts as if it cost that
// much. Without it (0) a query of 10,000,000 documents takes minutes.
//
// Regret is the whole charge over that of the best single index. Fails when a query returns other rows than by an index,
// or when the regrets are above the goals below. For the mixed queries there are composite indexes, too, and a query with
// alternatives may also be answered by one query for each of them.
import fs from 'node:fs';
import { dose } from '../dose.mjs';
import { Server } from '../integration/harness.mjs';
import * as telemetry from './telemetry.mjs';
import { composites, fields as numbers, lineOf, summary, Workload } from './workload.mjs';

const options = { documents: dose(100_000), queries: dose(500), sql: dose(250), mixed: dose(250), unordered: dose(250), seed: 1, cap: 0, json: '',
  data: 'workload' };
for (let i = 2; i < process.argv.length; i += 2) {
  const name = process.argv[i].slice(2);
  if (!(name in options)) throw new Error(`no option --${name}`);
  options[name] = typeof options[name] === 'number' ? Number(process.argv[i + 1]) : process.argv[i + 1];
}
const goals = {
  find: { median: 1.05, p99: 2, worst: 3 },
  sql: { median: 1.05, p99: 2, worst: 3 },
  mixed: { median: 1.05, p99: 2.5, worst: 4 },
  unordered: { median: 1.05, p99: 3.5, worst: 4.5 },
  telemetry: { median: 1.05, p99: 2.5, worst: 3 },
};
// A run of thousands of queries meets rarer ones. With fewer than a hundred queries, p99 is the worst query.
const goalsOfLongRuns = {
  find: { median: 1.05, p99: 2.5, worst: 5 },
  sql: { median: 1.05, p99: 2.5, worst: 4 },
  mixed: { median: 1.05, p99: 4, worst: 5 },
  unordered: { median: 1.05, p99: 4.5, worst: 6 },
  telemetry: { median: 1.05, p99: 3.5, worst: 5 },
};
const zero = { $gte: 0 };  // all numbers: an index in Mango's order has the order of SQL only of these

const n = options.documents;
const isTelemetry = options.data === 'telemetry';
if (isTelemetry) Object.assign(options, { sql: 0, mixed: 0, unordered: 0 });
const nameOfFind = isTelemetry ? 'telemetry' : 'find';
const fields = isTelemetry ? telemetry.fields : numbers;
const workload = isTelemetry ? new telemetry.Telemetry(options) : new Workload(options);

async function createIndexes(server, indexes) {
  for (const index of indexes) {
    const name = index.join('-');
    await server.post('/data/_index', { index: { fields: index }, ddoc: name, name });
  }
  for (const index of indexes) {  // a query that names an index waits until it is built
    const name = index.join('-');
    const body = { selector: Object.fromEntries(index.map((field) => [field, { $gt: null }])), use_index: name, limit: 1 };
    for (let tries = 0; ; ++tries) {
      const reply = await server.post('/data/_find', body);
      if (reply.status === 200 && !/not used/.test(reply.body.warning ?? '')) break;
      if (tries > 20) throw new Error(`index ${name}: ${reply.text}`);
    }
  }
}

async function load(server) {
  await server.put('/data');
  const batch = 5_000;
  for (let i = 0; i < n; i += batch) {
    const docs = [];
    for (let k = i; k < Math.min(n, i + batch); ++k) docs.push(workload.document(k));
    const reply = await server.post('/data/_bulk_docs', { docs });
    if (reply.status !== 201 || reply.body.some((row) => row.error)) throw new Error(`load: ${reply.text.slice(0, 300)}`);
  }
  await createIndexes(server, fields.map((field) => [field]));
}

async function find(server, query, most) {
  const reply = await server.post('/data/_find', query, most ? { headers: { 'X-Max-Request-Charge': String(most) } } : {});
  if (most && (reply.body.stopped || reply.body.error === 'request_charge_exceeded')) return undefined;
  if (reply.status !== 200) throw new Error(`${JSON.stringify(query)}: ${reply.text}`);
  return { charge: Number(reply.headers['x-request-charge']), docs: reply.body.docs, warning: reply.body.warning ?? '' };
}

function makeOrderedQuery() {
  while (true) {
    const query = workload.query();
    if (!query.sort) continue;
    query.selector[Object.keys(query.sort[0])[0]] ??= zero;
    return query;
  }
}

function textOfQuery({ selector, sort, skip = 0, limit }) {
  const conditions = Object.entries(selector).map(([field, value]) => {
    if (typeof value === 'number') return `c.${field} = ${value}`;
    if (value.$in) return `c.${field} IN (${value.$in.join(', ')})`;
    const bounds = [`c.${field} >= ${value.$gte}`];
    if (value.$lt !== undefined) bounds.push(`c.${field} < ${value.$lt}`);
    return bounds.join(' AND ');
  });
  const order = sort ? ` ORDER BY c.${Object.entries(sort[0])[0].join(' ')}` : '';
  return `SELECT * FROM c WHERE ${conditions.join(' AND ')}${order} OFFSET ${skip} LIMIT ${limit}`;
}

async function askInSql(server, query) {
  const reply = await server.post('/data/_sql', { query: textOfQuery(query), limit: 1000 });
  if (reply.status !== 200) throw new Error(`${textOfQuery(query)}: ${reply.text}`);
  return { charge: Number(reply.headers['x-request-charge']), docs: reply.body.docs };
}

const fieldsOf = ({ selector, sort = [] }) =>
  new Set([selector, ...(selector.$or ?? []), ...(selector.$and ?? []), ...sort].flatMap((part) => Object.keys(part)));

/// The lowest charge by an index that can be named: { charge, index, rows }, or undefined if none can be used.
async function findBest(server, query, indexes, most) {
  const used = fieldsOf(query);
  let best;
  let isCapped = false;
  for (const index of indexes.filter((one) => one.some((field) => used.has(field)))) {
    const name = index.join('-');
    const forced = await find(server, { ...query, use_index: name }, most);
    isCapped ||= !forced;
    if (!forced) continue;
    if (/not used/.test(forced.warning)) continue;
    checkRows(query, forced, name);
    if (!best || forced.charge < best.charge) best = { charge: forced.charge, index: name };
  }
  return best ?? (isCapped ? { charge: most, index: 'none that is read to its end' } : undefined);
}

let ok = true;
let expected;  // the rows of the query that is compared
function checkRows(query, { docs }, index) {
  if (!expected) return;
  const field = query.sort && Object.keys(query.sort[0])[0];
  if (docs.length === expected.length && (!field || docs.every((doc, i) => doc[field] === expected[i][field]))) return;
  ok = false;
  console.log(`${expected.length} rows, other ${docs.length} by ${index}: ${JSON.stringify(query)}`);
}

/// The alternatives of the query as one query each, with every row that the whole may need; undefined if one has no index,
/// or if the rows of the queries would have to be merged in an order.
async function findBestOfEach(server, query, indexes, most) {
  const { $or: alternatives, ...others } = query.selector;
  if (!alternatives || query.sort) return undefined;
  let charge = 0;
  for (const one of alternatives) {
    const part = { ...query, selector: { $and: [one, others] }, limit: query.limit + (query.skip ?? 0), skip: 0 };
    const best = await findBest(server, part, indexes, most);
    if (!best) return undefined;
    charge += best.charge;
  }
  return { charge, index: 'one query for each alternative' };
}

async function compare(server, name, count, make, ask, indexes) {
  const regrets = [];
  let sum = 0;
  let bestSum = 0;
  const slow = [];
  while (regrets.length < count) {
    const query = make();
    const plain = await ask(server, query);
    // Without the field of the order, rows cannot be compared.
    const ordered = query.sort && Object.keys(query.sort[0])[0];
    expected = query.fields && ordered && !query.fields.includes(ordered) ? undefined : plain.docs;
    const most = options.cap && options.cap * plain.charge;
    const whole = await findBest(server, query, indexes, most);
    expected = undefined;
    const each = await findBestOfEach(server, query, indexes, most);
    const best = [whole, each].filter(Boolean).toSorted((a, b) => a.charge - b.charge)[0];
    if (!best) continue;
    const regret = plain.charge / best.charge;
    regrets.push(regret);
    sum += plain.charge;
    bestSum += best.charge;
    slow.push([regret, `${plain.charge} RU, ${best.charge} by ${best.index}: ${JSON.stringify(query)}`]);
  }
  const row = summary(n, regrets, sum / bestSum);
  console.log(`${name}: ${lineOf(row)}`);
  slow.sort((a, b) => b[0] - a[0]);
  for (const [regret, text] of slow.slice(0, 8)) console.log(`  ${regret.toFixed(2)}  ${text}`);
  for (const [key, goal] of Object.entries((n > 1_000_000 || count > 1_000 ? goalsOfLongRuns : goals)[name])) {
    if (row[key] > goal) {
      ok = false;
      console.log(`${name}: ${key} ${row[key].toFixed(2)} is above ${goal}`);
    }
  }
  rows[name] = row;
}

const rows = {};
const server = await Server.start({ patience: 20 });
try {
  const begun = Date.now();
  await load(server);
  console.log(`${n} documents and ${fields.length} indexes in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  const single = fields.map((field) => [field]);
  if (options.queries > 0) await compare(server, nameOfFind, options.queries, () => workload.query(), find, single);
  if (options.sql > 0) await compare(server, 'sql', options.sql, makeOrderedQuery, askInSql, single);
  if (options.mixed > 0) {
    await createIndexes(server, composites);
    await compare(server, 'mixed', options.mixed, () => workload.mixedQuery(), find, [...single, ...composites]);
  }
  if (options.unordered > 0) {  // last, so that the others have the same queries with and without these
    const all = options.mixed > 0 ? [...single, ...composites] : single;
    await compare(server, 'unordered', options.unordered, () => workload.unorderedQuery(), askInSql, all);
  }
  // One table of all; scripts read the members of _find at the top.
  if (options.json) fs.writeFileSync(options.json, JSON.stringify({ ...rows[nameOfFind], sql: rows.sql, mixed: rows.mixed, unordered: rows.unordered }));
} finally {
  await server.stop();
}
process.exitCode = ok ? 0 : 1;
