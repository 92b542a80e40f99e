// The index advisor at size: its time, its memory, and GETs beside it.
//   OCTAVO_BINARY=build/octavo node tests/bench/advice/index_advisor.mjs [documents]
import fs from 'node:fs';
import { Server, expectStatus } from '../../integration/harness.mjs';

const DOCUMENTS = Number(process.argv[2] ?? 1_000_000);
const BULK = 5_000;
const GETS_MIN = 4_000;
const document = (n) => ({
  _id: `d${String(n).padStart(8, '0')}`, type: n % 5 === 0 ? 'post' : 'like', userId: `u${(n * 7919) % 20_000}`,
  postId: `p${n % 100_000}`, creationDate: 1_600_000_000 + n, text: 'x'.repeat(250),
});
const queries = [
  { selector: { userId: 'u1', type: 'post' } }, { selector: { userId: 'u2' } }, { selector: { postId: 'p3' } },
  { selector: { type: 'post' }, sort: [{ creationDate: 'desc' }], limit: 20 },
  { selector: { userId: 'u5', creationDate: { $gt: 1_600_500_000 } } },
  { selector: { $or: [{ userId: 'u6' }, { postId: 'p7' }] } },
];

const memory = (server, name) => Number(fs.readFileSync(`/proc/${server.process.pid}/status`, 'utf8').match(new RegExp(`${name}:\\s+(\\d+)`))[1]) / 1024;

/// Latencies of GETs, one after the other, while `done` has not resolved.
async function gets(server, db, done) {
  const times = [];
  let isDone = false;
  done?.then(() => { isDone = true; });
  for (let n = 0; done ? !isDone : n < GETS_MIN; ++n) {
    const begun = process.hrtime.bigint();
    expectStatus(await server.get(`/${db}/${document((n * 104_729) % DOCUMENTS)._id}`), 200);
    times.push(Number(process.hrtime.bigint() - begun) / 1e6);
  }
  times.sort((a, b) => a - b);
  return { count: times.length, p50: times[Math.floor(times.length / 2)], p99: times[Math.floor(times.length * 0.99)] };
}

const server = await Server.start({ args: ['--storage-durability', 'ephemeral'] });
try {
  const db = await server.database();
  for (let first = 0; first < DOCUMENTS; first += BULK) {
    await server.fill(db, Array.from({ length: Math.min(BULK, DOCUMENTS - first) }, (_, n) => document(first + n)));
  }
  for (const query of queries) expectStatus(await server.post(`/${db}/_find`, query, { timeoutMs: 300_000 }), 200);
  await gets(server, db);
  console.log('GET alone', await gets(server, db));
  console.log('RssAnon before', memory(server, 'RssAnon').toFixed(1), 'MiB');
  const begun = Date.now();
  const asked = server.post(`/${db}/_index_advisor`, {}, { timeoutMs: 600_000 });
  console.log('GET beside', await gets(server, db, asked));
  const advice = expectStatus(await asked, 200);
  console.log('advisor', ((Date.now() - begun) / 1000).toFixed(1), 's for', advice.documents, 'documents;', advice.create.length, 'indexes advised');
  console.log('RssAnon after', memory(server, 'RssAnon').toFixed(1), 'MiB');
  for (const { index, serves, bytes } of advice.create) console.log(JSON.stringify(index), bytes, serves.map(({ now, then }) => [now, then]));
} finally {
  await server.stop();
}
