// Calls that list: _all_docs and its kin, and the change feed.
import { call, path, withQuery } from './call.mjs';

function key(pools, database) {
  const { random } = pools;
  return random.weighted([
    [8, () => pools.knownId(database)],
    [3, () => pools.id(database)],
    [1, () => ''],
    [1, () => random.pick([1, null, 'zz', '_', '_design/', '_e', 'p:', 'p;'])],
  ])();
}

/// Parameters as JSON values.
function listQuery(pools, database) {
  const { random } = pools;
  const query = {};
  random.weighted([
    [3, () => undefined],
    [2, () => (query.key = key(pools, database))],
    [3, () => (query.keys = random.times(random.below(5), () => key(pools, database)))],
    [3, () => (query[random.pick(['startkey', 'start_key'])] = key(pools, database))],
    [3, () => (query[random.pick(['endkey', 'end_key'])] = key(pools, database))],
    [
      4,
      () => {
        query.startkey = key(pools, database);
        query.endkey = key(pools, database);
      },
    ],
  ])();
  if (random.chance(0.3)) query.descending = random.chance(0.8);
  if (random.chance(0.3)) query.inclusive_end = random.chance(0.3);
  if (random.chance(0.3)) query.limit = random.below(5);
  if (random.chance(0.2)) query.skip = random.below(4);
  if (random.chance(0.4)) query.include_docs = true;
  if (random.chance(0.2)) query.conflicts = true;
  if (random.chance(0.2)) query.update_seq = true;
  return query;
}

const PLAIN = new Set(['descending', 'inclusive_end', 'limit', 'skip', 'include_docs', 'conflicts', 'update_seq']);
const asText = (query) =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, PLAIN.has(name) ? String(value) : JSON.stringify(value)]),
  );

export function listDocuments(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const place = random.weighted([
    [8, () => ['_all_docs']],
    [1, () => ['_design_docs']],
    [1, () => ['_local_docs']],
    [database?.partitioned ? 4 : 0.3, () => ['_partition', pools.partition(), '_all_docs']],
  ])();
  const target = path(letter, ...place);
  const query = listQuery(pools, database);
  return random.weighted([
    [4, () => call('GET', withQuery(target, asText(query)))],
    [3, () => call('POST', target, query)],
    [
      1,
      () =>
        call('POST', `${target}/queries`, { queries: random.times(random.below(4), () => listQuery(pools, database)) }),
    ],
  ])();
}

export function changes(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const query = {};
  if (random.chance(0.6)) query.since = pools.since(letter, database);
  if (random.chance(0.3)) query.limit = String(random.below(5));
  if (random.chance(0.2)) query.descending = 'true';
  if (random.chance(0.4)) query.include_docs = 'true';
  if (random.chance(0.4)) query.style = random.pick(['main_only', 'all_docs']);
  if (random.chance(0.2)) query.conflicts = 'true';
  if (!query.descending && random.chance(0.1)) Object.assign(query, { feed: 'longpoll', timeout: '5' });
  if (random.chance(0.05)) query.seq_interval = String(random.between(1, 3));
  let method = random.chance(0.9) ? 'GET' : 'POST';
  let body = method === 'POST' ? {} : undefined;
  random.weighted([
    [6, () => undefined],
    [1, () => (query.filter = '_design')],
    [
      2,
      () => {
        query.filter = '_doc_ids';
        const ids = random.times(random.below(4), () => pools.knownId(database));
        if (random.chance(0.5)) query.doc_ids = JSON.stringify(ids);
        else [method, body] = ['POST', { doc_ids: ids }];
        if (method === 'POST' && query.doc_ids) body = { doc_ids: ids };
      },
    ],
    [
      2,
      () => {
        query.filter = '_selector';
        [method, body] = [
          'POST',
          { selector: random.pick([{}, { n: { $gt: 0 } }, { _deleted: true }, { s: 'a' }, { _id: { $gt: 'b' } }]) },
        ];
      },
    ],
    [0.5, () => (query.filter = random.pick(['one/f', 'one/g', 'none/f', 'one', '_nothing', '_view']))],
  ])();
  const place = database?.partitioned && random.chance(0.3) ? ['_partition', pools.partition()] : [];
  return call(method, withQuery(path(letter, ...place, '_changes'), query), body);
}
