// Search by whole words (analyzer keyword): terms, ranges, and what AND, OR and NOT make of them. Every document is looked
// at again for each query. Only queries whose brackets say all are understood.
import { compareBytes } from './database.mjs';
import { isDesign } from './document_parser.mjs';
import { designOf, indexDocument } from './functions.mjs';
import { Accepted, Judged } from './opaque.mjs';
import { badRequest, notFound, Reply } from './reply.mjs';
import { isObject } from './request.mjs';

const DEFAULT_LIMIT = 25;

/// Thrown at what the model does not understand.
class Strange extends Error {}

/// query := *:* | field:"word" | field:number | field:[end TO end] | (query AND query) | (query OR query) | (*:* NOT query)
class QueryReader {
  constructor(text) {
    this.text = text;
  }
  #take(pattern) {
    const found = new RegExp(`^(?:${pattern})`).exec(this.text)?.[0];
    if (found !== undefined) this.text = this.text.slice(found.length);
    return found;
  }
  #must(pattern) {
    const found = this.#take(pattern);
    if (found === undefined) throw new Strange();
    return found;
  }
  whole() {
    const query = this.read();
    if (this.text !== '') throw new Strange();
    return query;
  }
  /// A function that tells of a document's fields whether the query finds it.
  read() {
    if (this.#take('\\(\\*:\\* NOT ')) return this.#inBrackets((query) => (fields) => !query(fields));
    if (this.#take('\\(')) {
      const left = this.read();
      const conjunction = this.#must(' AND | OR ');
      const both = (right) => (fields) => left(fields) && right(fields);
      const either = (right) => (fields) => left(fields) || right(fields);
      return this.#inBrackets(conjunction === ' AND ' ? both : either);
    }
    if (this.#take('\\*:\\*')) return () => true;
    const field = this.#must('\\w+:').slice(0, -1);
    const matches = this.#condition();
    return (fields) => fields.some(([name, value]) => name === field && matches(value));
  }
  #inBrackets(combine) {
    const query = this.read();
    this.#must('\\)');
    return combine(query);
  }
  #condition() {
    const word = this.#take('"(?:[^"\\\\]|\\\\.)*"');
    if (word !== undefined) return (value) => value === unescaped(word);
    const bracket = this.#take('[[{]');
    if (bracket === undefined) {
      const number = Number(this.#must('[^ )]+'));
      return (value) => value === number;
    }
    const low = this.#end();
    this.#must(' TO ');
    const high = this.#end();
    const including = { low: bracket === '[', high: this.#must('[\\]}]') === ']' };
    const above = (order) => order > 0 || (including.low && order === 0);
    const below = (order) => order < 0 || (including.high && order === 0);
    return (value) => {
      const ends = [low, high].filter((end) => end !== undefined);
      if (ends.some((end) => typeof end !== typeof value)) return false;
      const order = (end) => (typeof value === 'number' ? value - end : compareBytes(value, end));
      return (low === undefined || above(order(low))) && (high === undefined || below(order(high)));
    };
  }
  // Lucene puts the ends of ranges in small letters, whatever the analyzer does.
  #end() {
    const word = this.#take('"(?:[^"\\\\]|\\\\.)*"');
    if (word !== undefined) return unescaped(word).toLowerCase();
    const plain = this.#must('[^ \\]}]+');
    return plain === '*' ? undefined : Number(plain);
  }
}
const unescaped = (word) => word.slice(1, -1).replace(/\\(.)/gs, '$1');

function sourceOf(database, id, name, partition) {
  const design = designOf(database, id);
  const ours = (design.language ?? 'javascript') === 'javascript' && isObject(design.indexes);
  const index = ours ? design.indexes[name] : undefined;
  if (!index) throw notFound(`${name} not found.`);
  const ownPartitions = database.partitioned && design.options?.partitioned !== false;
  if (!ownPartitions && partition !== undefined) throw badRequest('`partition` not supported on this index');
  if (ownPartitions && partition === undefined) {
    throw badRequest('`partition` parameter is mandatory for queries to this index.');
  }
  if ((index.analyzer?.name ?? index.analyzer) !== 'keyword') throw new Strange();
  return index.index;
}

function* indexed(database, source, partition) {
  for (const { id, tree } of database.sorted()) {
    const winner = tree.winner();
    if (isDesign(id) || winner.deleted) continue;
    if (partition !== undefined && database.partitionOf(id) !== partition) continue;
    const fields = indexDocument(source, { _id: id, _rev: winner.rev, ...winner.body });
    if (fields.length > 0) yield { id, fields };
  }
}

/// Stored values as a hit shows them: several of one name are a list.
function stored(fields) {
  const shown = {};
  for (const [name, value] of fields) {
    if (!(name in shown)) shown[name] = value;
    else shown[name] = [...(Array.isArray(shown[name]) ? shown[name] : [shown[name]]), value];
  }
  return shown;
}

const bySort = (field, descending) => (a, b) => {
  const [x, y] = [a, b].map(({ fields }) => fields.find(([name]) => name === field)?.[1] ?? -Infinity);
  return (descending ? -1 : 1) * (x < y ? -1 : x > y ? 1 : 0);
};

// Hits that sort alike come in any order.
function judge(rows, found, limit, sort) {
  if (!Array.isArray(rows)) return 'no rows';
  if (rows.length !== Math.min(limit, found.length)) return `${rows.length} of ${found.length} rows with limit ${limit}`;
  if (new Set(rows.map(({ id }) => id)).size !== rows.length) return 'a document is found twice';
  for (const { id, fields } of rows) {
    const document = found.find((one) => one.id === id);
    if (!document) return `${id} is no hit`;
    const [expected, actual] = [stored(document.fields), fields].map((one) => JSON.stringify(Object.entries(one).sort()));
    if (expected !== actual) return `${id}: expected the fields ${expected}, got ${actual}`;
  }
  if (!sort) return undefined;
  const [, sign, field] = /^"(-?)(\w+)/.exec(sort);
  const order = bySort(field, sign === '-');
  const place = (one) => found.find(({ id }) => id === one.id);
  const ideal = [...found].sort(order);
  const wrong = rows.findIndex((row, i) => order(place(row), ideal[i]) !== 0);
  return wrong < 0 ? undefined : `row ${wrong} is ${rows[wrong].id}, in the order of ${sort} another one comes`;
}

export function querySearch({ request, database, design, index, partition }) {
  const parameters = request.method === 'POST' ? request.jsonObject() : Object.fromEntries(request.query);
  let source;
  let matches;
  try {
    source = sourceOf(database, design, index, partition);
    matches = new QueryReader(parameters.q).whole();
  } catch (error) {
    // Only what was made shorter, to show a difference, comes here.
    if (error instanceof Strange) return new Reply(new Judged(() => undefined), new Judged(() => undefined));
    throw error;
  }
  const limit = Number(parameters.limit ?? DEFAULT_LIMIT);
  const sort = request.method === 'POST' && parameters.sort ? JSON.stringify(parameters.sort) : parameters.sort;
  const found = [...indexed(database, source, partition)].filter(({ fields }) => matches(fields));
  return new Reply(200, {
    total_rows: found.length,
    bookmark: new Accepted((value) => typeof value === 'string' || 'expected a bookmark'),
    rows: new Judged((rows) => judge(rows, found, limit, sort)),
  });
}
