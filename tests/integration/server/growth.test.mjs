// Maps of files that grow while they are read. With a limit of its address space a server starts with small maps; one
// without a limit reserves so much that they hardly ever grow.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { expectStatus, patience, Server, sleep } from '../harness.mjs';

const sanitized = patience > 1;  // their own maps do not fit under a limit
const limited = sanitized ? undefined : ['prlimit', `--as=${64 * 2 ** 30}`];
const GATE_MS = 2000;  // how long readers may wait for a map to grow
const ANSWER_MS = 60_000;  // many times what a request takes on a busy machine
const smallMaps = ['--storage-map-bytes-initial', '64KiB', '--storage-compression', 'none'];

/// `count` partition keys of each of the two physical partitions.
async function keysOfBothPartitions(server, db, count) {
  const keysOf = new Map();
  for (let n = 0; keysOf.size < 2 || [...keysOf.values()].some((keys) => keys.length < count); ++n) {
    const { range } = expectStatus(await server.get(`/${db}/_shards/k${n}:x`), 200);
    keysOf.set(range, [...(keysOf.get(range) ?? []), `k${n}`]);
  }
  return [...keysOf.values()].map((keys) => keys.slice(0, count));
}

describe('maps that grow', () => {
  test('a map that must grow under a long query holds up other requests only shortly, and its write is told to try again', async (t) => {
    const server = await Server.startFor(t, { args: smallMaps, through: limited });
    expectStatus(await server.put('/shop'), 201);
    expectStatus(await server.put('/other'), 201);
    expectStatus(await server.put('/other/d', {}), 201);
    // What is before the large document takes more than a first slice, so that a worker comes to match the large one.
    await server.fill('shop', Array.from({ length: 20_000 }, (_, n) => ({ _id: `d${n}` })));
    expectStatus(await server.put('/shop/large', { list: Array.from({ length: 150_000 }, (_, n) => n) }), 201);
    const numbers = Array.from({ length: 3000 }, (_, n) => ({ $eq: n + 0.5 }));
    const query = server.post('/shop/_find', { selector: { list: { $elemMatch: { $or: numbers } } } }, { timeoutMs: 120_000 });
    query.catch(() => {});  // the server ends before it
    await sleep(1000 * patience);

    const filler = 'x'.repeat(6_000_000);
    const growing = Promise.all(Array.from({ length: 4 }, (_, n) => server.put(`/shop/new${n}`, { filler })));
    growing.catch(() => {});
    await sleep(1000);
    const own = { agent: false, timeoutMs: 2 * GATE_MS };  // connections of their own, so of all threads
    const document = Array.from({ length: 8 }, () => server.get('/shop/d1', own));
    await sleep(200);
    const others = Array.from({ length: 8 }, (_, n) => server.get(n % 2 ? '/_up' : '/other/d', own));
    for (const reply of await Promise.all(document)) assert.ok([200, 503].includes(reply.status), reply.text);
    for (const reply of await Promise.all(others)) expectStatus(reply, 200);
    for (const reply of await growing) assert.ok([201, 503].includes(reply.status), reply.text);
    expectStatus(await server.get('/shop/d1', own), 200);
    await server.kill();
  });

  // A slice of such a query holds the index's store and enters those of both physical partitions, in the order of its
  // entries; bulk writes let all three grow at the same time. If one waited for another without a limit, all would stop.
  for (const workers of [4, 16]) {
    test(`queries by a global index and bulk writes that let both partitions grow do not stop each other, with ${workers} workers`, { skip: sanitized }, async (t) => {
      const server = await Server.startFor(t, { args: [...smallMaps, '--worker-threads', String(workers)], through: limited });
      const refused = { find: 0, bulk: 0 };
      const answered = { find: 0, bulk: 0 };
      const longestMs = { find: 0, bulk: 0 };
      const ask = async (kind, status, target, body) => {
        const begun = Date.now();
        const reply = await server.post(target, body, { timeoutMs: ANSWER_MS });
        longestMs[kind] = Math.max(longestMs[kind], Date.now() - begun);
        assert.ok([status, 503].includes(reply.status), `${kind}: ${reply.status} ${reply.text.slice(0, 300)}`);
        if (reply.status === status) ++answered[kind];
        else ++refused[kind];
      };
      for (const db of ['first', 'second']) {
        expectStatus(await server.put(`/${db}?partitioned=true&q=2`), 201);
        const [left, right] = await keysOfBothPartitions(server, db, 4);
        const keys = left.flatMap((key, n) => [key, right[n]]);
        const index = { index: { fields: ['u', 'n'] }, ddoc: 'by', partitioned: false };
        expectStatus(await server.post(`/${db}/_index`, index), 200);
        let writing = true;
        const finder = async (seed) => {
          for (let n = seed; writing; ++n) {
            const selector = { u: { $gte: `u${n % 8}` }, ...(n % 4 === 0 && { pad: { $regex: '(a|b|x)+c+b' } }) };
            const find = { selector, use_index: 'by', limit: 100, sort: [{ u: n % 3 ? 'asc' : 'desc' }], update: false };
            await ask('find', 200, `/${db}/_find`, find);
          }
        };
        const writer = async () => {
          for (let n = 0; n < 30; ++n) {
            const docs = Array.from({ length: 240 }, (_, i) => ({
              _id: `${keys[i % keys.length]}:${n}-${i}`, u: `u${i % keys.length}`, n, pad: 'abcabcabc'.repeat(n % 10 ? 12 : 200) }));
            await ask('bulk', 201, `/${db}/_bulk_docs`, { docs });
          }
        };
        const finders = Array.from({ length: 16 }, (_, seed) => finder(seed));
        try {
          await writer();
        } finally {
          writing = false;
        }
        await Promise.all(finders);
        assert.ok(expectStatus(await server.get(`/${db}`), 200).sizes.file > 4 * 2 ** 20);
      }
      assert.ok(answered.find > 0 && answered.bulk > 0, JSON.stringify(answered));
      t.diagnostic(`answered: ${JSON.stringify(answered)}, told to try again: ${JSON.stringify(refused)}, longest in ms: ${JSON.stringify(longestMs)}`);
      await server.stop();
    });
  }

  test('a server without a limit of its address space reserves much of it, and no memory or disk', { skip: sanitized }, async (t) => {
    const server = await Server.startFor(t, { args: smallMaps });
    expectStatus(await server.put('/shop'), 201);
    const status = fs.readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
    const bytesOf = (name) => Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'))[1]) * 1024;
    assert.ok(bytesOf('VmSize') > 64 * 2 ** 30);
    assert.ok(bytesOf('VmRSS') < 2 ** 30);
    assert.ok(expectStatus(await server.get('/shop'), 200).sizes.file < 2 ** 20);
    await server.stop();
  });
});
