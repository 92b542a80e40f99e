// One set of documents behind two APIs: what one writes the other reads, changes and follows.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import http from 'pouchdb-adapter-http';
import memory from 'pouchdb-adapter-memory';
import PouchDB from 'pouchdb-core';
import replication from 'pouchdb-replication';
import { cosmosClient, errorOf, newContainer } from '../cosmos.mjs';
import { expectStatus, Server } from '../harness.mjs';

PouchDB.plugin(http).plugin(memory).plugin(replication);

describe('two APIs for one container', () => {
  let server, client, container, database;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { throughput: 20_000 });
    database = '/' + encodeURIComponent(`${container.database.id}/${container.id}`);
  });
  after(() => server?.stop());

  test('a container is the database "database/container" of the CouchDB API', async () => {
    const info = expectStatus(await server.get(database), 200);
    assert.equal(info.props.partitioned, true);
    assert.ok(expectStatus(await server.get('/_all_dbs'), 200).includes(`${container.database.id}/${container.id}`));
  });

  test('a new container keeps 20 revisions of an item, or as many as the CouchDB API says', async () => {
    assert.equal(expectStatus(await server.get(`${database}/_revs_limit`), 200), 20);
    const item = { id: 'often', pk: 'books' };
    for (let n = 0; n < 30; ++n) await container.items.upsert({ ...item, n });
    const kept = async () => expectStatus(await server.get(`${database}/books:often?revs=true`), 200)._revisions;
    assert.deepEqual([(await kept()).start, (await kept()).ids.length], [30, 20]);
    expectStatus(await server.put(`${database}/_revs_limit`, '25'), 200);
    for (let n = 0; n < 10; ++n) await container.items.upsert({ ...item, n });
    assert.deepEqual([(await kept()).start, (await kept()).ids.length], [40, 25]);
  });

  test('an item is the document key:id, its etag the revision', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'books', n: 1 });
    const document = expectStatus(await server.get(`${database}/books:a`), 200);
    assert.deepEqual(document, { _id: 'books:a', _rev: JSON.parse(resource._etag), id: 'a', pk: 'books', n: 1 });
    for (const [pk, key] of [['a:b', 'a%253Ab'], [42, '!42'], [null, '!null'], [undefined, '!none'], ['', '!%22%22'], ['_x', '%255Fx']]) {
      await container.items.create({ id: 'k', pk });
      assert.equal(expectStatus(await server.get(`${database}/${key}:k`), 200).id, 'k');
    }
  });

  test('a document written by the CouchDB API is an item', async () => {
    const saved = expectStatus(await server.put(`${database}/music:m`, { pk: 'music', title: 'Kind of Blue' }), 201);
    const { resource } = await container.item('m', 'music').read();
    assert.equal(resource.id, 'm');
    assert.equal(resource.title, 'Kind of Blue');
    assert.equal(resource._etag, `"${saved.rev}"`);
    await container.item('m', 'music').patch([{ op: 'set', path: '/year', value: 1959 }]);
    const document = expectStatus(await server.get(`${database}/music:m`), 200);
    assert.equal(document.year, 1959);
    assert.ok(document._rev.startsWith('2-'));
  });

  test('each API\'s preconditions hold against the other', async () => {
    const { resource } = await container.items.create({ id: 'c', pk: 'books' });
    const rev = JSON.parse(resource._etag);
    expectStatus(await server.put(`${database}/books:c`, { _rev: rev, pk: 'books', by: 'couch' }), 201);
    const error = await errorOf(container.item('c', 'books').replace({ ...resource, by: 'cosmos' }, { accessCondition: { type: 'IfMatch', condition: resource._etag } }));
    assert.equal(error.code, 412);
    assert.equal((await container.item('c', 'books').replace({ ...resource, by: 'cosmos' })).resource.by, 'cosmos');
    expectStatus(await server.put(`${database}/books:c`, { _rev: rev, pk: 'books' }), 409);
  });

  test('deleted here is deleted there, and can be made again', async () => {
    await container.items.create({ id: 'd', pk: 'books' });
    await container.item('d', 'books').delete();
    expectStatus(await server.get(`${database}/books:d`), 404);
    const saved = expectStatus(await server.put(`${database}/books:d`, { pk: 'books' }), 201);
    expectStatus(await server.delete(`${database}/books:d?rev=${saved.rev}`), 200);
    assert.equal((await container.item('d', 'books').read()).statusCode, 404);
    assert.equal((await container.items.create({ id: 'd', pk: 'books' })).statusCode, 201);
  });

  test('both follow one feed', async () => {
    const fresh = await newContainer(client, { throughput: 20_000 });
    const path = '/' + encodeURIComponent(`${fresh.database.id}/${fresh.id}`);
    await fresh.items.create({ id: 'cosmos', pk: 'x' });
    expectStatus(await server.put(`${path}/y:couch`, { pk: 'y' }), 201);
    const changes = expectStatus(await server.get(`${path}/_changes`), 200);
    assert.deepEqual(changes.results.map((row) => row.id), ['x:cosmos', 'y:couch']);
    const iterator = fresh.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
    const seen = [];
    for (let page = await iterator.readNext(); page.statusCode === 200; page = await iterator.readNext()) seen.push(...page.result.map((item) => item.id));
    assert.deepEqual(seen.sort(), ['cosmos', 'couch']);
  });

  test('_find and _partition of the CouchDB API see the items', async () => {
    for (let n = 0; n < 10; n++) await container.items.create({ id: `f${n}`, pk: 'find', n });
    const found = expectStatus(await server.post(`${database}/_partition/find/_find`, { selector: { n: { $gte: 7 } }, fields: ['id'] }), 200);
    assert.deepEqual(found.docs.map((doc) => doc.id).sort(), ['f7', 'f8', 'f9']);
    const listed = expectStatus(await server.get(`${database}/_partition/find/_all_docs`), 200);
    assert.equal(listed.rows.length, 10);
  });

  test('a query sees what was written before it, also by a global index that the CouchDB API made', async () => {
    const path = '/' + encodeURIComponent(`${container.database.id}/${container.id}`);
    const index = { index: { fields: ['tag'] }, ddoc: 'by-tag', name: 'by-tag', partitioned: false };
    expectStatus(await server.post(`${path}/_index`, index), 200);
    for (let n = 0; n < 300; n++) {
      await container.items.upsert({ id: 'tagged', pk: `t${n % 7}`, tag: `${n}` });
      const query = { query: 'SELECT VALUE c.pk FROM c WHERE c.tag = @tag', parameters: [{ name: '@tag', value: `${n}` }] };
      assert.deepEqual((await container.items.query(query).fetchAll()).resources, [`t${n % 7}`]);
    }
    expectStatus(await server.delete(`${path}/_index/by-tag/json/by-tag`), 200);
  });

  test('unique keys hold for the CouchDB API too', async () => {
    const unique = await newContainer(client, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
    const path = '/' + encodeURIComponent(`${unique.database.id}/${unique.id}`);
    await unique.items.create({ id: 'a', pk: 'x', email: 'a' });
    assert.equal((await server.put(`${path}/x:b`, { pk: 'x', email: 'a' })).status, 409);
    assert.equal((await server.put(`${path}/x:b`, { pk: 'x', email: 'b' })).status, 201);
    const batch = await server.post(`${path}/_partition/x/_batch`, { docs: [
      { _id: 'x:c', pk: 'x', email: 'c' }, { _id: 'x:d', pk: 'x', email: 'd' }, { _id: 'x:e', pk: 'x', email: 'd' }] });
    assert.equal(batch.status, 409);
    for (const id of ['c', 'd', 'e']) expectStatus(await server.get(`${path}/x:${id}`), 404);
    expectStatus(await server.post(`${path}/_partition/x/_batch`, { docs: [
      { _id: 'x:c', pk: 'x', email: 'c' }, { _id: 'x:d', pk: 'x', email: 'd' }] }), 201);
  });

  test('a container replicates into another, with its changes, deletions and conflicts, and its items are items there', async () => {
    const [source, target] = [await newContainer(client, { throughput: 20_000 }), await newContainer(client)];
    const couch = ({ database: { id }, id: container }) => new PouchDB(`${server.url}/${encodeURIComponent(`${id}/${container}`)}`);
    const away = new PouchDB(`away-${Date.now()}`, { adapter: 'memory' });
    for (let n = 0; n < 30; n++) await source.items.create({ id: `i${n}`, pk: `p${n % 5}`, n });
    await source.item('i0', 'p0').patch([{ op: 'incr', path: '/n', value: 100 }]);
    await source.item('i1', 'p1').delete();
    const first = await couch(source).replicate.to(away);
    assert.equal(first.docs_written, 30);
    assert.equal((await away.get('p0:i0')).n, 100);
    await assert.rejects(away.get('p1:i1'), { status: 404, reason: 'deleted' });

    // Changed on both sides before they meet again: both revisions are kept, and both APIs show one winner.
    const offline = await away.get('p2:i2');
    await away.put({ ...offline, n: 'offline' });
    await source.item('i2', 'p2').replace({ id: 'i2', pk: 'p2', n: 'online' });
    await away.replicate.to(couch(source));
    const path = `/${encodeURIComponent(`${source.database.id}/${source.id}`)}`;
    const winner = expectStatus(await server.get(`${path}/p2:i2?conflicts=true`), 200);
    assert.equal(winner._conflicts.length, 1);
    const { resource } = await source.item('i2', 'p2').read();
    assert.deepEqual([resource.n, resource._etag], [winner.n, `"${winner._rev}"`]);

    const second = await couch(source).replicate.to(couch(target));
    assert.equal(second.doc_write_failures, 0);
    const copied = (await target.items.query('SELECT c.id, c.pk, c.n FROM c').fetchAll()).resources;
    const items = (await source.items.query('SELECT c.id, c.pk, c.n FROM c').fetchAll()).resources;
    const byId = (a, b) => (a.id < b.id ? -1 : 1);
    assert.equal(items.length, 29);
    assert.deepEqual(copied.sort(byId), items.sort(byId));
    assert.equal((await target.item('i2', 'p2').read()).resource._etag, resource._etag);
    await away.destroy();
  });

  test('the same work has the same charge', async () => {
    const created = await container.items.create({ id: 'charge', pk: 'c', a: 1, b: 2 });
    const put = expectStatus(await server.put(`${database}/c:other`, { id: 'other', pk: 'c', a: 1, b: 2 }), 201) && (await server.get(`${database}/c:other`));
    assert.equal(Number(put.headers['x-request-charge']), (await container.item('charge', 'c').read()).requestCharge);
    const bulk = await server.post(`${database}/_bulk_docs`, { docs: [{ _id: 'c:third', id: 'third', pk: 'c', a: 1, b: 2 }] });
    assert.equal(Number(bulk.headers['x-request-charge']), created.requestCharge);
    assert.ok(created.requestCharge > 4, `${created.requestCharge} RU`);
  });

  test('a query over everything is charged for each physical partition, one of a partition key for one', async () => {
    const spread = await newContainer(client, { throughput: 40_000 });
    await spread.items.create({ id: 'a', pk: 'x', n: 1 });
    const query = { query: 'SELECT * FROM c WHERE c.n = @n', parameters: [{ name: '@n', value: 1 }] };
    const [wide, narrow] = [await spread.items.query(query).fetchNext(), await spread.items.query(query, { partitionKey: 'x' }).fetchNext()];
    assert.deepEqual(wide.resources.map(({ id }) => id), ['a']);
    assert.deepEqual(narrow.resources.map(({ id }) => id), ['a']);
    assert.ok(Math.abs(wide.requestCharge - 4 * narrow.requestCharge) < 0.5, `${wide.requestCharge} and ${narrow.requestCharge}`);
    const unfiltered = await spread.items.query('SELECT * FROM c', { partitionKey: 'x' }).fetchNext();
    assert.ok(unfiltered.requestCharge < narrow.requestCharge, 'predicates cost');
  });

  test('a design document is no item', async () => {
    expectStatus(await server.put(`${database}/_design/d`, { language: 'javascript' }), 201);
    const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
    for (let page = await iterator.readNext(); page.statusCode === 200; page = await iterator.readNext()) {
      for (const item of page.result) assert.ok(!item.id.includes('design'), item.id);
    }
  });

  test('deleting the container by the CouchDB API deletes it for both', async () => {
    const doomed = await newContainer(client);
    expectStatus(await server.delete('/' + encodeURIComponent(`${doomed.database.id}/${doomed.id}`)), 200);
    assert.equal((await errorOf(doomed.read())).code, 404);
    await doomed.database.delete();
  });
});
