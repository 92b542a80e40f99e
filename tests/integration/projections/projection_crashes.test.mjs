// Projections under random edits and kill -9: what the target has equals what the definition says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, Server } from '../harness.mjs';
import { assertSameRows, createProjection, current, documentsOf, projected } from './projection_support.mjs';

/// Numbers that a seed decides.
function randomOf(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const definitions = (target) => ({
  by_user: { where: "c.type = 'post'", target: { db: target }, key: 'u{user}', id: '{_id}', fields: { '*': true } },
  colliding: { target: { db: target }, key: 'c{user}', id: '{title}', fields: ['user', 'title', 'date'] },
  front: { where: "c.type = 'post'", target: { db: target }, key: 'f{type}', id: '{_id}', fields: { '*': true }, newest: { by: 'date', n: 5 } },
});

const isPost = ({ type }) => type === 'post';
const listed = ({ user, title, date }) => ({ user, title, date });
const expectations = {
  by_user: { select: isPost, key: ({ user }) => `u${user}` },
  colliding: { key: ({ user }) => `c${user}`, id: ({ title }) => title, fields: listed },
  front: { select: isPost, key: ({ type }) => `f${type}`, by: 'date', n: 5 },
};

const seed = Number(process.env.PROJECTION_SEED ?? Date.now() % 2 ** 31);
const rounds = Number(process.env.PROJECTION_ROUNDS ?? 6);

test(`random edits and kills, seed ${seed}`, async (t) => {
  const random = randomOf(seed);
  const server = await Server.startFor(t);
  const source = await server.database('q=2');
  const target = await server.database('partitioned=true&q=3');
  for (const [name, definition] of Object.entries(definitions(target))) await createProjection(server, source, name, definition);

  const edit = async () => {
    const { rows } = expectStatus(await server.get(`/${source}/_all_docs`), 200);
    const revisions = new Map(rows.map(({ id, value }) => [id, value.rev]));
    const docs = new Map();
    for (let n = 0; n < 60; ++n) {
      const _id = `d${random(40)}`;
      docs.set(_id, {
        _id, type: random(4) ? 'post' : 'draft', user: `user${random(3)}`, title: `t${random(8)}`, date: random(20),
        ...(revisions.has(_id) && { _rev: revisions.get(_id) }), ...(revisions.has(_id) && random(3) === 0 && { _deleted: true }) });
    }
    expectStatus(await server.post(`/${source}/_bulk_docs`, { docs: [...docs.values()] }), 201);
  };
  const check = async () => {
    for (const name of Object.keys(expectations)) await current(server, source, name);
    const documents = await documentsOf(server, source);
    const expected = new Map(Object.values(expectations).flatMap((one) => [...projected(documents, one)]));
    assertSameRows(await documentsOf(server, target), expected);
    for (const name of Object.keys(expectations)) {
      const { rows, candidates, skipped } = expectStatus(await server.get(`/${source}/_projection/${name}`), 200);
      assert.equal(rows, projected(documents, expectations[name]).size, name);
      assert.equal(skipped.occupied, 0);
      assert.equal(candidates, projected(documents, { ...expectations[name], by: undefined }).size, name);
    }
  };

  for (let round = 0; round < rounds; ++round) {
    for (let n = 0; n < 5; ++n) await edit();
    if (random(2)) await new Promise((resolve) => setTimeout(resolve, random(60)));
    await server.kill();
    await server.relaunch();
    await edit();
    await check();
  }
  // What the last kill left is the same as what a second look makes of it.
  for (const name of Object.keys(expectations)) {
    const before = expectStatus(await server.get(`/${target}`), 200).update_seq;
    expectStatus(await server.post(`/${source}/_projection/${name}/_rebuild`, {}), 200);
    await current(server, source, name);
    assert.equal(expectStatus(await server.get(`/${target}`), 200).update_seq, before, `${name} was written again`);
  }
  await check();
});
