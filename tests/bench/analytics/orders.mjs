// Customers, orders and items at size: how long an analytical store takes to have them, and how long questions take, beside
// DuckDB's time on the exported Parquet files.
//   node tests/bench/analytics/orders.mjs [documents]      a tenth of them are customers
// OCTAVO_BINARY: the server, default build/octavo. DuckDB's library is fetched by scripts/install-analytics.sh.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

process.env.OCTAVO_BINARY ??= path.resolve('build/octavo');
const { Server } = await import('../../integration/harness.mjs');
const documents = Number(process.argv[2] ?? 1_000_000);
const customers = documents / 10;
const batch = 2_000;

execFileSync('scripts/install-analytics.sh', ['build'], { stdio: 'inherit' });
const server = await Server.start({
  args: ['--analytics-enabled', `--analytics-library=${path.resolve('build/libduckdb.so')}`, '--analytics-query-timeout=10m', '--log-access=false'],
});
const ask = async (method, target, body) => {
  const reply = await server[method](target, body, { timeoutMs: 900_000 });
  if (reply.status >= 300) throw new Error(reply.text);
  return reply.body;
};
const id = (n) => String(n).padStart(8, '0');
const customer = (n) => ({ _id: `c${id(n)}`, name: `customer ${n}`, city: `city ${(n * 7919) % 1000}` });
const order = (n) => ({
  _id: `o${id(n)}`, customer: `c${id((n * 104_729) % customers)}`, date: new Date(1.7e12 + n * 1000).toISOString(), paid: n % 3 === 0,
  items: [{ sku: `s${n % 997}`, quantity: 1 + (n % 9), price: ((n * 31) % 10_000) / 100 }, { sku: `s${(n * 7) % 997}`, quantity: 1, price: 5 }],
});
const load = async (db, count, make) => {
  await ask('put', `/${db}?q=2`);
  for (let n = 0; n < count; n += batch) {
    await ask('post', `/${db}/_bulk_docs`, { docs: Array.from({ length: Math.min(batch, count - n) }, (_, i) => make(n + i)) });
  }
};
const current = async (db) => {
  let status;
  do {
    await sleep(100);
    status = await ask('get', `/${db}/_analytics`);
  } while (status.state !== 'following' || status.lag > 0);
  return status;
};
const seconds = async (name, work) => {
  const begun = performance.now();
  const result = await work();
  console.log(`${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  return result;
};
const sql = (text) => ask('post', '/_analytics/sql', { group: 'shop', sql: text });
const median = async (text) => {
  const times = [];
  for (let n = 0; n < 5; ++n) {
    const from = performance.now();
    await sql(text);
    times.push(performance.now() - from);
  }
  return times.toSorted((a, b) => a - b)[2];
};

try {
  await seconds(`${documents} documents written`, async () => {
    await load('customers', customers, customer);
    await load('orders', documents - customers, order);
  });
  await seconds('tables built', async () => {
    await ask('put', '/customers/_analytics', { group: 'shop', as: 'customers' });
    await ask('put', '/orders/_analytics', { group: 'shop', as: 'orders', flatten: { '/items': 'items' } });
    await current('customers');
    const { rows, tables } = await current('orders');
    console.log(`${rows} orders, ${tables.items.rows} items`);
  });
  // A query may read files of its own export folder only.
  const folder = path.join(server.dataDir, fs.readdirSync(server.dataDir, { recursive: true }).find((name) => name.endsWith('group.export')));
  const file = (name) => path.join(folder, `${name}.parquet`);
  const save = async (name, target, options) => {
    const reply = await fetch(`${server.url}${target}`, options);
    if (!reply.ok) throw new Error(await reply.text());
    await pipeline(Readable.fromWeb(reply.body), fs.createWriteStream(file(name)));
  };
  await seconds('exported as Parquet', async () => {
    await save('customers', '/customers/_export?format=parquet');
    await save('orders', '/orders/_export?format=parquet');
    await save('items', '/_analytics/sql', {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ group: 'shop', sql: 'select * from orders.items', format: 'parquet' }),
    });
  });
  const places = (from) => (name) => (from === 'store' ? { customers: 'customers.documents', orders: 'orders.documents', items: 'orders.items' }[name] : `read_parquet('${file(name)}')`);
  for (const [name, text] of [
    ['sales by sku', (of) => `select sku, sum(quantity * price) total from ${of('items')} group by sku order by total desc limit 10`],
    ['orders by city', (of) => `select c.city, count(*) n from ${of('orders')} o join ${of('customers')} c on o.customer = c._id group by c.city order by n desc limit 10`],
    ['sales by city', (of) => `select c.city, sum(i.quantity * i.price) total from ${of('items')} i join ${of('orders')} o using (_id) join ${of('customers')} c on o.customer = c._id group by c.city order by total desc limit 10`],
  ]) {
    const [store, parquet] = [await median(text(places('store'))), await median(text(places('parquet')))];
    console.log(`${name}: ${store.toFixed(0)} ms; on Parquet ${parquet.toFixed(0)} ms; ratio ${(store / parquet).toFixed(2)}`);
  }
} finally {
  await server.stop();
}
