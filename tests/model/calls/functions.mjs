// Design documents with functions, and calls of their views and search indexes.
import { call, idPath, path, withQuery } from './call.mjs';

const MAPS = {
  'by-n': { map: "function (doc) { if ('n' in doc) emit(doc.n, doc.s); }" },
  'by-s': { map: 'function (doc) { if (doc.s !== undefined) emit(doc.s, 1); }', reduce: '_sum' },
  items: {
    map: 'function (doc) { if (doc.list instanceof Array) for (var i = 0; i < doc.list.length; ++i) ' +
      'emit([doc.list.length, i, doc.list[i]], i); }',
    reduce: '_stats',
  },
  several: { map: 'function (doc) { emit(null, doc._id); emit(1, null); emit(null, 2); }', reduce: '_count' },
  breaks: { map: 'function (doc) { emit(doc.o.n.n, doc._rev); }' },
};
const INDEXES = {
  all: {
    analyzer: 'keyword',
    index: "function (doc) { if (typeof doc.n === 'number') index('n', doc.n, {store: true}); " +
      "if (typeof doc.s === 'string' && doc.s !== '') index('s', doc.s, {store: true}); }",
  },
  items: {
    analyzer: { name: 'keyword' },
    index: "function (doc) { for (var i = 0; i < doc.list.length; ++i) " +
      "if (typeof doc.list[i] === 'number' || doc.list[i] === 'a') index('s', doc.list[i], {store: true}); }",
  },
};
const VALIDATIONS = [
  "function (newDoc) { if (newDoc.s === 'z') throw({ forbidden: 'no z' }); }",
  "function (newDoc) { if (newDoc.n === 100) throw({ unauthorized: 'who are you?' }); }",
];
const FLAGS = ['descending', 'inclusive_end', 'include_docs', 'conflicts', 'reduce', 'group'];
const COUNTS = ['limit', 'skip', 'group_level'];

/// The body of a design document with some of the views above.
export function designBody({ random }, partitioned) {
  const names = random.sample(Object.keys(MAPS), random.between(1, 3));
  const body = { language: 'javascript', views: Object.fromEntries(names.map((name) => [name, MAPS[name]])) };
  if (random.chance(0.2)) body.validate_doc_update = random.pick(VALIDATIONS);
  for (const name of random.sample(Object.keys(INDEXES), random.below(3))) {
    body.indexes = { ...body.indexes, [name]: INDEXES[name] };
  }
  if (partitioned && random.chance(0.5)) body.options = { partitioned: random.chance(0.3) };
  return body;
}

function viewQuery(pools, mayReduce) {
  const { random } = pools;
  const query = {};
  const key = () => (random.chance(0.2) ? random.times(random.between(1, 3), () => pools.value(1)) : pools.value(1));
  random.weighted([
    [4, () => undefined],
    [2, () => (query.key = key())],
    [2, () => (query.keys = [key()])],
    [3, () => (query.startkey = key())],
    [3, () => (query.endkey = key())],
    [3, () => Object.assign(query, { startkey: key(), endkey: key() })],
  ])();
  const isRange = 'startkey' in query && 'endkey' in query;
  if (!query.keys && random.chance(0.3)) query.descending = true;
  for (const name of ['startkey', 'endkey']) {
    if (name in query && !isRange && random.chance(0.2)) query[`${name}_docid`] = random.pick(['a', 'b', 'p:a', 'z']);
  }
  if (random.chance(0.2)) query.inclusive_end = random.chance(0.3);
  if (random.chance(0.3)) query.limit = random.between(1, 5);
  if (random.chance(0.2)) query.skip = random.below(4);
  if (mayReduce && random.chance(0.3)) query.reduce = false;
  else if (mayReduce && random.chance(0.6)) {
    if (random.chance(0.5)) query.group = true;
    else query.group_level = random.below(4);
  } else if (!mayReduce && random.chance(0.4)) query.include_docs = true;
  if (query.keys && mayReduce && query.reduce !== false) {
    query.group = true;
    delete query.group_level;
  }
  return query;
}

const asText = (query) =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const plain = FLAGS.includes(name) || COUNTS.includes(name) || name.endsWith('_docid');
      return [name, plain ? String(value) : JSON.stringify(value)];
    }),
  );

/// A query in the syntax that the model reads (dialect/search.mjs).
function searchQuery(pools, depth = 0) {
  const { random } = pools;
  const word = () => `"${random.pick(['a', 'A', 'b', 'ä', 'aa', 'a b', '€', 'z', 'a"b']).replaceAll('"', '\\"')}"`;
  const number = () => random.pick([-1, 0, 1, 2, 2.5, 10, 100, -2.5, 0.1, 1e21, 2 ** 53]);
  const range = (end) => {
    const ends = [0, 1].map(() => (random.chance(0.3) ? '*' : end()));
    return random.pick(['[', '{']) + ends.join(' TO ') + random.pick([']', '}']);
  };
  const inner = () => searchQuery(pools, depth + 1);
  const deep = depth > 3 ? 0 : 1;
  return random.weighted([
    [1, () => '*:*'],
    [3, () => `s:${word()}`],
    [2, () => `n:${Math.abs(number())}`],
    [3, () => `s:${range(word)}`],
    [3, () => `n:${range(number)}`],
    [3 * deep, () => `(${inner()} AND ${inner()})`],
    [3 * deep, () => `(${inner()} OR ${inner()})`],
    [2 * deep, () => `(*:* NOT ${inner()})`],
  ])();
}

/// A search of an index of a design document that has one.
export function search(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const id = pools.designId();
  const winner = database?.winner(id);
  const indexes = winner && !winner.deleted && winner.body.language === 'javascript' ? winner.body.indexes : undefined;
  if (!indexes) return view(pools);
  const name = random.chance(0.95) ? random.pick(Object.keys(indexes)) : 'none';
  const target = path(letter, ...placeOf(pools, database, winner), idPath(id), '_search', name);
  const query = { q: searchQuery(pools) };
  if (random.chance(0.6)) query.limit = random.pick([1, 3, 100]);
  if (random.chance(0.3)) query.sort = random.pick(['n<number>', '-n<number>', 'n']);
  if (random.chance(0.3)) return call('POST', target, query);
  if (query.sort) query.sort = JSON.stringify(query.sort);
  return call('GET', withQuery(target, query));
}

/// Where functions are asked: in a partition if they are of partitions, mostly.
function placeOf(pools, database, winner) {
  const own = database.partitioned && winner.body.options?.partitioned !== false;
  return (pools.random.chance(0.95) ? own : !own) && database.partitioned ? ['_partition', pools.partition()] : [];
}

/// A design document written, or one of its views asked.
export function view(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const id = pools.designId();
  const winner = database?.winner(id);
  const views = winner && !winner.deleted && winner.body.language === 'javascript' ? winner.body.views : undefined;
  if (!views || random.chance(0.1)) {
    const parameters = winner && !winner.deleted ? { rev: winner.rev } : {};
    return call('PUT', withQuery(path(letter, idPath(id)), parameters), designBody(pools, database?.partitioned));
  }
  const name = random.chance(0.95) ? random.pick(Object.keys(views)) : 'none';
  const place = placeOf(pools, database, winner);
  const target = path(letter, ...place, idPath(id), '_view', name);
  const query = () => viewQuery(pools, views[name]?.reduce !== undefined);
  return random.weighted([
    [6, () => call('GET', withQuery(target, asText(query())))],
    [3, () => call('POST', target, query())],
    [place.length === 0 ? 1 : 0, () => call('POST', `${target}/queries`, { queries: random.times(random.below(3), query) })],
  ])();
}
