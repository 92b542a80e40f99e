// What _find, and SQL with ORDER BY, cost against the best single index that use_index could have named for the same
// _find: the documents and queries of workload.mjs, with an index on each field.
//
//   node regret.mjs [--documents 100000] [--queries 500] [--sql 250] [--seed 1] [--json FILE]
//
// Regret is the whole charge over that of the best single index. Fails when a query returns other rows than by an index,
// or when the regrets are above the goals below.
import fs from 'node:fs';
import { dose } from '../dose.mjs';
import { Server } from '../integration/harness.mjs';
import { fields, lineOf, summary, Workload } from './workload.mjs';

const options = { documents: dose(100_000), queries: dose(500), sql: dose(250), seed: 1, json: '' };
for (let i = 2; i < process.argv.length; i += 2) {
  const name = process.argv[i].slice(2);
  if (!(name in options)) throw new Error(`no option --${name}`);
  options[name] = typeof options[name] === 'number' ? Number(process.argv[i + 1]) : process.argv[i + 1];
}
const goals = { find: { median: 1.05, p99: 2, worst: 3 }, sql: { median: 1.05, p99: 2, worst: 3 } };
const zero = { $gte: 0 };  // all numbers: an index in Mango's order has the order of SQL only of these

const n = options.documents;
const workload = new Workload(options);

async function load(server) {
  await server.put('/data');
  const batch = 5_000;
  for (let i = 0; i < n; i += batch) {
    const docs = [];
    for (let k = i; k < Math.min(n, i + batch); ++k) docs.push(workload.document(k));
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
  const [[field, direction]] = Object.entries(sort[0]);
  return `SELECT * FROM c WHERE ${conditions.join(' AND ')} ORDER BY c.${field} ${direction} OFFSET ${skip} LIMIT ${limit}`;
}

async function askInSql(server, query) {
  const reply = await server.post('/data/_sql', { query: textOfQuery(query), limit: 1000 });
  if (reply.status !== 200) throw new Error(`${textOfQuery(query)}: ${reply.text}`);
  return { charge: Number(reply.headers['x-request-charge']), docs: reply.body.docs };
}

/// False: other rows than by an index, or regrets above the goals.
async function compare(server, name, count, make, ask) {
  let ok = true;
  const regrets = [];
  let sum = 0;
  let bestSum = 0;
  const slow = [];
  while (regrets.length < count) {
    const query = make();
    const plain = await ask(server, query);
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
          ok = false;
          console.log(`other rows by ${index}: ${JSON.stringify(query)}`);
        }
      } else if (plain.docs.length !== forced.docs.length) {
        ok = false;
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
  const row = summary(n, regrets, sum / bestSum);
  console.log(`${name}: ${lineOf(row)}`);
  slow.sort((a, b) => b[0] - a[0]);
  for (const [regret, text] of slow.slice(0, 8)) console.log(`  ${regret.toFixed(2)}  ${text}`);
  for (const [key, goal] of Object.entries(goals[name])) {
    if (row[key] > goal) {
      ok = false;
      console.log(`${name}: ${key} ${row[key].toFixed(2)} is above ${goal}`);
    }
  }
  rows[name] = row;
  return ok;
}

const rows = {};
const server = await Server.start({ patience: 20 });
let ok = true;
try {
  const begun = Date.now();
  await load(server);
  console.log(`${n} documents and ${fields.length} indexes in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  if (options.queries > 0) ok = await compare(server, 'find', options.queries, () => workload.query(), find);
  if (options.sql > 0) ok = (await compare(server, 'sql', options.sql, makeOrderedQuery, askInSql)) && ok;
  // One table of both; scripts read the members of _find at the top.
  if (options.json) fs.writeFileSync(options.json, JSON.stringify({ ...rows.find, sql: rows.sql }));
} finally {
  await server.stop();
}
process.exitCode = ok ? 0 : 1;
