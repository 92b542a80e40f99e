// Calls of the Cosmos DB API: single items, batches, lists, the change feed, and the container itself.
import { documentIdOf, isReserved, itemIdOf, keyOfDocument } from '../dialect/cosmos/item.mjs';
import { sameKey } from '../dialect/cosmos/key.mjs';
import { isObject } from '../dialect/request.mjs';
import { ACCOUNT, cosmos, whereOf } from './containers.mjs';
import { triggerHeaders } from './scripts.mjs';
import { query } from './sql.mjs';

/// Partition keys of every type; those of the other API's ids most of all. Then what stands below in a hierarchy.
const KEYS = ['p', 'q', 'P', 'p', 'q', 'a:b', 'a,b', '_x', '', 42, 2.5, true, null, undefined];
const INNER_KEYS = ['p', 'p', 'q', 'x,y', '!z', '', 7, false, null, undefined];
const ADDRESSABLE = /^[^/\\#]{1,1023}$/;

const QUERY = {
  'Content-Type': 'application/query+json',
  'x-ms-documentdb-isquery': 'true',
  'x-ms-documentdb-query-enablecrosspartition': 'true',
};

/// A key, or the beginning of one, as headers and batches have it.
const keyText = (key) => JSON.stringify(key.map((value) => (value === undefined ? {} : value)));
export const keyHeader = (key) => ({ 'x-ms-documentdb-partitionkey': keyText(key) });

export const someKey = ({ random }, { container }) =>
  container.paths.map((_, i) => random.pick(i === 0 ? KEYS : INNER_KEYS));

/// {key, id}: mostly of a document that is there, by whichever API it came; `key`: only of this one.
export function place(pools, where, key) {
  const { random } = pools;
  const known = [...(where.database?.documents.keys() ?? [])]
    .filter((id) => id.includes(':') && ADDRESSABLE.test(itemIdOf(id)))
    .map((id) => ({ key: keyOfDocument(id, where.container), id: itemIdOf(id) }))
    .filter((one) => key === undefined || sameKey(one.key, key));
  if (known.length > 0 && random.chance(0.75)) return random.pick(known);
  return {
    key: key ?? someKey(pools, where),
    id: random.pick(['a', 'b', 'B', 'c', 'aa', 'ä', 'a b', '😀', '0']),
  };
}

export const winnerAt = ({ database, container }, { key, id }) => database?.winner(documentIdOf(key, id, container));
export const target = ({ docs }, id) => `${docs}/${encodeURIComponent(id)}`;

/// The item's tag, or one that it had or never had.
function etag(pools, where, at) {
  const { random } = pools;
  const rev = random.chance(0.75)
    ? winnerAt(where, at)?.rev
    : pools.revision(where.database, documentIdOf(at.key, at.id, where.container));
  return random.weighted([
    [8, () => `"${rev ?? '1-abc'}"`],
    [1, () => '*'],
    [0.5, () => '"no revision"'],
  ])();
}
const condition = (pools, where, at, chance = 0.35) =>
  pools.random.chance(chance) ? { 'If-Match': etag(pools, where, at) } : {};
const minimal = ({ random }) => (random.chance(0.1) ? { Prefer: 'return=minimal' } : {});

/// Puts a value where a path leads.
export function putAt(body, path, value) {
  const [first, ...rest] = path;
  if (rest.length === 0) body[first] = value;
  else body[first] = putAt(isObject(body[first]) ? body[first] : {}, rest, value);
  return body;
}

const UNIQUE_VALUES = ['a', 'b', 'c', 'd', 1, 2, 3, 4, 5, true, null, ''];
const TIMES = { known: [-1, 1000, 3600], unknown: ['soon', -1, 1.5, 3600], wrong: [0, -2, 1.5, 'soon', 2 ** 31] };

/// An item's time to live. Only expirations.mjs writes items that expire.
function timeToLive({ random, expires }, { defaultTtl }) {
  if (defaultTtl === undefined)
    return random.chance(0.2) ? random.pick(expires ? [1, ...TIMES.unknown] : TIMES.unknown) : undefined;
  if (random.chance(0.03)) return random.pick(TIMES.wrong);
  if (defaultTtl > 0 && defaultTtl < 600) return random.pick(TIMES.known);
  return random.chance(0.3) ? random.pick([null, ...TIMES.known]) : undefined;
}

/// An item's body: what it was sometimes, with the server's properties as a client got them.
export function itemBody(pools, { container }, { key, id }) {
  const { random } = pools;
  const body = { id };
  container.paths.forEach((path, i) => key[i] === undefined || putAt(body, path, key[i]));
  Object.assign(body, pools.body());
  for (const [path] of container.uniqueKeys) if (random.chance(0.7)) putAt(body, path, random.pick(UNIQUE_VALUES));
  const ttl = timeToLive(pools, container);
  if (ttl !== undefined) body.ttl = ttl;
  if (random.chance(0.15)) Object.assign(body, { _etag: '"x"', _ts: 1, _rid: 'x' });
  if (container.computed?.size > 0 && random.chance(0.1)) body[random.pick([...container.computed.keys()])] = 'stored';
  if (random.chance(0.05)) body._own = pools.value(1);
  if (random.chance(0.03)) body[random.pick(['_rev', '_id', '_deleted'])] = 'x';
  if (random.chance(0.03)) putAt(body, random.pick(container.paths), random.pick(['p', 'q', 1, {}, []]));
  if (random.chance(0.03)) body.id = random.pick(['', 'a/b', 1, 'a?', 'b', 'k'.repeat(1024), 'k'.repeat(1023)]);
  return body;
}

export function create(pools) {
  const where = whereOf(pools);
  const at = place(pools, where);
  const header = { ...(pools.random.chance(0.7) ? keyHeader(at.key) : {}), ...triggerHeaders(pools, where) };
  return cosmos('POST', where.docs, itemBody(pools, where, at), { ...header, ...minimal(pools) });
}

export function upsert(pools) {
  const where = whereOf(pools);
  const at = place(pools, where);
  const headers = { 'x-ms-documentdb-is-upsert': 'true', ...keyHeader(at.key), ...condition(pools, where, at) };
  Object.assign(headers, minimal(pools), triggerHeaders(pools, where));
  return cosmos('POST', where.docs, itemBody(pools, where, at), headers);
}

/// The place whose id a replacement of what is at `at` has in its body.
export const replacing = (pools, where, at) => (pools.random.chance(0.15) ? place(pools, where, at.key) : at);

export function replace(pools) {
  const where = whereOf(pools);
  const at = place(pools, where);
  const headers = { ...keyHeader(at.key), ...condition(pools, where, at), ...minimal(pools) };
  Object.assign(headers, triggerHeaders(pools, where));
  return cosmos('PUT', target(where, at.id), itemBody(pools, where, replacing(pools, where, at)), headers);
}

export function remove(pools) {
  const where = whereOf(pools);
  const at = place(pools, where);
  const headers = { ...keyHeader(at.key), ...condition(pools, where, at), ...triggerHeaders(pools, where) };
  return cosmos('DELETE', target(where, at.id), undefined, headers);
}

export function read(pools) {
  const where = whereOf(pools);
  const at = place(pools, where);
  const headers = keyHeader(at.key);
  if (pools.random.chance(0.25)) headers['If-None-Match'] = etag(pools, where, at);
  return cosmos('GET', target(where, at.id), undefined, headers);
}

/// Sums of these are written alike by all who add them.
const INCREMENTS = [1, 2, -1, 0.5, 2.5];
const isExact = (value) =>
  typeof value !== 'number' || (Math.abs(value) < 1e6 && Math.abs(value) * 10 === Math.round(Math.abs(value) * 10));

function patchOperation(pools, { container }, body) {
  const { random } = pools;
  const keys = container.paths.map((path) => `/${path.join('/')}`);
  const paths = ['/n', '/s', '/o', '/o/n', '/o/s', '/o/o/n', '/none/n', '/new~1er'];
  // Elsewhere a number is a name, and objects here keep such names in another order.
  if (Array.isArray(body?.list)) paths.push('/list/0', '/list/1', '/list/-');
  else paths.push('/list');
  const path = () =>
    random.weighted([
      [20, () => random.pick(paths)],
      [1, () => random.pick([...keys, '/id', '/_etag', '/_id', 'n', '/', '//'])],
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

function patchBody(pools, where, at) {
  const { random } = pools;
  const body = winnerAt(where, at)?.body;
  const operations = [patchOperation(pools, where, body)];
  // One that adds to what others of the patch have set is left out, as sums are written in many ways.
  const more = random
    .times(random.below(3), () => patchOperation(pools, where, body))
    .filter(({ op }) => op !== 'incr');
  if (operations[0].op === 'incr' || random.chance(0.5)) operations.push(...more);
  if (random.chance(0.25)) return { operations, condition: query.condition(pools, where) };
  return random.chance(0.8) ? { operations } : operations;
}

export function patch(pools) {
  const where = whereOf(pools);
  const at = place(pools, where);
  return cosmos('PATCH', target(where, at.id), patchBody(pools, where, at), {
    ...keyHeader(at.key),
    ...condition(pools, where, at, 0.2),
    ...minimal(pools),
  });
}

function batchOperation(pools, where, key) {
  const { random } = pools;
  const at = place(pools, where, key);
  const ifMatch = condition(pools, where, at, 0.15)['If-Match'];
  const own = key === undefined || random.chance(0.1) ? { partitionKey: keyText(at.key) } : {};
  const edit = { ...own, ...(ifMatch && { ifMatch }) };
  const isThere = winnerAt(where, at)?.deleted === false;
  return random.weighted([
    [isThere ? 1 : 5, () => ({ operationType: 'Create', ...own, resourceBody: itemBody(pools, where, at) })],
    [5, () => ({ operationType: 'Upsert', ...edit, resourceBody: itemBody(pools, where, at) })],
    [2, () => ({ operationType: 'Read', ...own, id: at.id })],
    [
      isThere ? 3 : 0.5,
      () => ({
        operationType: 'Replace',
        ...edit,
        id: at.id,
        resourceBody: itemBody(pools, where, replacing(pools, where, at)),
      }),
    ],
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
  const where = whereOf(pools);
  const atomic = random.chance(0.8);
  const key = atomic ? place(pools, where).key : undefined;
  const headers = { 'x-ms-cosmos-is-batch-request': 'true', ...minimal(pools) };
  if (atomic) Object.assign(headers, keyHeader(key), { 'x-ms-cosmos-batch-atomic': 'true' });
  else if (random.chance(0.5)) headers['x-ms-cosmos-batch-continue-on-error'] = random.pick(['true', 'false']);
  return cosmos(
    'POST',
    where.docs,
    random.times(random.between(atomic ? 0 : 1, 4), () => batchOperation(pools, where, key)),
    headers,
  );
}

export function removeKey(pools) {
  const where = whereOf(pools);
  return cosmos('POST', `${where.path}/operations/partitionkeydelete`, undefined, keyHeader(place(pools, where).key));
}

export function sql(pools) {
  const { random } = pools;
  const where = whereOf(pools);
  const headers = { ...QUERY, ...scope(pools, where) };
  if (random.chance(0.6)) headers['x-ms-max-item-count'] = random.pick(['1', '2', '3', '7', '1000']);
  return { ...cosmos('POST', where.docs, query.body(pools, where), headers), pages: true };
}

/// Everything, the items of a key, or those below the beginning of one.
function scope(pools, where) {
  const { random } = pools;
  if (!random.chance(0.35)) return {};
  const { key } = place(pools, where);
  return keyHeader(random.chance(0.5) ? key : key.slice(0, random.between(1, key.length)));
}

let lastPage; // a list to continue, of this process's current sequence

/// Lists page by page where the order is known: of one key, or of a container in one piece.
export function list(pools) {
  const { random, session } = pools;
  if (lastPage?.session === session && random.chance(0.3)) {
    const { docs, headers, n } = lastPage;
    return cosmos('GET', docs, undefined, { ...headers, 'x-ms-continuation': `«continuation ${n}»` });
  }
  const where = whereOf(pools);
  const headers = scope(pools, where);
  const inOrder = where.database?.q === 1 || headers['x-ms-documentdb-partitionkey'];
  if (inOrder && random.chance(0.6)) headers['x-ms-max-item-count'] = random.pick(['1', '2', '3', '-1', '0', 'x']);
  if (!inOrder || random.chance(0.3)) {
    if (['0', 'x'].includes(headers['x-ms-max-item-count'])) delete headers['x-ms-max-item-count'];
    return { ...cosmos('GET', where.docs, undefined, headers), pages: true };
  }
  const made = cosmos('GET', where.docs, undefined, headers);
  const remember = (n) => (lastPage = { session, docs: where.docs, headers, n });
  if (/^[123]$/.test(headers['x-ms-max-item-count'])) Object.defineProperty(made, 'remember', { value: remember });
  return made;
}

export function changes(pools) {
  const { random } = pools;
  const where = whereOf(pools);
  const { letter, database } = where;
  const versions = random.chance(database?.container?.retention ? 0.5 : 0.03);
  const headers = { 'A-IM': versions ? 'Full-Fidelity Feed' : 'Incremental Feed', ...scope(pools, where) };
  const position = () =>
    `«position ${letter} ${database?.incarnation ?? 1} ${random.below((database?.sequence ?? 0) + 1)}»`;
  random.weighted([
    [versions ? 0.5 : 4, () => undefined],
    [6, () => (headers['If-None-Match'] = position())],
    [1, () => (headers['If-None-Match'] = '*')],
    [0.3, () => (headers['If-None-Match'] = '"x"')],
  ])();
  if (versions) headers['x-ms-max-item-count'] = '1000';
  else if (random.chance(0.5)) headers['x-ms-max-item-count'] = random.pick(['1', '2', '3', '-1']);
  if (!versions && random.chance(0.1))
    headers['If-Modified-Since'] = random.pick([
      'Thu, 01 Jan 1970 00:00:00 GMT',
      'Fri, 01 Jan 2100 00:00:00 GMT',
      'soon',
    ]);
  if (database?.q === 1 && random.chance(0.1)) headers['x-ms-documentdb-partitionkeyrangeid'] = random.pick(['0', '7']);
  return cosmos('GET', where.docs, undefined, headers);
}

/// A header, a path or a body that nothing can be made of.
export function malformed(pools) {
  const { random } = pools;
  const where = whereOf(pools);
  const { docs } = where;
  const at = place(pools, where);
  const short = at.key.slice(1); // of a hierarchy too few values, of a plain key none
  const badKey = {
    'x-ms-documentdb-partitionkey': random.pick(['[', '{}', '["p","q","r","s"]', '[]', '[[]]', '"p"', keyText(short)]),
  };
  return random.weighted([
    [3, () => cosmos('GET', target(where, at.id), undefined, random.chance(0.5) ? badKey : {})],
    [2, () => cosmos('PUT', target(where, at.id), itemBody(pools, where, at), random.chance(0.5) ? badKey : {})],
    [2, () => cosmos('POST', docs, random.pick(['', '{', '[]', '1', '{"id":"a"} x', '{"id":"a",}']), {})],
    [
      2,
      () =>
        cosmos(
          'PATCH',
          target(where, at.id),
          random.pick(['{', '{}', '[]', '1', '{"operations":[]}', '{"operations":1}']),
          keyHeader(at.key),
        ),
    ],
    [
      1,
      () =>
        cosmos(
          random.pick(['GET', 'DELETE']),
          `${docs}/${random.pick(['a%2Fb', 'a%3Fb', 'k'.repeat(1024)])}`,
          undefined,
          keyHeader(at.key),
        ),
    ],
    [1, () => cosmos('GET', `${ACCOUNT}/colls/none/docs/a`, undefined, keyHeader(at.key))],
    [1, () => cosmos('POST', `${ACCOUNT}/colls/none/docs`, itemBody(pools, where, at), {})],
    [1, () => cosmos('GET', '/dbs/«»none')],
    [1, () => cosmos('PATCH', docs, { operations: [] }, keyHeader(at.key))],
  ])();
}

/// One that is surely taken.
export const plainBody = (pools, { container }, { key, id }) => {
  const body = { id };
  container.paths.forEach((path, i) => key[i] === undefined || putAt(body, path, key[i]));
  return Object.assign(body, pools.body());
};

/// New items to begin with.
export const fill = (pools, letter) =>
  pools.random.times(pools.random.between(1, letter === 'd' ? 8 : 5), () => {
    const where = whereOf(pools, letter);
    const at = place(pools, where);
    const body = Object.fromEntries(Object.entries(itemBody(pools, where, at)).filter(([name]) => !isReserved(name)));
    return cosmos('POST', where.docs, body, { 'x-ms-documentdb-is-upsert': 'true' });
  });

/// All items of a container as this API shows them: listed, queried, followed from the beginning.
export function audit(pools, letter) {
  const { docs, path, container } = whereOf(pools, letter);
  const calls = [
    { ...cosmos('GET', docs), pages: true },
    { ...cosmos('POST', docs, { query: 'SELECT * FROM c ORDER BY c.n', parameters: [] }, QUERY), pages: true },
    cosmos('GET', docs, undefined, { 'A-IM': 'Incremental Feed' }),
    cosmos('GET', path),
    cosmos('GET', `${path}/sprocs`),
  ];
  const versions = { 'A-IM': 'Full-Fidelity Feed', 'If-None-Match': '"0"', 'x-ms-max-item-count': '1000' };
  if (letter === 'e') calls.push(...['triggers', 'udfs'].map((kind) => cosmos('GET', `${path}/${kind}`)));
  if (container.retention) calls.push(cosmos('GET', docs, undefined, versions));
  return calls;
}
