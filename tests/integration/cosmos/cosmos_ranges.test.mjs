// What a query or a list over several physical partitions costs, page by page: it pays for those that it reads from.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { eventually, Server } from '../harness.mjs';

const basePerRange = 2.3;  // docs/request-units.md

describe('pages over several physical partitions', () => {
  let server, client, container;
  const count = 400;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
    container = await newContainer(client, { throughput: 40_000 });
    const items = Array.from({ length: count }, (_, i) => ({ id: `i${i}`, pk: `k${i % 40}`, n: i }));
    for (const item of items) await container.items.create(item);
    assert.equal((await cosmosRequest(server, 'GET', `/${container.url}/pkranges`)).body.PartitionKeyRanges.length, 4);
  });
  after(() => server?.stop());

  async function page(query, size, continuation, target = container) {
    const headers = { 'x-ms-max-item-count': String(size), 'x-ms-continuation': continuation };
    const request = query === undefined
      ? cosmosRequest(server, 'GET', `/${target.url}/docs`, { headers })
      : cosmosRequest(server, 'POST', `/${target.url}/docs`, {
          body: { query },
          headers: {
            ...headers, 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true',
            'x-ms-documentdb-query-enablecrosspartition': 'true',
          },
        });
    const reply = await request;
    assert.equal(reply.status, 200, reply.text);
    return {
      items: reply.body.Documents, charge: Number(reply.headers['x-ms-request-charge']),
      continuation: reply.headers['x-ms-continuation'],
    };
  }
  async function pages(query, size, between = async () => {}, target = container) {
    const all = [];
    let continuation;
    do {
      const one = await page(query, size, continuation, target);
      all.push(one);
      continuation = one.continuation;
      await between(all.length);
    } while (continuation);
    return all;
  }
  const idsOf = (all) => all.flatMap((one) => one.items.map((item) => item.id));

  for (const [name, query] of [['a list', undefined], ['a query without an order', 'SELECT * FROM c'], ['a filter', 'SELECT * FROM c WHERE c.n >= 0']]) {
    test(`each page of ${name} is charged for the ranges that it reads from`, async () => {
      const all = await pages(query, 20);
      const ids = idsOf(all);
      assert.equal(ids.length, count);
      assert.equal(new Set(ids).size, count);
      const whole = await page(query, 1000);
      const charge = all.reduce((sum, one) => sum + one.charge, 0);
      // A page reads from one range, or from two where one ends in it: not from all four.
      assert.ok(charge - whole.charge < 2 * basePerRange * all.length, `${charge} RU in pages, ${whole.charge} RU in one`);
    });
  }

  test('what concerns one range names it: writes, reads, queries, the change feed', async () => {
    const ask = async (method, path, options) => {
      const reply = await cosmosRequest(server, method, `/${container.url}/docs${path}`, options);
      assert.ok(reply.status < 300, reply.text);
      return { items: reply.body.Documents, range: reply.headers['x-ms-documentdb-partitionkeyrangeid'] };
    };
    const ranges = new Set();
    for (let key = 0; key < 40; key++) {
      const partition = [`k${key}`];
      const { range } = await ask('POST', '', { body: { id: 'named', pk: partition[0] }, partition });
      assert.equal((await ask('GET', '/named', { partition })).range, range);
      ranges.add(range);
      await ask('DELETE', '/named', { partition });
    }
    assert.deepEqual([...ranges].sort(), ['0', '1', '2', '3']);
    for (const range of ranges) {
      const inRange = { 'x-ms-documentdb-partitionkeyrangeid': range };
      const query = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' };
      const queried = await ask('POST', '', { body: { query: 'SELECT * FROM c' }, headers: { ...query, ...inRange } });
      assert.equal(queried.range, range);
      const partition = [queried.items[0].pk];
      assert.equal((await ask('POST', '', { body: { query: 'SELECT * FROM c' }, headers: query, partition })).range, range);
      assert.equal((await ask('GET', '', { headers: { 'A-IM': 'Incremental Feed', ...inRange } })).range, range);
      assert.equal((await ask('GET', '', { headers: { 'A-IM': 'Incremental Feed' }, partition })).range, range);
    }
  });

  test('a page that reads from every range is charged for all', async () => {
    const few = await page('SELECT * FROM c', 1);
    const whole = await page('SELECT * FROM c', 1000);
    assert.ok(whole.charge - few.charge > 3 * basePerRange, `${few.charge} and ${whole.charge} RU`);
  });

  test('items that are named by their ids and keys are charged for the ranges that hold them', async () => {
    const one = await page("SELECT * FROM c WHERE c.id = 'i7' AND c.pk = 'k7'", 10);
    assert.equal(one.items.length, 1);
    assert.ok(one.charge < 4 * basePerRange, `${one.charge} RU`);
  });

  test('an order over all ranges is one order, whatever it costs', async () => {
    const all = await pages('SELECT * FROM c ORDER BY c.n', 50);
    assert.deepEqual(idsOf(all), Array.from({ length: count }, (_, i) => `i${i}`));
  });

  for (const query of [undefined, 'SELECT * FROM c', 'SELECT * FROM c WHERE c.n >= 0', 'SELECT VALUE t FROM c JOIN t IN c.tags']) {
    test(`ranges that are split between pages lose and repeat nothing: ${query ?? 'a list'}`, async () => {
      const target = await newContainer(client, { throughput: 20_000 });
      const items = Array.from({ length: 200 }, (_, i) => ({ id: `i${i}`, pk: `k${i % 40}`, n: i, tags: [1, 2, 3] }));
      for (const item of items) await target.items.create(item);
      const rangeCount = async () => (await cosmosRequest(server, 'GET', `/${target.url}/pkranges`)).body.PartitionKeyRanges.length;
      assert.equal(await rangeCount(), 2);
      const all = await pages(query, 7, async (read) => {
        if (read !== 5) return;
        const { resource: offer } = await target.readOffer();
        offer.content.offerThroughput = 40_000;
        await client.offer(offer.id).replace(offer);
        await eventually(async () => (await rangeCount()) === 4, 30_000);
      }, target);
      if (query?.includes('JOIN')) {
        assert.equal(all.flatMap((one) => one.items).length, 600);
        return;
      }
      const ids = idsOf(all);
      assert.equal(ids.length, 200);
      assert.equal(new Set(ids).size, 200);
    });
  }
});
