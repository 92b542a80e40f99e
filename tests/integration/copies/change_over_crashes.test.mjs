// kill -9 during change-overs: one database has the name, and it has every acknowledged write.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf } from '../edits.mjs';
import { expectStatus, Server, sleep } from '../harness.mjs';
import { beginCopy, contentOf, copied, copyOf } from './copy_support.mjs';

const seed = Number(process.env.COPY_SEED ?? Date.now() % 2 ** 31);
const rounds = Number(process.env.COPY_ROUNDS ?? 8);

/// Writes until the server is gone. The ids of the source are refused by the target with 400, which tells the writer
/// that the name has changed hands.
async function writeUntilGone(server, db, prefix, acknowledged) {
  try {
    for (let i = 0; ; ++i) {
      const doc = { n: `${prefix}-${i}`, user: `u${i % 5}` };
      let reply = await server.put(`/${db}/${doc.n}`, doc);
      if (reply.status === 400) reply = await server.put(`/${db}/${doc.user}:${doc.n}`, doc);
      if (reply.status === 201) acknowledged.add(doc.n);
      else assert.ok([201, 404, 503].includes(reply.status), reply.text);
    }
  } catch (error) {
    if (error.code === 'ERR_ASSERTION') throw error;
  }
}

test(`kills during change-overs, seed ${seed}`, async (t) => {
  const random = randomOf(seed);
  const server = await Server.startFor(t);
  let changed = 0;
  for (let round = 0; round < rounds; ++round) {
    const db = await server.database(`q=${1 + random(3)}`);
    const acknowledged = new Set();
    await server.fill(db, Array.from({ length: 200 }, (_, i) => ({ _id: `f-${i}`, n: `f-${i}`, user: `u${i % 5}` })));
    for (let i = 0; i < 200; ++i) acknowledged.add(`f-${i}`);
    const former = `${db}-former`;
    const id = await beginCopy(server, db, { target: `${db}-next`, create: { partitioned: true, q: 1 + random(3) }, key: '{user}', id: '{n}' });
    await copied(server, db, id);
    const writers = [0, 1, 2].map((writer) => writeUntilGone(server, db, `${round}-${writer}`, acknowledged));
    await sleep(20);
    const asked = server.post(`/${db}/_copy/${id}/_cut_over`, { former_name: former }).catch(() => undefined);
    await sleep(random(60));
    await server.kill();
    await Promise.all([...writers, asked]);
    await server.relaunch();

    const names = expectStatus(await server.get('/_all_dbs'), 200).filter((name) => name.startsWith(db)).sort();
    if (names.includes(former)) {
      assert.deepEqual(names, [db, former].sort());
      ++changed;
    } else {
      assert.deepEqual(names, [db, `${db}-next`].sort());
      await copied(server, db, id);
      expectStatus(await server.post(`/${db}/_copy/${id}/_cut_over`, { former_name: former }), 200);
    }
    const present = new Set([...(await contentOf(server, db)).values()].map(({ n }) => n));
    for (const n of acknowledged) assert.ok(present.has(n), `${n} is lost`);
    assert.equal((await copyOf(server, former, id)).state, 'done');
    assert.equal((await server.put(`/${former}/late`, {})).status, 403);
    expectStatus(await server.put(`/${db}/late:1`, {}), 201);
  }
  t.diagnostic(`${changed} of ${rounds} kills came after the change-over`);
});
