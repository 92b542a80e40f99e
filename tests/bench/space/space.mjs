// What deleted and updated documents leave on the disk, and what a long history costs an update.
//
//   OCTAVO_BINARY=build/octavo node tests/bench/space/space.mjs rounds [--documents 10000] [--rounds 6]
//   … space.mjs ttl                 the same, but the documents expire instead of being deleted
//   … space.mjs histories [--documents 200] [--lengths 100,1000,5000]
//   … space.mjs replaced            updates with and without keeping replaced revisions, in turns
//   … space.mjs steady [--documents 20000] [--edits 1000000] [--retention 0]   updates, deletions and insertions in equal
//                                   shares; --retention: seconds after which tombstones are dropped, 0: never
//   … space.mjs latency [--documents 100000] [--seconds 10] [--clients 8]   PUT with and without compactions, in turns
//   … space.mjs indexes [--documents 10000]   files of a view, a search index and a global index after deletions
//   … space.mjs bodies [--documents 20000] [--bytes 2048]   documents with and without storage.compression, in turns
//   … space.mjs trees [--documents 100000]   bytes per document in each tree, with a local and a global index, one
//                                   document in ten updated, and a compaction (mdb_stat of Debian's lmdb-utils); --compaction none
//   … space.mjs documents [--documents 5000] [--bytes 2048]   prints the documents of `bodies`, one in a line
//
// Files are compacted on request only, apart from `steady`, where they are as by default. Compare `steady` with
// `steady --compaction manual`.
//
// Prints Markdown. Rates depend on the machine; compare those of one run.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { eventually, expectStatus, Server } from '../../integration/harness.mjs';
import { orderOf } from './orders.mjs';

const [what, ...rest] = process.argv.slice(2);
const options = { documents: undefined, rounds: 6, lengths: '100,1000,5000', edits: 1_000_000, seconds: 10, clients: 8 };
for (let i = 0; i < rest.length; i += 2) options[rest[i].slice(2)] = rest[i + 1];
const number = (name, otherwise) => Number(options[name] ?? otherwise);

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
const table = (...rows) => { for (const row of rows) console.log(`| ${row.join(' | ')} |`); };
const head = (...names) => table(names, names.map(() => '---:'));

function bytesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const file = path.join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesIn(file) : entry.name === 'data.mdb' ? fs.statSync(file).blocks * 512 : 0);
  }, 0);
}

const onDisk = (server) => bytesIn(path.join(server.dataDir, 'databases'));
const sizes = async (server, db) => expectStatus(await server.get(`/${db}`), 200).sizes;

async function bulk(server, db, docs) {
  const rows = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs }), 201);
  const refused = rows.find((row) => row.error);
  if (refused) throw new Error(JSON.stringify(refused));
  return rows;
}

async function compact(server, db) {
  expectStatus(await server.post(`/${db}/_compact`, {}), 202);
  await eventually(async () => (await server.get(`/${db}`)).body.compact_running === false, 600_000);
}

async function rounds(server, expire) {
  const documents = number('documents', 10_000);
  const batch = 1_000;
  expectStatus(await server.put('/rounds'), 201);
  if (expire) expectStatus(await server.put('/rounds/_properties', { ttl: 1 }), 200);
  head('round', 'on disk, MB', 'active, MB');
  for (let round = 1; round <= number('rounds'); ++round) {
    const written = [];
    for (let i = 0; i < documents; i += batch) {
      const docs = Array.from({ length: batch }, (_, k) => ({
        _id: `${round}-${String(i + k).padStart(8, '0')}`, text: 'x'.repeat(1000),
      }));
      written.push(...await bulk(server, 'rounds', docs));
    }
    if (expire) {
      const deleted = round * documents;
      await eventually(async () => (await server.get('/rounds')).body.doc_del_count === deleted, 600_000);
    } else {
      for (let i = 0; i < documents; i += batch) {
        await bulk(server, 'rounds', written.slice(i, i + batch).map(({ id, rev }) => ({ _id: id, _rev: rev, _deleted: true })));
      }
    }
    table([round, megabytes(onDisk(server)), megabytes((await sizes(server, 'rounds')).active)]);
  }
  await compact(server, 'rounds');
  table(['compacted', megabytes(onDisk(server)), megabytes((await sizes(server, 'rounds')).active)]);
}

async function histories(server) {
  const documents = number('documents', 200);
  const updates = 20_000;  // measured, at each length
  expectStatus(await server.put('/histories'), 201);
  let docs = Array.from({ length: documents }, (_, i) => ({ _id: `d${i}`, n: 0 }));
  const edit = async () => {
    const rows = await bulk(server, 'histories', docs);
    docs = rows.map(({ id, rev }, i) => ({ _id: id, _rev: rev, n: docs[i].n + 1 }));
  };
  head('revisions', 'updates/s', 'bytes per document');
  let length = 0;
  for (const wanted of options.lengths.split(',').map(Number)) {
    for (; length < wanted; ++length) await edit();
    const begun = Date.now();
    const edits = Math.ceil(updates / documents);
    for (let i = 0; i < edits; ++i, ++length) await edit();
    const rate = (edits * documents * 1000) / (Date.now() - begun);
    await compact(server, 'histories');
    table([wanted, rate.toFixed(0), ((await sizes(server, 'histories')).active / documents).toFixed(0)]);
  }
}

async function replaced() {
  const keeping = await Server.start();
  const not = await Server.start({ config: '[database]\nreplaced_kept = "0s"\n' });
  const documents = number('documents', 2_000);
  head('run', 'updates/s, kept', 'updates/s, not kept', 'ratio');
  const state = new Map();
  for (const server of [keeping, not]) {
    expectStatus(await server.put('/replaced'), 201);
    const docs = Array.from({ length: documents }, (_, i) => ({ _id: `d${i}`, text: 'x'.repeat(300) }));
    state.set(server, await bulk(server, 'replaced', docs));
  }
  const rate = async (server) => {
    const begun = Date.now();
    for (let i = 0; i < 10; ++i) {
      const docs = state.get(server).map(({ id, rev }) => ({ _id: id, _rev: rev, text: 'y'.repeat(300), i }));
      state.set(server, await bulk(server, 'replaced', docs));
    }
    return (10 * documents * 1000) / (Date.now() - begun);
  };
  for (let run = 1; run <= 8; ++run) {
    const [a, b] = [await rate(keeping), await rate(not)];
    table([run, a.toFixed(0), b.toFixed(0), (a / b).toFixed(2)]);
  }
  await keeping.stop();
  await not.stop();
}

async function steady(server) {
  const documents = number('documents', 20_000);
  const edits = number('edits');
  expectStatus(await server.put('/steady'), 201);
  const retention = number('retention', 0);
  if (retention > 0) expectStatus(await server.put('/steady/_properties', { tombstone_retention: retention }), 200);
  const text = () => 'x'.repeat(100 + Math.floor(Math.random() * 400));
  let live = [];
  for (let i = 0; i < documents; i += 1000) {
    const docs = Array.from({ length: 1000 }, (_, k) => ({ _id: `first-${i + k}`, text: text() }));
    live.push(...await bulk(server, 'steady', docs));
  }
  let next = 0;
  head('edits', 'on disk, MB', 'active, MB');
  const step = Math.ceil(edits / 10);
  for (let done = 0, shown = 0; done < edits;) {
    // A third each: updates, deletions, insertions.
    for (let i = 0; i < 600; ++i) {
      const at = i + Math.floor(Math.random() * (live.length - i));
      [live[i], live[at]] = [live[at], live[i]];
    }
    const [updated, deleted] = [live.slice(0, 300), live.slice(300, 600)];
    const rows = await bulk(server, 'steady', [
      ...updated.map(({ id, rev }) => ({ _id: id, _rev: rev, text: text() })),
      ...deleted.map(({ id, rev }) => ({ _id: id, _rev: rev, _deleted: true })),
      ...deleted.map(() => ({ _id: `next-${next++}`, text: text() })),
    ]);
    live = [...rows.slice(0, 300), ...rows.slice(600), ...live.slice(600)];
    done += rows.length;
    if (done < shown + step && done < edits) continue;
    shown = done;
    table([done, megabytes(onDisk(server)), megabytes((await sizes(server, 'steady')).active)]);
  }
}

async function fill(server, db, documents, make) {
  const written = [];
  for (let i = 0; i < documents; i += 1000) {
    written.push(...await bulk(server, db, Array.from({ length: Math.min(1000, documents - i) }, (_, k) => make(i + k))));
  }
  return written;
}

async function remove(server, db, rows) {
  for (let i = 0; i < rows.length; i += 1000) {
    await bulk(server, db, rows.slice(i, i + 1000).map(({ id, rev }) => ({ _id: id, _rev: rev, _deleted: true })));
  }
}

/// Writes of new documents by several clients for a time, with compactions one after the other or without.
async function writesFor(server, compacts, prefix) {
  const end = Date.now() + 1000 * number('seconds');
  const times = [];
  let compactions = 0;
  const compactor = async () => {
    for (; compacts && Date.now() < end; ++compactions) await compact(server, 'latency');
  };
  const writer = async (client) => {
    for (let n = 0; Date.now() < end; ++n) {
      const begun = performance.now();
      expectStatus(await server.put(`/latency/${prefix}-${client}-${n}`, { text: 'x'.repeat(300) }), 201);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all([compactor(), ...Array.from({ length: number('clients') }, (_, client) => writer(client))]);
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1);
  return [(times.length / number('seconds')).toFixed(0), at(0.5), at(0.99), at(1), compactions];
}

async function latency(server) {
  expectStatus(await server.put('/latency'), 201);
  const rows = await fill(server, 'latency', number('documents', 100_000), (n) => ({
    _id: `first-${String(n).padStart(8, '0')}`, text: 'x'.repeat(1000),
  }));
  await remove(server, 'latency', rows.filter((_, n) => n % 2 > 0));
  head('run', 'compaction', 'PUT/s', 'p50, ms', 'p99, ms', 'longest, ms', 'compactions');
  for (let run = 1; run <= 3; ++run) {
    for (const compacts of [false, true]) {
      table([run, compacts ? 'yes' : 'no', ...await writesFor(server, compacts, `${run}-${compacts}`)]);
    }
  }
}

async function indexes(server) {
  const db = 'indexes';
  expectStatus(await server.put(`/${db}`), 201);
  const design = {
    views: { by_n: { map: 'function (doc) { emit(doc.n, doc.text); }' } },
    indexes: { texts: { index: 'function (doc) { index("default", doc.text, { store: true }); }' } },
  };
  expectStatus(await server.put(`/${db}/_design/all`, design), 201);
  expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n', 'text'] }, ddoc: 'global', name: 'n' }), 200);
  const words = ['red', 'green', 'blue', 'kettle', 'mixer', 'scales', 'bright', 'kitchen'];
  const row = async (name) => {
    expectStatus(await server.get(`/${db}/_design/all/_view/by_n?limit=0`), 200);
    expectStatus(await server.post(`/${db}/_find`, { selector: { n: { $gte: 0 } }, fields: ['n'], limit: 1 }), 200);
    expectStatus(await server.get(`/${db}/_design/all/_search/texts?q=red&limit=1`), 200);
    const view = expectStatus(await server.get(`/${db}/_design/all/_info`), 200).view_index.sizes;
    const search = expectStatus(await server.get(`/${db}/_design/all/_search_info/texts`), 200).search_index;
    table([name, ...[view.file, view.active, view.external, search.disk_size, onDisk(server)].map(megabytes)]);
  };
  head('step', 'view: file, MB', 'active', 'external', 'search: file, MB', 'all LMDB files, MB');
  const rows = await fill(server, db, number('documents', 10_000), (n) => ({
    _id: `d-${String(n).padStart(8, '0')}`, n, text: Array.from({ length: 50 }, (_, k) => words[(7 * n + k) % 8]).join(' '),
  }));
  await row('written');
  await remove(server, db, rows.filter((_, n) => n % 20 > 0));
  await row('19 of 20 deleted');
  for (const target of ['_compact', '_compact/all', '_compact/global']) {
    expectStatus(await server.post(`/${db}/${target}`, {}), 202);
    await eventually(async () => (await server.get(`/${db}`)).body.compact_running === false, 600_000);
    await row(target);
  }
}

/// Inserts documents in one database and reads each once. Bytes are those of the compacted file.
async function bodiesIn(compression, run) {
  const server = await Server.start({ config: `[storage]\ncompaction = "manual"\ncompression = "${compression}"\n` });
  try {
    const documents = number('documents', 20_000);
    expectStatus(await server.put('/bodies'), 201);
    const make = (n) => ({ _id: String(n).padStart(8, '0'), ...orderOf(n, number('bytes', 2048)) });
    let begun = Date.now();
    await fill(server, 'bodies', documents, make);
    const inserts = documents * 1000 / (Date.now() - begun);
    begun = Date.now();
    const clients = number('clients');
    await Promise.all(Array.from({ length: clients }, async (_, client) => {
      for (let n = client; n < documents; n += clients) {
        expectStatus(await server.get(`/bodies/${String(n).padStart(8, '0')}`), 200);
      }
    }));
    const reads = documents * 1000 / (Date.now() - begun);
    const written = onDisk(server);
    await compact(server, 'bodies');
    const { active, external } = await sizes(server, 'bodies');
    const perDocument = (bytes) => (bytes / documents).toFixed(0);
    table([run, compression, ...[external, written, active].map(perDocument), inserts.toFixed(0), reads.toFixed(0)]);
  } finally {
    await server.stop();
  }
}

async function bodies() {
  head('run', 'compression', 'JSON, bytes per document', 'on disk', 'compacted, in use', 'inserts/s', 'GET/s');
  for (let run = 1; run <= 3; ++run) {
    for (const compression of ['none', 'zstd']) await bodiesIn(compression, run);
  }
}

/// Bytes of pages by tree, summed over the stores of one kind: { 'partition: feed': bytes, … }.
function bytesByTree(folder, found = {}) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const store = path.join(folder, entry.name);
    bytesByTree(store, found);
    if (!fs.existsSync(path.join(store, 'data.mdb'))) continue;
    const kind = entry.name.replace(/-.*/, '');
    const text = execFileSync('mdb_stat', ['-a', store], { encoding: 'utf8' });
    for (const [, tree, ...pages] of text.matchAll(
      /Status of (.*)\n.*\n\s*Branch pages: (\d+)\n\s*Leaf pages: (\d+)\n\s*Overflow pages: (\d+)/g)) {
      const name = `${kind}: ${tree}`;
      found[name] = (found[name] ?? 0) + 4096 * pages.reduce((sum, n) => sum + Number(n), 0);
    }
  }
  return found;
}

async function trees() {
  const count = number('documents', 100_000);
  const compacts = options.compaction !== 'none';  // older programs have no setting for it
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'octavo-space-'));
  const server = await Server.start({ dataDir, config: compacts ? '[storage]\ncompaction = "manual"\n' : '' });
  try {
    expectStatus(await server.put('/trees?partitioned=true'), 201);
    for (const [name, partitioned] of [['user', false], ['kind', true]]) {
      expectStatus(await server.post('/trees/_index', { index: { fields: [name, 'n'] }, ddoc: name, partitioned }), 200);
    }
    const make = (n) => {
      const spread = Number((BigInt(n) * 2654435761n) & 0xffffffffn);
      return { _id: `p${spread % 5000}:${spread.toString(16).padStart(8, '0')}${n}`, user: `u${spread % 100_000}`, kind: `k${n % 7}`,
        n, pad: 'x'.repeat(180) };
    };
    const rows = await fill(server, 'trees', count, make);
    for (let i = 0; i < count; i += 10_000) {
      const some = rows.slice(i, i + 1000).map(({ rev }, k) => ({ ...make(i + k), n: -1, _rev: rev }));
      await bulk(server, 'trees', some);
    }
    expectStatus(await server.post('/trees/_find', { selector: { user: 'u1', n: { $gt: -2 } } }), 200);
    if (compacts) await compact(server, 'trees');
    const { file, external } = await sizes(server, 'trees');
    await server.stop();
    head('tree', 'bytes per document');
    const found = bytesByTree(path.join(dataDir, 'databases'));
    for (const [name, bytes] of Object.entries(found)) {
      if (bytes / count >= 0.5) table([name, (bytes / count).toFixed(0)]);
    }
    table(['all pages', (Object.values(found).reduce((sum, bytes) => sum + bytes, 0) / count).toFixed(0)]);
    table(['JSON', (external / count).toFixed(0)], ['`sizes.file`', (file / count).toFixed(0)]);
  } finally {
    await server.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  }
}

function documents() {
  for (let n = 0; n < number('documents', 5_000); ++n) console.log(JSON.stringify(orderOf(n, number('bytes', 2048))));
}

const alone = { replaced, bodies, trees, documents };  // with servers of their own, or none
if (what in alone) {
  await alone[what]();
} else {
  const programs = { rounds, ttl: (server) => rounds(server, true), histories, steady, latency, indexes };
  if (!(what in programs)) throw new Error(`space.mjs ${Object.keys({ ...programs, ...alone }).join('|')}`);
  const compaction = options.compaction ?? (what === 'steady' ? 'automatic' : 'manual');
  const server = await Server.start({ config: `[storage]\ncompaction = "${compaction}"\n` });
  try {
    await programs[what](server);
  } finally {
    await server.stop();
  }
}
