// Maps of files that grow while they are read. With a limit of its address space a server starts with small maps; one
// without a limit reserves so much that they hardly ever grow.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, test } from 'node:test';
import { expectStatus, patience, Server, sleep } from '../harness.mjs';

const sanitized = patience > 1;  // their own maps do not fit under a limit
const limited = sanitized ? undefined : ['prlimit', `--as=${64 * 2 ** 30}`];
const GATE_MS = 2000;  // how long readers may wait for a map to grow
const smallMaps = ['--storage-map-bytes-initial', '64KiB'];

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
