// A copy under random edits, splits and kill -9: the target has what the source has.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { randomOf } from '../edits.mjs';
import { eventually, expectStatus, Server, sleep } from '../harness.mjs';
import { assertSameContent, beginCopy, contentOf, copied, copiedContent, finish } from './copy_support.mjs';

const seed = Number(process.env.COPY_SEED ?? Date.now() % 2 ** 31);
const rounds = Number(process.env.COPY_ROUNDS ?? 8);

// Bodies of which few fill a chunk, so that several chunks are on their way.
const long = () => randomBytes(300_000).toString('base64');

const templates = [['{number}', ({ number }) => `!${number}`], ['{_id}', ({ _id }) => _id]];

for (const [rest, restOf] of templates) test(`random edits and kills, ids by ${rest}, seed ${seed}`, async (t) => {
  const random = randomOf(seed);
  const server = await Server.startFor(t);
  const source = await server.database('q=2');
  const target = await server.database('partitioned=true&q=3');
  const id = await beginCopy(server, source, { target, key: '{user}', id: rest });

  // New documents, changed ones, other keys, deletions, conflicts and purges. Numbers are unique, so that no two
  // documents meet.
  const edit = async () => {
    const { rows } = expectStatus(await server.get(`/${source}/_all_docs`), 200);
    const revisions = new Map(rows.map(({ id: name, value }) => [name, value.rev]));
    const docs = new Map();
    for (let n = 0; n < 80; ++n) {
      const number = random(60);
      const _id = `d${number}`;
      const _rev = revisions.get(_id);
      docs.set(_id, { _id, number, user: `u${random(5)}`, n: random(1000), ...(random(8) === 0 && { long: long() }), ...(_rev && { _rev }), ...(_rev && random(3) === 0 && { _deleted: true }) });
    }
    expectStatus(await server.post(`/${source}/_bulk_docs`, { docs: [...docs.values()] }), 201);
    if (random(2)) {
      const number = random(60);
      const conflict = { _id: `d${number}`, _rev: `${1 + random(2)}-${String(random(10)).repeat(32)}`, number, user: `u${random(5)}` };
      expectStatus(await server.post(`/${source}/_bulk_docs`, { new_edits: false, docs: [conflict] }), 201);
    }
    if (random(4) === 0 && revisions.size > 0) {
      const [[name, rev]] = revisions;
      expectStatus(await server.post(`/${source}/_purge`, { [name]: [rev] }), 201);
    }
  };

  const check = async () => {
    await copied(server, source, id);
    const expected = copiedContent(await contentOf(server, source), (document) => `${document.user}:${restOf(document)}`);
    assertSameContent(await contentOf(server, target), expected);
  };

  for (let round = 0; round < rounds; ++round) {
    for (let n = 0; n < 5; ++n) await edit();
    if (random(3) === 0) await server.post('/_reshard/jobs', { type: 'split', db: random(2) ? source : target });
    if (random(2)) await sleep(random(60));
    await server.kill();
    await server.relaunch();
    await edit();
    await check();
  }
  await finish(server, source, id);
  await server.kill();
  await server.relaunch();
  assert.equal(expectStatus(await server.get(`/${source}/_copy/${id}`), 200).state, 'done');
  expectStatus(await server.put(`/${target}/x:y`, {}), 201);
});

// The request is killed at some moment: before it began, in the middle, or after it.
test('a cancelled copy leaves nothing behind, also after kill -9', async (t) => {
  const server = await Server.startFor(t);
  const source = await server.database('q=2');
  expectStatus(await server.post(`/${source}/_bulk_docs`, { docs: Array.from({ length: 500 }, (_, n) => ({ _id: `d${n}`, user: `u${n % 7}` })) }), 201);
  const target = `${source}-next`;
  const databases = async () => (await server.get('/_all_dbs')).body;
  const before = await databases();
  const folders = () => fs.readdirSync(path.join(server.dataDir, 'databases')).length;
  const foldersBefore = folders();
  for (let wait = 0; wait < 10; ++wait) {
    const id = await beginCopy(server, source, { target, create: { partitioned: true, q: 3 }, key: '{user}', id: '{_id}' });
    await copied(server, source, id);
    const cancelling = server.delete(`/${source}/_copy/${id}`).catch(() => undefined);
    await sleep(wait * 3);
    await server.kill();
    await cancelling;
    await server.relaunch();
    // If the request did not begin, the copy continues.
    const { body: { copies: [left] } } = await server.get(`/${source}/_copy`);
    if (left && left.state !== 'removing') {
      assert.notEqual(left.state, 'failed', left.reason);
      expectStatus(await server.delete(`/${source}/_copy/${id}`), 200);
    }
    await eventually(async () => (await server.get(`/${source}/_copy`)).body.copies.length === 0);
    assert.deepEqual(await databases(), before);
    await eventually(() => folders() === foldersBefore);
  }
});

test('a copy that is cancelled while its target takes the name removes no database with that name', async (t) => {
  const server = await Server.startFor(t);
  const outcomes = new Set();
  for (let round = 0; round < 12; ++round) {
    const source = await server.database('q=1');
    const target = `${source}-next`;
    expectStatus(await server.put(`/${source}/d`, { n: round }), 201);
    const id = await beginCopy(server, source, { target, create: { q: 1 } });
    await copied(server, source, id);
    const changing = server.post(`/${source}/_copy/${id}/_cut_over`, {});
    await sleep(round % 6);
    const cancelled = await server.delete(`/${source}/_copy/${id}`);
    outcomes.add(`${(await changing).status} ${cancelled.status}`);
    assert.equal(expectStatus(await server.get(`/${source}/d`), 200).n, round);
  }
  t.diagnostic([...outcomes].join(', '));
});
