// Many databases: created, listed, found again after a restart, used in turn. CTest has 2,000; the long run 100,000.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patience } from '../integration/harness.mjs';
import { Arena } from './arena.mjs';
import { createDatabases, listDatabases, restart } from './many_databases.mjs';

const MiB = 1 << 20;

test('two thousand databases are created, listed, and there after a restart', async (t) => {
  const arena = await Arena.start({ documents: 10, config: { storage: { durability: 'ephemeral', open_partitions_max: 100 } } });
  t.after(() => arena.discard());
  const before = arena.usage();
  const created = await createDatabases(arena, { count: 2000, clients: 8 });
  assert.deepEqual(created.outcomes, { 201: 2000 });
  await listDatabases(arena, { count: 2000 });
  const after = arena.usage();
  // Three for each that may be open, and for a quarter more: the janitor works a moment behind.
  assert.ok(after.descriptors < before.descriptors + 3 * 135, `${after.descriptors} descriptors`);
  if (patience === 1) {
    assert.ok(after.memory < before.memory + 64 * MiB, `${(after.memory - before.memory) / MiB} MiB more`);
  }
  await restart(arena);
  await listDatabases(arena, { count: 2000 });
  await arena.close();
});

test('databases used in turn are opened and closed again, with their global indexes', async (t) => {
  const count = 300;
  const arena = await Arena.start({ documents: 10, config: { storage: { durability: 'ephemeral', open_partitions_max: 50 } } });
  t.after(() => arena.discard());
  const { server } = arena;
  for (let n = 0; n < count; ++n) {
    await server.put(`/turn${n}`);
    await server.fill(`turn${n}`, [{ _id: 'd1', kind: 'k' }]);
    if (n % 3 === 0) await server.post(`/turn${n}/_index`, { index: { fields: ['kind'] }, ddoc: 'kind' });
  }
  for (const query of [false, true]) {
    // Every database once, so that every store is closed for another.
    const seen = await arena.attack('inTurn', { clients: 16, count, requests: count, query });
    assert.deepEqual(Object.keys(seen.outcomes).filter((status) => !['200', '201'].includes(status)), [], JSON.stringify(seen.outcomes));
    assert.equal(seen.requests, count);
    // Where an index is opened after its database, or many open at the same time, it takes the next opening to notice.
    assert.ok(seen.peak.descriptors < 3 * (50 + 16 + 50) + 60, `${seen.peak.descriptors} descriptors`);
  }
  await arena.close();
});
