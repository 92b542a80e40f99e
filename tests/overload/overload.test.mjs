// Each attack in small, and what must hold whatever the machine: offenders get what they deserve and nothing else,
// honest clients are served, nothing is kept afterwards. scripts/overload-test.sh has the large sizes and the latencies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, expectStatus, patience } from '../integration/harness.mjs';
import { Arena, growingMaps, patient, shortHeads } from './arena.mjs';
import { hostileKinds } from './attacks_mixed.mjs';
import { Client, head } from './raw_client.mjs';

const MiB = 1 << 20;
// A sanitizer keeps freed memory for a while: there the figures say nothing.
const memoryCounts = patience === 1;

/// Runs one attack with honest clients beside it, and checks what holds for all of them.
async function underAttack(t, arenaOptions, name, options, check, { descriptorsKept = 12, memoryKept = 48 * MiB } = {}) {
  const arena = await Arena.start(arenaOptions);
  t.after(() => arena.discard());
  await arena.admitHonest();
  const seen = await arena.attack(name, options);
  for (const kind of ['get', 'put', 'find']) assert.ok(seen.honest[kind].count > 0 || seen.inSwingSeconds < 1, `no ${kind} was served`);
  assert.deepEqual(seen.honest.failures, {}, `honest clients were refused: ${JSON.stringify(seen.honest.failures)}`);
  await check(seen, arena);
  const left = await arena.settled(seen.before);
  assert.ok(left.descriptors <= seen.before.descriptors + descriptorsKept, `${left.descriptors} descriptors are left of ${seen.before.descriptors}`);
  if (memoryCounts) assert.ok(left.memory <= seen.before.memory + memoryKept, `${left.memory / MiB} MiB are left of ${seen.before.memory / MiB}`);
  assert.ok(await arena.close() < 4000, 'the end took too long');
  return seen;
}

/// All outcomes are among those allowed, and the first of them did occur.
function onlyOutcomes(outcomes, ...allowed) {
  const strange = Object.keys(outcomes).filter((what) => !allowed.includes(what));
  assert.deepEqual(strange, [], JSON.stringify(outcomes));
  assert.ok(outcomes[allowed[0]] > 0, `no ${allowed[0]}: ${JSON.stringify(outcomes)}`);
}

const boundedMemory = (seen, bytes) => {
  if (memoryCounts) assert.ok(seen.peak.memory - seen.before.memory < bytes, `the memory grew by ${(seen.peak.memory - seen.before.memory) / MiB} MiB`);
};

test('heads that drip in end with 408', (t) => underAttack(t, { documents: 10, config: shortHeads }, 'slowHeaders', { connections: 200, seconds: 6 }, (seen) => {
  onlyOutcomes(seen.outcomes, '408');
  boundedMemory(seen, 32 * MiB);
}));

test('bodies that drip in end with 408', (t) => underAttack(t, { documents: 10 }, 'slowBodies', { connections: 200, seconds: 6 }, (seen) => {
  onlyOutcomes(seen.outcomes, '408');
  boundedMemory(seen, 32 * MiB);
}));

test('connections that say nothing are closed', (t) => underAttack(t, { documents: 10, config: shortHeads }, 'silent', { connections: 200, seconds: 6 }, (seen) => {
  onlyOutcomes(seen.outcomes, 'closed');
}));

test('a client that has shut down its sending side gets its whole reply', (t) => underAttack(t, {}, 'halfClosed', { rounds: 2 }, (seen) => {
  assert.deepEqual(seen.wrong, []);
  assert.deepEqual(seen.outcomes, { 200: 10, 201: 2 });
  onlyOutcomes(seen.cutOff, 'closed');
}));

test('connections reset at random leave nothing behind', (t) => underAttack(t, { documents: 500 }, 'resets', { together: 20, seconds: 2 }, (seen) => {
  assert.ok(seen.opened >= 20, `${seen.opened} opened`);  // once all of them; a busy machine opens few
}));

test('heads that are too large are refused', (t) => underAttack(t, { documents: 10 }, 'hugeHeads', { rounds: 2, together: 10 }, (seen) => {
  // 414 is what the standard has for a request line that is too long; 431 for the fields.
  assert.deepEqual(seen.outcomes, { 414: 8, 431: 12 });
  boundedMemory(seen, 32 * MiB);
}));

test('two thousand requests in one send are all answered', (t) =>
  underAttack(t, { documents: 10, config: patient }, 'pipelined', { connections: 4, requests: 2000 }, (seen) => {
    assert.deepEqual(seen.outcomes, { 200: 8000 });
  }));

test('pipelined requests of a client that does not read are not answered for ever', (t) =>
  underAttack(t, { documents: 10 }, 'pipelined', { connections: 4, requests: 50_000, reading: false, seconds: 3 }, (seen) => boundedMemory(seen, 32 * MiB)));

test('a thousand idle connections and a thousand followers are held and served', async (t) => {
  await underAttack(t, { documents: 10 }, 'idle', { connections: 1000, seconds: 3 }, (seen) => {
    assert.deepEqual(seen.outcomes, { 200: 2000 });
    boundedMemory(seen, 32 * MiB);
  });
  await underAttack(t, { documents: 10 }, 'followers', { connections: 1000, seconds: 3, database: 'scratch' }, (seen) => {
    assert.deepEqual(seen.outcomes, { 200: 1000 });
    assert.equal(seen.heard, 1000);
    boundedMemory(seen, 48 * MiB);
  });
});

test('clients that do not read what they asked for are given up, and pin no pages', (t) =>
  underAttack(t, { documents: 5000 }, 'notReading', { connections: 60, target: '/big/_all_docs?include_docs=true', seconds: 40, writes: 25 }, (seen) => {
    assert.equal(seen.ended, 60);
    boundedMemory(seen, 64 * MiB);
    const { first, last, rounds } = seen.fileBytes;
    // Each round overwrites a megabyte; with pages pinned the file would grow by as much.
    assert.equal(rounds, 25);
    assert.ok(last - first < 10 * MiB, `the file grew by ${(last - first) / MiB} MiB`);
  }));

test('bodies beyond the limit are refused, announced, in chunks or packed', (t) =>
  underAttack(t, { documents: 10 }, 'hugeBodies', { together: 2 }, (seen) => {
    for (const kind of ['announced', 'chunked', 'packed']) assert.deepEqual(seen.outcomes[kind], { 413: 2 });
    boundedMemory(seen, 400 * MiB);
  }));

test('large bodies that are never completed are kept within bounds', (t) =>
  underAttack(t, { documents: 10, config: { http: { body_timeout: '20s' } } }, 'heldBodies', { connections: 160, bytes: 8 * MiB, seconds: 2 }, (seen) => {
    // One that does not look at its replies for two seconds while it sends may find the connection reset instead.
    const [refusal] = Object.keys(seen.outcomes);
    onlyOutcomes(seen.outcomes, refusal ?? '503', '503', 'reset');
    boundedMemory(seen, 1200 * MiB);
  }));

test('expensive requests do not keep others waiting', (t) =>
  underAttack(t, { documents: 1000, config: patient }, 'expensive', { clients: 14, seconds: 2, keys: 10_000, docs: 5000 }, (seen) => {
    onlyOutcomes(seen.outcomes, '200', '201', '503');
    boundedMemory(seen, 400 * MiB);
  }));

test('guessing passwords costs the guesser', (t) =>
  underAttack(t, { documents: 10, admin: true }, 'guessing', { clients: 32, seconds: 2 }, (seen) => onlyOutcomes(seen.outcomes, '401', '403', '503')));

test('connections beyond the limit are told 503', (t) =>
  underAttack(t, { documents: 10, config: { http: { connections_max: 60 } } }, 'overLimit', { connections: 120 }, (seen) => {
    onlyOutcomes(seen.outcomes, '503', '200', 'closed', 'reset');
    assert.ok(seen.outcomes[200] >= 50 && seen.outcomes[200] <= 60, JSON.stringify(seen.outcomes));
    assert.deepEqual(seen.retryAfter, ['1']);
  }));

test('requests beyond the limit in flight are told 503', async (t) => {
  const arena = await Arena.start({ documents: 5000, config: { http: { ...patient.http, requests_in_flight_max: 4 } } });
  t.after(() => arena.discard());
  const seen = await arena.attack('expensive', { clients: 24, seconds: 2, kinds: ['scan', 'sort'], inTime: true });
  onlyOutcomes(seen.outcomes, '503', '200');
  assert.deepEqual(seen.retryAfter, ['1']);
  await arena.close();
});

test('with few descriptors the server refuses, and serves those it has', async (t) => {
  const arena = await Arena.start({ documents: 10, through: ['prlimit', '--nofile=256:256'] });
  t.after(() => arena.discard());
  const { server } = arena;
  for (let n = 0; n < 40; ++n) expectStatus(await server.put(`/few${n}?q=2`), 201);
  const attack = arena.attack('idle', { connections: 400, seconds: 6 });
  // Once there are too many connections, a new one is refused.
  await eventually(async () => {
    const client = new Client(server.port);
    const late = await client.request(head('GET /few1 HTTP/1.1', 'Host: x'), { timeoutMs: 5000 }).catch((error) => error);
    client.close();
    return late instanceof Error || late.status === 503;
  });
  const seen = await attack;
  assert.ok(seen.outcomes[503] > 0, JSON.stringify(seen.outcomes));
  assert.ok(seen.peak.descriptors < 256, `${seen.peak.descriptors}`);
  assert.ok(seen.cpuShare < 0.8, `the server was busy with ${seen.cpuShare} processors`);
  for (let n = 0; n < 40; ++n) {
    await eventually(async () => (await server.get(`/few${n}`)).status === 200);
  }
  await arena.close();
});

// What they cost the others in time: scripts/overload-test.sh "ten hostile kinds".
test('ten kinds of hostile clients, eight at a time, delay others only briefly while maps grow and partitions are split', (t) => underAttack(t, growingMaps, 'mixed', { together: 8, seconds: 20 }, (seen) => {
  onlyOutcomes(seen.outcomes, '200', '201', '400', '413', '500', '503');
  for (const kind of ['get', 'put', 'find']) {
    assert.ok(seen.honest[kind].max < 5000 * patience, `a ${kind} took ${seen.honest[kind].max} ms: ${JSON.stringify(seen.honest)}`);
  }
  const { perKind, splits, sizes: { before, after } } = seen;
  for (const kind of Object.keys(hostileKinds)) assert.ok(perKind[kind], `no reply of ${kind}`);
  assert.ok(splits[201] > 0, JSON.stringify(splits));
  for (const n of [0, 1]) assert.ok(after.ranges[n] > before.ranges[n], JSON.stringify({ before, after }));
  assert.ok(after.fileBytes > before.fileBytes + 4 * MiB, JSON.stringify({ before, after }));
  t.diagnostic(`honest clients: ${JSON.stringify(seen.honest)}; hostile ones: ${JSON.stringify(seen.perKind)}`);
// Partitions that splits have made stay open, and a thread that has run functions keeps its globals.
}, { descriptorsKept: 200, memoryKept: 192 * MiB }));
