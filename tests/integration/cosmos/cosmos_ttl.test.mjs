// Items that expire: time to live of containers and items, as both APIs see it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import { cosmosClient, cosmosRequest, errorOf, newContainer } from '../cosmos.mjs';
import { eventually, expectStatus, Server, sleep } from '../harness.mjs';

const sleepUntil = (timeMs) => sleep(Math.max(0, timeMs - Date.now()));

describe('time to live', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());
  const pathOf = (container) => '/' + encodeURIComponent(`${container.database.id}/${container.id}`);

  test('an item expires after its container\'s time, or its own, or never', async () => {
    const container = await newContainer(client, { defaultTtl: 1 });
    await container.items.create({ id: 'short', pk: 'x' });
    await container.items.create({ id: 'long', pk: 'x', ttl: 1000 });
    await container.items.create({ id: 'ever', pk: 'x', ttl: -1 });
    await sleep(2100);
    assert.equal((await container.item('short', 'x').read()).statusCode, 404);
    assert.equal((await container.item('long', 'x').read()).statusCode, 200);
    assert.equal((await container.item('ever', 'x').read()).statusCode, 200);
    const path = pathOf(container);
    expectStatus(await server.get(`${path}/x:short`), 404);
    const listed = expectStatus(await server.get(`${path}/_all_docs`), 200);
    assert.deepEqual(listed.rows.map((row) => row.id), ['x:ever', 'x:long']);
    const found = expectStatus(await server.post(`${path}/_find`, { selector: { pk: 'x' } }), 200);
    assert.deepEqual(found.docs.map((doc) => doc.id).sort(), ['ever', 'long']);
    const reply = await cosmosRequest(server, 'GET', `/${container.url}/docs`);
    assert.deepEqual(reply.body.Documents.map((item) => item.id).sort(), ['ever', 'long']);
    const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
    assert.deepEqual((await iterator.readNext()).result.map((item) => item.id).sort(), ['ever', 'long']);
  });

  test('an item whose time to live is beyond every date never expires', async () => {
    const container = await newContainer(client, { defaultTtl: 10 });
    for (const [id, ttl] of [['a', '9223372036854775807'], ['b', '9223372036854775000'], ['c', '99999999999999999999']]) {
      const reply = await server.request('PUT', `${pathOf(container)}/x:${id}`, {
        body: `{"pk":"x","ttl":${ttl}}`, headers: { 'content-type': 'application/json' } });
      expectStatus(reply, 201);
      expectStatus(await server.get(`${pathOf(container)}/x:${id}`), 200);
    }
  });

  test('an expired item does not exist for writers either', async () => {
    const container = await newContainer(client, { defaultTtl: 1, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } });
    for (const id of ['a', 'b', 'c', 'd']) await container.items.create({ id, pk: 'x', email: id });
    await sleep(2100);
    assert.equal((await errorOf(container.item('a', 'x').replace({ id: 'a', pk: 'x' }))).code, 404);
    assert.equal((await errorOf(container.item('a', 'x').delete())).code, 404);
    assert.equal((await errorOf(container.item('a', 'x').patch([{ op: 'set', path: '/n', value: 1 }]))).code, 404);
    assert.equal((await container.items.create({ id: 'a', pk: 'x', email: 'a', ttl: -1 })).statusCode, 201);
    assert.equal((await container.items.upsert({ id: 'b', pk: 'x', email: 'c', ttl: -1 })).statusCode, 201);
    expectStatus(await server.put(`${pathOf(container)}/x:d`, { pk: 'x', email: 'd' }), 201);
  });

  test('without a time in the container, ttl is checked, but nothing expires', async () => {
    const container = await newContainer(client);
    await container.items.create({ id: 'a', pk: 'x', ttl: 1 });
    await sleep(2100);
    assert.equal((await container.item('a', 'x').read()).resource.ttl, 1);
    assert.equal((await errorOf(container.items.create({ id: 'wrong', pk: 'x', ttl: -10 }))).code, 400);
    const couch = `/${encodeURIComponent(`${container.database.id}/${container.id}`)}`;
    assert.equal((await server.put(`${couch}/x:couch`, { pk: 'x', ttl: 'soon' })).status, 201);
    assert.equal((await container.item('couch', 'x').patch([{ op: 'set', path: '/n', value: 1 }])).resource.n, 1);
    assert.equal((await errorOf(container.item('couch', 'x').patch([{ op: 'set', path: '/ttl', value: 'later' }]))).code, 400);
    const { resource } = await container.read();
    await container.replace({ ...resource, defaultTtl: -1 });
    assert.equal((await container.item('a', 'x').read()).statusCode, 404);
    await container.items.create({ id: 'b', pk: 'x' });
    await sleep(1100);
    assert.equal((await container.item('b', 'x').read()).statusCode, 200);
  });

  test('writing an item starts its time to live again', async () => {
    const container = await newContainer(client, { defaultTtl: 6 });
    const { resource } = await container.items.create({ id: 'a', pk: 'x', n: 1 });
    const firstExpirationMs = (resource._ts + 6) * 1000;
    await sleepUntil(firstExpirationMs - 2000);
    await container.items.upsert({ id: 'a', pk: 'x', n: 2 });
    await sleepUntil(firstExpirationMs + 100);
    // Some four seconds are left, so the machine may stall.
    assert.equal((await container.item('a', 'x').read()).resource.n, 2);
  });

  test('expired items are removed in the background, with a tombstone in the feed', async () => {
    const container = await newContainer(client, { defaultTtl: 1, throughput: 20_000 });
    for (let n = 0; n < 20; n++) await container.items.create({ id: `i${n}`, pk: `k${n}` });
    const path = pathOf(container);
    await eventually(async () => {
      const { body } = await server.get(`${path}/_changes`);
      return body.results.length === 20 && body.results.every((row) => row.deleted);
    }, 20_000);
    assert.equal(expectStatus(await server.get(path), 200).doc_count, 0);
  });

  test('a whole number of seconds may be written in any way', async () => {
    const container = await newContainer(client, { defaultTtl: -1 });
    for (const [id, ttl] of [['a', '1.0'], ['b', '1e0'], ['c', '10e-1'], ['d', '1e3'], ['e', '-1.0']]) {
      const reply = await cosmosRequest(server, 'POST', `/${container.url}/docs`, {
        body: `{"id":"${id}","pk":"x","ttl":${ttl}}`, headers: { 'x-ms-documentdb-partitionkey': '["x"]' } });
      assert.equal(reply.status, 201, reply.text);
    }
    await eventually(async () => (await container.items.readAll().fetchAll()).resources.length === 2);
    assert.deepEqual((await container.items.readAll().fetchAll()).resources.map((item) => item.id).sort(), ['d', 'e']);
  });

  test('an invalid time is refused', async () => {
    const container = await newContainer(client, { defaultTtl: 100 });
    for (const ttl of [0, -2, 1.5, 'soon', 2 ** 31, null]) {
      const error = await errorOf(container.items.create({ id: 'a', pk: 'x', ttl }));
      assert.equal(error.code, 400, String(ttl));
      assert.match(error.body.message, /ttl/);
    }
  });
});
