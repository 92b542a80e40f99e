// Random queries as trees, and their texts. evaluate.mjs has what they mean.
import { valueOf } from './items.mjs';

/// `clean`: each item has it, all of one type, which is a condition of clients that merge by it.
const properties = {
  num: { type: 'number', clean: true }, wide: { type: 'number', clean: true }, str: { type: 'string', clean: true },
  long: { type: 'string', clean: true }, pk: { type: 'string', clean: true }, id: { type: 'string', clean: true },
  opt: { type: 'number' }, mix: { type: 'mixed' }, tags: { type: 'array' }, 'in': { type: 'object' },
};
const sortable = ['num', 'wide', 'str', 'long', 'pk', 'id', 'opt', 'mix'];

const path = (root, ...names) => ({ kind: 'path', root, names });
const constant = (value) => ({ kind: 'constant', value });
const itemPath = (name) => path('c', name);

function randomPath(random) {
  if (random.chance(0.15)) return path('c', 'in', random.pick(['x', 'y', 'z']));
  return itemPath(random.pick(Object.keys(properties)));
}

function constantFor(random, { names }) {
  const name = names.length > 1 ? { x: 'num', y: 'str', z: 'num' }[names[1]] : names[0];
  if (name === 'id') return constant(`i${random.below(60)}`);
  if (name === 'pk') return constant(`k${random.below(12)}`);
  if (name === 'tags') return constant(random.between(0, 3));
  const value = valueOf(random, random.chance(0.9) ? name : 'mix');
  return constant(value === undefined ? null : value);
}

function randomCondition(random, depth = 0) {
  if (depth < 2 && random.chance(0.35)) {
    const kind = random.pick(['and', 'or', 'not']);
    const operands = random.times(kind === 'not' ? 1 : random.between(2, 3), () => randomCondition(random, depth + 1));
    return { kind, operands };
  }
  const operand = randomPath(random);
  switch (random.weighted({ compare: 6, in: 2, between: 1, type: 2, prefix: 1, contains: 1, elements: 1, exists: 1, any: 1 })) {
    case 'compare': return { kind: 'compare', op: random.pick(['=', '!=', '<', '<=', '>', '>=']), operands: [operand, constantFor(random, operand)] };
    case 'in': return { kind: 'in', operands: [operand, ...random.times(random.between(1, 4), () => constantFor(random, operand))] };
    case 'between': return { kind: 'between', operands: [operand, constantFor(random, operand), constantFor(random, operand)] };
    case 'type': return { kind: 'call', name: random.pick(['IS_DEFINED', 'IS_NUMBER', 'IS_STRING', 'IS_NULL', 'IS_BOOL', 'IS_ARRAY', 'IS_OBJECT']), operands: [operand] };
    case 'prefix': return { kind: 'call', name: 'STARTSWITH', operands: [itemPath(random.pick(['str', 'long', 'id', 'mix'])), constant(random.pick(['a', 'x', 'i1', '']))] };
    case 'contains': return { kind: 'call', name: 'CONTAINS', operands: [itemPath(random.pick(['str', 'id', 'mix'])), constant(random.pick(['b', '1', '']))] };
    case 'elements': return { kind: 'call', name: 'ARRAY_CONTAINS', operands: [itemPath('tags'), constant(random.pick([0, 1, 2, 'a', '']))] };
    case 'exists': return { kind: 'exists', array: itemPath('tags'), where: { kind: 'compare', op: random.pick(['=', '>', '<']), operands: [path('e'), constant(random.pick([0, 1, 2, 'a']))] } };
    default: return constant(true);
  }
}

function randomItem(random, joins) {
  if (joins && random.chance(0.5)) return path('t');
  switch (random.weighted({ path: 8, sum: 1, array: 1, call: 1 })) {
    case 'sum': return { kind: 'sum', operands: [itemPath(random.pick(['num', 'opt', 'mix'])), constant(1)] };
    case 'array': return { kind: 'array', operands: [randomPath(random), randomPath(random)] };
    case 'call': return { kind: 'call', name: random.pick(['LOWER', 'LENGTH']), operands: [itemPath(random.pick(['str', 'mix']))] };
    default: return randomPath(random);
  }
}

const aggregates = ['COUNT', 'SUM', 'MIN', 'MAX', 'AVG'];
const randomAggregate = (random) => {
  const name = random.pick(aggregates);
  return { kind: 'aggregate', name, operands: [name === 'COUNT' && random.chance(0.6) ? constant(1) : itemPath(random.pick(['num', 'wide', 'opt']))] };
};

const named = (items) => items.map((value, i) => ({ name: `f${i}`, value }));

function addCounts(random, query) {
  if (random.chance(0.75)) return;
  if (random.chance(0.5)) query.top = random.between(0, 40);
  else Object.assign(query, { offset: random.between(0, 15), limit: random.between(0, 30) });
}

// A query of the rows of a subquery in FROM, which have some properties of the items: `from` is { names, distinct, where }.
function randomQueryOfRows(random) {
  const distinct = random.chance(0.5);
  const candidates = distinct ? ['num', 'str', 'opt', 'mix', 'pk'] : Object.keys(properties).filter((name) => name !== 'in');
  const names = random.sample(candidates, random.between(1, distinct ? 2 : 4));
  const query = { select: 'list', items: named(names.map(itemPath)), groupBy: [], orderBy: [] };
  query.from = { names, distinct, where: random.chance(0.5) ? randomCondition(random) : undefined };
  if (random.chance(0.3)) {
    const operand = itemPath(random.pick(names));
    query.where = { kind: 'compare', op: random.pick(['=', '!=', '<', '>=']), operands: [operand, constantFor(random, operand)] };
  }
  if (random.chance(0.4)) {
    query.select = 'value';
    query.items = named([{ kind: 'aggregate', name: 'COUNT', operands: [constant(1)] }]);
    return query;
  }
  if (random.chance(0.2)) query.select = 'star';
  if (random.chance(0.4)) query.orderBy = [{ value: itemPath(random.pick(names.filter((name) => sortable.includes(name)).concat('num'))), descending: random.chance(0.4) }];
  addCounts(random, query);
  return query;
}

/// A query whose rows can be told apart by their ids, for items that are written meanwhile.
export function randomListing(random) {
  const query = { select: 'star', items: [], groupBy: [], orderBy: [] };
  if (random.chance(0.6)) query.where = randomCondition(random);
  if (random.chance(0.7)) query.orderBy = [{ value: itemPath(random.pick(sortable)), descending: random.chance(0.4) }];
  return query;
}

/// { from, distinct, top, select: 'star' | 'value' | 'list', items, join, where, groupBy, orderBy, offset, limit }
export function randomQuery(random) {
  return random.chance(0.08) ? randomQueryOfRows(random) : randomQueryOfItems(random);
}

function randomQueryOfItems(random) {
  const query = { select: 'star', items: [], groupBy: [], orderBy: [] };
  if (random.chance(0.7)) query.where = randomCondition(random);
  const shape = random.weighted({ plain: 4, ordered: 6, distinct: 2, grouped: 2, aggregate: 1 });
  query.join = random.chance(shape === 'plain' || shape === 'ordered' ? 0.2 : 0.1);
  if (shape === 'grouped') {
    const keys = random.sample(['num', 'str', 'opt', 'mix', 'long', 'pk'], random.between(1, 2)).map(itemPath);
    query.groupBy = keys;
    query.select = 'list';
    query.items = named([...keys, ...random.times(random.between(0, 2), () => randomAggregate(random))]);
    return query;
  }
  if (shape === 'aggregate') {
    query.select = random.chance(0.5) ? 'value' : 'list';
    query.items = named(random.times(query.select === 'value' ? 1 : random.between(1, 3), () => randomAggregate(random)));
    return query;
  }
  query.select = query.join || shape === 'distinct' ? random.pick(['value', 'list']) : random.weighted({ star: 1, value: 2, list: 3 });
  if (query.select !== 'star') query.items = named(random.times(query.select === 'value' ? 1 : random.between(1, 3), () => randomItem(random, query.join)));
  query.distinct = shape === 'distinct';
  if (shape === 'ordered' || (query.distinct && random.chance(0.6))) {
    query.orderBy = random.sample(sortable, random.chance(0.8) ? 1 : 2).map((name) => ({ value: itemPath(name), descending: random.chance(0.4) }));
    // What clients merge in order is what they are ordered by.
    if (query.distinct && random.chance(0.7)) query.items = named([query.orderBy[0].value]);
  }
  addCounts(random, query);
  return query;
}

/// What of a query decides whether clients can merge it.
export const traitsOf = (query) => ({
  grouped: query.groupBy.length > 0 || query.items.some(({ value }) => value.kind === 'aggregate'),
  orderIsClean: query.orderBy.every(({ value }) => properties[value.names[0]].clean),
  orderIsUndefined: query.from !== undefined && query.orderBy.some(({ value }) => !query.from.names.includes(value.names[0])),
});

const step = (name) => (name === 'in' ? '["in"]' : `.${name}`);

function write(node, parameters) {
  const textOf = (operand) => write(operand, parameters);
  const all = (joint) => node.operands.map(textOf).join(joint);
  switch (node.kind) {
    case 'path': return node.root + node.names.map(step).join('');
    case 'constant':
      if (!parameters) return JSON.stringify(node.value);
      parameters.push({ name: `@p${parameters.length}`, value: node.value });
      return parameters.at(-1).name;
    case 'and': return `(${all(' AND ')})`;
    case 'or': return `(${all(' OR ')})`;
    case 'not': return `NOT (${textOf(node.operands[0])})`;
    case 'compare': return all(` ${node.op} `);
    case 'in': return `${textOf(node.operands[0])} IN (${node.operands.slice(1).map(textOf).join(', ')})`;
    case 'between': return `(${textOf(node.operands[0])} BETWEEN ${textOf(node.operands[1])} AND ${textOf(node.operands[2])})`;
    case 'exists': return `EXISTS(SELECT VALUE e FROM e IN ${textOf(node.array)} WHERE ${textOf(node.where)})`;
    case 'sum': return all(' + ');
    case 'array': return `[${all(', ')}]`;
    default: return `${node.name}(${all(', ')})`;
  }
}

/// `parameters`: takes the constants of the query, if given.
export function textOfQuery(query, parameters) {
  const textOf = (node) => write(node, parameters);
  const parts = ['SELECT'];
  if (query.distinct) parts.push('DISTINCT');
  if (query.top !== undefined) parts.push(`TOP ${query.top}`);
  if (query.select === 'star') parts.push('*');
  else if (query.select === 'value') parts.push('VALUE', textOf(query.items[0].value));
  else parts.push(query.items.map(({ name, value }) => `${textOf(value)} AS ${name}`).join(', '));
  if (query.from) {
    const { names, distinct, where } = query.from;
    const inner = ['SELECT', ...(distinct ? ['DISTINCT'] : []), names.map((name) => `c.${name}`).join(', '), 'FROM c', ...(where ? ['WHERE', textOf(where)] : [])];
    parts.push(`FROM (${inner.join(' ')}) c`);
  } else {
    parts.push('FROM c');
  }
  if (query.join) parts.push('JOIN t IN c.tags');
  if (query.where) parts.push('WHERE', textOf(query.where));
  if (query.groupBy.length) parts.push('GROUP BY', query.groupBy.map(textOf).join(', '));
  if (query.orderBy.length) parts.push('ORDER BY', query.orderBy.map(({ value, descending }) => textOf(value) + (descending ? ' DESC' : '')).join(', '));
  if (query.offset !== undefined) parts.push(`OFFSET ${query.offset} LIMIT ${query.limit}`);
  return parts.join(' ');
}
