// How fast a database is copied under another key, beside a projection with all fields, how much memory the server takes
// meanwhile, and how long writes wait when the copy takes its place.
//   node tests/bench/copies/copies.mjs [documents]
// OCTAVO_BINARY: the server, default build/octavo.
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '../../integration/harness.mjs';

process.env.OCTAVO_BINARY ??= path.resolve('build/octavo');
const documents = Number(process.argv[2] ?? 200_000);
const batch = 2_000;
const users = 1_000;

const filler = 'x'.repeat(360);
const post = (n) => ({ _id: `p${String(n).padStart(8, '0')}`, type: 'post', userId: `u${n % users}`, title: `title ${n}`, date: (n * 7919) % 1_000_003, content: filler });

const server = await Server.start();
const ask = async (method, target, body) => {
  const reply = await server[method](target, body, { timeoutMs: 600_000 });
  if (reply.status >= 300) throw new Error(reply.text);
  return reply.body;
};
// The most memory outside the page cache since the last report.
let memory = 0;
const watching = setInterval(() => { memory = Math.max(memory, server.anonymousMemoryBytes()); }, 100);
function mebibytes() {
  const text = (memory / 2 ** 20).toFixed(1);
  memory = 0;
  return `${text} MiB`;
}
const report = (name, begun) =>
  console.log(`${name}: ${Math.round(documents / ((performance.now() - begun) / 1000))} documents/s, ${mebibytes()}`);
try {
  const source = await server.database('q=2');
  const begun = performance.now();
  for (let n = 0; n < documents; n += batch) {
    await ask('post', `/${source}/_bulk_docs`, { docs: Array.from({ length: Math.min(batch, documents - n) }, (_, i) => post(n + i)) });
  }
  report('load', begun);

  const projected = await server.database('partitioned=true&q=2');
  const projecting = performance.now();
  await ask('put', `/${source}/_projection/p`, { key: '{userId}', id: '{_id}', fields: { '*': true }, target: { db: projected } });
  const { update_seq: now } = await ask('get', `/${source}`);
  await server.get(`/${source}/_projection/p?timeout=600000&wait_for=${encodeURIComponent(now)}`, { timeoutMs: 600_000 });
  report('projection', projecting);
  await ask('delete', `/${source}/_projection/p?rows=keep`);

  for (const [name, query, templates] of [['copy under another key', 'partitioned=true&q=2', { key: '{userId}', id: '{_id}' }], ['copy with the same ids', 'q=4', {}]]) {
    const target = await server.database(query);
    const started = performance.now();
    const { id } = await ask('post', `/${source}/_copy`, { target, ...templates });
    let status;
    do {
      await sleep(20);
      status = await ask('get', `/${source}/_copy/${id}`);
      if (status.state === 'failed') throw new Error(status.reason);
    } while (status.state !== 'following' || status.behind > 0);
    report(name, started);
    const finishing = performance.now();
    await ask('post', `/${source}/_copy/${id}/_finish`, {});
    console.log(`  finished in ${(performance.now() - finishing).toFixed(0)} ms`);
  }

  // Eight clients write documents while the target takes the place of the source. Both accept the ids.
  const { id } = await ask('post', `/${source}/_copy`, { target: `${source}-next`, create: { q: 4 } });
  const times = [];
  let running = true;
  const write = async (writer) => {
    for (let n = 0; running; ++n) {
      const asked = performance.now();
      await ask('put', `/${source}/w${writer}:${n}`, post(n));
      times.push(performance.now() - asked);
    }
  };
  const writers = Array.from({ length: 8 }, (_, writer) => write(writer));
  let status;
  do {
    await sleep(100);
    status = await ask('get', `/${source}/_copy/${id}`);
    if (status.state === 'failed') throw new Error(status.reason);
  } while (status.state !== 'following');
  await sleep(2_000);
  const steady = times.splice(0).sort((one, other) => one - other);
  const done = await ask('post', `/${source}/_copy/${id}/_cut_over`, {});
  await sleep(500);
  running = false;
  await Promise.all(writers);
  const quantile = (sorted, q) => sorted[Math.floor(sorted.length * q)].toFixed(1);
  console.log(`change-over: writes waited ${done.pause_ms.toFixed(1)} ms; slowest write ${Math.max(...times).toFixed(1)} ms, ` +
    `beside the copy p50 ${quantile(steady, 0.5)} ms, p99 ${quantile(steady, 0.99)} ms, slowest ${steady.at(-1).toFixed(1)} ms, ${mebibytes()}`);
} finally {
  clearInterval(watching);
  await server.stop();
}
