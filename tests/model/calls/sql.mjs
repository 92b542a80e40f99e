// SQL texts of the grammar that the model reads (dialect/cosmos/sql.mjs).

const COMPARISONS = ['=', '=', '!=', '<', '<=', '>', '>='];
const SCALAR = (value) => value === null || typeof value !== 'object';

function path(pools) {
  const { random } = pools;
  return random.weighted([
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

function predicate(pools, parameters, depth = 2) {
  const { random } = pools;
  const value = () => literal(pools, parameters);
  const inner = () => predicate(pools, parameters, depth - 1);
  return random.weighted([
    [10, () => `${path(pools)} ${random.pick(COMPARISONS)} ${value()}`],
    [2, () => `${path(pools)} IN (${random.times(random.between(1, 3), value).join(', ')})`],
    [2, () => `${path(pools)} BETWEEN ${value()} AND ${value()}`],
    [2, () => `${random.pick(['IS_DEFINED', 'IS_NULL', 'IS_NUMBER', 'IS_STRING', 'IS_ARRAY'])}(${path(pools)})`],
    [
      2,
      () =>
        `${random.pick(['STARTSWITH', 'CONTAINS'])}(${path(pools)}, ${JSON.stringify(random.pick(['a', 'ä', 'b', 'k']))})`,
    ],
    [1, () => `ARRAY_CONTAINS(${path(pools)}, ${value()})`],
    [1, () => `ARRAY_LENGTH(${path(pools)}) ${random.pick(COMPARISONS)} ${random.below(3)}`],
    [1, () => `${path(pools)} ${random.pick(COMPARISONS)} ${path(pools)}`],
    [depth > 0 ? 4 : 0, () => `(${inner()}) AND (${inner()})`],
    [depth > 0 ? 3 : 0, () => `(${inner()}) OR (${inner()})`],
    [depth > 0 ? 2 : 0, () => `NOT (${inner()})`],
  ])();
}

function text(pools, parameters) {
  const { random } = pools;
  const where = random.chance(0.7) ? ` WHERE ${predicate(pools, parameters)}` : '';
  if (random.chance(0.15)) return `SELECT VALUE COUNT(1) FROM c${where}`;
  const what = random.weighted([
    [5, () => '*'],
    [2, () => `VALUE ${path(pools)}`],
    [2, () => random.sample(['c.id', 'c.n', 'c.s', 'c._etag', 'c.pk', 'c.list'], random.between(1, 3)).join(', ')],
  ])();
  const order = random.chance(0.5)
    ? ` ORDER BY c.${random.pick(['n', 's', 'n', 's', 'id', 'list', 'o.n'])}${random.pick(['', ' ASC', ' DESC'])}`
    : '';
  const top = random.chance(0.1) ? `TOP ${random.below(5)} ` : '';
  const offset = top === '' && random.chance(0.15) ? ` OFFSET ${random.below(3)} LIMIT ${random.below(5)}` : '';
  const distinct = order === '' && random.chance(0.15) ? 'DISTINCT ' : '';
  return `SELECT ${distinct}${top}${what} FROM c${where}${order}${offset}`;
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
  body(pools) {
    const { random } = pools;
    if (random.chance(0.04)) return { query: random.pick(BROKEN), parameters: [] };
    const parameters = [];
    return { query: text(pools, parameters), parameters };
  },
  /// Of a patch.
  condition: (pools) => `FROM c WHERE ${predicate(pools, undefined, 1)}`,
};
