// An analytical store under random edits, changes of its definition and kill -9 of the server and of its process: the table has
// the documents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf, save } from '../edits.mjs';
import { expectStatus, sleep } from '../harness.mjs';
import { ask, assertSameRows, current, define, killProcess, needsLibrary, startAnalytics } from './analytics_support.mjs';

const seed = Number(process.env.ANALYTICS_SEED ?? Date.now() % 2 ** 31);
const rounds = Number(process.env.ANALYTICS_ROUNDS ?? 8);

const randomEditsAndKills = (group) => async (t) => {
  const random = randomOf(seed);
  const server = await startAnalytics(t, { args: ['--durability=relaxed'].slice(random(2)) .map(() => '--storage-durability=relaxed') });
  let db = 'crashed';
  expectStatus(await server.put(`/${db}?q=2`), 201);
  const some = (of) => of[random(of.length)]();
  const flattenings = [
    () => ({ '/p0': 'zeros', '/p1': 'ones' }),
    () => ({ '/p0': 'zeros', '/p0/[]/l': 'lists', '/p0/[]/o/x/y': 'deep', '/p1/o/x/y': 'inside', '/p1/l': 'members' }),
  ];
  const definition = { mode: random(2) ? 'well_defined' : 'full_fidelity', ...(random(4) && { flatten: some(flattenings) }), ...group };
  t.diagnostic(JSON.stringify(definition));
  await define(server, db, definition);
  // Another table of the group, which follows its database meanwhile.
  expectStatus(await server.put('/steady'), 201);
  await define(server, 'steady', group.group && { ...definition, as: 'steady' });
  const scalars = [() => random(1000), () => random(1000) / 8, () => `t${random(9)}`, () => random(2) === 0, () => null];
  const list = (element) => Array.from({ length: random(4) }, element);
  // Members have values of one type each, and `grows`, which becomes JSON, has nothing else: a value that was NULL before its
  // place became JSON stays it, and that is not what a document says.
  const object = () => ({
    ...(random(2) && { a: random(5) / (1 + random(2)) }), ...(random(2) && { b: `b${random(3)}` }), ...(random(3) === 0 && { ['é"' + random(3)]: null, ['é\'' + random(3)]: true }),
    ...(random(3) === 0 && { l: list(() => some(scalars)) }), ...(random(3) === 0 && { o: { x: { y: list(() => random(9)) } } }),
    ...(random(3) === 0 && { grows: { [`k${random(150)}`]: random(9), [random(40) ? 'case' : 'CASE']: 1 } }),
  });
  const values = [...scalars, object, object, () => ({}), () => list(() => some(scalars)), () => list(object), () => list(() => list(object)), () => undefined];

  const edit = async () => {
    const { rows } = expectStatus(await server.get(`/${db}/_all_docs`), 200);
    const revisions = new Map(rows.map(({ id, value }) => [id, value.rev]));
    const docs = new Map();
    for (let n = 0; n < 100; ++n) {
      const _id = `d${random(80)}`;
      const _rev = revisions.get(_id);
      const doc = { _id, ...(_rev && { _rev }), ...(_rev && random(3) === 0 && { _deleted: true }) };
      for (let p = 0; p < 4; ++p) doc[`p${random(6 + docs.size / 10)}`] = values[random(values.length)]();
      docs.set(_id, doc);
    }
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [...docs.values()] }), 201);
    if (random(3) === 0 && revisions.size > 0) {
      const [[name, rev]] = revisions;
      expectStatus(await server.post(`/${db}/_purge`, { [name]: [rev] }), 201);
    }
    if (random(8) === 0) {
      expectStatus(await server.delete(`/${db}`), 200);
      expectStatus(await server.put(`/${db}?q=2`), 201);
      await define(server, db, definition);
    }
    // Refused while one table takes the place of another, or that is not known.
    if (random(6) === 0) await server.put(`/${db}/_analytics`, { ...definition, mode: random(2) ? 'well_defined' : 'full_fidelity' });
    await save(server, 'steady', 'one', { n: random(1000) });
  };

  for (let round = 0; round < rounds; ++round) {
    for (let n = 0; n < 4; ++n) {
      await edit();
      if (random(2)) await sleep(random(1500));
      if (random(3) === 0) killProcess(server);
    }
    if (random(3) === 0) await server.post('/_reshard/jobs', { type: 'split', db });
    if (random(2)) {
      await server.kill();
      await server.relaunch();
      if (random(2)) killProcess(server);
      await edit().catch(async () => { await sleep(3_000); await edit(); });
    }
    if (random(2)) await assertSameRows(server, db);
  }
  await assertSameRows(server, db);
  await assertSameRows(server, 'steady');
};

test(`random edits and kills of both processes, seed ${seed}`, needsLibrary, randomEditsAndKills({}));
test(`random edits and kills of both processes in a group, seed ${seed}`, needsLibrary,
  randomEditsAndKills({ group: 'crashes', as: 'crashed' }));

test(`rows of deleted documents stay through kills of both processes, seed ${seed}`, needsLibrary, async (t) => {
  const random = randomOf(seed);
  const server = await startAnalytics(t);
  const db = 'kept';
  expectStatus(await server.put(`/${db}?q=2`), 201);
  await define(server, db, { ttl: -1 });
  const seen = new Map();  // the last revision that a query has shown, by id

  const edit = async () => {
    const { rows } = expectStatus(await server.get(`/${db}/_all_docs`), 200);
    const revisions = new Map(rows.map(({ id, value }) => [id, value.rev]));
    const docs = new Map();
    for (let n = 0; n < 40; ++n) {
      const _id = `d${random(60)}`;
      const _rev = revisions.get(_id);
      docs.set(_id, { _id, n: random(100), ...(_rev && { _rev }), ...(_rev && random(2) === 0 && { _deleted: true }) });
    }
    expectStatus(await server.post(`/${db}/_bulk_docs`, { docs: [...docs.values()] }), 201);
    if (random(2) === 0) {
      const id = `d${random(60)}`;
      const { rows: [row] } = expectStatus(await server.post(`/${db}/_all_docs`, { keys: [id] }), 200);
      if (row.value) {
        expectStatus(await server.post(`/${db}/_purge`, { [id]: [row.value.rev] }), 201);
        seen.delete(id);
      }
    }
  };
  const check = async () => {
    await assertSameRows(server, db);
    const rows = await ask(server, db, 'select _id, _rev, _deleted from documents');
    const now = new Map(rows.map((row) => [row._id, row]));
    assert.equal(now.size, rows.length);
    for (const id of seen.keys()) assert.ok(now.has(id), `the row of ${id} is gone`);
    for (const [id, row] of now) seen.set(id, row._rev);
  };

  for (let round = 0; round < rounds; ++round) {
    for (let n = 0; n < 3; ++n) {
      await edit();
      if (random(2)) await current(server, db);
      if (random(3) === 0) killProcess(server);
    }
    if (random(4) === 0) await define(server, db, { ttl: random(2) ? -1 : 100_000 });
    if (random(2)) {
      await server.kill();
      await server.relaunch();
    }
    await check();
  }
});
