// Calls of the Cosmos DB API about its databases and containers: `d`, which both APIs write, and `e`, whose definition
// has what only this API knows.
import { call } from './call.mjs';

export const ACCOUNT = '/dbs/«»d';
const PATHS = { d: `${ACCOUNT}/colls/items`, e: `${ACCOUNT}/colls/extra` };

export const cosmos = (method, target, body, headers) => ({ api: 'cosmos', ...call(method, target, body, headers) });

const PLAIN = { paths: [['pk']], uniqueKeys: [], defaultTtl: undefined, retention: 0 };

/// Where items are asked for: a container as the model has it at this moment.
export function whereOf(pools, letter = pools.letter ?? pools.random.pick(['d', 'e'])) {
  const database = pools.session.model.databases.get(pools.session.nameOf(letter));
  const path = PATHS[letter];
  return { letter, database, container: database?.container ?? PLAIN, path, docs: `${path}/docs` };
}

const definition = { id: 'items', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } };
const INDEXING = [undefined, undefined, { indexingMode: 'none', automatic: false }];

const hierarchy = (...paths) => ({ paths, kind: 'MultiHash', version: 2 });
const PARTITION_KEYS = [
  { paths: ['/pk'], kind: 'Hash', version: 1 },
  { paths: ['/place/city'], kind: 'Hash', version: 2 },
  hierarchy('/pk', '/t'),
  hierarchy('/pk', '/t'),
  hierarchy('/pk', '/place/city'),
  hierarchy('/pk', '/t', '/place/city'),
];
const UNIQUE_KEYS = [
  [],
  [['/s']],
  [['/n', '/s']],
  [['/s', '/o/n']],
  [['/s'], ['/n', '/o/s']],
  [['/o/n'], ['/n', '/s', '/o/s']],
];

const COMPUTED = {
  cp_n: 'SELECT VALUE c.n FROM c',
  cp_inner: 'SELECT VALUE c.o.s FROM c',
  cp_first: 'SELECT VALUE c.list[0] FROM c',
  cp_length: 'SELECT VALUE ARRAY_LENGTH(c.list) FROM c',
  cp_text: 'SELECT VALUE IS_STRING(c.s) FROM c',
  cp_key: 'SELECT VALUE c.pk FROM c',
};

function extraDefinition({ random, expires }) {
  const made = { id: 'extra', partitionKey: random.pick(PARTITION_KEYS) };
  const uniqueKeys = random.pick(UNIQUE_KEYS).map((paths) => ({ paths }));
  if (uniqueKeys.length > 0) made.uniqueKeyPolicy = { uniqueKeys };
  const defaultTtl = random.pick(expires ? [-1, 1, 1000, undefined] : [-1, 1000, undefined, undefined]);
  if (defaultTtl !== undefined) made.defaultTtl = defaultTtl;
  if (random.chance(0.5)) {
    made.computedProperties = random
      .sample(Object.entries(COMPUTED), random.between(1, 3))
      .map(([name, query]) => ({ name, query }));
  }
  if (random.chance(0.4)) made.changeFeedPolicy = { retentionDuration: 5 };
  return made;
}

export function createContainer(pools, letter) {
  const { random } = pools;
  const indexingPolicy = random.pick(INDEXING);
  const made = letter === 'd' ? definition : extraDefinition(pools);
  // The order of versions and of expirations is known only within one physical partition.
  const inParts = made.changeFeedPolicy || made.defaultTtl || pools.expires ? 0 : 1;
  const throughput = random.weighted([
    [2, '400'],
    [inParts, '20000'],
  ]);
  return cosmos(
    'POST',
    `${ACCOUNT}/colls`,
    { ...made, ...(indexingPolicy && { indexingPolicy }) },
    { 'x-ms-offer-throughput': throughput },
  );
}

export const createAccountDatabase = () => cosmos('POST', '/dbs', { id: '«»d' });

/// Another time to live, where no item has expired yet: expired items that are still stored would be visible again.
function replaceContainer(pools) {
  const { random } = pools;
  const { database, path, container } = whereOf(pools, 'e');
  if (!database?.container) return cosmos('PUT', path, { ...definition, id: 'extra' });
  const { defaultTtl, ...shown } = container.shown;
  const mayChange = !pools.expires && database.q === 1;
  const next = { ...shown, defaultTtl: mayChange ? random.pick([-1, 1000, 2 ** 31 - 1]) : defaultTtl };
  if (mayChange && random.chance(0.3)) delete next.defaultTtl;
  const wrong = () =>
    random.pick([
      { ...next, id: 'other' },
      { ...next, partitionKey: { paths: ['/other'] } },
      { ...next, defaultTtl: 0 },
      { ...next, uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/other'] }] } },
    ]);
  return cosmos('PUT', path, random.chance(0.8) ? next : wrong());
}

const WRONG = [
  { partitionKey: { paths: ['/a', '/b'], kind: 'Hash' } },
  { partitionKey: hierarchy('/a', '/b', '/c', '/d') },
  { partitionKey: { ...hierarchy('/a', '/b'), version: 1 } },
  { partitionKey: hierarchy('/a', '/a') },
  { partitionKey: { paths: ['pk'] } },
  { partitionKey: { paths: ['/_ts'] } },
  { partitionKey: { paths: [] } },
  { partitionKey: undefined },
  { defaultTtl: 0 },
  { defaultTtl: -2 },
  { defaultTtl: 1.5 },
  { defaultTtl: '1' },
  { uniqueKeyPolicy: { uniqueKeys: [{ paths: [] }] } },
  { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['s'] }] } },
  { uniqueKeyPolicy: { uniqueKeys: 1 } },
  { changeFeedPolicy: { retentionDuration: -1 } },
  { computedProperties: [{ name: 'cp', query: 'SELECT VALUE c.n FROM c WHERE c.n > 1' }] },
  { computedProperties: [{ name: 'cp', query: 'SELECT c.n FROM c' }] },
  { computedProperties: [{ name: 'id', query: 'SELECT VALUE c.n FROM c' }] },
  { computedProperties: [1, 2].map(() => ({ name: 'cp', query: 'SELECT VALUE c.n FROM c' })) },
  { computedProperties: [{ name: 'cp', query: 'SELECT VALUE udf.f(c.n) FROM c' }] },
];

export function container(pools) {
  const { random } = pools;
  const letter = random.pick(['d', 'e']);
  return random.weighted([
    [3, () => cosmos('GET', PATHS[letter])],
    [2, () => cosmos('GET', `${ACCOUNT}/colls`)],
    [2, () => cosmos('GET', ACCOUNT)],
    [4, () => createContainer(pools, letter)],
    [3, () => replaceContainer(pools)],
    [3, () => cosmos('POST', `${ACCOUNT}/colls`, { ...definition, id: 'wrong', ...random.pick(WRONG) })],
    [3, () => createAccountDatabase()],
    [0.5, () => cosmos('DELETE', PATHS[letter])],
    [0.2, () => cosmos('DELETE', ACCOUNT)],
  ])();
}
