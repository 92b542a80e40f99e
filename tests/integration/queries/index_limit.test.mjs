// A database has at most 1,000 JSON indexes, and 1,000 views and search indexes.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { expectError, expectStatus, Server } from '../harness.mjs';

const limit = 1000;
const OPENING = { timeoutMs: 300_000 };  // the first request makes a folder for each of the views
const view = (n) => ({ views: { v: { map: `function(d){emit(d.n,${n})}` } } });

describe('a database with all the views it can have', () => {
  let server;
  before(async () => {
    server = await Server.start();
    await server.put('/views');
  });
  after(() => server?.stop());

  test('the rows of a bulk write beyond the limit are refused, by their names', async () => {
    const docs = Array.from({ length: limit + 5 }, (_, n) => ({ _id: `_design/d${n}`, ...view(n) }));
    const reply = await server.post('/views/_bulk_docs', { docs });
    expectStatus(reply, 201);
    assert.equal(reply.body.filter((row) => row.ok).length, limit);
    for (const row of reply.body.slice(limit)) {
      assert.equal(row.error, 'forbidden');
      assert.match(row.reason, /at most 1000 design documents with views/);
    }
  });

  test('one more is refused, whatever its id, and those that are there still work', async () => {
    expectError(await server.put('/views/_design/a_new', view(7)), 403, 'forbidden', /at most 1000/);
    expectStatus(await server.get(`/views/_design/d${limit - 1}/_view/v`, OPENING), 200);
    expectStatus(await server.get('/views/_design/a_new/_view/v'), 404);
  });

  test('a design document without views, and a changed one, are stored', async () => {
    expectStatus(await server.put('/views/_design/rules', { validate_doc_update: 'function(){}' }), 201);
    const old = await server.get('/views/_design/d5');
    expectStatus(await server.put('/views/_design/d5', { _rev: old.body._rev, ...view('"changed"') }), 201);
  });

  test('after one is deleted another one fits', async () => {
    const old = await server.get('/views/_design/d6');
    expectStatus(await server.delete(`/views/_design/d6?rev=${old.body._rev}`), 200);
    expectStatus(await server.put('/views/_design/a_new', view(7)), 201);
    expectStatus(await server.get('/views/_design/a_new/_view/v'), 200);
  });

  test('replication stores what is beyond the limit, and a query of it says why it has no view', async () => {
    const doc = { _id: '_design/z', _rev: '1-967a00dff5e02add41819138abb3284d', ...view(1) };
    expectStatus(await server.post('/views/_bulk_docs', { docs: [doc], new_edits: false }), 201);
    expectStatus(await server.get('/views/_design/z'), 200);
    expectError(await server.get('/views/_design/z/_view/v'), 404, 'not_found', /more indexes than the 1,000/);
    assert.match(server.lines.join('\n'), /only the first 1000/);
  });
});

test('one JSON index beyond the limit is refused by _index', async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  await server.put('/indexes');
  const views = Object.fromEntries(Array.from({ length: limit }, (_, n) => [`i${n}`, {
    map: { fields: { [`f${n}`]: 'asc' }, partial_filter_selector: {} }, reduce: '_count', options: { def: { fields: [`f${n}`] } },
  }]));
  expectStatus(await server.put('/indexes/_design/many', { language: 'query', views }), 201);
  const one = { index: { fields: ['more'] }, ddoc: 'more', name: 'more' };
  expectError(await server.post('/indexes/_index', one), 403, 'forbidden', /at most 1000 JSON indexes/);
  expectStatus(await server.get('/indexes/_design/more'), 404);
});
