// Projections in tests: waiting for them, and what they must be.
import assert from 'node:assert/strict';
import { pathOf } from '../edits.mjs';
import { eventually, expectStatus } from '../harness.mjs';

export { erase, pathOf, save } from '../edits.mjs';

/// Waits until the assertions hold.
export async function soon(assertions, timeoutMs) {
  let failure;
  const holds = async () => {
    try {
      await assertions();
      return true;
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error;
      failure = error;
      return false;
    }
  };
  await eventually(holds, timeoutMs).catch((error) => {
    throw failure ?? error;
  });
}

export async function createProjection(server, source, name, definition) {
  return expectStatus(await server.put(`${pathOf(source)}/_projection/${name}`, definition), 201);
}

/// Waits until the projection has read all that was written to its source, and returns its status.
export async function current(server, source, name) {
  const { update_seq: now } = expectStatus(await server.get(pathOf(source)), 200);
  const wait = `wait_for=${encodeURIComponent(now)}&timeout=60000`;
  return expectStatus(await server.get(`${pathOf(source)}/_projection/${name}?${wait}`), 200);
}

/// Waits until everything that was written to any of its inputs is in the rows, and returns the projection's status.
export async function settled(server, source, name, timeoutMs) {
  let status;
  await soon(async () => {
    status = expectStatus(await server.get(`${pathOf(source)}/_projection/${name}`), 200);
    assert.deepEqual(status.inputs.map(({ behind }) => behind), status.inputs.map(() => 0), JSON.stringify(status));
    assert.equal(status.pending_fan_outs, 0);
    assert.equal(status.state, 'active');
  }, timeoutMs);
  return status;
}

/// The documents of a database without design documents, by id and without revisions.
export async function documentsOf(server, db) {
  const { rows } = expectStatus(await server.get(`${pathOf(db)}/_all_docs?include_docs=true`), 200);
  return new Map(rows.filter(({ id }) => !id.startsWith('_')).map(({ id, doc }) => {
    const { _id, _rev, ...fields } = doc;
    return [id, fields];
  }));
}

/// The rows of `{"*": true}` under `key:id`, recomputed from the documents: of those that `select` admits, per id the
/// one of the least source id, per key the `n` greatest by the number in `by`.
export function projected(documents, { select = () => true, key, id = (fields, source) => source, fields = (all) => all, by, n }) {
  const rows = new Map();
  for (const source of [...documents.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
    const document = documents.get(source);
    if (!select(document)) continue;
    const target = `${key(document)}:${id(document, source).replaceAll('%', '%25').replaceAll(':', '%3A')}`;
    if (!rows.has(target)) rows.set(target, fields(document));
  }
  if (!by) return rows;
  const newest = new Map();
  for (const group of new Set([...rows.keys()].map((target) => target.split(':')[0]))) {
    const members = [...rows].filter(([target]) => target.startsWith(`${group}:`))
      .sort(([a, x], [b, y]) => y[by] - x[by] || Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const [target, row] of members.slice(0, n)) newest.set(target, row);
  }
  return newest;
}

export function assertSameRows(actual, expected) {
  assert.deepEqual([...actual.keys()].sort(), [...expected.keys()].sort());
  for (const [id, fields] of expected) assert.deepEqual(actual.get(id), fields, id);
}
