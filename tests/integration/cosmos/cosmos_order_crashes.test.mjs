// kill -9 while the index of an order is made that some items lack the property of, beside writes, splits and merges: the
// order is that of the items afterwards, and the files are sound.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { cosmosRequest } from '../cosmos_request.mjs';
import { checkFiles } from '../failing_disk.mjs';
import { eventually, expectStatus, Server, sleep } from '../harness.mjs';
import { shardsOf } from '../reshard.mjs';

const ITEMS = 20_000;
const KEYS = 50;
const KILLED_AFTER_MS = [10, 160, 40, 80, 20, 300]; // the index is made in some tens of milliseconds
const DOCS = '/dbs/d/colls/c/docs';
const QUERY = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'True', 'x-ms-documentdb-query-enablecrosspartition': 'True' };

/// A third of the items has no `p1`, two thirds have no `p2`, and so on; all values of `p0` are missing.
const itemOf = (n, round) => {
  const item = { id: `${n}`, pk: `k${n % KEYS}`, round };
  for (let p = 1; p < 6; ++p) if ((n + round) % p < 2 && (n * p) % 3 !== 0) item[`p${p}`] = (n * 7919 + round) % 1000;
  return item;
};

function ask(server, query, headers = {}) {
  return cosmosRequest(server, 'POST', DOCS, { body: { query }, headers: { ...QUERY, ...headers } });
}

async function all(server, query) {
  const rows = [];
  let next;
  do {
    const reply = await ask(server, query, { 'x-ms-max-item-count': '1000', ...(next && { 'x-ms-continuation': next }) });
    assert.equal(reply.status, 200, reply.text);
    rows.push(...reply.body.Documents);
    next = reply.headers['x-ms-continuation'];
  } while (next);
  return rows;
}

async function checkOrder(server, items, property, direction) {
  const rows = await all(server, `SELECT c.id, c.${property} AS v FROM c ORDER BY c.${property} ${direction}`);
  assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(items.keys()));
  assert.equal(rows.length, items.size);
  for (const { id, v } of rows) assert.equal(v, items.get(id)[property], `${property} of ${id}`);
  const values = rows.map(({ v }) => v ?? -1);
  assert.deepEqual(values, values.toSorted((a, b) => (direction === 'DESC' ? b - a : a - b)));
}

test('an order is that of the items after each kill, whatever was being built or moved', async (t) => {
  const server = await Server.startFor(t, { env: { OCTAVO_DATABASE_ENFORCE_THROUGHPUT: 'false' } });
  expectStatus(await cosmosRequest(server, 'POST', '/dbs', { body: { id: 'd' } }), 201);
  const definition = { id: 'c', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } };
  expectStatus(await cosmosRequest(server, 'POST', '/dbs/d/colls', { body: definition }), 201);
  const items = new Map();
  const docs = Array.from({ length: ITEMS }, (_, n) => itemOf(n, 0));
  for (const item of docs) items.set(item.id, item);
  for (const row of expectStatus(await server.post('/d%2Fc/_bulk_docs', { docs: docs.map((item) => ({ _id: `${item.pk}:${item.id}`, ...item })) }), 201)) assert.ok(row.ok, row.error);

  for (let round = 1; round <= KILLED_AFTER_MS.length; ++round) {
    const property = `p${round - 1}`;
    const unsure = new Map();
    // Splits and merges in turns; their jobs continue, or begin again, after the kill.
    if (round > 1) {
      const shards = await shardsOf(server, 'd/c');
      const body = shards.length === 1 ? { type: 'split', range: shards[0] } : { type: 'merge', ranges: shards.slice(0, 2) };
      expectStatus(await server.post('/_reshard/jobs', { db: 'd/c', ...body }), 201);
    }
    let killed = false;
    const query = ask(server, `SELECT TOP 1 * FROM c ORDER BY c.${property}`).catch(() => undefined);
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = writer; !killed; n += 4) {
        const item = itemOf(n * 37 % (ITEMS + 500), round);
        unsure.set(item.id, item);
        try {
          const reply = await cosmosRequest(server, 'POST', DOCS, { body: item, partition: [item.pk], headers: { 'x-ms-documentdb-is-upsert': 'true' } });
          if (reply.status !== 200 && reply.status !== 201) continue; // a range that is being moved
          items.set(item.id, item);
          unsure.delete(item.id);
        } catch {
          return;
        }
      }
    });
    await sleep(KILLED_AFTER_MS[round - 1]);
    killed = true;
    await server.kill();
    await Promise.all([query, ...writers]);

    const copy = `${server.dataDir}-copy`;
    fs.cpSync(server.dataDir, copy, { recursive: true });
    assert.match(checkFiles(copy), /sound/);
    fs.rmSync(copy, { recursive: true });
    await server.relaunch();
    // What was not acknowledged is there or not.
    for (const [id, item] of unsure) {
      const reply = await cosmosRequest(server, 'GET', `${DOCS}/${id}`, { partition: [item.pk] });
      if (reply.status === 200 && reply.body.round === item.round) items.set(id, item);
    }
    for (const direction of ['ASC', 'DESC']) await checkOrder(server, items, property, direction);
    const jobs = async () => expectStatus(await server.get('/_reshard/jobs'), 200).jobs;
    await eventually(async () => (await jobs()).every(({ job_state }) => job_state === 'completed'), 30_000);
    // By the index, at last: as many keys as rows.
    await eventually(async () => Number((await ask(server, `SELECT TOP 3 c.id FROM c ORDER BY c.${property}`)).headers['x-ms-request-charge']) < 20, 30_000);
    await checkOrder(server, items, property, round % 2 ? 'ASC' : 'DESC');
  }
});
