// How long rows stay in analytical stores with a `ttl`: those of deleted documents, and those of documents that live on.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { erase, save } from '../edits.mjs';
import { eventually, expectError, expectStatus, sleep } from '../harness.mjs';
import { ask, assertSameRows, current, define, needsLibrary, startAnalytics, storeOf } from './analytics_support.mjs';

const patient = 120_000;

/// The ids of the rows: { living, deleted }.
async function rowsOf(server, db) {
  const rows = await ask(server, db, 'select _id, _deleted from documents order by _id');
  const ids = (deleted) => rows.filter((row) => row._deleted === deleted).map(({ _id }) => _id);
  return { living: ids(false), deleted: ids(true) };
}

async function withDocuments(t, definition, ids, options) {
  const server = await startAnalytics(t, options);
  const db = await server.database();
  for (const id of ids) await save(server, db, id, { n: id });
  await define(server, db, definition);
  await current(server, db);
  return { server, db };
}

const purge = async (server, db, id) => {
  const { rows } = expectStatus(await server.post(`/${db}/_all_docs`, { keys: [id] }), 200);
  expectStatus(await server.post(`/${db}/_purge`, { [id]: [rows[0].value.rev] }), 201);
};

/// Ends the server and starts it again, maybe with other arguments.
async function restart(server) {
  await server.kill();
  await server.relaunch();
}

describe('a ttl of -1', needsLibrary, () => {
  test('rows of deleted documents stay as they were, marked, and leave with a purge or when they are written again', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: -1 }, ['a', 'b', 'c', 'd']);
    const before = await ask(server, db, `select * exclude (_deleted) from documents where _id = 'a'`);
    for (const id of ['a', 'b', 'c']) await erase(server, db, id);
    const status = await current(server, db);
    assert.equal(status.definition.ttl, -1);
    assert.deepEqual([status.rows, status.rows_deleted], [4, 3]);
    assert.deepEqual(await rowsOf(server, db), { living: ['d'], deleted: ['a', 'b', 'c'] });
    assert.deepEqual(await ask(server, db, `select * exclude (_deleted) from documents where _id = 'a'`), before);
    await purge(server, db, 'b');
    await save(server, db, 'c', { n: 'again' });
    await current(server, db);
    assert.deepEqual(await rowsOf(server, db), { living: ['c', 'd'], deleted: ['a'] });
    await assertSameRows(server, db);
  });

  test('the rows of documents whose own time to live ends stay', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: -1 }, ['long']);
    expectStatus(await server.put(`/${db}/_properties`, { ttl: 5 }), 200);
    await save(server, db, 'short', { n: 1 });
    await current(server, db);
    await eventually(async () => (await rowsOf(server, db)).deleted.includes('short'), patient);
  });

  test('rows stay when tombstones are dropped that the table has not seen', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: -1 }, ['a', 'b', 'c']);
    await server.kill();
    const { args } = server.options;
    server.options.args = [];
    await server.relaunch();
    await erase(server, db, 'a');
    expectStatus(await server.put(`/${db}/_properties`, { tombstone_retention: 1 }), 200);
    await eventually(async () => (await server.get(`/${db}/a`)).body.reason === 'missing', patient);
    await server.kill();
    server.options.args = args;
    await server.relaunch();
    await current(server, db);
    assert.deepEqual(await rowsOf(server, db), { living: ['b', 'c'], deleted: ['a'] });
  });
});

describe('a ttl in seconds', needsLibrary, () => {
  test('rows leave that long after the last write, whether or not their document lives, without further changes', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: 8 }, ['dead', 'alive']);
    await erase(server, db, 'dead');
    await current(server, db);
    assert.deepEqual(await rowsOf(server, db), { living: ['alive'], deleted: ['dead'] });
    await eventually(async () => (await rowsOf(server, db)).living.length === 0, patient);
    await eventually(async () => (await rowsOf(server, db)).deleted.length === 0, patient);
    expectStatus(await server.get(`/${db}/alive`), 200);
    await save(server, db, 'alive', { n: 'again' });
    await current(server, db);
    assert.deepEqual((await rowsOf(server, db)).living, ['alive']);
  });

  test('rows leave after a restart, too, and a table that is made later has none of documents that are older', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: 4 }, ['a', 'b']);
    await restart(server);
    await eventually(async () => (await storeOf(server, db)).rows === 0, patient);
    await define(server, db, { ttl: 4, include: ['/n'] });
    assert.equal((await current(server, db)).rows, 0);
    await define(server, db, { include: ['/n'] });
    await assertSameRows(server, db);
  });
});

describe('another ttl', needsLibrary, () => {
  test('none: the rows of deleted documents leave', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: -1 }, ['a', 'b', 'c']);
    await erase(server, db, 'a');
    await current(server, db);
    await define(server, db, {});
    await eventually(async () => (await rowsOf(server, db)).deleted.length === 0, patient);
    await assertSameRows(server, db);
  });

  test('a longer one brings back the rows of living documents, and keeps those of deleted ones', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: 15 }, ['old']);
    await sleep(5_000);
    await save(server, db, 'new', { n: 1 });
    await current(server, db);
    await erase(server, db, 'new');
    await current(server, db);
    await eventually(async () => !(await rowsOf(server, db)).living.includes('old'), patient);
    await define(server, db, { ttl: -1 });
    await restart(server);
    const status = await current(server, db);
    assert.equal(status.definition.ttl, -1);
    assert.deepEqual(await rowsOf(server, db), { living: ['old'], deleted: ['new'] });
  });

  test('a shorter one removes rows, and the table stays', async (t) => {
    const { server, db } = await withDocuments(t, { ttl: -1 }, ['a', 'b']);
    await erase(server, db, 'a');
    await current(server, db);
    await define(server, db, { ttl: 1 });
    await eventually(async () => (await storeOf(server, db)).rows === 0, patient);
  });

  test('what no ttl can be is refused', async (t) => {
    const server = await startAnalytics(t);
    const db = await server.database();
    for (const ttl of [-2, 1.5, '10', null, true, 2 ** 31]) {
      expectError(await server.put(`/${db}/_analytics`, { ttl }), 400, 'analytics_syntax', /`ttl` must be/);
    }
    await define(server, db, { ttl: 0 });
    assert.equal((await storeOf(server, db)).definition.ttl, undefined);
  });
});
