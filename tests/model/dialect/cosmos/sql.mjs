// A part of Azure Cosmos DB's SQL, read by recursive descent and evaluated item by item:
//
//   query     := SELECT [DISTINCT] [TOP n] what FROM name [WHERE or] [ORDER BY path [ASC | DESC]] [OFFSET n LIMIT n]
//   what      := * | VALUE COUNT(1) | VALUE path | path {, path}
//   or        := and {OR and};  and := factor {AND factor}
//   factor    := NOT ( or ) | ( or ) | operand [(= | != | < | <= | > | >=) operand | IN ( list ) | BETWEEN a AND b]
//   operand   := path | literal | @parameter | function ( operand {, operand} )
//   condition := FROM name WHERE or
import { compareValues, typeOf } from './order.mjs';
import { badRequest } from './reply.mjs';

const TOKEN =
  /\s*(?:([A-Za-z_]\w*)|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|("(?:[^"\\]|\\.)*")|(@\w+)|(<=|>=|!=|[()[\],.*=<>]))/y;
const WORDS = new Set(
  'SELECT DISTINCT TOP VALUE FROM WHERE AND OR NOT IN BETWEEN ORDER BY ASC DESC OFFSET LIMIT'.split(' '),
);
const LITERALS = { true: true, false: false, null: null };

const FUNCTIONS = {
  IS_DEFINED: (value) => value !== undefined,
  IS_NULL: (value) => value === null,
  IS_NUMBER: (value) => typeof value === 'number',
  IS_STRING: (value) => typeof value === 'string',
  IS_ARRAY: (value) => Array.isArray(value),
  STARTSWITH: (text, start) => ofStrings(text, start, () => text.startsWith(start)),
  CONTAINS: (text, part) => ofStrings(text, part, () => text.includes(part)),
  ARRAY_LENGTH: (list) => (Array.isArray(list) ? list.length : undefined),
  ARRAY_CONTAINS(list, value) {
    if (list === undefined || (Array.isArray(list) && value === undefined)) return undefined;
    return Array.isArray(list) && list.some((element) => equal(element, value));
  },
};
const ofStrings = (a, b, holds) => (typeof a === 'string' && typeof b === 'string' ? holds() : undefined);

const canonical = (value) =>
  JSON.stringify(value, (_, inner) =>
    typeOf(inner) === 'object' ? Object.fromEntries(Object.entries(inner).sort()) : inner,
  );
const equal = (a, b) => typeOf(a) === typeOf(b) && canonical(a) === canonical(b);
const isScalar = (value) => ['null', 'boolean', 'number', 'string'].includes(typeOf(value));

/// undefined where there is nothing to compare.
function compare(operator, a, b) {
  if (a === undefined || b === undefined) return undefined;
  if (operator === '=') return equal(a, b);
  if (operator === '!=') return !equal(a, b);
  if (typeOf(a) !== typeOf(b) || !isScalar(a)) return undefined;
  const order = compareValues(a, b);
  return { '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 }[operator];
}

const both = (a, b) => (a === false || b === false ? false : a === true && b === true ? true : undefined);
const either = (a, b) => (a === true || b === true ? true : a === false && b === false ? false : undefined);

class Reader {
  #tokens = [];
  #at = 0;
  /// `facts`: the computed properties and the functions that the text may name.
  constructor(text, parameters = [], { container, scripts } = {}) {
    this.computed = container?.computed ?? new Map();
    this.functions = scripts?.udfs ?? new Map();
    this.parameters = new Map(parameters.map(({ name, value }) => [name, value]));
    TOKEN.lastIndex = 0;
    let end = 0;
    for (let found; (found = TOKEN.exec(text)); end = TOKEN.lastIndex) this.#tokens.push(tokenOf(found));
    if (text.slice(end).trim() !== '') throw badRequest();
  }

  take(kind, value) {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind || (value !== undefined && token.value !== value)) return undefined;
    ++this.#at;
    return token;
  }
  must(kind, value) {
    const token = this.take(kind, value);
    if (!token) throw badRequest();
    return token.value;
  }
  end() {
    if (this.#at < this.#tokens.length) throw badRequest();
  }

  count() {
    const value = this.must('literal');
    if (!Number.isInteger(value) || value < 0) throw badRequest();
    return value;
  }

  query() {
    this.must('word', 'SELECT');
    const query = { distinct: Boolean(this.take('word', 'DISTINCT')), offset: 0, limit: Infinity };
    if (this.take('word', 'TOP')) query.limit = this.count();
    // The name of the items comes later.
    const start = this.#at;
    while (!this.take('word', 'FROM')) if (this.#at++ >= this.#tokens.length) throw badRequest();
    this.alias = this.must('name');
    const from = this.#at;
    this.#at = start;
    query.what = this.what();
    this.must('word', 'FROM');
    this.#at = from;
    query.where = this.take('word', 'WHERE') ? this.or() : () => true;
    if (this.take('word', 'ORDER')) {
      this.must('word', 'BY');
      query.order = this.path();
      query.descending = Boolean(this.take('word', 'DESC'));
      if (!query.descending) this.take('word', 'ASC');
    }
    if (this.take('word', 'OFFSET')) {
      query.offset = this.count();
      this.must('word', 'LIMIT');
      query.limit = this.count();
    }
    this.end();
    return query;
  }

  what() {
    if (this.take('sign', '*')) return { row: (item) => item };
    if (!this.take('word', 'VALUE')) {
      const columns = [];
      do {
        const read = this.path();
        columns.push([read.last, read]);
      } while (this.take('sign', ','));
      if (columns.some(([name]) => typeof name !== 'string')) throw badRequest();
      return {
        row: (item) =>
          Object.fromEntries(
            columns.map(([name, read]) => [name, read(item)]).filter(([, value]) => value !== undefined),
          ),
      };
    }
    const token = this.#tokens[this.#at];
    if (token?.kind === 'name' && token.value === 'udf') return { row: this.operand() };
    if (token?.kind !== 'name' || token.value !== 'COUNT') return { row: this.path() };
    for (const [kind, value] of [
      ['name', 'COUNT'],
      ['sign', '('],
      ['literal', 1],
      ['sign', ')'],
    ])
      this.must(kind, value);
    return { counts: true };
  }

  /// Reads the query of a computed property.
  expression() {
    this.must('word', 'SELECT');
    this.must('word', 'VALUE');
    this.alias = 'c';
    const value = this.operand();
    this.must('word', 'FROM');
    this.must('name', this.alias);
    this.end();
    return value;
  }

  condition() {
    this.must('word', 'FROM');
    this.alias = this.must('name');
    this.must('word', 'WHERE');
    const holds = this.or();
    this.end();
    return holds;
  }

  or() {
    let left = this.and();
    while (this.take('word', 'OR')) left = joined(either, left, this.and());
    return left;
  }
  and() {
    let left = this.factor();
    while (this.take('word', 'AND')) left = joined(both, left, this.factor());
    return left;
  }
  factor() {
    const negated = this.take('word', 'NOT');
    if (negated || this.#tokens[this.#at]?.value === '(') {
      this.must('sign', '(');
      const inner = this.or();
      this.must('sign', ')');
      return negated ? (item) => (typeof inner(item) === 'boolean' ? !inner(item) : undefined) : inner;
    }
    const left = this.operand();
    for (const operator of ['=', '!=', '<', '<=', '>', '>=']) {
      if (!this.take('sign', operator)) continue;
      const right = this.operand();
      return (item) => compare(operator, left(item), right(item));
    }
    if (this.take('word', 'BETWEEN')) {
      const low = this.operand();
      this.must('word', 'AND');
      const high = this.operand();
      return (item) => both(compare('>=', left(item), low(item)), compare('<=', left(item), high(item)));
    }
    if (this.take('word', 'IN')) {
      const list = this.arguments();
      return (item) => list.map((one) => compare('=', left(item), one(item))).reduce(either);
    }
    return left;
  }
  arguments() {
    this.must('sign', '(');
    const list = [];
    do list.push(this.operand());
    while (this.take('sign', ','));
    this.must('sign', ')');
    return list;
  }
  operand() {
    const literal = this.take('literal');
    if (literal) return () => literal.value;
    const parameter = this.take('parameter');
    if (parameter) {
      if (!this.parameters.has(parameter.value)) throw badRequest();
      return () => this.parameters.get(parameter.value);
    }
    const token = this.#tokens[this.#at];
    if (this.take('name', 'udf')) {
      this.must('sign', '.');
      const called = this.functions.get(this.must('name'));
      if (!called) throw badRequest();
      const list = this.arguments();
      return (item) => called.call(...list.map((one) => one(item)));
    }
    if (token?.kind === 'name' && Object.hasOwn(FUNCTIONS, token.value)) {
      ++this.#at;
      const list = this.arguments();
      const call = FUNCTIONS[token.value];
      if (list.length !== call.length) throw badRequest();
      return (item) => call(...list.map((one) => one(item)));
    }
    return this.path();
  }
  path() {
    if (this.must('name') !== this.alias) throw badRequest();
    const steps = [];
    for (;;) {
      if (this.take('sign', '.')) steps.push(this.must('name'));
      else if (this.take('sign', '[')) {
        steps.push(this.must('literal'));
        this.must('sign', ']');
      } else break;
    }
    const computed = this.computed.get(steps[0]);
    const read = computed ? (item) => steps.slice(1).reduce(step, computed(item)) : (item) => steps.reduce(step, item);
    return Object.assign(read, { last: steps.at(-1) });
  }
}

function step(value, part) {
  if (typeof part === 'number') return Array.isArray(value) ? value[part] : undefined;
  return typeOf(value) === 'object' && Object.hasOwn(value, part) ? value[part] : undefined;
}

const joined = (join, left, right) => (item) => join(logical(left(item)), logical(right(item)));
const logical = (value) => (typeof value === 'boolean' ? value : undefined);

function tokenOf([, name, number, text, parameter, sign]) {
  if (name !== undefined) {
    if (Object.hasOwn(LITERALS, name)) return { kind: 'literal', value: LITERALS[name] };
    return { kind: WORDS.has(name) ? 'word' : 'name', value: name };
  }
  if (number !== undefined) return { kind: 'literal', value: Number(number) };
  if (text !== undefined) return { kind: 'literal', value: JSON.parse(text) };
  return parameter !== undefined ? { kind: 'parameter', value: parameter } : { kind: 'sign', value: sign };
}

/// `database`: the container, for what it has computed and which functions it knows.
export const parseQuery = (text, parameters, database) => new Reader(text, parameters, database).query();
export const parseCondition = (text, database) => new Reader(text, [], database).condition();
export const parseExpression = (text) => new Reader(text).expression();
export const meetsCondition = (condition, item) => condition(item) === true;

/// { rows: [{ key, value }] in the query's order, total: how many of them it lets through }.
export function resultsOf({ what, where, order, descending, distinct, offset, limit }, items) {
  const matching = items.filter((item) => where(item) === true);
  if (what.counts) return { rows: [{ value: matching.length }], total: 1 };
  let rows = matching.map((item) => ({ key: order?.(item), value: what.row(item) }));
  rows = rows.filter(({ value }) => value !== undefined);
  if (distinct) rows = rows.filter(({ value }, i) => rows.findIndex((other) => equal(other.value, value)) === i);
  if (order) rows.sort((a, b) => (descending ? compareValues(b.key, a.key) : compareValues(a.key, b.key)));
  return { rows, total: Math.max(0, Math.min(limit, rows.length - offset)) };
}
