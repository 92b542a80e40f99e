// Design documents with functions, and calls of their views.
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
  const own = database.partitioned && winner.body.options?.partitioned !== false;
  const place = (random.chance(0.95) ? own : !own) && database.partitioned ? ['_partition', pools.partition()] : [];
  const target = path(letter, ...place, idPath(id), '_view', name);
  const query = () => viewQuery(pools, views[name]?.reduce !== undefined);
  return random.weighted([
    [6, () => call('GET', withQuery(target, asText(query())))],
    [3, () => call('POST', target, query())],
    [place.length === 0 ? 1 : 0, () => call('POST', `${target}/queries`, { queries: random.times(random.below(3), query) })],
  ])();
}
