// The containers of a round: their partition keys, indexing policies and items, and what other clients write meanwhile.
import { itemsOf } from './items.mjs';

const policies = [
  [6, undefined],  // every path
  [2, { compositeIndexes: [[{ path: '/num' }, { path: '/str', order: 'descending' }], [{ path: '/pk' }, { path: '/wide' }]] }],
  [1, { includedPaths: [{ path: '/num/?' }, { path: '/str/?' }, { path: '/tags/[]/?' }], excludedPaths: [{ path: '/*' }] }],
  [1, { indexingMode: 'none', automatic: false }],
];
const keyPaths = [[5, ['pk']], [1, ['pk', 'num']]];

/// { paths, definition, items }. One in twenty is so large that plans take turns.
export function randomContainer(random) {
  const paths = random.weighted(keyPaths);
  const partitionKey = { paths: paths.map((name) => `/${name}`), ...(paths.length > 1 ? { kind: 'MultiHash', version: 2 } : {}) };
  const indexingPolicy = random.weighted(policies);
  const count = random.chance(0.05) ? random.between(300, 800) : random.pick([5, 20, 40, 60]);
  return { paths, definition: { partitionKey, ...(indexingPolicy ? { indexingPolicy } : {}) }, items: itemsOf(random, count) };
}

const keyOf = ({ paths }, item) => (paths.length === 1 ? item[paths[0]] : paths.map((name) => item[name]));

/// The part of the container that one value of its partition key has: { partitionKey, items }.
export function randomScope(random, container) {
  const partitionKey = keyOf(container, random.pick(container.items));
  const isIn = (item) => JSON.stringify(keyOf(container, item)) === JSON.stringify(partitionKey);
  return { partitionKey, items: container.items.filter(isIn) };
}

// The client's bulk operations wait for a second.
const few_items = 100;

export async function createItems(handle, container, items) {
  if (items.length <= few_items) return Promise.all(items.map((item) => handle.items.create(item)));
  const operations = items.map((item) => ({ operationType: 'Create', partitionKey: keyOf(container, item), resourceBody: item }));
  for (const result of await handle.items.executeBulkOperations(operations)) {
    if (result.response?.statusCode !== 201) throw new Error(`an item was not created: ${JSON.stringify(result)}`);
  }
}

let written = 0;

/// Creates some items, and deletes others: often the one that was read last, where the next page has to begin.
/// Changes `container.items`. Returns the ids of those that are not there throughout.
export async function writeMeanwhile(random, handle, container, rows) {
  const created = itemsOf(random, random.between(1, 6)).map((item) => ({ ...item, id: `new${written++}` }));
  const last = container.items.find(({ id }) => id === rows.at(-1)?.id);
  const deleted = [...new Set([...(last && random.chance(0.7) ? [last] : []), ...random.sample(container.items.slice(1), random.between(0, 3))])];
  await createItems(handle, container, created);
  for (const item of deleted) await handle.item(item.id, keyOf(container, item)).delete();
  container.items = [...container.items.filter((item) => !deleted.includes(item)), ...created];
  return [...created, ...deleted].map(({ id }) => id);
}
