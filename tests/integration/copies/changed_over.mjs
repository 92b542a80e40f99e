// Containers whose partition key was changed, for tests.
import { cosmosClient } from '../cosmos.mjs';
import { pathOf } from '../edits.mjs';
import { expectStatus } from '../harness.mjs';
import { beginCopy, copied } from './copy_support.mjs';

let containers = 0;
const keyOf = (paths) => ({ paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 });

/// A container with these documents in the database `shop`, whose key was changed. `former`: as of a client that has read
/// the container before; `present`: of one that begins afterwards. `throughput`: of the container; `request`: members of
/// the body of _cut_over.
export async function changedOver(server, from, to, documents, { throughput, ...request } = {}) {
  const id = `orders${++containers}`;
  const name = `shop/${id}`;
  await cosmosClient(server).database('shop').containers.create({ id, partitionKey: keyOf(from), throughput });
  const former = cosmosClient(server).database('shop').container(id);
  for (const item of documents) await former.items.create(item);
  const create = { partitionKey: keyOf(to), ...(throughput ? { throughput } : {}) };
  const copy = await beginCopy(server, name, { target: `${name}-next`, create });
  await copied(server, name, copy);
  expectStatus(await server.post(`${pathOf(name)}/_copy/${copy}/_cut_over`, { pause_max: 5000, ...request }), 200);
  return { name, former, present: cosmosClient(server).database('shop').container(id) };
}
