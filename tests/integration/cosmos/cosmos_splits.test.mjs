// What @azure/cosmos notices when physical partitions are split under it: nothing but new partition key ranges.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ChangeFeedMode, ChangeFeedRetentionTimeSpan, ChangeFeedPolicy, ChangeFeedStartFrom } from '@azure/cosmos';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { eventually, Server } from '../harness.mjs';

describe('splits at the Cosmos DB API', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  const fill = async (container, count, from = 0) => {
    const operations = Array.from({ length: count }, (_, i) => {
      const n = from + i;
      return { operationType: 'Create', partitionKey: `k${n % 20}`, resourceBody: { id: `i${n}`, pk: `k${n % 20}`, n, group: n % 3 } };
    });
    for (const result of await container.items.executeBulkOperations(operations)) assert.equal(result.response?.statusCode, 201, JSON.stringify(result.error));
  };
  const rangesOf = async (container) => (await cosmosRequest(server, 'GET', `/${container.url}/pkranges`)).body.PartitionKeyRanges;
  /// More throughput than there are partitions for: the container grows.
  const grow = async (container, throughput, count) => {
    const { resource: offer } = await container.readOffer();
    offer.content.offerThroughput = throughput;
    await client.offer(offer.id).replace(offer);
    await eventually(async () => (await rangesOf(container)).length === count, 30_000);
  };
  const drain = async (iterator) => {
    const items = [];
    for (;;) {
      const page = await iterator.readNext();
      if (page.statusCode === 304) return { items, continuation: page.continuationToken };
      items.push(...page.result);
    }
  };

  test('more throughput gives a container more physical partitions, with parents', async () => {
    const container = await newContainer(client, { throughput: 10_000 });
    await fill(container, 100);
    await grow(container, 30_000, 3);
    const ranges = await rangesOf(container);
    assert.equal(ranges[0].minInclusive, '');
    assert.equal(ranges.at(-1).maxExclusive, 'FF');
    for (const range of ranges) assert.equal(range.parents[0], '0');
    for (let i = 1; i < ranges.length; i++) assert.equal(ranges[i].minInclusive, ranges[i - 1].maxExclusive);
    assert.equal((await container.items.query('SELECT * FROM c').fetchAll()).resources.length, 100);
    assert.equal((await container.item('i7', 'k7').read()).resource.n, 7);
  });

  test('an offer says that it is pending until the splits for it have ended', async () => {
    const container = await newContainer(client, { throughput: 10_000 });
    await fill(container, 100);
    const { resource: offer } = await container.readOffer();
    assert.equal(offer.content.isOfferReplacePending, undefined);
    const path = `/offers/${offer.id}`;
    const replaced = await cosmosRequest(server, 'PUT', path, { body: { ...offer, content: { ...offer.content, offerThroughput: 30_000 } } });
    assert.equal(replaced.status, 200);
    assert.equal(replaced.body.content.isOfferReplacePending, true);
    assert.equal(replaced.headers['x-ms-offer-replace-pending'], 'true');
    const read = await eventually(async () => {
      const reply = await cosmosRequest(server, 'GET', path);
      return reply.body.content.isOfferReplacePending ? null : reply;
    }, 30_000);
    assert.equal(read.headers['x-ms-offer-replace-pending'], 'false');
    assert.equal((await rangesOf(container)).length, 3);
  });

  test('a range that was split is gone: 410 with sub-status 1002', async () => {
    const container = await newContainer(client, { throughput: 10_000 });
    await fill(container, 20);
    await grow(container, 20_000, 2);
    const reply = await cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers: { 'x-ms-documentdb-partitionkeyrangeid': '0' } });
    assert.equal(reply.status, 410);
    assert.equal(reply.headers['x-ms-substatus'], '1002');
  });

  test('a query continues over a split, page by page, as it began', async () => {
    const container = await newContainer(client, { throughput: 10_000 });
    await fill(container, 300);
    for (const query of ['SELECT * FROM c', 'SELECT * FROM c ORDER BY c.n']) {
      const iterator = container.items.query(query, { maxItemCount: 40 });
      const first = await iterator.fetchNext();
      const before = (await rangesOf(container)).length;
      await grow(container, (before + 1) * 10_000, before + 1);
      const items = [...first.resources];
      while (iterator.hasMoreResults()) items.push(...((await iterator.fetchNext()).resources ?? []));
      assert.equal(new Set(items.map((item) => item.id)).size, 300, query);
      assert.equal(items.length, 300, query);
      if (query.includes('ORDER')) assert.deepEqual(items.map((item) => item.n), Array.from({ length: 300 }, (_, n) => n));
    }
    const groups = (await container.items.query('SELECT c.group, COUNT(1) AS count FROM c GROUP BY c.group').fetchAll()).resources;
    assert.deepEqual(groups.map((group) => group.count), [100, 100, 100]);
  });

  test('a list continues over a split from its continuation', async () => {
    const container = await newContainer(client, { throughput: 10_000 });
    await fill(container, 200);
    const items = [];
    let continuation;
    let pages = 0;
    do {
      const reply = await cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers: { 'x-ms-max-item-count': '30', 'x-ms-continuation': continuation } });
      assert.equal(reply.status, 200, reply.text);
      items.push(...reply.body.Documents.map((item) => item.id));
      continuation = reply.headers['x-ms-continuation'];
      if (++pages === 2) await grow(container, 20_000, 2);
      if (pages === 4) await grow(container, 40_000, 4);
    } while (continuation);
    assert.equal(items.length, 200);
    assert.equal(new Set(items).size, 200);
  });

  test('change feeds continue over a split: the whole container, a feed range, all versions', async () => {
    const container = await newContainer(client, {
      throughput: 10_000,
      changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)),
    });
    await fill(container, 100);
    const [range] = await container.getFeedRanges();
    const starts = {
      all: { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() },
      range: { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range) },
      versions: { changeFeedStartFrom: ChangeFeedStartFrom.Now(), changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes },
    };
    const iterators = Object.fromEntries(Object.entries(starts).map(([name, options]) => [name, container.items.getChangeFeedIterator(options)]));
    const first = {};
    for (const [name, iterator] of Object.entries(iterators)) first[name] = await drain(iterator);
    assert.equal(first.all.items.length, 100);
    assert.equal(first.range.items.length, 100);
    await container.item('i3', 'k3').replace({ id: 'i3', pk: 'k3', n: -3 });
    await grow(container, 30_000, 3);
    await fill(container, 50, 100);
    await container.item('i4', 'k4').delete();
    for (const name of ['all', 'range']) {
      const next = await drain(iterators[name]);
      assert.deepEqual(next.items.map((item) => item.id).sort(), ['i3', ...Array.from({ length: 50 }, (_, n) => `i${100 + n}`)].sort(), name);
      const again = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Continuation(first[name].continuation) }));
      assert.equal(again.items.length, 51, `${name}, from its continuation`);
    }
    const versions = await drain(iterators.versions);
    const kinds = versions.items.map((item) => item.metadata.operationType);
    assert.equal(kinds.filter((kind) => kind === 'create').length, 50);
    assert.equal(kinds.filter((kind) => kind === 'replace').length, 1);
    assert.equal(kinds.filter((kind) => kind === 'delete').length, 1);
  });

  test('writes, batches, bulk and stored procedures are served while a container is split', async () => {
    const container = await newContainer(client, { throughput: 10_000, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/n'] }] } });
    await fill(container, 400);
    await container.scripts.storedProcedures.create({
      id: 'two',
      body: `function (pk, n) {
        var c = getContext().getCollection();
        c.createDocument(c.getSelfLink(), { id: 'p' + n, pk: pk, n: 'p' + n });
        c.createDocument(c.getSelfLink(), { id: 'q' + n, pk: pk, n: 'q' + n });
      }`,
    });
    let running = true;
    let rounds = 0;
    const work = (async () => {
      for (; running || rounds < 3; rounds++) {
        const pk = `k${rounds % 20}`;
        await container.items.upsert({ id: `u${rounds}`, pk, n: `u${rounds}` });
        const { result, code } = await container.items.batch(
          [
            { operationType: 'Create', resourceBody: { id: `a${rounds}`, pk, n: `a${rounds}` } },
            { operationType: 'Create', resourceBody: { id: `b${rounds}`, pk, n: `b${rounds}` } },
          ],
          pk,
        );
        assert.ok(code === 200 || code === 201 || code === undefined, JSON.stringify(result));
        await container.scripts.storedProcedure('two').execute(pk, [pk, rounds]);
        await fill(container, 20, 10_000 + rounds * 20);
      }
    })();
    await grow(container, 40_000, 4);
    running = false;
    await work;
    const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll();
    assert.equal(resources.length, 400 + rounds * 25);
    assert.equal(new Set(resources).size, resources.length);
    const refused = await container.items.create({ id: 'other', pk: 'k1', n: 1 }).catch((error) => error);
    assert.equal(refused.code, 409, 'unique keys still hold');
  });
});
