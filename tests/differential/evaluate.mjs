// What a query means, by its tree and all items: written from the documentation of the language, and slow on purpose.
// Undefined is JavaScript's.

const kinds = ['undefined', 'null', 'boolean', 'number', 'string', 'array', 'object'];
const kindOf = (value) => (value === undefined ? 'undefined' : value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/// One text for equal values, whatever the order of members.
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map((element) => canonical(element)).join()}]`;
  if (kindOf(value) !== 'object') return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries(value).filter(([, member]) => member !== undefined).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

/// -1, 0 or 1 in the order of ORDER BY, for all but arrays and objects.
export function compareInOrder(a, b) {
  const [first, second] = [kinds.indexOf(kindOf(a)), kinds.indexOf(kindOf(b))];
  if (first !== second) return Math.sign(first - second);
  if (kindOf(a) === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}

const isScalar = (kind) => kind !== 'undefined' && kind !== 'array' && kind !== 'object';

function compare(op, a, b) {
  const [first, second] = [kindOf(a), kindOf(b)];
  if (first === 'undefined' || second === 'undefined') return undefined;
  if (op === '=') return canonical(a) === canonical(b);
  if (op === '!=') return canonical(a) !== canonical(b);
  if (first !== second || !isScalar(first)) return undefined;
  const order = compareInOrder(a, b);
  return { '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 }[op];
}

function and(values) {
  if (values.includes(false)) return false;
  return values.every((value) => value === true) ? true : undefined;
}
const not = (value) => (typeof value === 'boolean' ? !value : undefined);

const functions = {
  IS_DEFINED: (value) => value !== undefined,
  IS_NUMBER: (value) => kindOf(value) === 'number',
  IS_STRING: (value) => kindOf(value) === 'string',
  IS_NULL: (value) => value === null,
  IS_BOOL: (value) => kindOf(value) === 'boolean',
  IS_ARRAY: (value) => Array.isArray(value),
  IS_OBJECT: (value) => kindOf(value) === 'object',
  STARTSWITH: (text, prefix) => (typeof text === 'string' ? text.startsWith(prefix) : undefined),
  CONTAINS: (text, part) => (typeof text === 'string' ? text.includes(part) : undefined),
  ARRAY_CONTAINS: (array, element) => (array === undefined ? undefined : Array.isArray(array) && array.some((each) => canonical(each) === canonical(element))),
  LOWER: (text) => (typeof text === 'string' ? text.toLowerCase() : undefined),
  LENGTH: (text) => (typeof text === 'string' ? [...text].length : undefined),
};

function value(node, row) {
  const operand = (i) => value(node.operands[i], row);
  switch (node.kind) {
    case 'path': return node.names.reduce((from, name) => (kindOf(from) === 'object' && Object.hasOwn(from, name) ? from[name] : undefined), row[node.root]);
    case 'constant': return node.value;
    case 'and': return and(node.operands.map((each) => value(each, row)));
    case 'or': return not(and(node.operands.map((each) => not(value(each, row)))));
    case 'not': return not(operand(0));
    case 'compare': return compare(node.op, operand(0), operand(1));
    case 'in': {
      const needle = operand(0);
      return needle === undefined ? undefined : node.operands.slice(1).some((each) => compare('=', needle, value(each, row)) === true);
    }
    case 'between': return and([compare('>=', operand(0), operand(1)), compare('<=', operand(0), operand(2))]);
    case 'exists': {
      const array = value(node.array, row);
      return Array.isArray(array) && array.some((e) => value(node.where, { ...row, e }) === true);
    }
    case 'sum': return typeof operand(0) === 'number' ? operand(0) + operand(1) : undefined;
    case 'array': return node.operands.map((each) => value(each, row)).filter((element) => element !== undefined);
    default: return functions[node.name](...node.operands.map((each) => value(each, row)));
  }
}

function aggregate(node, rows) {
  const values = rows.map((row) => value(node.operands[0], row)).filter((each) => each !== undefined);
  const sum = values.reduce((total, each) => total + each, 0);
  switch (node.name) {
    case 'COUNT': return values.length;
    case 'SUM': return sum;
    case 'AVG': return values.length ? sum / values.length : undefined;
    case 'MIN': return values.length ? Math.min(...values) : undefined;
    default: return values.length ? Math.max(...values) : undefined;
  }
}

function project(query, evaluateItem, row) {
  if (query.select === 'star') return row.c;
  if (query.select === 'value') return evaluateItem(query.items[0].value);
  const members = query.items.map(({ name, value: item }) => [name, evaluateItem(item)]).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members);
}

const keysOf = (query, row) => query.orderBy.map(({ value: item }) => value(item, row));
function compareKeys(query, a, b) {
  for (const [i, { descending }] of query.orderBy.entries()) {
    const order = compareInOrder(a[i], b[i]);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

// The rows of a subquery in FROM.
function rowsOf({ names, distinct, where }, items) {
  const rows = items.filter((c) => !where || value(where, { c }) === true)
    .map((c) => Object.fromEntries(names.filter((name) => c[name] !== undefined).map((name) => [name, c[name]])));
  return distinct ? [...new Map(rows.map((row) => [canonical(row), row])).values()] : rows;
}

/// What may be answered: `runs`, each with `rows` (their canonical texts) that may come in any order, one run after the
/// other; and of all of them in this order those from `first` on, `count` of them.
export function evaluate(query, items) {
  if (query.from) return evaluate({ ...query, from: undefined }, rowsOf(query.from, items));
  let rows = items.flatMap((c) => (query.join ? (Array.isArray(c.tags) ? c.tags.map((t) => ({ c, t })) : []) : [{ c }]));
  if (query.where) rows = rows.filter((row) => value(query.where, row) === true);
  const isAggregate = query.items.some(({ value: item }) => item.kind === 'aggregate');
  let results;
  if (query.groupBy.length > 0 || isAggregate) {
    const groups = new Map(query.groupBy.length > 0 ? [] : [[canonical([]), []]]);
    for (const row of rows) {
      const key = canonical(query.groupBy.map((each) => canonical(value(each, row))));
      groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    results = [...groups.values()].map((group) => ({
      keys: [], result: project(query, (item) => (item.kind === 'aggregate' ? aggregate(item, group) : value(item, group[0])), group[0]),
    }));
  } else {
    results = rows.map((row) => ({ keys: keysOf(query, row), result: project(query, (item) => value(item, row), row) }));
  }
  results = results.filter(({ result }) => result !== undefined).map(({ keys, result }) => ({ keys, text: canonical(result) }));
  if (query.orderBy.length > 0) results.sort((a, b) => compareKeys(query, a.keys, b.keys));
  if (query.distinct) results = [...new Map(results.toReversed().map((each) => [each.text, each])).values()].sort((a, b) => compareKeys(query, a.keys, b.keys));

  const runs = [];
  for (const { keys, text } of results) {
    if (runs.length === 0 || compareKeys(query, runs.at(-1).keys, keys) !== 0) runs.push({ keys, rows: [] });
    runs.at(-1).rows.push(text);
  }
  const first = Math.min(query.offset ?? 0, results.length);
  const count = Math.min(query.limit ?? query.top ?? Infinity, results.length - first);
  return { runs, first, count };
}

/// What is wrong with an answer; undefined: nothing.
export function findFault({ runs, first, count }, answer) {
  if (answer.length !== count) return `${answer.length} rows instead of ${count}`;
  let begin = 0;
  let taken = 0;
  for (const { rows } of runs) {
    const end = begin + rows.length;
    const wanted = Math.min(end, first + count) - Math.max(begin, first);
    begin = end;
    if (wanted <= 0) continue;
    const left = new Map();
    for (const text of rows) left.set(text, (left.get(text) ?? 0) + 1);
    for (const row of answer.slice(taken, taken + wanted)) {
      const text = canonical(row);
      if (!left.get(text)) return `row ${taken} is out of place or comes twice: ${text.slice(0, 200)}`;
      left.set(text, left.get(text) - 1);
      ++taken;
    }
  }
  return undefined;
}

const value_bytes_max = 256;  // of a value that a continuation has whole

/// What is wrong with a listing (randomListing) while items were written. `items`: all that were there at any time;
/// `changed`: the ids of those that were not there throughout, which may be missing. The client limits
/// continuations to 1 KiB, so of values of more than 256 bytes they have the beginning only: where the last row is gone,
/// the rows that begin alike are repeated.
export function findFaultInListing(query, items, changed, answer) {
  const matching = items.filter((c) => !query.where || value(query.where, { c }) === true);
  const all = new Map(matching.map((item) => [item.id, item]));
  const missing = new Map(all);
  const textOf = (item) => String(keysOf(query, { c: item })[0] ?? '');
  const beginnings = new Set(matching.map(textOf).filter((text) => text.length > value_bytes_max).map((text) => text.slice(0, value_bytes_max)));
  let before;
  for (const [i, row] of answer.entries()) {
    const item = all.get(row.id);
    const mayRepeat = item && beginnings.has(textOf(item).slice(0, value_bytes_max));
    if (!(mayRepeat || missing.has(row.id)) || canonical(item) !== canonical(row)) return `row ${i} does not match or comes twice: ${canonical(row).slice(0, 200)}`;
    missing.delete(row.id);
    if (mayRepeat) continue;
    const keys = keysOf(query, { c: item });
    if (before && compareKeys(query, before, keys) > 0) return `row ${i} is out of order: ${canonical(row).slice(0, 200)}`;
    before = keys;
  }
  const lost = [...missing.keys()].filter((id) => !changed.has(id));
  return lost.length > 0 ? `lost: ${lost.join(', ').slice(0, 200)}` : undefined;
}
