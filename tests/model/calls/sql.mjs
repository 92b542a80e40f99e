// SQL texts of the grammar that the model reads (dialect/cosmos/sql.mjs).

const COMPARISONS = ['=', '=', '!=', '<', '<=', '>', '>='];
const ORDERS = ['c.n', 'c.s', 'c.n', 'c.s', 'c.id', 'c.list', 'c.o.n'];
const SCALAR = (value) => value === null || typeof value !== 'object';

function path(pools, where) {
  const { random } = pools;
  const computed = [...(where?.container.computed?.keys() ?? [])];
  return random.weighted([
    [computed.length > 0 ? 4 : 0, () => `c.${random.pick(computed)}`],
    [10, () => `c.${pools.field()}`],
    [2, () => `c.o.${pools.field()}`],
    [1, () => `c.list[${random.below(2)}]`],
    [1, () => 'c.id'],
    [1, () => 'c["pk"]'],
    [0.5, () => 'c.none'],
    [0.3, () => 'c'],
  ])();
}

/// A scalar as it stands in a query, or as a parameter of it.
function literal(pools, parameters) {
  const { random } = pools;
  let value = pools.value(2);
  if (!SCALAR(value)) value = random.pick([1, 'a', null, true]);
  if (!parameters || random.chance(0.6)) return JSON.stringify(value);
  const name = `@p${parameters.length}`;
  parameters.push({ name, value });
  return name;
}

/// A call of one of the container's functions; undefined: there are none.
function functionCall(pools, where) {
  const { random } = pools;
  const known = [...(where.database?.scripts.udfs.keys() ?? [])];
  const field = () => `c.${random.chance(0.8) ? pools.field() : 'none'}`;
  const more = () => (random.chance(0.5) ? `, ${literal(pools)}` : '');
  return known.length > 0 ? `udf.${random.pick(known)}(${field()}${more()})` : undefined;
}

function predicate(pools, where, parameters, depth = 2) {
  const { random } = pools;
  const value = () => literal(pools, parameters);
  const called = parameters && functionCall(pools, where); // conditions of patches know none
  const inner = () => predicate(pools, where, parameters, depth - 1);
  return random.weighted([
    [10, () => `${path(pools, where)} ${random.pick(COMPARISONS)} ${value()}`],
    [2, () => `${path(pools, where)} IN (${random.times(random.between(1, 3), value).join(', ')})`],
    [2, () => `${path(pools, where)} BETWEEN ${value()} AND ${value()}`],
    [2, () => `${random.pick(['IS_DEFINED', 'IS_NULL', 'IS_NUMBER', 'IS_STRING', 'IS_ARRAY'])}(${path(pools, where)})`],
    [
      2,
      () =>
        `${random.pick(['STARTSWITH', 'CONTAINS'])}(${path(pools, where)}, ${JSON.stringify(random.pick(['a', 'ä', 'b', 'k']))})`,
    ],
    [1, () => `ARRAY_CONTAINS(${path(pools, where)}, ${value()})`],
    [1, () => `ARRAY_LENGTH(${path(pools, where)}) ${random.pick(COMPARISONS)} ${random.below(3)}`],
    [1, () => `${path(pools, where)} ${random.pick(COMPARISONS)} ${path(pools, where)}`],
    [called ? 4 : 0, () => `${called} ${random.pick(COMPARISONS)} ${value()}`],
    [depth > 0 ? 4 : 0, () => `(${inner()}) AND (${inner()})`],
    [depth > 0 ? 3 : 0, () => `(${inner()}) OR (${inner()})`],
    [depth > 0 ? 2 : 0, () => `NOT (${inner()})`],
  ])();
}

function text(pools, where, parameters) {
  const { random } = pools;
  const condition = random.chance(0.7) ? ` WHERE ${predicate(pools, where, parameters)}` : '';
  if (random.chance(0.15)) return `SELECT VALUE COUNT(1) FROM c${condition}`;
  const called = functionCall(pools, where);
  const computed = [...(where.container.computed?.keys() ?? [])].map((name) => `c.${name}`);
  const columns = ['c.id', 'c.n', 'c.s', 'c._etag', 'c.pk', 'c.list', ...computed];
  const what = random.weighted([
    [5, () => '*'],
    [called ? 2 : 0, () => `VALUE ${called}`],
    [2, () => `VALUE ${path(pools, where)}`],
    [2, () => random.sample(columns, random.between(1, 3)).join(', ')],
  ])();
  const order = random.chance(0.5)
    ? ` ORDER BY ${random.pick([...ORDERS, ...computed])}${random.pick(['', ' ASC', ' DESC'])}`
    : '';
  const top = random.chance(0.1) ? `TOP ${random.below(5)} ` : '';
  const offset = top === '' && random.chance(0.15) ? ` OFFSET ${random.below(3)} LIMIT ${random.below(5)}` : '';
  const distinct = order === '' && random.chance(0.15) ? 'DISTINCT ' : '';
  return `SELECT ${distinct}${top}${what} FROM c${condition}${order}${offset}`;
}

const BROKEN = [
  '',
  'SELECT',
  'SELECT * FROM',
  'SELECT * FROM c WHERE',
  'SELECT * FROM c WHERE c.n = @none',
  'SELECT * FROM c ORDER BY',
  'SELECT c.n FROM x',
];

export const query = {
  body(pools, where) {
    const { random } = pools;
    if (random.chance(0.04)) return { query: random.pick(BROKEN), parameters: [] };
    const parameters = [];
    return { query: text(pools, where, parameters), parameters };
  },
  /// The condition of a patch.
  condition: (pools, where) => `FROM c WHERE ${predicate(pools, where, undefined, 1)}`,
};
