// The regret of PostgreSQL on the documents and queries of workload.mjs, as a measure for ours.
//
//   node postgres.mjs [--documents 100000] [--queries 500] [--seed 1] [--bin /usr/lib/postgresql/15/bin]
//
// A table of JSONB with an index on each field and fresh statistics, in a cluster of its own. A plan is charged as ours
// are: entries and documents that its scans read, from EXPLAIN ANALYZE. The best single index is found by hiding the others.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fields, lineOf, summary, Workload } from './workload.mjs';

const options = { documents: 100_000, queries: 500, seed: 1, bin: '/usr/lib/postgresql/15/bin' };
for (let i = 2; i < process.argv.length; i += 2) {
  const name = process.argv[i].slice(2);
  if (!(name in options)) throw new Error(`no option --${name}`);
  options[name] = typeof options[name] === 'number' ? Number(process.argv[i + 1]) : process.argv[i + 1];
}
const entryCharge = 0.02;
const documentCharge = 0.09;  // of about 250 bytes

// PostgreSQL does not run as root; Debian's package makes this user.
const asUser = process.getuid() === 0 ? ['runuser', '-u', 'postgres', '--'] : [];
const run = (program, args, stdio = 'pipe') => {
  const [file, ...rest] = [...asUser, path.join(options.bin, program), ...args];
  return execFileSync(file, rest, { cwd: '/', encoding: 'utf8', maxBuffer: 2 ** 30, stdio });
};

const expression = (field) => `((doc->>'${field}')::int)`;

function sqlOf({ selector, sort, limit, skip }) {
  const conditions = Object.entries(selector).flatMap(([field, condition]) => {
    if (typeof condition === 'number') return [`${expression(field)} = ${condition}`];
    if (condition.$in) return [`${expression(field)} IN (${condition.$in.join()})`];
    const range = [`${expression(field)} >= ${condition.$gte}`];
    if (condition.$lt !== undefined) range.push(`${expression(field)} < ${condition.$lt}`);
    return range;
  });
  const order = sort ? Object.entries(sort[0]).map(([field, way]) => ` ORDER BY ${expression(field)} ${way}`)[0] : '';
  return `SELECT doc FROM data WHERE ${conditions.join(' AND ')}${order} LIMIT ${limit} OFFSET ${skip ?? 0}`;
}

// Entries and documents read by the scans under a plan's node.
function chargeOf(node) {
  const rows = (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1);
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  let charge = 0;
  if (node['Node Type'] === 'Seq Scan') charge = (rows + removed) * documentCharge;
  if (node['Node Type'] === 'Index Scan') charge = (rows + removed) * (entryCharge + documentCharge);
  if (node['Node Type'] === 'Bitmap Index Scan') charge = rows * entryCharge;
  if (node['Node Type'] === 'Bitmap Heap Scan') charge = (rows + removed) * documentCharge;
  for (const child of node.Plans ?? []) charge += chargeOf(child);
  return charge;
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-postgres-'));
fs.chmodSync(folder, 0o777);
const cluster = path.join(folder, 'cluster');
try {
  run('initdb', ['-D', cluster, '-A', 'trust', '-U', 'postgres', '--no-sync']);
  const settings = `-k ${folder} -c listen_addresses= -c fsync=off -c shared_buffers=1GB -c max_parallel_workers_per_gather=0 -c random_page_cost=1.1`;
  run('pg_ctl', ['-D', cluster, '-w', '-l', path.join(folder, 'log'), '-o', settings, 'start'], 'ignore');

  const workload = new Workload(options);
  const script = path.join(folder, 'script.sql');
  const out = fs.openSync(script, 'w');
  const write = (text) => fs.writeSync(out, `${text}\n`);
  write('CREATE TABLE data (doc jsonb);\nCOPY data FROM stdin;');
  for (let i = 0; i < options.documents; ++i) write(JSON.stringify(workload.document(i)));
  write('\\.');
  for (const field of fields) write(`CREATE INDEX by_${field} ON data (${expression(field)});`);
  write('VACUUM ANALYZE data;');
  const explain = 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON)';
  for (let i = 0; i < options.queries; ++i) {
    const query = workload.query();
    const sql = sqlOf(query);
    write(`\\echo @@ ${JSON.stringify(query)}\n\\echo @ plain\n${explain} ${sql};`);
    for (const field of new Set([...Object.keys(query.selector), ...Object.keys(query.sort?.[0] ?? {})])) {
      write(`BEGIN; SET LOCAL enable_seqscan = off; UPDATE pg_index SET indisvalid = false FROM pg_class c
        WHERE c.oid = indexrelid AND indrelid = 'data'::regclass AND relname <> 'by_${field}';`);
      write(`\\echo @ ${field}\n${explain} ${sql};\nROLLBACK;`);
    }
  }
  fs.closeSync(out);
  const output = run('psql', ['-h', folder, '-U', 'postgres', '-qAtX', '-v', 'ON_ERROR_STOP=1', '-f', script]);

  const queries = output.split('@@ ').slice(1).map((block) => {
    const [query, ...runs] = block.split('\n@ ');
    const charges = runs.map((text) => {
      const end = text.indexOf('\n');
      return [text.slice(0, end), 1 + chargeOf(JSON.parse(text.slice(end))[0].Plan)];
    });
    const [plain, ...forced] = charges;
    const best = forced.toSorted((a, b) => a[1] - b[1])[0];
    return { query, charge: plain[1], best: best[1], text: `${plain[1].toFixed(1)}, ${best[1].toFixed(1)} by ${best[0]}` };
  });
  const sum = (of) => queries.reduce((total, one) => total + of(one), 0);
  const regrets = queries.map((one) => one.charge / one.best);
  console.log(lineOf(summary(options.documents, regrets, sum((one) => one.charge) / sum((one) => one.best))));
  for (const one of queries.toSorted((a, b) => b.charge / b.best - a.charge / a.best).slice(0, 5)) {
    console.log(`  ${(one.charge / one.best).toFixed(2)}  ${one.text}: ${one.query}`);
  }
} finally {
  try {
    run('pg_ctl', ['-D', cluster, '-m', 'immediate', 'stop'], 'ignore');
  } catch {}
  execFileSync('rm', ['-rf', folder]);
}
