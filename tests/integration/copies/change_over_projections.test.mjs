// Projections continue with the database that takes the place of their source.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient } from '../cosmos.mjs';
import { erase, pathOf, randomOf, save } from '../edits.mjs';
import { namesBelow } from '../folders.mjs';
import { eventually, expectError, expectStatus, Server, sleep } from '../harness.mjs';
import { assertSameRows, createProjection, documentsOf, projected, settled } from '../projections/projection_support.mjs';
import { beginCopy, copied } from './copy_support.mjs';

const seed = Number(process.env.COPY_SEED ?? Date.now() % 2 ** 31);
const rounds = Number(process.env.COPY_ROUNDS ?? 6);

const byUser = { key: '{user}', id: '{n}' };
const order = (n) => ({ _id: `o${n}`, n: `${n}`, user: `u${n % 7}`, total: n % 10 });

const fields = ['user', 'n', 'total'];
const totalOf = ({ user, n, total }) => ({ user, n, total });
/// Definitions whose rows do not depend on the ids of the documents, and what their rows are.
const definitions = {
  plain: { key: 'p{user}', id: '{n}', fields },
  newest: { key: 'w{user}', id: '{n}', fields, newest: { by: 'total', n: 3 } },
  counted: {
    key: 'c{user}', id: '{n}', fields: { user: true, n: true, same: 'same' },
    joins: { same: { count: { db: 'SOURCE', by: '{user}', equals: '{user}' } } },
  },
};
function rowsOf(documents, names = Object.keys(definitions)) {
  const all = [...documents.values()];
  const idOf = ({ n }) => n;
  const counted = ({ user, n }) => ({ user, n, same: all.filter((other) => other.user === user).length });
  const expected = {
    plain: { key: ({ user }) => `p${user}`, id: idOf, fields: totalOf },
    newest: { key: ({ user }) => `w${user}`, id: idOf, fields: totalOf, by: 'total', n: 3 },
    counted: { key: ({ user }) => `c${user}`, id: idOf, fields: counted },
  };
  return new Map(names.flatMap((name) => [...projected(documents, expected[name])]));
}
async function projectInto(server, source, target, names = Object.keys(definitions)) {
  for (const name of names) {
    const definition = JSON.parse(JSON.stringify({ target: { db: target }, ...definitions[name] }).replaceAll('SOURCE', source));
    await createProjection(server, source, name, definition);
  }
  for (const name of names) await settled(server, source, name);
}
const sequenceOf = async (server, db) => expectStatus(await server.get(`/${db}`), 200).update_seq;
const namesOf = async (server, db) =>
  expectStatus(await server.get(`${pathOf(db)}/_projection`), 200).projections.map(({ name }) => name).sort();
const foldersOf = (server) => namesBelow(server.dataDir).filter((name) => /projection-[0-9a-f]{32}$/.test(name));

let number = 0;
async function begin(server, source, more = {}) {
  const id = await beginCopy(server, source, { target: `next-${++number}`, create: { partitioned: true, q: 2 }, ...byUser, ...more });
  await copied(server, source, id);
  return id;
}
const cutOver = async (server, db, id) => expectStatus(await server.post(`${pathOf(db)}/_copy/${id}/_cut_over`, { pause_max: 2000 }), 200);

describe('projections and a change-over', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const filled = async (count = 200) => {
    const db = await server.database('q=2');
    await server.fill(db, Array.from({ length: count }, (_, n) => order(n)));
    return { db, rows: await server.database('partitioned=true&q=2') };
  };

  test('those of the source are those of its successor, and write nothing again', async () => {
    const { db, rows } = await filled();
    await projectInto(server, db, rows);
    const id = await begin(server, db);
    const written = await sequenceOf(server, rows);
    const { former_name: former } = await cutOver(server, db, id);
    for (const name of Object.keys(definitions)) await settled(server, db, name);
    assert.equal(await sequenceOf(server, rows), written);
    assert.deepEqual(await namesOf(server, former), []);
    // From now on its documents count.
    await save(server, db, 'u1:new', { user: 'u1', n: 'new', total: 99 });
    await erase(server, db, 'u2:2');
    for (const name of Object.keys(definitions)) await settled(server, db, name);
    assertSameRows(await documentsOf(server, rows), rowsOf(await documentsOf(server, db)));
    expectError(await server.put(`/${rows}/pu1:new`, {}), 403, 'derived_document');
  });

  test('wait_for waits until the rows are those of the successor', async () => {
    const { db, rows } = await filled(2000);
    await projectInto(server, db, rows, ['plain']);
    const id = await begin(server, db);
    await cutOver(server, db, id);
    await save(server, db, 'u1:new', { user: 'u1', n: 'new', total: 99 });
    expectStatus(await server.get(`/${db}/_projection/plain?wait_for=now&timeout=60000`), 200);
    assertSameRows(await documentsOf(server, rows), rowsOf(await documentsOf(server, db), ['plain']));
  });

  test('rows that are named after the id of their document get the new name', async () => {
    const { db, rows } = await filled(5);
    await createProjection(server, db, 'p', { target: { db: rows }, key: 'all', id: '{_id}', fields: ['n'] });
    await settled(server, db, 'p');
    await cutOver(server, db, await begin(server, db));
    await settled(server, db, 'p');
    assert.deepEqual([...(await documentsOf(server, rows)).keys()], [0, 1, 2, 3, 4].map((n) => `all:u${n}%3A${n}`));
  });

  test('a count of another database counts the documents of the successor', async () => {
    const { db, rows } = await filled(20);
    const users = await server.database();
    await server.fill(users, [{ _id: 'a', user: 'u1' }, { _id: 'b', user: 'u9' }]);
    await createProjection(server, users, 'orders', {
      target: { db: rows }, key: '{user}', id: '{_id}', fields: { user: true, orders: 'orders' },
      joins: { orders: { count: { db, by: '{user}', equals: '{user}' } } } });
    await settled(server, users, 'orders');
    const id = await begin(server, db);
    const written = await sequenceOf(server, rows);
    await cutOver(server, db, id);
    await settled(server, users, 'orders');
    assert.equal(await sequenceOf(server, rows), written);
    await save(server, db, 'u9:9', { user: 'u9', n: '9' });
    await settled(server, users, 'orders');
    assert.deepEqual([...(await documentsOf(server, rows)).values()], [{ user: 'u1', orders: 3 }, { user: 'u9', orders: 1 }]);
    await save(server, users, 'c', { user: 'u2' });
    await settled(server, users, 'orders');
    assert.deepEqual((await documentsOf(server, rows)).get('u2:c'), { user: 'u2', orders: 3 });
  });

  test('a lookup continues if documents keep their ids', async () => {
    const db = await server.database();
    const notes = await server.database();
    const rows = await server.database();
    await server.fill(db, [{ _id: 'ann', name: 'Ann' }]);
    await server.fill(notes, [{ _id: 'n1', user: 'ann' }]);
    await createProjection(server, notes, 'named', {
      target: { db: rows }, id: '{_id}', fields: { name: 'author.name' }, joins: { author: { lookup: { db, id: '{user}' } } } });
    await settled(server, notes, 'named');
    await cutOver(server, db, await begin(server, db, { key: undefined, id: undefined, create: { q: 4 } }));
    await save(server, db, 'ann', { name: 'Anna' });
    await settled(server, notes, 'named');
    assert.deepEqual((await documentsOf(server, rows)).get('n1'), { name: 'Anna' });
  });

  test('a paused one stays paused, with its rows, and replaces them later', async () => {
    const { db, rows } = await filled(30);
    await projectInto(server, db, rows, ['plain']);
    expectStatus(await server.post(`/${db}/_projection/plain/_pause`, {}), 200);
    await cutOver(server, db, await begin(server, db));
    await save(server, db, 'u1:new', { user: 'u1', n: 'new', total: 1 });
    await erase(server, db, 'u2:2');
    await server.kill();
    await server.relaunch();
    assert.equal(expectStatus(await server.get(`/${db}/_projection/plain`), 200).state, 'paused');
    assert.equal((await documentsOf(server, rows)).size, 30);
    expectStatus(await server.post(`/${db}/_projection/plain/_resume`, {}), 200);
    await settled(server, db, 'plain');
    assertSameRows(await documentsOf(server, rows), rowsOf(await documentsOf(server, db), ['plain']));
  });

  test('one that is deleted before it has replaced its rows removes them', async () => {
    const { db, rows } = await filled(30);
    await save(server, rows, 'x:client', {});
    await projectInto(server, db, rows, ['plain']);
    expectStatus(await server.post(`/${db}/_projection/plain/_pause`, {}), 200);
    await cutOver(server, db, await begin(server, db));
    expectStatus(await server.delete(`/${db}/_projection/plain`), 202);
    await eventually(async () => (await namesOf(server, db)).length === 0);
    assert.equal((await documentsOf(server, rows)).size, 1);
  });

  test('a changed definition that is not in effect yet is the one that continues', async () => {
    const { db, rows } = await filled(30);
    await projectInto(server, db, rows, ['plain']);
    expectStatus(await server.post(`/${db}/_projection/plain/_pause`, {}), 200);
    const { rev } = expectStatus(await server.get(`/${db}/_projection/plain`), 200);
    const changed = { target: { db: rows }, ...definitions.plain, where: "c.total > 4" };
    expectStatus(await server.put(`/${db}/_projection/plain?rev=${rev}`, changed), 200);
    await cutOver(server, db, await begin(server, db));
    expectStatus(await server.post(`/${db}/_projection/plain/_resume`, {}), 200);
    const { definition } = await settled(server, db, 'plain');
    assert.deepEqual(definition, changed);
    const documents = new Map([...(await documentsOf(server, db))].filter(([, { total }]) => total > 4));
    assertSameRows(await documentsOf(server, rows), rowsOf(documents, ['plain']));
  });

  test('a definition that comes meanwhile is that of the successor', async () => {
    const { db, rows } = await filled(100);
    const id = await begin(server, db);
    const created = [];
    let stopped = false;
    const create = async () => {
      for (let n = 0; !stopped && n < 15; ++n) {
        const { status } = await server.put(`/${db}/_projection/p${n}`, { target: { db: rows }, key: `k${n}`, id: '{n}', fields });
        assert.equal(status, 201);
        created.push(`p${n}`);
      }
    };
    const creating = create();
    await sleep(20);
    await cutOver(server, db, id);
    stopped = true;
    await creating;
    await save(server, db, 'u1:new', { user: 'u1', n: 'new', total: 1 });
    assert.deepEqual(await namesOf(server, db), created.sort());
    for (const name of created) await settled(server, db, name);
    assert.equal((await documentsOf(server, rows)).size, 101 * created.length);
  });

  test('a projection that cannot continue refuses the change-over', async () => {
    const { db, rows } = await filled(10);
    const refused = async (copy, reason) => {
      const reply = await server.post(`/${db}/_copy/${copy}/_cut_over`, {});
      expectError(reply, 409, 'copy_projections');
      assert.match(reply.body.reason, reason);
    };
    const gone = async (source, name) => {
      expectStatus(await server.delete(`/${source}/_projection/${name}?rows=keep`), 200);
    };
    const other = await server.database();
    await createProjection(server, other, 'into', { target: { db }, id: '{_id}', fields: { '*': true } });
    const id = await begin(server, db);
    await refused(id, /projection into of .* writes into/);
    await gone(other, 'into');
    await createProjection(server, other, 'named', {
      target: { db: rows }, key: 'k', id: '{_id}', fields: { n: 'o.n' }, joins: { o: { lookup: { db, id: '{order}' } } } });
    await refused(id, /named looks documents up/);
    await gone(other, 'named');
    const target = `next-${number}`;
    for (const source of [db, target]) {
      await createProjection(server, source, 'twice', { target: { db: rows }, key: 'k', id: '{_id}', fields });
    }
    await refused(id, /both have a projection twice/);
    await gone(target, 'twice');
    await cutOver(server, db, id);
    assert.deepEqual(await namesOf(server, db), ['twice']);
  });

  test('containers keep their projections', async () => {
    const client = cosmosClient(server);
    const { database } = await client.databases.create({ id: 'shop' });
    const { container } = await database.containers.create({ id: 'orders', partitionKey: { paths: ['/id'] } });
    const { container: feed } = await database.containers.create({ id: 'feed', partitionKey: { paths: ['/user'] } });
    for (let n = 0; n < 30; ++n) await container.items.create({ id: `o${n}`, user: `u${n % 3}`, total: n });
    await createProjection(server, 'shop/orders', 'newest', {
      target: { db: 'shop/feed', exclusive: true }, fields: ['id', 'user', 'total'], newest: { by: 'total', n: 2 } });
    await settled(server, 'shop/orders', 'newest');
    const create = { partitionKey: { paths: ['/user'], kind: 'Hash', version: 2 } };
    const id = await begin(server, 'shop/orders', { target: 'shop/orders2', create, key: undefined, id: undefined });
    const sequence = async () => expectStatus(await server.get('/shop%2Ffeed'), 200).update_seq;
    const written = await sequence();
    await cutOver(server, 'shop/orders', id);
    await settled(server, 'shop/orders', 'newest');
    assert.equal(await sequence(), written);
    await cosmosClient(server).database('shop').container('orders').items.create({ id: 'new', user: 'u1', total: 100 });
    await settled(server, 'shop/orders', 'newest');
    const { resources } = await feed.items.query("SELECT VALUE c.id FROM c WHERE c.user = 'u1' ORDER BY c.total").fetchAll();
    assert.deepEqual(resources, ['o28', 'new']);
  });
});

test(`kills while projections are taken over, seed ${seed}`, async (t) => {
  const random = randomOf(seed);
  const server = await Server.startFor(t);
  let changed = 0;
  for (let round = 0; round < rounds; ++round) {
    const db = await server.database(`q=${1 + random(2)}`);
    const rows = await server.database('partitioned=true&q=2');
    await server.fill(db, Array.from({ length: 300 }, (_, n) => order(n)));
    await projectInto(server, db, rows);
    const id = await begin(server, db);
    const asked = server.post(`/${db}/_copy/${id}/_cut_over`, { former_name: `${db}-former`, pause_max: 2000 }).catch(() => undefined);
    await sleep(random(2) ? random(15) : random(300));
    await server.kill();
    await asked;
    await server.relaunch();
    if (expectStatus(await server.get('/_all_dbs'), 200).includes(`${db}-former`)) {
      ++changed;
    } else {
      await copied(server, db, id);
      expectStatus(await server.post(`/${db}/_copy/${id}/_cut_over`, { former_name: `${db}-former`, pause_max: 2000 }), 200);
    }
    const extra = order(300 + random(50));
    await save(server, db, `${extra.user}:${extra.n}`, (({ _id, ...doc }) => doc)(extra));
    for (const name of Object.keys(definitions)) await settled(server, db, name, 60_000);
    assertSameRows(await documentsOf(server, rows), rowsOf(await documentsOf(server, db)));
    assert.deepEqual(await namesOf(server, `${db}-former`), []);
    // The states of before are gone.
    await eventually(() => foldersOf(server).length === 3 * (round + 1));
  }
  t.diagnostic(`${changed} of ${rounds} kills came after the change-over`);
});
