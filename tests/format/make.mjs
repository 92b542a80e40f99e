// Makes a data folder by the program of an earlier format, packs it, and writes down what that program answers:
//
//   OCTAVO_BINARY=older-octavo node tests/format/make.mjs FORMAT
//
// writes format-FORMAT.tar.gz and format-FORMAT.json.gz beside this file. Done once for each format, by its last program.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { expectStatus, Server } from '../integration/harness.mjs';
import { databases, replies } from '../integration/format_replies.mjs';

const format = process.argv[2];
const here = import.meta.dirname;
const hex = (letter) => letter.repeat(32);
const server = await Server.start();

async function write(db, docs, options = {}) {
  const rows = expectStatus(await server.post(`/${db}/_bulk_docs`, { docs, ...options }), 201);
  if (rows.some((row) => row.error)) throw new Error(JSON.stringify(rows));
  return rows;
}

for (const db of databases) {
  expectStatus(await server.put(`/${db}${db === 'parts' ? '?partitioned=true' : ''}`), 201);
  const prefix = (i) => (db === 'parts' ? `p${i % 7}:` : '');
  const docs = Array.from({ length: 240 }, (_, i) => ({
    _id: `${prefix(i)}doc${String(i).padStart(5, '0')}`, n: i, g: i % 10, text: 'x'.repeat((i * 7) % 900),
  }));
  const revisions = new Map((await write(db, docs)).map(({ id, rev }) => [id, rev]));
  for (let edit = 1; edit <= 30; ++edit) {
    const some = docs.filter((_, i) => i % 50 < 10).map((doc) => ({ ...doc, n: doc.n + edit, _rev: revisions.get(doc._id) }));
    for (const { id, rev } of await write(db, some)) revisions.set(id, rev);
  }
  await write(db, docs.filter((_, i) => i % 3 === 0).map(({ _id }) => ({ _id, _rev: revisions.get(_id), _deleted: true })));
  // Conflicts, also with deleted documents, and hashes that are text.
  const branch = (i) => (i % 2 ? hex('f') : 'written-by-hand');
  await write(db, docs.filter((_, i) => i % 11 === 1).map(({ _id, n }) => ({
    _id, _rev: `2-${branch(n)}`, _revisions: { start: 2, ids: [branch(n), revisions.get(_id).split('-')[1]] }, other: true,
  })), { new_edits: false });
  expectStatus(await server.put(`/${db}/_design/v`, { views: { by: { map: 'function(d){emit(d.g,d.n)}', reduce: '_sum' } } }), 201);
  const index = { index: { fields: ['g', 'n'] }, ddoc: 'i', name: 'i', ...(db === 'parts' && { partitioned: false }) };
  expectStatus(await server.post(`/${db}/_index`, index), 200);
}
// A history of more than two blocks, and ids and index keys beyond what LMDB takes.
let rev;
for (let i = 0; i < 1100; ++i) rev = expectStatus(await server.put('/plain/long', { i, ...(rev && { _rev: rev }) }), 201).rev;
await write('plain', Array.from({ length: 12 }, (_, i) => ({ _id: 'k'.repeat(500 + i * 500), g: 3, n: `${'v'.repeat(i * 400)}${i}` })));
expectStatus(await server.post('/plain/_purge', { doc00003: [(await server.get('/plain/doc00003?open_revs=all', { headers: { Accept: 'application/json' } })).body[0].ok._rev] }), 201);

fs.writeFileSync(path.join(here, `format-${format}.json.gz`), zlib.gzipSync(JSON.stringify(await replies(server))));
await server.stop({ keepFolder: true });
// Files of LMDB have holes, and its lock file is made again.
execFileSync('tar', ['-czf', path.join(here, `format-${format}.tar.gz`), '--sparse', '--exclude=lock.mdb', '-C', server.dataDir, '.']);
server.removeFolder();
