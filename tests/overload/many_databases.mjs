// Databases without number: what the tests and the long run do with them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { expectStatus } from '../integration/harness.mjs';
import { Client, jsonRequest, Outcomes } from './raw_client.mjs';

const nameOf = (n) => `db${String(n).padStart(6, '0')}`;

export async function createDatabases(arena, { count, clients, from = 0 }) {
  const outcomes = new Outcomes();
  let next = from;
  const begun = Date.now();
  await Promise.all(Array.from({ length: clients }, async () => {
    const client = new Client(arena.server.port);
    for (let n; (n = next++) < count;) outcomes.add((await client.request(jsonRequest('PUT', `/${nameOf(n)}`))).status);
    client.close();
  }));
  return { outcomes: outcomes.counts, seconds: (Date.now() - begun) / 1000 };
}

/// Lists them in several ways and checks what comes back; the milliseconds that each way took.
export async function listDatabases({ server }, { count }) {
  const times = {};
  const timed = async (what, target) => {
    const begun = process.hrtime.bigint();
    const { body } = { body: expectStatus(await server.get(target), 200) };
    times[what] = Number(process.hrtime.bigint() - begun) / 1e6;
    return body;
  };
  const all = (await timed('all', '/_all_dbs')).filter((name) => name.startsWith('db'));
  assert.equal(all.length, count);
  assert.deepEqual(all, Array.from({ length: count }, (_, n) => nameOf(n)));
  const middle = Math.floor(count / 2);
  assert.deepEqual(await timed('startkey', `/_all_dbs?limit=3&startkey="${nameOf(middle)}"`), [0, 1, 2].map((n) => nameOf(middle + n)));
  assert.deepEqual(await timed('skip', `/_all_dbs?startkey="db"&endkey="dbz"&limit=2&skip=${count - 1}`), [nameOf(count - 1)]);
  assert.deepEqual(await timed('descending', `/_all_dbs?descending=true&startkey="dbz"&limit=2`), [nameOf(count - 1), nameOf(count - 2)]);
  const infos = await timed('infos', `/_dbs_info?startkey="${nameOf(middle)}"&limit=100`);
  assert.equal(infos.length, 100);
  for (const [n, row] of infos.entries()) assert.equal(row.info.db_name, nameOf(middle + n));
  assert.equal((await timed('open', `/${nameOf(middle + 500 < count ? middle + 500 : 0)}`)).doc_count, 0);
  return times;
}

/// Stops and starts again on the same folder; milliseconds of both.
export async function restart({ server }) {
  const begun = Date.now();
  await server.stop({ keepFolder: true });
  const stopMs = Date.now() - begun;
  await server.relaunch();
  return { stopMs, readyMs: server.readyMs };
}

/// Bytes that one empty database takes on the disk.
export function bytesPerDatabase({ server }, count) {
  const kilobytes = Number(execFileSync('du', ['-sk', `${server.dataDir}/databases`], { encoding: 'utf8' }).split('\t')[0]);
  return (kilobytes * 1024) / count;
}
