// The target of a copy takes the place of its source while clients write.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, errorOf } from '../cosmos.mjs';
import { erase, pathOf, save } from '../edits.mjs';
import { eventually, expectError, expectStatus, patience, Server, sleep } from '../harness.mjs';
import { reshard } from '../reshard.mjs';
import { assertSameContent, beginCopy, contentOf, copied, copiedContent, copyOf } from './copy_support.mjs';

const byUser = { key: '{user}', id: '{n}' };
const idByUser = ({ user, n }) => `${user}:${n}`;
const order = (n) => ({ _id: `o${n}`, n: `${n}`, user: `u${n % 7}` });

let names = 0;
const freshName = () => `target-${++names}`;
const cutOver = async (server, db, id, body = {}) =>
  expectStatus(await server.post(`${pathOf(db)}/_copy/${id}/_cut_over`, body), 200);

describe('a change-over', () => {
  let server;
  before(async () => {
    server = await Server.start();
  });
  after(() => server?.stop());

  const begin = async (source, more = {}, on = server) => {
    const target = freshName();
    const id = await beginCopy(on, source, { target, create: { partitioned: true, q: 2 }, ...byUser, ...more });
    return { target, id };
  };

  test('gives the target the name of the source, which is kept as it was', async () => {
    const db = await server.database('q=2');
    await server.fill(db, Array.from({ length: 500 }, (_, n) => order(n)));
    await save(server, db, '_design/d', { views: { all: { map: 'function (doc) { emit(doc.user); }' } } });
    const security = { admins: { names: ['ann'], roles: [] }, members: { names: [], roles: ['r'] } };
    expectStatus(await server.put(`/${db}/_security`, security), 200);
    const { target, id } = await begin(db);
    await copied(server, db, id);
    const content = await contentOf(server, db);
    const done = await cutOver(server, db, id, { former_name: `${db}-old` });
    assert.equal(done.name, db);
    assert.equal(done.former_name, `${db}-old`);
    assert.ok(done.pause_ms >= 0 && done.pause_ms < 10_000, String(done.pause_ms));
    assert.equal(expectStatus(await server.get(`/${db}`), 200).props.partitioned, true);
    assertSameContent(await contentOf(server, db), copiedContent(content, idByUser));
    assertSameContent(await contentOf(server, `${db}-old`), content);
    assert.deepEqual(expectStatus(await server.get(`/${db}/_security`), 200), security);
    assert.deepEqual(expectStatus(await server.get(`/${db}-old/_security`), 200), security);
    // The name that the target had leads to it.
    assert.equal(expectStatus(await server.get(`/${target}`), 200).db_name, db);
    assert.equal(expectStatus(await server.get(`/${db}/_partition/u1/_design/d/_view/all`), 200).rows.length, 72);
    expectStatus(await server.put(`/${db}/u9:x`, { user: 'u9' }), 201);
    // The copy is the source's.
    assert.equal((await copyOf(server, `${db}-old`, id)).state, 'done');
    expectError(await server.get(`/${db}/_copy/${id}`), 404, 'not_found');
  });

  test('aliases of the source lead to the target, also after a restart', async (t) => {
    const own = await Server.startFor(t);
    const db = await own.database();
    await save(own, db, 'o1', order(1));
    expectStatus(await own.put(`/${db}/_aliases/other-name`, {}), 201);
    const { target, id } = await begin(db, {}, own);
    await copied(own, db, id);
    await cutOver(own, db, id, { former_name: `${db}-old` });
    const check = async () => {
      expectStatus(await own.get('/other-name/u1:1'), 200);
      assert.deepEqual(expectStatus(await own.get(`/${db}/_aliases`), 200).aliases, ['other-name', target]);
      assert.deepEqual(expectStatus(await own.get(`/${db}-old/_aliases`), 200).aliases, []);
    };
    await check();
    expectStatus(await own.put('/other-name/u9:x', { user: 'u9' }), 201);
    await own.kill();
    await own.relaunch();
    await check();
    expectStatus(await own.put('/other-name/u9:y', { user: 'u9' }), 201);
  });

  test('what has been replaced takes no more writes, until the copy is forgotten', async () => {
    const db = await server.database();
    await save(server, db, 'o1', order(1));
    const { id } = await begin(db);
    await copied(server, db, id);
    const { former_name: former } = await cutOver(server, db, id);
    assert.match(former, new RegExp(`^${db}-[0-9a-f]{8}$`));
    const refused = await server.put(`/${former}/o2`, order(2));
    expectError(refused, 403, 'derived_document');
    assert.match(refused.body.reason, new RegExp(`database ${db}, which has taken the place`));
    const { _rev } = expectStatus(await server.get(`/${former}/o1`), 200);
    expectError(await server.delete(`/${former}/o1?rev=${_rev}`), 403, 'derived_document');
    await server.kill();
    await server.launch();
    expectError(await server.put(`/${former}/o2`, order(2)), 403, 'derived_document');
    expectStatus(await server.put(`/${db}/u2:2`, { user: 'u2' }), 201);
    expectStatus(await server.delete(`/${former}/_copy/${id}`), 200);
    expectStatus(await server.put(`/${former}/o2`, order(2)), 201);
    expectStatus(await server.get(`/${db}/u1:1`), 200);
  });

  test('documents of what has been replaced expire as before', async () => {
    const db = await server.database('ttl=2');
    await save(server, db, 'o1', order(1));
    const { id } = await begin(db);
    await copied(server, db, id);
    const { former_name: former } = await cutOver(server, db, id);
    await eventually(async () => expectStatus(await server.get(`/${former}`), 200).doc_del_count === 1, 15_000);
  });

  test('no write is lost, and none arrives at the wrong database', async () => {
    const db = await server.database('q=2');
    await server.fill(db, Array.from({ length: 3000 }, (_, n) => order(n)));
    const { id } = await begin(db);
    const acknowledged = new Map();
    let stopped = false;
    // The ids of the source are refused by the target, so a writer learns from 400 that it has to use those.
    const write = async (writer) => {
      for (let i = 0; !stopped; ++i) {
        const doc = { n: `w${writer}-${i}`, user: `u${i % 7}` };
        const before = await server.put(`/${db}/${doc.n}`, doc);
        if (before.status === 400) {
          expectStatus(await server.put(`/${db}/${idByUser(doc)}`, doc), 201);
        } else {
          expectStatus(before, 201);
        }
        acknowledged.set(idByUser(doc), doc);
      }
    };
    const writers = [0, 1, 2, 3, 4, 5].map(write);
    await eventually(async () => (await copyOf(server, db, id)).state === 'following');
    const { pause_ms: pause, former_name: former } = await cutOver(server, db, id);
    await sleep(200);
    stopped = true;
    await Promise.all(writers);
    const content = await contentOf(server, db);
    for (const [_id, doc] of acknowledged) {
      const { _rev, ...found } = content.get(_id) ?? {};
      assert.deepEqual(found, { _id, ...doc });
    }
    assert.equal(content.size, 3000 + acknowledged.size);
    const moved = [...(await contentOf(server, former)).keys()];
    assert.ok(moved.length < content.size, 'some were written after the change-over');
    assert.ok(pause < 2000, `${pause} ms`);
  });

  test('positions that clients have are not taken for those of the new database', async () => {
    const db = await server.database('q=1');
    await server.fill(db, Array.from({ length: 50 }, (_, n) => order(n)));
    const { update_seq: since } = expectStatus(await server.get(`/${db}`), 200);
    const find = { selector: { user: { $gt: null } }, limit: 10 };
    const { bookmark } = expectStatus(await server.post(`/${db}/_find`, find), 200);
    const sql = { query: 'SELECT c.n FROM c', max_items: 10 };
    const { id } = await begin(db);
    await copied(server, db, id);
    const page = await server.post(`/${db}/_sql`, sql);
    await cutOver(server, db, id);
    const changes = expectStatus(await server.get(`/${db}/_changes?since=${encodeURIComponent(since)}`), 200);
    assert.equal(changes.results.length, 50);
    expectError(await server.post(`/${db}/_find`, { ...find, bookmark }), 400, 'invalid_bookmark');
    if (page.body.continuation) expectStatus(await server.post(`/${db}/_sql`, { ...sql, continuation: page.body.continuation }), 400);
    const own = expectStatus(await server.post(`/${db}/_find`, find), 200);
    const next = expectStatus(await server.post(`/${db}/_find`, { ...find, bookmark: own.bookmark }), 200);
    assert.equal(next.docs.length, 10);
    // The numbers of changes that are shown count from the first one.
    const again = await server.database();
    const { id: copy } = expectStatus(await server.post(`/${db}/_copy`, { target: again }), 202);
    const { behind } = await copyOf(server, db, copy);
    assert.ok(behind <= 50, String(behind));
  });

  test('feeds that wait end, so that their readers ask the new database', async () => {
    const db = await server.database();
    await save(server, db, 'o1', order(1));
    const { id } = await begin(db);
    await copied(server, db, id);
    const continuous = await server.feed(`/${db}/_changes?feed=continuous&since=now&heartbeat=60000`);
    const longpoll = server.get(`/${db}/_changes?feed=longpoll&since=now&timeout=25000`);
    await sleep(100);
    const asked = Date.now();
    await cutOver(server, db, id);
    const lines = (await continuous.untilEnd()).trim().split('\n');
    const { last_seq: since } = JSON.parse(lines.at(-1));
    assert.deepEqual(expectStatus(await longpoll, 200).results, []);
    assert.ok(Date.now() - asked < 15_000 * patience);
    const { results } = expectStatus(await server.get(`/${db}/_changes?since=${encodeURIComponent(since)}`), 200);
    assert.deepEqual(results.map((row) => row.id), ['u1:1']);
  });

  test('may follow another one', async () => {
    const db = await server.database();
    await server.fill(db, Array.from({ length: 20 }, (_, n) => order(n)));
    const first = await begin(db);
    await copied(server, db, first.id);
    await cutOver(server, db, first.id);
    const target = freshName();
    const second = await beginCopy(server, db, { target, create: { partitioned: true }, key: 'all', id: '{n}' });
    await copied(server, db, second);
    await cutOver(server, db, second);
    assert.equal(expectStatus(await server.get(`/${db}/_partition/all`), 200).doc_count, 20);
  });

  test('continues after a split of the source, and after a restart', async () => {
    const db = await server.database('q=1');
    await server.fill(db, Array.from({ length: 200 }, (_, n) => order(n)));
    const { id } = await begin(db);
    await reshard(server, { type: 'split', db });
    await server.kill();
    await server.launch();
    await save(server, db, 'o300', order(300));
    await erase(server, db, 'o1');
    await copied(server, db, id);
    const content = await contentOf(server, db);
    await cutOver(server, db, id);
    assertSameContent(await contentOf(server, db), copiedContent(content, idByUser));
  });

  test('is refused if the target was not created for it', async () => {
    const db = await server.database();
    const plain = await server.database('partitioned=true');
    const id = await beginCopy(server, db, { target: plain, ...byUser });
    await copied(server, db, id);
    expectError(await server.post(`/${db}/_copy/${id}/_cut_over`, {}), 409, 'copy_positions');
  });

  test('bad requests change nothing', async () => {
    const db = await server.database();
    const other = await server.database();
    const { id } = await begin(db);
    await copied(server, db, id);
    const post = (body) => server.post(`/${db}/_copy/${id}/_cut_over`, body);
    expectError(await post({ former_name: other }), 412, 'file_exists');
    expectError(await post({ former_name: 'Upper' }), 400, 'illegal_database_name');
    for (const body of [{ former: 'x' }, { former_name: 7 }, { pause_max: 0 }, { pause_max: 5001 }, { pause_max: '60' }]) {
      expectError(await post(body), 400, 'copy_syntax');
    }
    expectError(await server.post(`/${db}/_copy/${'0'.repeat(32)}/_cut_over`, {}), 404, 'not_found');
    expectStatus(await server.post(`/${db}/_copy/${id}/_pause`, {}), 200);
    expectError(await post({}), 409, 'conflict');
    expectStatus(await server.post(`/${db}/_copy/${id}/_resume`, {}), 200);
    await save(server, db, 'o1', order(1));
    await cutOver(server, db, id, { pause_max: 2000 });
    expectStatus(await server.get(`/${db}/u1:1`), 200);
  });

  test('the target is created with the copy, or not at all', async () => {
    const db = await server.database();
    const copy = (body) => server.post(`/${db}/_copy`, { target: 'made', ...byUser, ...body });
    expectError(await copy({ create: 7 }), 400, 'copy_syntax');
    expectError(await copy({ create: { partitioned: 'yes' } }), 400, 'copy_syntax');
    expectError(await copy({ create: { partitions: 2 } }), 400, 'unknown_member');
    expectError(await copy({ create: { partitioned: false } }), 400, 'copy_syntax');  // the key needs partitions
    expectError(await copy({ create: { partitioned: true }, target: 'Upper' }), 400, 'copy_syntax');
    expectError(await server.get('/made'), 404, 'not_found');
    const { id } = expectStatus(await copy({ create: { partitioned: true } }), 202);
    assert.equal(expectStatus(await copy({ create: { partitioned: true } }), 202).id, id);  // the same again
    expectStatus(await server.delete(`/${db}/_copy/${id}`), 200);
    expectError(await server.get('/made'), 404, 'not_found');
    expectStatus(await server.put('/made?partitioned=true'), 201);
    expectError(await copy({ create: { partitioned: true } }), 412, 'file_exists');
    expectStatus(await server.delete('/made'), 200);
  });
});

describe('a change-over of a container', () => {
  let server;
  let client;
  let database;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    ({ database } = await client.databases.create({ id: 'shop' }));
  });
  after(() => server?.stop());

  test('gives it another key path under the same name', async () => {
    const { container } = await database.containers.create({ id: 'orders', partitionKey: { paths: ['/id'] } });
    for (let n = 0; n < 60; ++n) await container.items.create({ id: `o${n}`, user: `u${n % 5}`, n });
    await container.scripts.userDefinedFunctions.create({ id: 'twice', body: 'function (n) { return 2 * n; }' });
    const { resource: before } = await container.item('o7', 'o7').read();
    const feed = await cosmosRequest(server, 'GET', '/dbs/shop/colls/orders/docs', { headers: { 'A-IM': 'Incremental feed' } });
    const id = await beginCopy(server, 'shop/orders', { target: 'shop/orders2', create: { partitionKey: { paths: ['/user'], kind: 'Hash', version: 2 } } });
    await copied(server, 'shop/orders', id);
    const ranges = async () => (await container.readPartitionKeyRanges().fetchAll()).resources.map((range) => range.id);
    const rangesBefore = await ranges();
    const done = await cutOver(server, 'shop/orders', id, { former_name: 'shop/orders-by-id' });
    assert.equal(done.name, 'shop/orders');

    // A client that starts now.
    const fresh = cosmosClient(server).database('shop').container('orders');
    const { resource } = await fresh.read();
    assert.equal(resource.id, 'orders');
    assert.deepEqual(resource.partitionKey.paths, ['/user']);
    assert.equal((await fresh.item('o7', 'u2').read()).resource._etag, before._etag);
    const sum = await fresh.items.query('SELECT VALUE SUM(udf.twice(c.n)) FROM c').fetchAll();
    assert.deepEqual(sum.resources, [2 * (59 * 60) / 2]);
    await fresh.items.create({ id: 'new', user: 'u9' });
    // One that has been running reads the ranges again, as those it knows are gone.
    const rangesAfter = await ranges();
    assert.ok(rangesAfter.every((range) => !rangesBefore.includes(range)), `${rangesBefore} ${rangesAfter}`);
    const all = await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll();
    assert.deepEqual(all.resources, [61]);
    // A position in the feed of before begins again.
    const again = await cosmosRequest(server, 'GET', '/dbs/shop/colls/orders/docs', { headers: { 'A-IM': 'Incremental feed', 'If-None-Match': feed.headers.etag } });
    assert.equal(again.body.Documents.length, 61);
    const later = await cosmosRequest(server, 'GET', '/dbs/shop/colls/orders/docs', { headers: { 'A-IM': 'Incremental feed', 'If-None-Match': again.headers.etag } });
    assert.equal(later.status, 304);
    const { resources: listed } = await database.containers.readAll().fetchAll();
    assert.deepEqual(listed.map((one) => one.id).sort(), ['orders', 'orders-by-id']);
    assert.equal((await errorOf(database.container('orders-by-id').items.create({ id: 'x' }))).code, 403);
  });

  test('loses no item while clients write', async () => {
    const { container } = await database.containers.create({ id: 'busy', partitionKey: { paths: ['/id'] } });
    for (let n = 0; n < 300; ++n) await container.items.create({ id: `o${n}`, user: `u${n % 5}` });
    const id = await beginCopy(server, 'shop/busy', { target: 'shop/busy2', create: { partitionKey: { paths: ['/user'], kind: 'Hash' } } });
    let stopped = false;
    const written = new Set();
    // As the key is in the body, a client that writes items needs not know which path it has.
    const write = async (writer) => {
      for (let i = 0; !stopped; ++i) {
        const item = { id: `w${writer}-${i}`, user: `u${i % 5}` };
        for (const key of [item.id, item.user]) {
          const { status } = await cosmosRequest(server, 'POST', '/dbs/shop/colls/busy/docs', { body: item, partition: [key] });
          if (status === 201) {
            written.add(item.id);
            break;
          }
          assert.equal(status, 400);
        }
      }
    };
    const writers = [0, 1, 2, 3].map(write);
    await eventually(async () => (await copyOf(server, 'shop/busy', id)).state === 'following');
    await cutOver(server, 'shop/busy', id);
    await sleep(200);
    stopped = true;
    await Promise.all(writers);
    const fresh = cosmosClient(server).database('shop').container('busy');
    const { resources } = await fresh.items.query('SELECT VALUE c.id FROM c').fetchAll();
    assert.equal(resources.length, 300 + written.size);
    for (const one of written) assert.ok(resources.includes(one), one);
  });
});
