// Ids and keys of indexes beyond the limit of the storage, many with one beginning: the same order and the same replies as
// with short ones. What they cost is counted in tests/instructions.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { binary, eventually, expectStatus, ids, Server } from '../harness.mjs';

const DOCUMENTS = 600;
const digits = (n) => String(n).padStart(8, '0');
const json = (value) => encodeURIComponent(JSON.stringify(value));

/// Pages of `_all_docs` until the end, each from the last id of the one before.
async function pages(server, db, descending) {
  const found = [];
  for (let from = ''; ;) {
    const { rows } = expectStatus(await server.get(`/${db}/_all_docs?limit=23&descending=${descending}${from}`), 200);
    if (rows.length === 0) return found;
    found.push(...ids(rows));
    from = `&skip=1&startkey=${json(found.at(-1))}`;
  }
}

const isKept = (n) => n % 3 !== 1;  // the others are deleted

async function compare(server, db, idOf, textOf) {
  const kept = Array.from({ length: DOCUMENTS }, (_, n) => n).filter(isKept);
  const expected = ['_design/i', '_design/l', '_design/v', ...kept.map(idOf)];
  assert.deepEqual(await pages(server, db, false), expected);
  assert.deepEqual(await pages(server, db, true), expected.toReversed());
  for (const n of [2, 300, 599]) {
    assert.equal(expectStatus(await server.get(`/${db}/${encodeURIComponent(idOf(n))}`), 200).n, n);
  }
  for (const n of [1, 301]) expectStatus(await server.get(`/${db}/${encodeURIComponent(idOf(n))}`), 404);

  const inRange = kept.filter((n) => n >= 100 && n < 500);
  const range = `startkey=${json(textOf(100))}&endkey=${json(textOf(499))}`;
  const view = expectStatus(await server.get(`/${db}/_design/v/_view/by?reduce=false&${range}`), 200);
  assert.deepEqual(view.rows.map((row) => row.value), inRange);
  const sum = expectStatus(await server.get(`/${db}/_design/v/_view/by?${range}`), 200).rows[0].value;
  assert.equal(sum, inRange.reduce((a, b) => a + b));
  const selector = { text: { $gte: textOf(100), $lt: textOf(500) } };
  const query = { selector, sort: [{ text: 'desc' }], fields: ['n'], limit: DOCUMENTS, use_index: 'i' };
  const { docs } = expectStatus(await server.post(`/${db}/_find`, query), 200);
  assert.deepEqual(docs.map((doc) => doc.n), inRange.toReversed());
}

for (const length of [470, 481, 1000, 3000]) {
  describe(`ids and keys with a beginning of ${length} bytes`, () => {
    for (const partitioned of [false, true]) {
      test(`in a database that is ${partitioned ? '' : 'not '}partitioned`, async (t) => {
        const server = await Server.startFor(t);
        const db = await server.database(`q=2&partitioned=${partitioned}`);
        const beginning = (partitioned ? 'p:' : '') + 'k'.repeat(length);
        const idOf = (n) => beginning + digits(n);
        const textOf = (n) => 'v'.repeat(length) + digits(n);
        const global = partitioned ? { partitioned: false } : {};
        expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['text'] }, ddoc: 'i', ...global }), 200);
        expectStatus(await server.post(`/${db}/_index`, { index: { fields: ['n', 'text'] }, ddoc: 'l', name: 'l' }), 200);
        const by = { map: 'function (doc) { emit(doc.text, doc.n); }', reduce: '_sum' };
        expectStatus(await server.put(`/${db}/_design/v`, { views: { by }, options: global }), 201);
        // Not in the order of the ids.
        const docs = Array.from({ length: DOCUMENTS }, (_, i) => (i * 7) % DOCUMENTS)
          .map((n) => ({ _id: idOf(n), n, text: textOf(n) }));
        const revs = await server.fill(db, docs);
        const deletions = docs.map(({ _id, n }, i) => ({ _id, _rev: revs[i], _deleted: true, n }));
        await server.fill(db, deletions.filter(({ n }) => !isKept(n)));
        await compare(server, db, idOf, textOf);

        expectStatus(await server.post(`/${db}/_compact`, {}), 202);
        await eventually(async () => (await server.get(`/${db}`)).body.compact_running === false, 20_000);
        await compare(server, db, idOf, textOf);
        expectStatus(await server.delete(`/${db}/_index/l/json/l`), 200);
        await server.stop({ keepFolder: true });
        const options = { encoding: 'utf8', stdio: 'pipe', env: {} };
        assert.match(execFileSync(binary, ['check', '--data-dir', server.dataDir], options), /sound/);
      });
    }
  });
}
