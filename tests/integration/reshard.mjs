// Splits and merges for the tests of both APIs: /_reshard, and documents that are written meanwhile.
import assert from 'node:assert/strict';
import { eventually, expectStatus } from './harness.mjs';

export const shardsOf = async (server, db) =>
  Object.keys(expectStatus(await server.get(`/${encodeURIComponent(db)}/_shards`), 200).shards);

export const jobOf = async (server, id) => expectStatus(await server.get(`/_reshard/jobs/${id}`), 200);

/// Creates jobs and waits until they are completed; returns what the server said of them when it created them.
export async function reshard(server, body) {
  const made = expectStatus(await server.post('/_reshard/jobs', body), 201);
  await eventually(async () => {
    const jobs = await Promise.all(made.map(({ id }) => jobOf(server, id)));
    for (const { job_state, state_info } of jobs) assert.notEqual(job_state, 'failed', state_info.reason);
    return jobs.every(({ job_state }) => job_state === 'completed');
  }, 30_000);
  return made;
}

/// Writes documents, and reads each back at once, until `work` has ended; returns their ids.
export async function writeDuring(server, db, work) {
  let running = true;
  const written = [];
  const writer = (async () => {
    for (let n = 0; running; n++) {
      const id = `k${n % 20}:w${n}`;
      expectStatus(await server.put(`/${db}/${id}`, { n }), 201);
      assert.equal(expectStatus(await server.get(`/${db}/${id}`), 200).n, n);
      written.push(id);
    }
  })();
  await work();
  running = false;
  await writer;
  return written;
}

/// Checks that the continuous feed shows these ids and no others, and closes it.
export async function expectFollowed(feed, written) {
  const seen = new Set();
  while (seen.size < written.length) seen.add((await feed.nextRow(20_000)).id);
  assert.deepEqual([...seen].sort(), [...written].sort());
  await feed.close();
}
