// Calls of Mango: _find, _explain, _index.
import { indexesOf } from '../dialect/indexes.mjs';
import { call, path, withQuery } from './call.mjs';

const COMPARISONS = ['$eq', '$ne', '$lt', '$lte', '$gt', '$gte'];
const TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'];
const PATTERNS = ['a', '^a', 'b$', '^$', '[ab]', '^.$', 'A|z'];

/// What may stand at a field.
function condition(pools, depth) {
  const { random } = pools;
  const value = () => pools.value(1);
  return random.weighted([
    [5, () => value()],
    [8, () => ({ [random.pick(COMPARISONS)]: value() })],
    [2, () => ({ $gte: value(), $lt: value() })],
    [2, () => ({ [random.pick(['$in', '$nin'])]: random.times(random.below(4), value) })],
    [2, () => ({ $exists: random.chance(0.6) })],
    [1, () => ({ $type: random.pick(TYPES) })],
    [1, () => ({ $size: random.below(3) })],
    [1, () => ({ $mod: [random.between(2, 3), random.below(2)] })],
    [1, () => ({ $regex: random.pick(PATTERNS) })],
    [1, () => ({ $beginsWith: random.pick(['', 'a', 'ä']) })],
    [1, () => ({ $all: random.times(random.below(3), value) })],
    [depth > 0 ? 1 : 0, () => ({ $elemMatch: inner(pools, depth - 1) })],
    [depth > 0 ? 1 : 0, () => ({ $allMatch: inner(pools, depth - 1) })],
    [depth > 0 ? 1 : 0, () => ({ $keyMapMatch: { $eq: pools.field() } })],
    [depth > 0 ? 1 : 0, () => ({ $not: { [random.pick(COMPARISONS)]: value() } })],
    [depth > 0 ? 0.5 : 0, () => ({ $or: random.times(2, () => ({ [random.pick(COMPARISONS)]: value() })) })],
  ])();
}

const inner = (pools, depth) =>
  pools.random.chance(0.7) ? { [pools.random.pick(COMPARISONS)]: pools.value(1) } : selector(pools, depth);

function fieldOf(pools) {
  const { random } = pools;
  return random.weighted([
    [10, () => pools.field()],
    [1, () => '_id'],
    [1, () => `o.${pools.field()}`],
    [1, () => `list.${random.below(2)}`],
    [1, () => 'none'],
  ])();
}

export function selector(pools, depth = 2) {
  const { random } = pools;
  const one = () => ({ [fieldOf(pools)]: condition(pools, depth) });
  if (depth === 0) return one();
  const several = () => random.times(random.between(1, 3), () => selector(pools, depth - 1));
  return random.weighted([
    [8, one],
    [5, () => Object.assign({}, ...random.times(2, one))],
    [depth === 2 ? 1 : 0, () => ({})],
    [1, () => ({ $and: several() })],
    [2, () => ({ $or: several() })],
    [1, () => ({ $nor: several() })],
    [1, () => ({ $not: selector(pools, depth - 1) })],
    [
      1,
      () => ({
        _id: {
          [random.pick(['$gt', '$gte', '$lt', '$lte', '$eq'])]: pools.random.pick(['a', 'b', 'p:a', 'q:', 'z', '']),
        },
      }),
    ],
  ])();
}

function sort(pools) {
  const { random } = pools;
  const direction = random.pick(['asc', 'desc']);
  const fields = random.sample(['n', 's', 'list', 'o', '_id'], random.between(1, 2));
  return fields.map((field) => {
    const own = random.chance(0.85) ? direction : random.pick(['asc', 'desc']);
    return own === 'asc' && random.chance(0.5) ? field : { [field]: own };
  });
}

function indexes(pools, database) {
  const ids = [...(database?.documents.keys() ?? [])].filter((id) => id.startsWith('_design/'));
  return ids.length > 0 ? ids : ['_design/one'];
}

let lastPage; // a query to continue, of this process's current sequence

export function find(pools) {
  const { random, session } = pools;
  if (lastPage?.session === session && random.chance(0.25)) {
    const { letter, place, body, n } = lastPage;
    return call('POST', path(letter, ...place, '_find'), { ...body, bookmark: `«bookmark ${n}»` });
  }
  const { letter, database } = pools.database();
  const body = { selector: selector(pools) };
  if (random.chance(0.35)) body.sort = sort(pools);
  if (random.chance(0.3))
    body.fields = random.sample(['_id', '_rev', 'n', 's', 'o.n', 'list', 'list.0', 'none'], random.below(4));
  if (random.chance(0.5)) body.limit = random.below(5);
  if (random.chance(0.1)) body.skip = random.below(3);
  if (random.chance(0.1)) body.conflicts = true;
  if (random.chance(0.1)) body.update = random.chance(0.7);
  if (random.chance(0.1)) body.use_index = random.pick(indexes(pools, database));
  if (random.chance(0.05)) body.execution_stats = true;
  const place = database?.partitioned && random.chance(0.4) ? ['_partition', pools.partition()] : [];
  if (random.chance(0.1)) return call('POST', path(letter, ...place, '_explain'), body);
  const made = call('POST', path(letter, ...place, '_find'), body);
  if (body.limit > 0)
    Object.defineProperty(made, 'remember', { value: (n) => (lastPage = { session, letter, place, body, n }) });
  return made;
}

export function index(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  return random.weighted([
    [6, () => call('POST', path(letter, '_index'), definition(pools, database))],
    [
      3,
      () =>
        call(
          'GET',
          withQuery(path(letter, '_index'), random.chance(0.2) ? { limit: '2', skip: String(random.below(3)) } : {}),
        ),
    ],
    [
      3,
      () => {
        const known = database ? indexesOf(database) : [];
        const { ddoc, name } =
          known.length > 0 && random.chance(0.8) ? random.pick(known) : { ddoc: '_design/one', name: 'by-n' };
        const prefix = random.chance(0.5)
          ? ddoc.replace('/', random.pick(['/', '%2F']))
          : ddoc.slice('_design/'.length);
        return call(
          'DELETE',
          path(letter, '_index', prefix, random.chance(0.9) ? 'json' : 'text', encodeURIComponent(name)),
        );
      },
    ],
    [
      1,
      () =>
        call('POST', path(letter, '_index', '_bulk_delete'), {
          docids: random.sample(['one', '_design/two', 'none'], 2),
        }),
    ],
  ])();
}

const FILTERS = [{ n: { $gt: 0 } }, { s: { $exists: true } }, { n: { $type: 'number' } }];

function definition(pools, database) {
  const { random } = pools;
  const fields = random.sample(['n', 's', 'list', 'o', 'o.n'], random.between(1, 2));
  const descending = random.chance(0.2);
  const index = {
    fields: fields.map((field) => (descending ? { [field]: 'desc' } : random.chance(0.5) ? field : { [field]: 'asc' })),
  };
  if (random.chance(0.2)) index.partial_filter_selector = random.pick(FILTERS);
  const body = { index };
  if (random.chance(0.9)) body.ddoc = random.pick(['one', 'two', '_design/one']);
  if (random.chance(0.9)) body.name = random.pick(['by-n', 'by-s', 'i']);
  if (random.chance(0.3)) body.type = 'json';
  if (random.chance(database?.partitioned ? 0.5 : 0.1)) body.partitioned = random.chance(0.4);
  return body;
}
