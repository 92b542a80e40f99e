// The long run: every attack at its full size, with the latency of honest clients before, in it, and beside a program
// that only burns as much processor time as the attack cost. Prints a table (Markdown).
//
//   scripts/overload-test.sh [NAME...]
import { fork } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { binary, expectStatus, sleep } from '../integration/harness.mjs';
import { Arena, growingMaps, patient } from './arena.mjs';
import { bytesPerDatabase, createDatabases, listDatabases, restart } from './many_databases.mjs';

const MiB = 1 << 20;
const here = path.dirname(fileURLToPath(import.meta.url));
const QUIET_MS = 6000;
const CONTROL_MS = 6000;
/// Below these a ratio says more about the scheduler than about the server.
const FLOOR_MS = { p50: 0.5, p99: 10 };
/// Whatever the machine is busy with.
const P99_MAX_MS = 100;

const documents = 100_000;
/// name → [attack, its options, the arena's options, outcomes allowed]. A request that gets no reply within the
/// attacker's patience, which is a minute or two, is never allowed: hostile requests end, too.
const attacks = {
  'slow heads, 5,000 connections': ['slowHeaders', { connections: 5000, seconds: 15 }, {}, ['408']],
  'slow bodies, 5,000 connections': ['slowBodies', { connections: 5000, seconds: 15 }, {}, ['408']],
  'silent, 5,000 connections': ['silent', { connections: 5000, seconds: 12 }, {}, ['closed']],
  'half-closed sockets': ['halfClosed', { rounds: 8 }, {}, ['200', '201']],
  'resets, 50 at a time': ['resets', { together: 50, seconds: 15 }, {}, []],
  'huge heads': ['hugeHeads', { together: 20, rounds: 100 }, {}, ['414', '431']],
  '10,000 idle connections': ['idle', { connections: 10_000, seconds: 15 }, {}, ['200']],
  '10,000 followers': ['followers', { connections: 10_000, seconds: 15, database: 'scratch' }, {}, ['200']],
  'pipelined, 10,000 in one send': ['pipelined', { connections: 8, requests: 10_000, seconds: 10 }, { config: patient }, ['200']],
  'pipelined, not read': ['pipelined', { connections: 50, requests: 50_000, reading: false, seconds: 10 }, {}, ['reset', 'closed', 'cut']],
  'streams not read, 1,000': ['notReading', { connections: 1000, target: '/big/_all_docs?include_docs=true', seconds: 20 }, { documents }, ['reset', 'closed']],
  'feeds not read, 1,000': ['notReading', { connections: 1000, target: '/big/_changes?feed=continuous&include_docs=true', seconds: 20 }, { documents }, ['reset', 'closed']],
  '8 MB documents not read, 1,000': ['notReading', { connections: 1000, target: '/large/d', seconds: 20 }, { large: true }, ['reset', 'closed']],
  'bodies of 1 GB': ['hugeBodies', { together: 4, rounds: 4 }, {}, ['413']],
  '8 MB bodies, 300 at a time': ['manyBodies', { connections: 300, bytes: 8_000_000 }, { config: patient }, ['201', '503', 'reset']],
  '8 MB bodies never completed, 300': ['heldBodies', { connections: 300, bytes: 8 * MiB, seconds: 10 }, { config: patient }, ['503']],
  'queries without an index, 64': ['expensive', { clients: 64, seconds: 15, kinds: ['scan', 'sort'] }, { documents }, ['200', '503']],
  'regular expressions, 16': ['expensive', { clients: 16, seconds: 15, kinds: ['regex'] }, { documents: 300 }, ['200', '503']],
  '100,000 keys, 64': ['expensive', { clients: 64, seconds: 15, kinds: ['keys'] }, { documents, config: patient }, ['200', '503']],
  '_bulk_get of 10,000, 64': ['expensive', { clients: 64, seconds: 15, kinds: ['bulkGet'] }, { documents, config: patient }, ['200', '503']],
  '_bulk_docs of 100,000, 16': ['expensive', { clients: 16, seconds: 15, kinds: ['bulkDocs'] }, { documents }, ['201', '503']],
  // One program reads them all: more than these it cannot take within a client's patience.
  'whole listings, 16': ['expensive', { clients: 16, seconds: 15, kinds: ['list'] }, { documents, config: patient }, ['200', '503']],
  'ten hostile kinds, eight at a time': ['mixed', { together: 8, seconds: 30 }, { documents, ...growingMaps }, ['200', '201', '400', '413', '500', '503']],
  'guessing passwords, 64': ['guessing', { clients: 64, seconds: 15 }, { admin: true }, ['401', '403', '503']],
  'connections beyond 1,000': ['overLimit', { connections: 1500 }, { config: { http: { connections_max: 1000 } } }, ['200', '503', 'closed', 'reset']],
};

const wait = async (arena, ms) => {
  arena.measure();
  await sleep(ms);
  return arena.report();
};

/// Latencies while other programs use `shares` of the processors: [{share, nice}].
async function beside(arena, shares) {
  const burners = shares.flatMap(({ share, nice }) => Array.from({ length: Math.ceil(share) }, () =>
    fork(path.join(here, 'burn.mjs'), [JSON.stringify({ share: share / Math.ceil(share), nice })])));
  await sleep(300);
  const report = await wait(arena, CONTROL_MS);
  for (const burner of burners) burner.disconnect();
  return report;
}

const fixed = (value, digits = 1) => value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits);
const latency = (kind, quiet, control, attacked) =>
  ['p50', 'p99'].map((q) => `${fixed(quiet[kind][q])} / ${fixed(control[kind][q])} / ${fixed(attacked[kind][q])}`).join(' · ');
const within = (kind, control, attacked) => ['p50', 'p99'].every((q) =>
  attacked[kind].count === 0 || attacked[kind][q] <= 2 * Math.max(control[kind][q], FLOOR_MS[q])) && !(attacked[kind].p99 >= P99_MAX_MS);

async function fillLarge(server) {
  expectStatus(await server.put('/large'), 201);
  expectStatus(await server.put('/large/d', { text: 'x'.repeat(8_000_000) }), 201);
}

async function run(title, [name, options, arenaOptions, allowed]) {
  const arena = await Arena.start({ documents: 10_000, ...arenaOptions });
  try {
    if (arenaOptions.large) await fillLarge(arena.server);
    await arena.admitHonest();
    const calm = arena.usage();
    const quiet = await wait(arena, QUIET_MS);
    const calmShare = (arena.usage().cpuSeconds - calm.cpuSeconds) / (QUIET_MS / 1000);
    const seen = await arena.attack(name, options);
    const left = await arena.settled(seen.before, { memorySlack: 24 * MiB });
    const control = await beside(arena, [
      { share: Math.max(0.01, seen.attackerCpuShare), nice: 19 }, { share: Math.max(0.01, seen.cpuShare - calmShare), nice: 0 }]);
    const flat = typeof Object.values(seen.outcomes)[0] === 'object' ? Object.values(seen.outcomes) : [seen.outcomes];
    const strange = flat.flatMap(Object.keys).filter((what) => !allowed.includes(what));
    const refused = Object.keys(seen.honest.failures);
    const endMs = await arena.close();
    const failed = [
      ...(strange.length ? [`outcomes ${[...new Set(strange)].join(' ')}`] : []), ...(seen.wrong ?? []),
      ...(refused.length ? [`honest: ${refused.join(', ')}`] : []),
      ...['get', 'put', 'find'].filter((kind) => !within(kind, control, seen.honest)).map((kind) => `${kind} slow`),
      // Partitions that splits have made stay open, and a thread that has run functions keeps its globals.
      ...(left.descriptors > seen.before.descriptors + (name === 'mixed' ? 200 : 12) ? ['descriptors kept'] : []),
      ...(left.memory > seen.before.memory + (name === 'mixed' ? 192 : 48) * MiB ? ['memory kept'] : []),
    ];
    const outcomes = JSON.stringify(seen.outcomes).replaceAll('"', '').replace(/^\{|\}$/g, '').replaceAll(',', ', ');
    const extra = { heardMs: seen.heardMs, fileBytes: seen.fileBytes, announcedMs: seen.announcedMs };
    console.error(`${title}: ${outcomes} ${JSON.stringify(extra)} cpu server ${fixed(seen.cpuShare, 2)} attacker ${fixed(seen.attackerCpuShare, 2)}, end ${endMs} ms`);
    console.log(`| ${title} | ${outcomes || '–'} | ${latency('get', quiet, control, seen.honest)} | ${latency('put', quiet, control, seen.honest)} | ` +
      `${latency('find', quiet, control, seen.honest)} | ${fixed(seen.peak.memory / MiB, 0)} → ${fixed(left.memory / MiB, 0)} | ${seen.peak.descriptors} | ${failed.length ? failed.join('; ') : 'yes'} |`);
    return failed.length === 0;
  } finally {
    await arena.discard();
  }
}

async function manyDatabases(count, turns) {
  const arena = await Arena.start({ documents: 10 });
  try {
    const { server } = arena;
    const created = await createDatabases(arena, { count, clients: 16 });
    const at = arena.usage();
    const listed = await listDatabases(arena, { count });
    const bytes = bytesPerDatabase(arena, count);
    const again = await restart(arena);
    const warm = await restart(arena);
    console.log(`\n| ${count} databases | |\n|---|---|`);
    console.log(`| created, durably, 16 at a time | ${fixed(count / created.seconds, 0)}/s |`);
    console.log(`| memory, descriptors after that | ${fixed(at.memory / MiB, 0)} MiB, ${at.descriptors} |`);
    for (const [what, ms] of Object.entries(listed)) console.log(`| list: ${what} | ${fixed(ms)} ms |`);
    console.log(`| disk per empty database | ${fixed(bytes / 1024, 1)} KiB |`);
    console.log(`| stopped in | ${again.stopMs} ms |`);
    console.log(`| ready again | ${Math.min(again.readyMs, warm.readyMs)} ms (${again.readyMs}, ${warm.readyMs}) |`);
    for (let n = 0; n < turns; ++n) {
      if (n % 1000 === 0) console.error(`turn ${n}`);
      expectStatus(await server.put(`/turn${n}`), 201);
      await server.put(`/turn${n}/d1`, { kind: 'k' });
      if (n % 5 === 0) await server.post(`/turn${n}/_index`, { index: { fields: ['kind'] }, ddoc: 'kind' });
    }
    await arena.admitHonest();
    const quiet = await wait(arena, QUIET_MS);
    for (const query of [false, true]) {
      const seen = await arena.attack('inTurn', { clients: 16, count: turns, seconds: 20, query });
      const failed = Object.keys(seen.outcomes).filter((status) => !['200', '201'].includes(status));
      console.log(`| ${turns} in turn, ${query ? '_find' : 'GET and PUT'}: requests/s, p50, p99 | ${fixed(seen.requests / 20, 0)}/s, ${fixed(seen.p50)} ms, ${fixed(seen.p99)} ms ${failed} |`);
      console.log(`| – honest GET p50, p99: before, meanwhile | ${fixed(quiet.get.p50)}, ${fixed(quiet.get.p99)} ms; ${fixed(seen.honest.get.p50)}, ${fixed(seen.honest.get.p99)} ms |`);
      console.log(`| – memory, descriptors, at most | ${fixed(seen.peak.memory / MiB, 0)} MiB, ${seen.peak.descriptors} |`);
    }
    console.log(`| ended in | ${await arena.close()} ms |`);
  } finally {
    await arena.discard();
  }
}

console.error(`${binary}, ${new Date().toISOString()}`);
const wanted = process.argv.slice(2);
let sound = true;
console.log('| attack | offenders | GET ms: quiet / control / attacked, p50 · p99 | PUT | `_find` | memory MiB: peak → after | descriptors | sound |\n|---|---|---|---|---|---|---:|---|');
for (const [title, attack] of Object.entries(attacks)) {
  if (wanted.length && !wanted.some((part) => title.includes(part))) continue;
  sound = await run(title, attack) && sound;
}
if (!wanted.length || wanted.includes('databases')) await manyDatabases(Number(process.env.DATABASES ?? 100_000), Number(process.env.TURNS ?? 5000));
process.exitCode = sound ? 0 : 1;
