// The analytical store: how fast documents become rows, how far it lags, how long queries take, and what a heavy query in a
// loop does to the latency of GET and PUT beside it; in comparison, what a program does that only computes, at the priority of
// the analytical process, and uses neither memory nor the disk.
//   node tests/bench/analytics/analytics.mjs [documents] [seconds of each round]
// OCTAVO_BINARY: the server, default build/octavo. DuckDB's library is fetched by scripts/install-analytics.sh.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

process.env.OCTAVO_BINARY ??= path.resolve('build/octavo');
const { Server } = await import('../../integration/harness.mjs');
const documents = Number(process.argv[2] ?? 200_000);
const roundSeconds = Number(process.argv[3] ?? 10);
const batch = 2_000;
const cities = 1_000;

execFileSync('scripts/install-analytics.sh', ['build'], { stdio: 'inherit' });

const order = (n) => ({
  _id: `o${String(n).padStart(9, '0')}`, type: 'order', customer: n % 50_021, city: `city ${(n * 7919) % cities}`,
  price: ((n * 31) % 100_000) / 100, quantity: 1 + (n % 9), paid: n % 3 === 0,
  created: new Date(1.7e12 + n * 1000).toISOString(), size: { w: n % 50, h: n % 70 }, note: 'a note of the customer',
});

const server = await Server.start({ args: ['--analytics-enabled', `--analytics-library=${path.resolve('build/libduckdb.so')}`, '--log-access=false'] });
const ask = async (method, target, body) => {
  const reply = await server[method](target, body, { timeoutMs: 900_000 });
  if (reply.status >= 300) throw new Error(reply.text);
  return reply.body;
};
const sql = (text) => ask('post', '/_analytics/sql', { db, sql: text });
const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
const shown = (times) => {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.99].map((q) => `p${q * 100} ${quantile(sorted, q).toFixed(2)} ms`).join(', ') + ` (${sorted.length})`;
};
const current = async () => {
  let status;
  do {
    await sleep(50);
    status = await ask('get', `/${db}/_analytics`);
  } while (status.state !== 'following' || status.lag > 0);
  return status;
};
const bytesOf = (folder) => fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile()).reduce((sum, entry) => sum + fs.statSync(path.join(entry.parentPath ?? entry.path, entry.name)).blocks * 512, 0);

let db;
try {
  db = await server.database('q=2');
  let begun = performance.now();
  for (let n = 0; n < documents; n += batch) {
    await ask('post', `/${db}/_bulk_docs`, { docs: Array.from({ length: Math.min(batch, documents - n) }, (_, i) => order(n + i)) });
  }
  console.log(`documents written: ${Math.round(documents / ((performance.now() - begun) / 1000))}/s`);

  begun = performance.now();
  await ask('put', `/${db}/_analytics`, {});
  await current();
  console.log(`rows built: ${Math.round(documents / ((performance.now() - begun) / 1000))}/s`);
  const [folder] = fs.readdirSync(path.join(server.dataDir, 'databases'), { withFileTypes: true }).map(({ name }) => path.join(server.dataDir, 'databases', name, 'analytics')).filter((name) => fs.existsSync(name));
  console.log(`bytes a row: ${Math.round(bytesOf(folder) / documents)} in columns, ${Math.round((bytesOf(path.dirname(folder)) - bytesOf(folder)) / documents)} as documents`);

  for (const [name, text] of [
    ['group by city', 'select city, count(*) n, sum(price * quantity) total from documents group by city order by total desc limit 10'],
    ['filter and average', 'select avg(price) a from documents where paid and quantity > 5'],
    ['group by a member of a STRUCT column', 'select size.w w, count(*) n from documents group by w order by n desc limit 10'],
    ['the same of its JSON', `select to_json(size)->>'w' w, count(*) n from documents group by w order by n desc limit 10`],
    ['join with itself by customer', 'select count(*) n from documents a join documents b using (customer) where a.quantity = 9 and b.quantity = 1'],
  ]) {
    const times = [];
    for (let n = 0; n < 11; ++n) {
      const from = performance.now();
      await sql(text);
      times.push(performance.now() - from);
    }
    console.log(`${name}: median ${quantile(times.toSorted((a, b) => a - b), 0.5).toFixed(0)} ms`);
  }

  const lags = [];
  for (let n = 0; n < 10; ++n) {
    await ask('put', `/${db}/lag${n}`, order(n));
    const from = performance.now();
    while ((await sql(`select count(*) n from documents where _id = 'lag${n}'`)).rows[0].n === 0) await sleep(20);
    lags.push(performance.now() - from);
  }
  console.log(`lag of one write: ${shown(lags)}`);
  const changed = Math.min(5_000, documents);
  const { rows } = await ask('get', `/${db}/_all_docs?limit=${changed}`);
  const docs = rows.map(({ id, value }, n) => ({ ...order(n), _id: id, _rev: value.rev, price: 1 }));
  await ask('post', `/${db}/_bulk_docs`, { docs });
  begun = performance.now();
  await current();
  console.log(`${changed} changed rows: merged in ${(performance.now() - begun).toFixed(0)} ms`);

  // An open loop, so that a slow answer does not lower the load: 200 GET and 50 PUT each second.
  const round = async (kind) => {
    const times = { GET: [], PUT: [] };
    const until = performance.now() + roundSeconds * 1000;
    let queries = 0;
    const spinning = kind === 'spin' && spawn('chrt', ['--idle', '0', process.execPath, '-e', 'for (;;);']);
    const looping = (async () => {
      while (kind === 'heavy' && performance.now() < until) {
        await sql('select count(distinct a.city || b.price) n from documents a join documents b using (customer) where a.quantity < 5');
        ++queries;
      }
    })();
    const waiting = [];
    const begin = performance.now();
    for (let n = 0; begin + n * 4 < until; ++n) {
      const due = begin + n * 4;
      if (due > performance.now()) await sleep(due - performance.now());
      const name = n % 5 === 0 ? 'PUT' : 'GET';
      const id = name === 'PUT' ? `new-${begin}-${n}` : order((n * 104_729) % documents)._id;
      const sent = performance.now();
      const request = name === 'PUT' ? ask('put', `/${db}/${id}`, order(n)) : ask('get', `/${db}/${id}`);
      waiting.push(request.then(() => times[name].push(performance.now() - sent)));
    }
    await Promise.all(waiting);
    await looping;
    if (spinning) spinning.kill('SIGKILL');
    return { times, queries };
  };
  await round('none');
  const kinds = ['none', 'heavy', 'spin'];
  const sums = Object.fromEntries(kinds.map((kind) => [kind, { GET: [], PUT: [] }]));
  let queries = 0;
  for (let n = 0; n < 4; ++n) {
    for (const kind of n % 2 ? kinds.toReversed() : kinds) {
      const done = await round(kind);
      queries += done.queries;
      for (const name of ['GET', 'PUT']) sums[kind][name].push(...done.times[name]);
    }
  }
  for (const name of ['GET', 'PUT']) {
    console.log(`${name} alone: ${shown(sums.none[name])}; beside a heavy query: ${shown(sums.heavy[name])}; beside a loop: ${shown(sums.spin[name])}`);
  }
  console.log(`heavy queries meanwhile: ${queries} in ${4 * roundSeconds} s`);
} finally {
  await server.stop();
}
