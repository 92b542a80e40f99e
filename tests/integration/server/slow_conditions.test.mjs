// Conditions whose cost grows with the document: whom they hold up, and how they end.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, patience, Server, sleep } from '../harness.mjs';
import { readOfThreads } from '../processes.mjs';

const WORKERS = 2;
const CLOCK_TICKS_PER_S = 100;
const REPLY_MS = 60_000;  // many times what a reply takes on a busy machine

/// Processor seconds of the server's threads so far: those of the connections, and all others.
function processorSeconds(pid) {
  const seconds = { connections: 0, others: 0 };
  let connectionThreads = 0;
  for (const stat of readOfThreads(pid, 'stat')) {
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const isOfConnections = /^io-\d+$/.test(name);
    if (isOfConnections) ++connectionThreads;
    seconds[isOfConnections ? 'connections' : 'others'] += (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_S;
  }
  assert.ok(connectionThreads > 0);
  return seconds;
}

describe('conditions whose cost grows with the document', () => {
  let server;
  before(async () => {
    server = await Server.start({ args: ['--worker-threads', String(WORKERS)] });
    expectStatus(await server.put('/shop'), 201);
    expectStatus(await server.put('/other'), 201);
    expectStatus(await server.put('/other/d', { is: 'small' }), 201);
    // One document: its match is the whole of a first slice.
    expectStatus(await server.put('/shop/large', { list: Array.from({ length: 60_000 }, (_, n) => n) }), 201);
    expectStatus(await server.put('/wide'), 201);
    expectStatus(await server.put('/wide/wide', Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => [`m${n}`, n]))), 201);
    for (const [db, count] of [['few', 400], ['many', 30_000]]) {
      expectStatus(await server.put(`/${db}`), 201);
      await server.fill(db, Array.from({ length: count }, (_, n) => ({ _id: `d${n}`, n })));
    }
    expectStatus(await server.put('/words'), 201);
    await server.fill('words', Array.from({ length: 1000 }, (_, n) => ({ text: `${n}`.padStart(5, '0') + 'a'.repeat(8000) })));
    const index = { analyzer: 'keyword', index: "function (doc) { index('text', doc.text); }" };
    expectStatus(await server.put('/words/_design/d', { indexes: { words: index } }), 201);
    expectStatus(await server.post('/words/_design/d/_search/words', { q: 'text:/00000a*/' }), 200);
  });
  after(() => server?.stop());

  /// A _find that makes `count` comparisons with each element.
  const comparisons = (count) => ({ list: { $elemMatch: { $or: Array.from({ length: count }, (_, n) => ({ $eq: n + 0.5 })) } } });
  const compare = (count) => server.post('/shop/_find', { selector: comparisons(count) }, { timeoutMs: REPLY_MS });

  /// Repeats `request` until `work` is done; returns the milliseconds of each.
  async function beside(work, request) {
    let working = true;
    const done = work.finally(() => { working = false; });
    const milliseconds = [];
    while (working) {
      milliseconds.push(await timed(request));
      await sleep(10);
    }
    await done;
    return milliseconds;
  }
  async function timed(request) {
    const begun = Date.now();
    await request();
    return Date.now() - begun;
  }

  test('a condition that costs too much for one document ends the query', async () => {
    expectError(await compare(3000), 413, 'too_large',
      'The condition takes too much time for the document large; use fewer conditions on the elements of arrays, or simpler regular expressions.');
  });

  test('fields that a large document does not have end the query, too', async () => {
    const none = Array.from({ length: 5000 }, (_, n) => ({ [`none${n}`]: 1 }));
    expectError(await server.post('/wide/_find', { selector: { $or: none } }, { timeoutMs: REPLY_MS }), 413, 'too_large', /too much time for the document wide/);
    const fields = Array.from({ length: 1000 }, (_, n) => `none${n}`);
    expectError(await server.post('/wide/_find', { selector: { _id: 'wide' }, fields }, { timeoutMs: REPLY_MS }), 413, 'too_large', /^1000 `fields` take too much time for the document wide/);
    assert.deepEqual(expectStatus(await server.post('/wide/_find', { selector: { m7: 7 }, fields: ['m299999'] }), 200).docs, [{ m299999: 299_999 }]);
  });

  test('such a query does not use the threads of the connections', async (t) => {
    const begun = processorSeconds(server.process.pid);
    const selector = comparisons(250);
    const slow = async () => {
      for (let n = 0; n < 3; ++n) {
        assert.deepEqual(expectStatus(await compare(250), 200).docs, []);
        const feed = server.post('/shop/_changes?filter=_selector', { selector }, { timeoutMs: REPLY_MS });
        assert.deepEqual(expectStatus(await feed, 200).results, []);
      }
    };
    // On new connections, so by all threads.
    const milliseconds = await beside(Promise.all([slow(), slow()]),
      async () => expectStatus(await server.get('/other/d', { agent: false, timeoutMs: REPLY_MS }), 200));
    const ended = processorSeconds(server.process.pid);
    const connections = ended.connections - begun.connections;
    const others = ended.others - begun.others;
    t.diagnostic(`processor seconds of connections: ${connections}, of others: ${others}; ${milliseconds.length} GETs, at most ${Math.max(...milliseconds)} ms`);
    assert.ok(others > 2 * connections, `${others} and ${connections}`);
    assert.ok(Math.max(...milliseconds) < 5000 * patience, `${milliseconds}`);
  });

  // More of them than workers; each takes seconds for one document, or without a pause.
  const slowKinds = {
    queries: async () => assert.deepEqual(expectStatus(await compare(250), 200).docs, []),
    'SQL queries': async () => expectError(await server.post('/shop/_sql', {
      query: 'SELECT VALUE c._id FROM c WHERE @text LIKE @part',
      parameters: [{ name: '@text', value: 'a'.repeat(500_000) }, { name: '@part', value: `%${'a'.repeat(50_000)}b%` }],
    }, { timeoutMs: REPLY_MS }), 413, 'resource_limit', /too much time for one item/),
    searches: async () => expectError(await server.post('/words/_design/d/_search/words', { q: 'text:/(.*a){12}b/' },
      { timeoutMs: REPLY_MS }), 500, 'timeout', /^The search took too long/),
  };
  for (const [name, slow] of Object.entries(slowKinds)) {
    test(`slow ${name} do not make other queries wait for their end`, async (t) => {
      const slowMs = [];
      const all = Promise.all(Array.from({ length: WORKERS + 1 }, async () => slowMs.push(await timed(slow))));
      // One that a worker ends soon, and one that takes many slices.
      const find = async (n) => assert.equal(expectStatus(
        await server.post(`/${n % 2 ? 'few' : 'many'}/_find`, { selector: { n: 399 } }, { timeoutMs: REPLY_MS }), 200).docs.length, 1);
      let n = 0;
      const milliseconds = await beside(all, () => find(n++));
      t.diagnostic(`the slow ones took ${slowMs} ms; ${milliseconds.length} others: at most ${Math.max(...milliseconds)} ms`);
      assert.ok(Math.max(...milliseconds) < Math.min(...slowMs), `${milliseconds} ms beside ${slowMs} ms`);
    });
  }
});
