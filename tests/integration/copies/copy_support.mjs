// Copies in tests: beginning them, waiting for them, and what their targets must have.
import assert from 'node:assert/strict';
import { pathOf } from '../edits.mjs';
import { eventually, expectStatus } from '../harness.mjs';

export async function beginCopy(server, source, definition) {
  return expectStatus(await server.post(`${pathOf(source)}/_copy`, definition), 202).id;
}

export const copyOf = async (server, source, id) => expectStatus(await server.get(`${pathOf(source)}/_copy/${id}`), 200);

/// Waits until the target has everything that was written to the source, and returns the copy's status. `hadFailed`:
/// what made it fail was corrected just now.
export async function copied(server, source, id, { hadFailed = false, timeoutMs = 30_000 } = {}) {
  let status;
  await eventually(async () => {
    status = await copyOf(server, source, id);
    if (!hadFailed) assert.notEqual(status.state, 'failed', status.reason);
    return status.state === 'following' && status.behind === 0;
  }, timeoutMs).catch((error) => {
    throw new Error(`the copy is not complete: ${JSON.stringify(status)}`, { cause: error });
  });
  return status;
}

export const finish = async (server, source, id) => expectStatus(await server.post(`${pathOf(source)}/_copy/${id}/_finish`, {}), 200);

/// The live documents by id, with their revisions and conflicts.
export async function contentOf(server, db) {
  const { rows } = expectStatus(await server.get(`${pathOf(db)}/_all_docs?include_docs=true&conflicts=true`), 200);
  return new Map(rows.map(({ id, doc }) => [id, doc]));
}

/// What a copy of these documents has, if `idOf` makes the ids; design documents keep theirs.
export function copiedContent(documents, idOf) {
  return new Map([...documents].map(([id, doc]) => {
    const _id = id.startsWith('_') ? id : idOf(doc);
    return [_id, { ...doc, _id }];
  }).sort(([one], [other]) => (one < other ? -1 : 1)));
}

export function assertSameContent(actual, expected) {
  assert.deepEqual([...actual.keys()], [...expected.keys()]);
  for (const [id, doc] of expected) assert.deepEqual(actual.get(id), doc, id);
}
