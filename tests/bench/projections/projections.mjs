// How fast projections are built, and how far behind their source they are under a load of writes.
//   node tests/bench/projections/projections.mjs [documents] [writes per second]
// OCTAVO_BINARY: the server, default build/octavo.
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '../../integration/harness.mjs';

process.env.OCTAVO_BINARY ??= path.resolve('build/octavo');
const documents = Number(process.argv[2] ?? 200_000);
const rate = Number(process.argv[3] ?? 2_000);
const batch = 2_000;
const users = 1_000;

const filler = 'x'.repeat(360);
const post = (n, edit = 0) => ({
  _id: `p${String(n).padStart(8, '0')}`, type: 'post', userId: `u${n % users}`, title: `title ${n}`, date: (n * 7919) % 1_000_003, edit, content: filler });

const definitions = {
  fields: { key: '{userId}', id: '{_id}', fields: { '*': true } },
  'where, expressions': { where: "c.type = 'post' AND c.date >= 0", key: '{userId}', id: '{_id}', fields: { '*': true, content: 'LEFT(c.content, 100)' } },
  'transform, one row': { key: '{userId}', id: '{_id}', transform: 'function (doc) { return doc; }' },
  'transform, three rows': { key: '{part}', id: '{_id}', transform: '(doc) => ["a", "b", "c"].map((part) => ({part, title: doc.title, date: doc.date}))' },
  'newest 100': { key: '{type}', id: '{_id}', fields: { '*': true }, newest: { by: 'date', n: 100 } },
};

async function current(server, source, name) {
  const { update_seq: now } = (await server.get(`/${source}`)).body;
  const reply = await server.get(`/${source}/_projection/${name}?timeout=600000&wait_for=${encodeURIComponent(now)}`, { timeoutMs: 600_000 });
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body;
}

async function fill(server, source, edit) {
  const revisions = new Map();
  for (let n = 0; n < documents; n += batch) {
    const docs = Array.from({ length: Math.min(batch, documents - n) }, (_, i) => post(n + i, edit));
    const { body } = await server.post(`/${source}/_bulk_docs`, { docs }, { timeoutMs: 120_000 });
    for (const { id, rev } of body) revisions.set(id, rev);
  }
  return revisions;
}

const server = await Server.start();
try {
  const source = await server.database('q=2');
  const begun = performance.now();
  const revisions = await fill(server, source, 0);
  console.log(`load: ${Math.round(documents / (performance.now() - begun) * 1000)} documents/s`);
  for (const [name, definition] of Object.entries(definitions)) {
    const target = await server.database('partitioned=true&q=2');
    const started = performance.now();
    const put = await server.put(`/${source}/_projection/p`, { ...definition, target: { db: target } });
    if (put.status !== 201) throw new Error(put.text);
    const { rows, state_bytes } = await current(server, source, 'p');
    const seconds = (performance.now() - started) / 1000;
    console.log(`build, ${name}: ${Math.round(documents / seconds)} changes/s, ${rows} rows, ${Math.round(state_bytes / documents)} bytes of state each`);
    await server.delete(`/${source}/_projection/p?rows=keep`);
  }

  // Single writes at a rate, and how long after each its row is there.
  const target = await server.database('partitioned=true&q=2');
  const { content, ...small } = definitions['where, expressions'].fields;
  await server.put(`/${source}/_projection/p`, { ...definitions.fields, fields: { ...small, content }, target: { db: target } });
  await current(server, source, 'p');
  const lags = [];
  const latencies = [];
  const seconds = 20;
  const from = performance.now();
  let sent = 0;
  const pending = new Set();
  while (performance.now() - from < seconds * 1000) {
    while (sent < ((performance.now() - from) / 1000) * rate && pending.size < 64) {
      const { _id, ...fields } = post(sent % documents, 1 + sent);
      const writing = performance.now();
      const request = server.put(`/${source}/${_id}`, { ...fields, _rev: revisions.get(_id) }).then(({ body }) => {
        revisions.set(_id, body.rev);
        latencies.push(performance.now() - writing);
        pending.delete(request);
      });
      pending.add(request);
      ++sent;
    }
    if (sent % 40 === 0) {
      const asked = performance.now();
      await current(server, source, 'p').then(() => lags.push(performance.now() - asked));
    } else {
      await sleep(1);
    }
  }
  await Promise.all(pending);
  const percentile = (numbers, share) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length * share)]?.toFixed(1);
  console.log(`${Math.round(sent / seconds)} writes/s: PUT p50 ${percentile(latencies, 0.5)} ms, p99 ${percentile(latencies, 0.99)} ms; ` +
    `rows are there after p50 ${percentile(lags, 0.5)} ms, p99 ${percentile(lags, 0.99)} ms (${lags.length} looks)`);
} finally {
  await server.stop();
}
