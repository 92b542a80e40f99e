// Projections under random edits and kill -9: what the target has equals what the definition says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf } from '../edits.mjs';
import { expectStatus, Server } from '../harness.mjs';
import { assertSameRows, createProjection, current, documentsOf, projected, settled } from './projection_support.mjs';

const definitions = (target, users) => ({
  joined: {
    where: "c.type = 'post'", target: { db: target }, key: 'j{user}', id: '{_id}', fields: { user: true, name: 'author.name', same: 'same' },
    joins: {
      author: { lookup: { db: users, id: '{user}' }, required: true },
      same: { count: { db: 'SOURCE', where: "c.type = 'post'", by: '{title}', equals: '{title}' } },
    },
  },
  by_user: { where: "c.type = 'post'", target: { db: target }, key: 'u{user}', id: '{_id}', fields: { '*': true } },
  colliding: { target: { db: target }, key: 'c{user}', id: '{title}', fields: ['user', 'title', 'date'] },
  front: { where: "c.type = 'post'", target: { db: target }, key: 'f{type}', id: '{_id}', fields: { '*': true }, newest: { by: 'date', n: 5 } },
  several: { target: { db: target }, key: 's{user}', id: '{title}-{n}', transform: severalOf },
  several_newest: { where: "c.type = 'post'", target: { db: target }, key: 'n{user}', id: '{_id}-{n}', transform: severalOf, newest: { by: 'date', n: 4 } },
});

const severalOf = 'function (doc) { return [0, 1, 2].slice(0, doc.date % 4).map(function (n) { return {user: doc.user, title: doc.title, n: n, date: doc.date}; }); }';

const isPost = ({ type }) => type === 'post';
const listed = ({ user, title, date }) => ({ user, title, date });
/// What `joined` is of these documents.
function joined(documents, users) {
  const rows = new Map();
  for (const [id, { type, user, title }] of documents) {
    if (type !== 'post' || !users.has(user)) continue;
    const same = [...documents.values()].filter((other) => other.type === 'post' && other.title === title).length;
    rows.set(`j${user}:${id}`, { user, name: users.get(user).name, same });
  }
  return rows;
}

/// What `several` and `several_newest` are: of each document up to three rows.
function several(documents, { select = () => true, key, id, n: newest }) {
  const parts = new Map();
  for (const [source, document] of documents) {
    if (!select(document)) continue;
    for (let n = 0; n < Math.min(3, document.date % 4); ++n) {
      parts.set(`${source}\0${n}`, { user: document.user, title: document.title, n, date: document.date });
    }
  }
  return projected(parts, { key, id: (row, part) => id(row, part.split('\0')[0]), by: newest && 'date', n: newest });
}
const severals = {
  several: { key: ({ user }) => `s${user}`, id: ({ title, n }) => `${title}-!${n}` },
  several_newest: { select: isPost, key: ({ user }) => `n${user}`, id: ({ n }, source) => `${source}-!${n}`, n: 4 },
};

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
  const users = await server.database();
  const all = JSON.parse(JSON.stringify(definitions(target, users)).replaceAll('SOURCE', source));
  for (const [name, definition] of Object.entries(all)) await createProjection(server, source, name, definition);
  const bulk = async (db, docs) => expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
  const revisionsOf = async (db) => {
    const { rows } = expectStatus(await server.get(`/${db}/_all_docs`), 200);
    return new Map(rows.map(({ id, value }) => [id, value.rev]));
  };

  const editUsers = async () => {
    const revisions = await revisionsOf(users);
    const _id = `user${random(3)}`;
    const known = revisions.has(_id);
    await bulk(users, [{ _id, name: `n${random(1000)}`, ...(known && { _rev: revisions.get(_id) }), ...(known && random(3) === 0 && { _deleted: true }) }]);
  };
  const edit = async () => {
    await editUsers();
    const revisions = await revisionsOf(source);
    const docs = new Map();
    for (let n = 0; n < 60; ++n) {
      const _id = `d${random(40)}`;
      docs.set(_id, {
        _id, type: random(4) ? 'post' : 'draft', user: `user${random(3)}`, title: `t${random(8)}`, date: random(20),
        ...(revisions.has(_id) && { _rev: revisions.get(_id) }), ...(revisions.has(_id) && random(3) === 0 && { _deleted: true }) });
    }
    await bulk(source, [...docs.values()]);
  };
  const check = async () => {
    for (const name of [...Object.keys(expectations), ...Object.keys(severals)]) await current(server, source, name);
    await settled(server, source, 'joined');
    const documents = await documentsOf(server, source);
    const expected = new Map(Object.values(expectations).flatMap((one) => [...projected(documents, one)]));
    for (const [id, row] of joined(documents, await documentsOf(server, users))) expected.set(id, row);
    for (const one of Object.values(severals)) for (const [id, row] of several(documents, one)) expected.set(id, row);
    assertSameRows(await documentsOf(server, target), expected);
    for (const [name, one] of Object.entries(severals)) {
      const { rows, candidates, skipped } = expectStatus(await server.get(`/${source}/_projection/${name}`), 200);
      assert.deepEqual([rows, skipped.errors], [several(documents, one).size, 0], name);
      assert.equal(candidates, several(documents, { ...one, n: undefined }).size, name);
    }
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
  for (const name of [...Object.keys(expectations), ...Object.keys(severals)]) {
    const before = expectStatus(await server.get(`/${target}`), 200).update_seq;
    expectStatus(await server.post(`/${source}/_projection/${name}/_rebuild`, {}), 200);
    await current(server, source, name);
    assert.equal(expectStatus(await server.get(`/${target}`), 200).update_seq, before, `${name} was written again`);
  }
  await check();
});
