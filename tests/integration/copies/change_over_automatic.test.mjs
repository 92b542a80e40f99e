// Copies that take the place of their source by themselves.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient } from '../cosmos.mjs';
import { pathOf, save } from '../edits.mjs';
import { eventually, expectError, expectStatus, Server, sleep } from '../harness.mjs';
import { createProjection } from '../projections/projection_support.mjs';
import { beginCopy, contentOf, copyOf } from './copy_support.mjs';

const byUser = { key: '{user}', id: '{n}' };
const order = (n) => ({ _id: `o${n}`, n: `${n}`, user: `u${n % 7}` });
const automatic = { create: { partitioned: true, q: 2 }, ...byUser, cut_over: 'automatic' };

describe('a copy with an automatic change-over', () => {
  let server;
  let number = 0;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const filled = async (count = 300) => {
    const db = await server.database('q=2');
    await server.fill(db, Array.from({ length: count }, (_, n) => order(n)));
    return db;
  };
  const begin = (db, more = {}) => beginCopy(server, db, { target: `next-${++number}`, ...automatic, former_name: `${db}-old`, ...more });
  const isReplaced = async (db) => (await server.get(`${pathOf(`${db}-old`)}`)).status === 200;
  const replaced = (db) => eventually(() => isReplaced(db), 60_000);

  test('takes the place of its source, and loses no write', async () => {
    const db = await filled();
    const acknowledged = new Set();
    let stopped = false;
    const write = async (writer) => {
      for (let i = 0; !stopped; ++i) {
        const doc = { n: `w${writer}-${i}`, user: `u${i % 7}` };
        let reply = await server.put(`/${db}/${doc.n}`, doc);
        if (reply.status === 400) reply = await server.put(`/${db}/${doc.user}:${doc.n}`, doc);
        expectStatus(reply, 201);
        acknowledged.add(doc.n);
      }
    };
    const writers = [0, 1].map(write);
    const id = await begin(db, { pause_max: 2000 });
    await replaced(db);
    await sleep(100);
    stopped = true;
    await Promise.all(writers);
    assert.equal(expectStatus(await server.get(`/${db}`), 200).props.partitioned, true);
    const present = new Set([...(await contentOf(server, db)).values()].map(({ n }) => n));
    assert.equal(present.size, 300 + acknowledged.size);
    for (const n of acknowledged) assert.ok(present.has(n), `${n} is lost`);
    assert.equal((await copyOf(server, `${db}-old`, id)).state, 'done');
  });

  test('names the source by its tag if no other name is given', async () => {
    const db = await filled(5);
    await begin(db, { former_name: undefined });
    const named = async () => expectStatus(await server.get('/_all_dbs'), 200).some((name) => new RegExp(`^${db}-[0-9a-f]{8}$`).test(name));
    await eventually(named, 60_000);
  });

  test('says why it has not, and tries again', async () => {
    const db = await filled(5);
    const other = await server.database();
    await createProjection(server, other, 'into', { target: { db }, id: '{_id}', fields: { '*': true } });
    const id = await begin(db);
    await eventually(async () => (await copyOf(server, db, id)).cut_over.attempts > 0, 60_000);
    const { cut_over: cutOver, state } = await copyOf(server, db, id);
    assert.match(cutOver.reason, /projection into .* writes into/);
    assert.equal(state, 'following');
    expectStatus(await server.delete(`/${other}/_projection/into?rows=keep`), 200);
    await replaced(db);
  });

  test('waits for a better moment if writers would wait too long', async () => {
    const db = await filled(5);
    const slowly = 'function (doc) { for (var end = Date.now() + 500; doc.slow && Date.now() < end;); }';
    await save(server, db, '_design/slow', { validate_doc_update: slowly });
    let stopped = false;
    const write = async (writer) => {
      for (let i = 0; !stopped; ++i) {
        expectStatus(await server.put(`/${db}/w${writer}-${i}`, { n: `w${writer}-${i}`, user: 'u1', slow: true }), 201);
      }
    };
    const writers = [0, 1].map(write);
    const id = await begin(db, { pause_max: 20 });
    await eventually(async () => (await copyOf(server, db, id)).cut_over.attempts > 0, 60_000);
    assert.match((await copyOf(server, db, id)).cut_over.reason, /took longer than 20 ms/);
    // Other clients write meanwhile.
    expectStatus(await server.put(`/${db}/o9`, { n: '9', user: 'u9' }), 201);
    stopped = true;
    await Promise.all(writers);
    await replaced(db);
    assert.ok((await contentOf(server, db)).has('u9:9'));
  });

  test('continues after a restart, and not while it is paused', async () => {
    const db = await filled(2000);
    const id = await begin(db);
    expectStatus(await server.post(`/${db}/_copy/${id}/_pause`, {}), 200);
    await server.kill();
    await server.relaunch();
    assert.equal((await copyOf(server, db, id)).state, 'paused');
    expectStatus(await server.post(`/${db}/_copy/${id}/_resume`, {}), 200);
    await replaced(db);
    assert.equal(expectStatus(await server.get(`/${db}`), 200).doc_count, 2000);
  });

  test('gives a container its scripts', async () => {
    const { database } = await cosmosClient(server).databases.create({ id: 'shop' });
    const { container } = await database.containers.create({ id: 'orders', partitionKey: { paths: ['/id'] } });
    await container.items.create({ id: 'o1', user: 'u1', n: 4 });
    await container.scripts.userDefinedFunctions.create({ id: 'twice', body: 'function (n) { return 2 * n; }' });
    const create = { partitionKey: { paths: ['/user'], kind: 'Hash', version: 2 } };
    await beginCopy(server, 'shop/orders', { target: 'shop/orders2', create, cut_over: 'automatic', former_name: 'shop/orders-old' });
    await replaced('shop/orders');
    const fresh = cosmosClient(server).database('shop').container('orders');
    assert.deepEqual((await fresh.items.query('SELECT VALUE udf.twice(c.n) FROM c').fetchAll()).resources, [8]);
  });

  test('is refused where it cannot work', async () => {
    const db = await filled(1);
    const plain = await server.database('partitioned=true');
    const post = (body) => server.post(`/${db}/_copy`, { ...automatic, target: 'refused', ...body });
    const withoutCreate = await post({ create: undefined, target: plain });
    expectError(withoutCreate, 400, 'copy_syntax');
    assert.match(withoutCreate.body.reason, /only with `create`/);
    expectError(await post({ cut_over: 'soon' }), 400, 'copy_syntax');
    expectError(await post({ pause_max: 0 }), 400, 'copy_syntax');
    expectError(await post({ pause_max: 5001 }), 400, 'copy_syntax');
    expectError(await post({ former_name: 7 }), 400, 'copy_syntax');
    expectError(await post({ former_name: 'Upper' }), 400, 'illegal_database_name');
    expectError(await post({ cut_over: 'manual', pause_max: 60 }), 400, 'copy_syntax');
    expectError(await server.get('/refused'), 404, 'not_found');
  });
});
