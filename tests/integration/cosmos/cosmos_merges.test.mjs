// What @azure/cosmos notices when neighbouring physical partitions are merged under it: nothing but new partition key
// ranges.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ChangeFeedMode, ChangeFeedRetentionTimeSpan, ChangeFeedPolicy, ChangeFeedStartFrom } from '@azure/cosmos';
import { cosmosClient, cosmosRequest, newContainer } from '../cosmos.mjs';
import { eventually, expectError, expectStatus, Server } from '../harness.mjs';
import { reshard, shardsOf } from '../reshard.mjs';

const knowsMerges = { 'x-ms-cosmos-sdk-supportedcapabilities': '1' };

describe('merges at the Cosmos DB API', () => {
  let server, client;
  before(async () => {
    server = await Server.start();
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  const fill = async (container, count, from = 0) => {
    const operations = Array.from({ length: count }, (_, i) => {
      const n = from + i;
      return { operationType: 'Create', partitionKey: `k${n % 40}`, resourceBody: { id: `i${n}`, pk: `k${n % 40}`, n, group: n % 3 } };
    });
    for (const result of await container.items.executeBulkOperations(operations)) assert.equal(result.response?.statusCode, 201, JSON.stringify(result.error));
  };
  const nameOf = (container) => `${container.database.id}/${container.id}`;
  const ask = (container, method, path, { headers, ...options } = {}) =>
    cosmosRequest(server, method, `/${container.url}${path}`, { ...options, headers: { ...knowsMerges, ...headers } });
  const rangesOf = async (container) => (await ask(container, 'GET', '/pkranges')).body.PartitionKeyRanges;
  /// A container with so many ranges, whose throughput needs only one.
  const containerOf = async (ranges, definition = {}) => {
    const container = await newContainer(client, { throughput: ranges * 10_000, ...definition });
    await setThroughput(container, 10_000);
    assert.equal((await rangesOf(container)).length, ranges);
    return container;
  };
  const setThroughput = async (container, throughput) => {
    const { resource: offer } = await container.readOffer();
    offer.content.offerThroughput = throughput;
    await client.offer(offer.id).replace(offer);
  };
  /// Merges the ranges with these indexes.
  const merge = async (container, first) => {
    const db = nameOf(container);
    const shards = await shardsOf(server, db);
    await reshard(server, { type: 'merge', db, ranges: [shards[first], shards[first + 1]] });
  };
  const split = async (container, index) => {
    const db = nameOf(container);
    const shards = await shardsOf(server, db);
    await reshard(server, { type: 'split', db, range: shards[index] });
  };
  const mergeAll = async (container) => {
    while ((await rangesOf(container)).length > 1) await reshard(server, { type: 'merge', db: nameOf(container) });
  };
  const drain = async (iterator) => {
    const items = [];
    for (;;) {
      const page = await iterator.readNext();
      if (page.statusCode === 304) return { items, continuation: page.continuationToken };
      items.push(...page.result);
    }
  };

  test('a merged range names both old ones and their ancestors as parents, which are gone: 410/1002', async () => {
    const container = await containerOf(2);
    await fill(container, 40);
    await split(container, 0);
    await merge(container, 1);
    const ranges = await rangesOf(container);
    assert.deepEqual(ranges.map(({ id, parents }) => [id, parents]), [['2', ['0']], ['4', ['0', '1', '3']]]);
    assert.equal(ranges[0].maxExclusive, ranges[1].minInclusive);
    for (const id of ['0', '1', '3']) {
      for (const headers of [{}, { 'A-IM': 'Incremental Feed' }]) {
        const reply = await ask(container, 'GET', '/docs', { headers: { 'x-ms-documentdb-partitionkeyrangeid': id, ...headers } });
        assert.equal(reply.status, 410, id);
        assert.equal(reply.headers['x-ms-substatus'], '1002');
      }
    }
    assert.equal((await container.item('i7', 'k7').read()).resource.n, 7);
    assert.equal((await container.items.query('SELECT * FROM c').fetchAll()).resources.length, 40);
  });

  test('the ETag of the ranges changes when there are as many as before', async () => {
    const container = await containerOf(2);
    const etagOf = async (known) => {
      const reply = await ask(container, 'GET', '/pkranges', { headers: { 'If-None-Match': known } });
      return [reply.status, reply.headers.etag];
    };
    const [, first] = await etagOf();
    assert.deepEqual(await etagOf(first), [304, first]);
    await split(container, 0);
    await merge(container, 1);
    assert.equal((await rangesOf(container)).length, 2);
    const [status, second] = await etagOf(first);
    assert.equal(status, 200);
    assert.notEqual(second, first);
    assert.deepEqual(await etagOf(second), [304, second]);
  });

  test('a container whose throughput needs its physical partitions keeps them', async () => {
    const container = await newContainer(client, { throughput: 20_000 });
    expectError(await server.post('/_reshard/jobs', { type: 'merge', db: nameOf(container) }), 400, 'bad_request', /needs 2 physical partitions/);
  });

  test('a container whose throughput is raised while a merge waits grows all the same', async () => {
    const container = await containerOf(2);
    await fill(container, 40);
    expectStatus(await server.put('/_reshard/state', { state: 'stopped' }), 200);
    const [{ id }] = expectStatus(await server.post('/_reshard/jobs', { type: 'merge', db: nameOf(container) }), 201);
    await setThroughput(container, 30_000);
    expectStatus(await server.put('/_reshard/state', { state: 'running' }), 200);
    await eventually(async () => (await rangesOf(container)).length === 3, 30_000);
    assert.equal(expectStatus(await server.get(`/_reshard/jobs/${id}`), 200).job_state, 'failed');
    assert.equal((await container.items.query('SELECT * FROM c').fetchAll()).resources.length, 40);
  });

  // A plan of @azure/cosmos 4.9 survives no change of the ranges within one iterator, which repeats the same request for
  // ever. Its continuation token names some of the ranges, and after a merge it asks for the keys of these only.
  for (const options of [{}, { enableQueryControl: true }]) {
    for (const query of ['SELECT * FROM c', 'SELECT * FROM c ORDER BY c.n']) {
      test(`a query continues over merges, page by page: ${query}, ${JSON.stringify(options)}`, async () => {
        const container = await containerOf(4);
        await fill(container, 300);
        const iterator = container.items.query(query, { maxItemCount: 20, ...options });
        const items = [];
        for (let pages = 0; iterator.hasMoreResults(); pages++) {
          items.push(...((await iterator.fetchNext()).resources ?? []));
          if (pages === 1) await merge(container, 0);
          if (pages === 3) await mergeAll(container);
        }
        assert.equal((await rangesOf(container)).length, 1);
        assert.equal(new Set(items.map((item) => item.id)).size, 300);
        assert.equal(items.length, 300);
        if (query.includes('ORDER')) assert.deepEqual(items.map((item) => item.n), Array.from({ length: 300 }, (_, n) => n));
      });
    }
  }

  // As clients ask that merge the results of ranges: the new range, between the bounds of an old one, from the
  // continuation of the old one.
  for (const [name, query] of [['a list', undefined], ['a query', 'SELECT * FROM c'], ['a filter', 'SELECT * FROM c WHERE c.n >= 0'], ['an order', 'SELECT * FROM c ORDER BY c.n DESC'], ['values', 'SELECT VALUE c.id FROM c JOIN t IN c.tags']]) {
    test(`${name} of an old range continues within its bounds in the merged one`, async () => {
      const container = await containerOf(3);
      for (let n = 0; n < 120; n++) await container.items.create({ id: `i${n}`, pk: `k${n % 40}`, n, tags: [1] });
      const page = async (headers, continuation) => {
        const all = { 'x-ms-max-item-count': '7', 'x-ms-continuation': continuation, ...headers };
        const reply = query === undefined
          ? await ask(container, 'GET', '/docs', { headers: all })
          : await ask(container, 'POST', '/docs', { body: { query }, headers: { ...all, 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' } });
        assert.equal(reply.status, 200, reply.text);
        return { ids: reply.body.Documents.map((item) => item.id ?? item), continuation: reply.headers['x-ms-continuation'] };
      };
      const before = [];
      for (const range of await rangesOf(container)) {
        const pages = [];
        let continuation;
        do {
          pages.push(await page({ 'x-ms-documentdb-partitionkeyrangeid': range.id }, continuation));
          continuation = pages.at(-1).continuation;
        } while (continuation);
        before.push({ range, pages });
      }
      assert.equal(before.reduce((sum, { pages }) => sum + pages.flatMap((one) => one.ids).length, 0), 120);
      await mergeAll(container);
      const [{ id }] = await rangesOf(container);
      for (const { range, pages } of before) {
        const bounds = {
          'x-ms-documentdb-partitionkeyrangeid': id,
          'x-ms-start-epk': range.minInclusive,
          'x-ms-end-epk': range.maxExclusive === 'FF' ? undefined : range.maxExclusive,
        };
        for (let read = 0; read < pages.length; read++) {
          const rest = [];
          let continuation = read === 0 ? undefined : pages[read - 1].continuation;
          do {
            const one = await page(bounds, continuation);
            rest.push(...one.ids);
            continuation = one.continuation;
          } while (continuation);
          assert.deepEqual(rest, pages.slice(read).flatMap((one) => one.ids), `range ${range.id} after ${read} pages`);
        }
      }
    });
  }

  for (const mode of ['Incremental Feed', 'Full-Fidelity Feed']) {
    test(`the ${mode} of an old range continues within its bounds in the merged one`, async () => {
      const container = await containerOf(3, { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)) });
      const read = async (headers, tag) => {
        const ids = [];
        for (let known = tag; ;) {
          const reply = await ask(container, 'GET', '/docs', { headers: { 'A-IM': mode, 'x-ms-max-item-count': '5', ...headers, 'If-None-Match': known } });
          assert.ok([200, 304].includes(reply.status), reply.text);
          known = reply.headers.etag;
          if (reply.status === 304) return { ids, tag: known };
          ids.push(...reply.body.Documents.map((item) => item.id ?? item.current.id));
        }
      };
      const ranges = await rangesOf(container);
      const inRange = (id) => ({ 'x-ms-documentdb-partitionkeyrangeid': id });
      const started = await Promise.all(ranges.map(({ id }) => read(inRange(id), '*')));
      const expectedOf = new Map(ranges.map(({ id }) => [id, []]));
      const create = async (n) => {
        const reply = await ask(container, 'POST', '/docs', { body: { id: `i${n}`, pk: `k${n % 40}`, n }, partition: [`k${n % 40}`] });
        return [reply.headers['x-ms-session-token'].split(':')[0], `i${n}`];
      };
      for (let n = 0; n < 60; n++) {
        const [range, id] = await create(n);
        expectedOf.get(range).push(id);
      }
      const keyRange = new Map();
      for (let n = 0; n < 40; n++) for (const [range, ids] of expectedOf) if (ids.includes(`i${n}`)) keyRange.set(n, range);
      await mergeAll(container);
      for (let n = 60; n < 100; n++) {
        await create(n);
        expectedOf.get(keyRange.get(n % 40)).push(`i${n}`);
      }
      const [{ id }] = await rangesOf(container);
      for (const [i, range] of ranges.entries()) {
        const bounds = { 'x-ms-start-epk': range.minInclusive, 'x-ms-end-epk': range.maxExclusive === 'FF' ? undefined : range.maxExclusive };
        const { ids } = await read({ ...inRange(id), ...bounds }, started[i].tag);
        assert.deepEqual(ids, expectedOf.get(range.id), `range ${range.id}`);
      }
    });
  }

  // The continuations of the server alone, which reads one physical partition after the other. Page sizes make each of
  // the partitions the one in which a merge or a split meets the walk.
  for (const [name, query] of [['a list', undefined], ['a query', 'SELECT * FROM c'], ['a filter', 'SELECT * FROM c WHERE c.n >= 0'], ['a query with a join', 'SELECT VALUE c.id FROM c JOIN t IN c.tags']]) {
    for (const [changes, change] of [
      ['merged', (container) => mergeAll(container)],
      ['merged and split elsewhere', async (container) => {
        await merge(container, 1);
        await split(container, 1);
        await merge(container, 0);
        await split(container, 0);
      }],
    ]) {
      test(`${name} continues from its continuation when ranges are ${changes}`, async () => {
        const container = await containerOf(4);
        const items = Array.from({ length: 120 }, (_, n) => ({ id: `i${n}`, pk: `k${n % 40}`, n, tags: [1] }));
        for (const item of items) await container.items.create(item);
        const page = async (continuation) => {
          const headers = { 'x-ms-max-item-count': '9', 'x-ms-continuation': continuation };
          const reply = query === undefined
            ? await ask(container, 'GET', '/docs', { headers })
            : await ask(container, 'POST', '/docs', {
                body: { query },
                headers: { ...headers, 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true', 'x-ms-documentdb-query-enablecrosspartition': 'true' },
              });
          assert.equal(reply.status, 200, reply.text);
          return { ids: reply.body.Documents.map((item) => item.id ?? item), continuation: reply.headers['x-ms-continuation'] };
        };
        // All pages before the change, and from each of their continuations the rest after it.
        const pages = [];
        let continuation;
        do {
          pages.push(await page(continuation));
          continuation = pages.at(-1).continuation;
        } while (continuation);
        await change(container);
        for (let read = 1; read < pages.length; read++) {
          const ids = pages.slice(0, read).flatMap((one) => one.ids);
          for (let next = pages[read - 1].continuation; next;) {
            const one = await page(next);
            ids.push(...one.ids);
            next = one.continuation;
          }
          assert.deepEqual([...ids].sort(), items.map((item) => item.id).sort(), `after ${read} pages`);
        }
      });
    }
  }

  test('change feeds continue over merges: the whole container, a feed range, all versions', async () => {
    const container = await containerOf(4, { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)) });
    await fill(container, 100);
    const ranges = await container.getFeedRanges();
    const starts = {
      all: { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() },
      versions: { changeFeedStartFrom: ChangeFeedStartFrom.Now(), changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes },
    };
    ranges.forEach((range, n) => { starts[`range ${n}`] = { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range) }; });
    const iterators = Object.fromEntries(Object.entries(starts).map(([name, options]) => [name, container.items.getChangeFeedIterator(options)]));
    const first = {};
    for (const [name, iterator] of Object.entries(iterators)) first[name] = await drain(iterator);
    assert.equal(first.all.items.length, 100);
    assert.equal(ranges.reduce((sum, _, n) => sum + first[`range ${n}`].items.length, 0), 100);
    await container.item('i3', 'k3').replace({ id: 'i3', pk: 'k3', n: -3 });
    await merge(container, 0);
    await fill(container, 50, 100);
    await mergeAll(container);
    await container.item('i4', 'k4').delete();
    const changed = ['i3', ...Array.from({ length: 50 }, (_, n) => `i${100 + n}`)].sort();
    const inRanges = [];
    const again = [];
    for (const name of ['all', ...ranges.map((_, n) => `range ${n}`)]) {
      const next = await drain(iterators[name]);
      const resumed = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Continuation(first[name].continuation) }));
      if (name === 'all') {
        assert.deepEqual(next.items.map((item) => item.id).sort(), changed);
        assert.deepEqual(resumed.items.map((item) => item.id).sort(), changed, 'from its continuation');
      } else {
        inRanges.push(...next.items.map((item) => item.id));
        again.push(...resumed.items.map((item) => item.id));
      }
    }
    assert.deepEqual(inRanges.sort(), changed, 'each change in one of the old ranges');
    assert.deepEqual(again.sort(), changed, 'and from their continuations');
    const kinds = (await drain(iterators.versions)).items.map((item) => item.metadata.operationType).sort();
    assert.deepEqual(kinds, ['delete', ...Array(50).fill('create'), 'replace'].sort());
    const since = await drain(container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Time(new Date(Date.now() - 60_000)) }));
    assert.equal(since.items.length, 149, 'a start time still works');
  });

  test('writes, batches, bulk and unique keys are served while ranges are merged and split', async () => {
    const container = await containerOf(3, { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/n'] }] } });
    await fill(container, 400);
    let running = true;
    let rounds = 0;
    const work = (async () => {
      for (; running || rounds < 3; rounds++) {
        const pk = `k${rounds % 20}`;
        await container.items.upsert({ id: `u${rounds}`, pk, n: `u${rounds}` });
        await container.items.batch([
          { operationType: 'Create', resourceBody: { id: `a${rounds}`, pk, n: `a${rounds}` } },
          { operationType: 'Create', resourceBody: { id: `b${rounds}`, pk, n: `b${rounds}` } },
        ], pk);
        await fill(container, 20, 10_000 + rounds * 20);
      }
    })();
    await merge(container, 0);
    await split(container, 0);
    await mergeAll(container);
    running = false;
    await work;
    const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll();
    assert.equal(resources.length, 400 + rounds * 23);
    assert.equal(new Set(resources).size, resources.length);
    const refused = await container.items.create({ id: 'other', pk: 'k1', n: 1 }).catch((error) => error);
    assert.equal(refused.code, 409, 'unique keys still hold');
  });

  test('an operation with the session token of a range that was merged sees what that token covers', async () => {
    const container = await containerOf(2);
    const tokens = new Set();
    for (let n = 0; n < 20; n++) {
      const reply = await ask(container, 'POST', '/docs', { body: { id: `i${n}`, pk: `k${n}` }, partition: [`k${n}`] });
      assert.equal(reply.status, 201);
      tokens.add(reply.headers['x-ms-session-token']);
    }
    await mergeAll(container);
    for (const token of tokens) {
      const headers = { 'x-ms-session-token': token, 'x-ms-consistency-level': 'Session' };
      const read = await ask(container, 'GET', '/docs/i7', { headers, partition: ['k7'] });
      assert.equal(read.status, 200);
      assert.match(read.headers['x-ms-session-token'], /^2:-1#\d+$/);
    }
  });

  test('clients that do not know merges are refused in merged ranges, and only there', async () => {
    const container = await containerOf(3);
    await fill(container, 60);
    await merge(container, 0);
    const feed = (headers) => cosmosRequest(server, 'GET', `/${container.url}/docs`, { headers });
    const inRange = (id) => ({ 'x-ms-documentdb-partitionkeyrangeid': id });
    for (const unknowing of [{}, { 'x-ms-cosmos-sdk-supportedcapabilities': '2' }, { 'x-ms-cosmos-sdk-supportedcapabilities': 'x' }]) {
      for (const mode of [{}, { 'A-IM': 'Incremental Feed' }]) {
        const reply = await feed({ ...inRange('3'), ...unknowing, ...mode });
        assert.equal(reply.status, 400, reply.text);
        assert.match(reply.body.message, /came from a merge/);
        assert.equal((await feed({ ...inRange('2'), ...unknowing, ...mode })).status, 200);
      }
    }
    for (const capabilities of ['1', '3']) {
      assert.equal((await feed({ ...inRange('3'), 'x-ms-cosmos-sdk-supportedcapabilities': capabilities })).status, 200);
    }
    const query = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' };
    const asked = await cosmosRequest(server, 'POST', `/${container.url}/docs`, { body: { query: 'SELECT * FROM c' }, headers: { ...query, ...inRange('3') } });
    assert.equal(asked.status, 400);
    assert.equal((await cosmosRequest(server, 'GET', `/${container.url}/docs/i7`, { partition: ['k7'] })).status, 200);
    assert.equal((await feed({})).status, 200, 'the whole container');
    await split(container, 0);
    for (const { id } of (await rangesOf(container)).slice(0, 2)) assert.equal((await feed(inRange(id))).status, 400, 'its parts, too');
  });
});

describe('automatic merges of containers', () => {
  let server, client;
  before(async () => {
    server = await Server.start({ config: '[database]\nmerge_after = "4s"\n' });
    client = cosmosClient(server);
  });
  after(() => server?.stop());

  test('they keep what the throughput needs, and wait for clients that do not know merges', async () => {
    const container = await newContainer(client, { throughput: 10_000 });
    const ranges = async (headers = knowsMerges) =>
      (await cosmosRequest(server, 'GET', `/${container.url}/pkranges`, { headers })).body.PartitionKeyRanges.length;
    const setThroughput = async (throughput) => {
      const { resource: offer } = await container.readOffer();
      offer.content.offerThroughput = throughput;
      await client.offer(offer.id).replace(offer);
    };
    await setThroughput(20_000);
    await eventually(async () => (await ranges()) === 2, 30_000);
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    assert.equal(await ranges(), 2, 'the throughput needs both');
    await setThroughput(10_000);
    for (let second = 0; second < 12; second++) {
      assert.equal(await ranges({}), 2, 'a client that does not know merges is there');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    await eventually(async () => (await ranges()) === 1, 60_000);
  });
});
