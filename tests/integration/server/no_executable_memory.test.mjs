// Where memory may not become executable (MemoryDenyWriteExecute of systemd, some container platforms), JavaScript runs
// without its compiler, and the log says so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectStatus, Server } from '../harness.mjs';

const launcher = process.env.NO_EXECUTABLE_MEMORY;
const options = { skip: launcher === undefined && 'NO_EXECUTABLE_MEMORY is not set: see integration.cmake' };
const warnings = (server) => server.lines.filter((line) => line.includes('does not let memory become executable'));

async function queryView(server) {
  const database = await server.database();
  const map = "function (doc) { for (var i = 0, s = 0; i < 20000; ++i) s += i; if (/^a+b/.test(doc._id)) emit(doc._id, s); }";
  expectStatus(await server.put(`/${database}/_design/d`, { views: { v: { map } } }), 201);
  await server.fill(database, [{ _id: 'aab' }, { _id: 'b' }]);
  const { rows } = expectStatus(await server.get(`/${database}/_design/d/_view/v`), 200);
  assert.deepEqual(rows, [{ id: 'aab', key: 'aab', value: 199990000 }]);
}

test('functions are stored and run where memory may not become executable, and one warning says that they are slow', options, async (t) => {
  const server = await Server.startFor(t, { through: [launcher] });
  assert.equal(warnings(server).length, 1);
  await queryView(server);
  assert.equal(warnings(server).length, 1);
  await server.stop();
});

test('nothing is said where memory may become executable', async (t) => {
  const server = await Server.startFor(t);
  await queryView(server);
  assert.equal(warnings(server).length, 0);
  await server.stop();
});
