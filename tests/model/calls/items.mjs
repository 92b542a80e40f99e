// Calls of the Cosmos door: single items, batches, lists, the change feed, and the container itself.
import { documentIdOf, isReserved, itemIdOf, keyOfDocument } from '../dialect/cosmos/item.mjs';
import { query } from './sql.mjs';
import { call } from './call.mjs';

/// Partition keys of every type; those of the other door's ids most of all.
const KEYS = ['p', 'q', 'P', 'p', 'q', 'a:b', '_x', '', 42, 2.5, true, null, undefined];
const ACCOUNT = '/dbs/«»d';
const CONTAINER = `${ACCOUNT}/colls/items`;
const DOCS = `${CONTAINER}/docs`;
const ADDRESSABLE = /^[^/\\?#]{1,255}$/;

const QUERY = {
  'Content-Type': 'application/query+json',
  'x-ms-documentdb-isquery': 'true',
  'x-ms-documentdb-query-enablecrosspartition': 'true',
};

const cosmos = (method, target, body, headers) => ({ door: 'cosmos', ...call(method, target, body, headers) });

/// A key as headers and batches have it.
const keyText = (key) => JSON.stringify([key === undefined ? {} : key]);
const keyHeader = (key) => ({ 'x-ms-documentdb-partitionkey': keyText(key) });

const containerOf = (pools) => pools.session.model.databases.get(pools.session.nameOf('d'));

/// {key, id}: mostly of a document that is there, by whichever door it came; `key`: only of this one.
function place(pools, key) {
  const { random } = pools;
  const known = [...(containerOf(pools)?.documents.keys() ?? [])]
    .filter((id) => id.includes(':') && ADDRESSABLE.test(itemIdOf(id)))
    .map((id) => ({ key: keyOfDocument(id), id: itemIdOf(id) }))
    .filter((one) => key === undefined || one.key === key.value);
  if (known.length > 0 && random.chance(0.75)) return random.pick(known);
  return {
    key: key ? key.value : random.pick(KEYS),
    id: random.pick(['a', 'b', 'B', 'c', 'aa', 'ä', 'a b', '😀', '0']),
  };
}

const winnerAt = (pools, { key, id }) => containerOf(pools)?.winner(documentIdOf(key, id));
const target = (id) => `${DOCS}/${encodeURIComponent(id)}`;

/// The item's tag, or one that it had or never had.
function etag(pools, { key, id }) {
  const { random } = pools;
  const rev = random.chance(0.75)
    ? winnerAt(pools, { key, id })?.rev
    : pools.revision(containerOf(pools), documentIdOf(key, id));
  return random.weighted([
    [8, () => `"${rev ?? '1-abc'}"`],
    [1, () => '*'],
    [0.5, () => '"no revision"'],
  ])();
}
const condition = (pools, at, chance = 0.35) => (pools.random.chance(chance) ? { 'If-Match': etag(pools, at) } : {});
const minimal = ({ random }) => (random.chance(0.1) ? { Prefer: 'return=minimal' } : {});

/// An item's body: what it was sometimes, with the server's properties as a client got them.
function itemBody(pools, { key, id }) {
  const { random } = pools;
  const body = { id };
  if (key !== undefined) body.pk = key;
  Object.assign(body, pools.body());
  if (random.chance(0.15)) Object.assign(body, { _etag: '"x"', _ts: 1, _rid: 'x' });
  if (random.chance(0.05)) body._own = pools.value(1);
  if (random.chance(0.03)) body[random.pick(['_rev', '_id', '_deleted'])] = 'x';
  if (random.chance(0.03)) body.pk = random.pick(['p', 'q', 1, {}, []]);
  if (random.chance(0.03)) body.id = random.pick(['', 'a/b', 1, 'a?', 'b', 'k'.repeat(256), 'k'.repeat(255)]);
  return body;
}

export function create(pools) {
  const at = place(pools);
  const header = pools.random.chance(0.7) ? keyHeader(at.key) : {};
  return cosmos('POST', DOCS, itemBody(pools, at), { ...header, ...minimal(pools) });
}

export function upsert(pools) {
  const at = place(pools);
  const headers = { 'x-ms-documentdb-is-upsert': 'true', ...keyHeader(at.key), ...condition(pools, at) };
  return cosmos('POST', DOCS, itemBody(pools, at), { ...headers, ...minimal(pools) });
}

export function replace(pools) {
  const at = place(pools);
  const headers = { ...keyHeader(at.key), ...condition(pools, at), ...minimal(pools) };
  return cosmos('PUT', target(at.id), itemBody(pools, at), headers);
}

export function remove(pools) {
  const at = place(pools);
  return cosmos('DELETE', target(at.id), undefined, { ...keyHeader(at.key), ...condition(pools, at) });
}

export function read(pools) {
  const at = place(pools);
  const headers = keyHeader(at.key);
  if (pools.random.chance(0.25)) headers['If-None-Match'] = etag(pools, at);
  return cosmos('GET', target(at.id), undefined, headers);
}

/// Sums of these are written alike by all who add them.
const INCREMENTS = [1, 2, -1, 0.5, 2.5];
const isExact = (value) =>
  typeof value !== 'number' || (Math.abs(value) < 1e6 && Math.abs(value) * 10 === Math.round(Math.abs(value) * 10));

function patchOperation(pools, body) {
  const { random } = pools;
  const paths = ['/n', '/s', '/o', '/o/n', '/o/s', '/o/o/n', '/none/n', '/new~1er'];
  // Elsewhere a number is a name, and objects here keep such names in another order.
  if (Array.isArray(body?.list)) paths.push('/list/0', '/list/1', '/list/-');
  else paths.push('/list');
  const path = () =>
    random.weighted([
      [20, () => random.pick(paths)],
      [1, () => random.pick(['/pk', '/id', '/_etag', '/_id', 'n', '/', '//'])],
    ])();
  const value = () => pools.value(1);
  const chosen = path();
  return random.weighted([
    [4, () => ({ op: 'set', path: chosen, value: value() })],
    [3, () => ({ op: 'add', path: chosen, value: value() })],
    [2, () => ({ op: 'replace', path: chosen, value: value() })],
    [2, () => ({ op: 'remove', path: chosen })],
    [isExact(body?.n) ? 4 : 0, () => ({ op: 'incr', path: '/n', value: random.pick(INCREMENTS) })],
    [2, () => ({ op: 'move', from: path(), path: chosen })],
    [
      0.3,
      () =>
        random.pick([{ op: 'test', path: '/n' }, { op: 'set', path: '/n' }, { op: 'incr', path: '/n', value: 'x' }, 1]),
    ],
  ])();
}

function patchBody(pools, at) {
  const { random } = pools;
  const body = winnerAt(pools, at)?.body;
  const operations = [patchOperation(pools, body)];
  // One that adds to what others of the patch have set is left out, as sums are written in many ways.
  const more = random.times(random.below(3), () => patchOperation(pools, body)).filter(({ op }) => op !== 'incr');
  if (operations[0].op === 'incr' || random.chance(0.5)) operations.push(...more);
  if (random.chance(0.25)) return { operations, condition: query.condition(pools) };
  return random.chance(0.8) ? { operations } : operations;
}

export function patch(pools) {
  const at = place(pools);
  return cosmos('PATCH', target(at.id), patchBody(pools, at), {
    ...keyHeader(at.key),
    ...condition(pools, at, 0.2),
    ...minimal(pools),
  });
}

function batchOperation(pools, key) {
  const { random } = pools;
  const at = place(pools, key);
  const ifMatch = condition(pools, at, 0.15)['If-Match'];
  const own = key === undefined || random.chance(0.1) ? { partitionKey: keyText(at.key) } : {};
  const edit = { ...own, ...(ifMatch && { ifMatch }) };
  const isThere = winnerAt(pools, at)?.deleted === false;
  return random.weighted([
    [isThere ? 1 : 5, () => ({ operationType: 'Create', ...own, resourceBody: itemBody(pools, at) })],
    [5, () => ({ operationType: 'Upsert', ...edit, resourceBody: itemBody(pools, at) })],
    [2, () => ({ operationType: 'Read', ...own, id: at.id })],
    [isThere ? 3 : 0.5, () => ({ operationType: 'Replace', ...edit, id: at.id, resourceBody: itemBody(pools, at) })],
    [isThere ? 3 : 0.5, () => ({ operationType: 'Delete', ...edit, id: at.id })],
    [
      isThere ? 3 : 0.5,
      () => ({
        operationType: 'Patch',
        ...edit,
        id: at.id,
        resourceBody: { operations: [{ op: 'set', path: '/n', value: pools.value(1) }] },
      }),
    ],
    [0.1, () => random.pick([{}, 1, { operationType: 'Read' }, { operationType: 'Delete', id: 'a/b' }])],
  ])();
}

export function batch(pools) {
  const { random } = pools;
  const atomic = random.chance(0.8);
  const key = atomic ? { value: random.pick(KEYS) } : undefined;
  const headers = { 'x-ms-cosmos-is-batch-request': 'true', ...minimal(pools) };
  if (atomic) Object.assign(headers, keyHeader(key.value), { 'x-ms-cosmos-batch-atomic': 'true' });
  else if (random.chance(0.5)) headers['x-ms-cosmos-batch-continue-on-error'] = random.pick(['true', 'false']);
  return cosmos(
    'POST',
    DOCS,
    random.times(random.between(atomic ? 0 : 1, 4), () => batchOperation(pools, key)),
    headers,
  );
}

export function removeKey(pools) {
  return cosmos('POST', `${CONTAINER}/operations/partitionkeydelete`, undefined, keyHeader(place(pools).key));
}

export function sql(pools) {
  const { random } = pools;
  const headers = { ...QUERY, ...scope(pools) };
  if (random.chance(0.6)) headers['x-ms-max-item-count'] = random.pick(['1', '2', '3', '7', '1000']);
  return { ...cosmos('POST', DOCS, query.body(pools), headers), pages: true };
}

const scope = ({ random }) => (random.chance(0.35) ? keyHeader(random.pick(KEYS)) : {});

let lastPage; // a list to go on from, of this process's current sequence

/// Lists page by page where the order is known: of one key, or of a container in one piece.
export function list(pools) {
  const { random, session } = pools;
  if (lastPage?.session === session && random.chance(0.3)) {
    const { headers, n } = lastPage;
    return cosmos('GET', DOCS, undefined, { ...headers, 'x-ms-continuation': `«continuation ${n}»` });
  }
  const headers = scope(pools);
  const inOrder = containerOf(pools)?.q === 1 || headers['x-ms-documentdb-partitionkey'];
  if (inOrder && random.chance(0.6)) headers['x-ms-max-item-count'] = random.pick(['1', '2', '3', '-1', '0', 'x']);
  if (!inOrder || random.chance(0.3)) {
    if (['0', 'x'].includes(headers['x-ms-max-item-count'])) delete headers['x-ms-max-item-count'];
    return { ...cosmos('GET', DOCS, undefined, headers), pages: true };
  }
  const made = cosmos('GET', DOCS, undefined, headers);
  const remember = (n) => (lastPage = { session, headers, n });
  if (/^[123]$/.test(headers['x-ms-max-item-count'])) Object.defineProperty(made, 'remember', { value: remember });
  return made;
}

export function changes(pools) {
  const { random } = pools;
  const database = containerOf(pools);
  const headers = { 'A-IM': 'Incremental Feed', ...scope(pools) };
  random.weighted([
    [4, () => undefined],
    [
      6,
      () =>
        (headers['If-None-Match'] =
          `«position d ${database?.incarnation ?? 1} ${random.below((database?.sequence ?? 0) + 1)}»`),
    ],
    [1, () => (headers['If-None-Match'] = '*')],
    [0.3, () => (headers['If-None-Match'] = '"x"')],
  ])();
  if (random.chance(0.5)) headers['x-ms-max-item-count'] = random.pick(['1', '2', '3', '-1']);
  if (random.chance(0.1))
    headers['If-Modified-Since'] = random.pick([
      'Thu, 01 Jan 1970 00:00:00 GMT',
      'Fri, 01 Jan 2100 00:00:00 GMT',
      'soon',
    ]);
  if (database?.q === 1 && random.chance(0.1)) headers['x-ms-documentdb-partitionkeyrangeid'] = random.pick(['0', '7']);
  return cosmos('GET', DOCS, undefined, headers);
}

/// A header, a path or a body that nothing can be made of.
export function malformed(pools) {
  const { random } = pools;
  const at = place(pools);
  const badKey = {
    'x-ms-documentdb-partitionkey': random.pick(['[', '{}', '["p","q"]', '[]', '[[]]', '"p"']),
  };
  return random.weighted([
    [3, () => cosmos('GET', target(at.id), undefined, random.chance(0.5) ? badKey : {})],
    [2, () => cosmos('PUT', target(at.id), itemBody(pools, at), random.chance(0.5) ? badKey : {})],
    [2, () => cosmos('POST', DOCS, random.pick(['', '{', '[]', '1', '{"id":"a"} x', '{"id":"a",}']), {})],
    [
      2,
      () =>
        cosmos(
          'PATCH',
          target(at.id),
          random.pick(['{', '{}', '[]', '1', '{"operations":[]}', '{"operations":1}']),
          keyHeader(at.key),
        ),
    ],
    [
      1,
      () =>
        cosmos(
          random.pick(['GET', 'DELETE']),
          `${DOCS}/${random.pick(['a%2Fb', 'a%3Fb', 'k'.repeat(256)])}`,
          undefined,
          keyHeader(at.key),
        ),
    ],
    [1, () => cosmos('GET', `${ACCOUNT}/colls/none/docs/a`, undefined, keyHeader(at.key))],
    [1, () => cosmos('POST', `${ACCOUNT}/colls/none/docs`, itemBody(pools, at), {})],
    [1, () => cosmos('GET', '/dbs/«»none')],
    [1, () => cosmos('PATCH', DOCS, { operations: [] }, keyHeader(at.key))],
  ])();
}

const definition = { id: 'items', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } };
const INDEXING = [undefined, undefined, { indexingMode: 'none', automatic: false }];

export function createContainer(pools) {
  const { random } = pools;
  const indexingPolicy = random.pick(INDEXING);
  const throughput = random.weighted([
    [2, '400'],
    [1, '20000'],
  ]);
  return cosmos(
    'POST',
    `${ACCOUNT}/colls`,
    { ...definition, ...(indexingPolicy && { indexingPolicy }) },
    { 'x-ms-offer-throughput': throughput },
  );
}

export const createAccountDatabase = () => cosmos('POST', '/dbs', { id: '«»d' });

export function container(pools) {
  const { random } = pools;
  return random.weighted([
    [3, () => cosmos('GET', CONTAINER)],
    [2, () => cosmos('GET', `${ACCOUNT}/colls`)],
    [2, () => cosmos('GET', ACCOUNT)],
    [4, () => createContainer(pools)],
    [3, () => createAccountDatabase()],
    [0.5, () => cosmos('DELETE', CONTAINER)],
    [0.2, () => cosmos('DELETE', ACCOUNT)],
  ])();
}

/// New items to begin with.
export const fill = (pools) =>
  pools.random.times(pools.random.between(2, 8), () => {
    const at = place(pools);
    const body = Object.fromEntries(Object.entries(itemBody(pools, at)).filter(([name]) => !isReserved(name)));
    return cosmos('POST', DOCS, body, { 'x-ms-documentdb-is-upsert': 'true' });
  });

/// All items as this door shows them: listed, queried, followed from the beginning.
export const audit = () => [
  { ...cosmos('GET', DOCS), pages: true },
  { ...cosmos('POST', DOCS, { query: 'SELECT * FROM c ORDER BY c.n', parameters: [] }, QUERY), pages: true },
  cosmos('GET', DOCS, undefined, { 'A-IM': 'Incremental Feed' }),
];
