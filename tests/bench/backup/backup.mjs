// How fast a running server is backed up, alone and beside four writers, what a backup costs their writes, and by how much
// the files of the server grow meanwhile. The last line is a check of the backup.
//   node tests/bench/backup/backup.mjs [documents]
// OCTAVO_BINARY: the server; build/octavo if it is not set.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFolder } from '../../crash/killing.mjs';
import { expectStatus, Server } from '../../integration/harness.mjs';

const documents = Number(process.argv[2] ?? 1_000_000);
const batch = 5_000;
const writers = 4;
const alone_ms = 10_000;
const patience = { timeoutMs: 600_000 };

const backups = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-backups-'));
const server = await Server.start({ args: ['--backup-folder', backups] });
const words = (n) => Array.from({ length: 30 }, (_, i) => ((n * 7919 + i * 104_729) % 9973).toString(36).padStart(9, 'a')).join(' ');
const fileBytes = async () => expectStatus(await server.get('/m'), 200).sizes.file;
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/// Times of durable PUTs until `isOver`.
async function puts(isOver) {
  const times = [];
  await Promise.all(Array.from({ length: writers }, async (_, writer) => {
    for (let n = 0; !isOver(); ++n) {
      const asked = performance.now();
      expectStatus(await server.put(`/m/w${writer}:${Date.now()}-${n}`, { n, text: words(n) }), 201);
      times.push(performance.now() - asked);
    }
  }));
  times.sort((a, b) => a - b);
  const quantile = (q) => times[Math.min(times.length - 1, Math.floor(times.length * q))].toFixed(2);
  return `${times.length} PUTs, p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, longest ${quantile(1)} ms`;
}

async function backUp(name, beside) {
  const before = await fileBytes();
  expectStatus(await server.post('/_backup', { folder: name }), 202);
  let status = { state: 'running' };
  const watched = (async () => {
    while (status.state === 'running') {
      await sleep(50);
      status = (await server.get('/_backup')).body;
    }
  })();
  const written = beside ? await puts(() => status.state !== 'running') : 'no writers';
  await watched;
  if (status.state !== 'complete') throw new Error(JSON.stringify(status));
  const rate = status.bytes / 2 ** 20 / status.seconds;
  console.log(`${name}: ${mebibytes(status.bytes)} in ${status.seconds} s, ${rate.toFixed(1)} MiB/s; ${written}; files grew by ${mebibytes(await fileBytes() - before)}`);
}

try {
  expectStatus(await server.put('/m?partitioned=true&q=2'), 201);
  let next = 0;
  await Promise.all(Array.from({ length: writers }, async () => {
    while (next < documents) {
      const first = next;
      next += batch;
      const docs = Array.from({ length: Math.min(batch, documents - first) }, (_, i) => ({ _id: `k${(first + i) % 997}:${first + i}`, n: first + i, text: words(first + i) }));
      expectStatus(await server.post('/m/_bulk_docs', { docs }, patience), 201);
    }
  }));
  console.log(`${documents} documents, files of ${mebibytes(await fileBytes())}`);
  const end = performance.now() + alone_ms;
  console.log(`without a backup: ${await puts(() => performance.now() > end)}`);
  await backUp('alone', false);
  await backUp('beside-writers', true);
  const begun = performance.now();
  const problems = await checkFolder(path.join(backups, 'beside-writers'));
  if (problems) throw new Error(problems);
  console.log(`octavo check of it: sound, ${((performance.now() - begun) / 1000).toFixed(1)} s`);
} finally {
  await server.stop();
  fs.rmSync(backups, { recursive: true, force: true });
}
