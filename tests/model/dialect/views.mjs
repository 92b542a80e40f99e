// Views: every row is computed again for each query, sorted and filtered; reduces run over what is left.
import { compareValues } from './collation.mjs';
import { compareBytes } from './database.mjs';
import { isDesign } from './document_parser.mjs';
import { render } from './document_reader.mjs';
import { designOf, mapDocument } from './functions.mjs';
import { Accepted } from './opaque.mjs';
import { badRequest, notFound, queryParseError, Reply } from './reply.mjs';
import { booleanOf, countOf, isObject, parseJson } from './request.mjs';

const FLAGS = ['inclusive_end', 'descending', 'include_docs', 'conflicts', 'reduce', 'group'];
const COUNTS = ['limit', 'skip', 'group_level'];
const VALUES = { startkey: 'start', endkey: 'end', key: 'key', keys: 'keys' };
const TEXTS = { startkey_docid: 'startId', endkey_docid: 'endId' };

function readQuery(entries, json, base = {}) {
  const query = { ...base };
  for (const [name, content] of entries) {
    if (FLAGS.includes(name)) query[name] = booleanOf(content);
    else if (COUNTS.includes(name)) query[name] = countOf(content);
    else if (VALUES[name]) query[VALUES[name]] = json ? content : parseJson(content);
    else if (TEXTS[name]) query[TEXTS[name]] = content;
  }
  if ('key' in query) query.start = query.end = query.key;
  return query;
}

const order = (a, b) => compareValues(a.key, b.key) || compareBytes(a.id, b.id) || a.n - b.n;

function rowsOf(database, source, partition) {
  const rows = [];
  for (const { id, tree } of database.sorted()) {
    const winner = tree.winner();
    if (isDesign(id) || winner.deleted) continue;
    if (partition !== undefined && database.partitionOf(id) !== partition) continue;
    mapDocument(source, { _id: id, _rev: winner.rev, ...winner.body }).forEach(([key, value], n) => {
      rows.push({ id, key, value, n });
    });
  }
  return rows.sort(order);
}

/// The rows in the range, in the order asked for, and how many come before them.
function selectRange(rows, query) {
  const { descending = false, inclusive_end: inclusive = true } = query;
  const ordered = descending ? [...rows].reverse() : rows;
  const sign = descending ? -1 : 1;
  const side = (row, key, id) => sign * (compareValues(row.key, key) || (id === undefined ? 0 : compareBytes(row.id, id)));
  const before = 'start' in query ? ordered.findIndex((row) => side(row, query.start, query.startId) >= 0) : 0;
  if (before < 0) return { before: ordered.length, chosen: [] };
  const chosen = ordered.slice(before).filter((row) => {
    if (!('end' in query)) return true;
    const at = side(row, query.end, query.endId);
    return at < 0 || (at === 0 && inclusive);
  });
  return { before, chosen };
}

const REDUCES = {
  _count: (rows) => rows.length,
  _sum: (rows) => rows.reduce((total, { value }) => total + value, 0),
  _stats: (rows) => {
    const values = rows.map(({ value }) => value);
    const total = (list) => list.reduce((a, b) => a + b, 0);
    const [min, max] = [Math.min(...values), Math.max(...values)];
    return { sum: total(values), count: values.length, min, max, sumsqr: total(values.map((value) => value * value)) };
  },
};

function groupKey(key, { group, group_level: level }) {
  if (group === true && level === undefined) return key;
  if (!level) return null;
  return Array.isArray(key) ? key.slice(0, level) : key;
}

function reduced(rows, reduce, query) {
  const groups = [];
  for (const row of rows) {
    const key = groupKey(row.key, query);
    const last = groups.at(-1);
    if (last && compareValues(last.key, key) === 0) last.rows.push(row);
    else groups.push({ key, rows: [row] });
  }
  return groups.map(({ key, rows: within }) => ({ key, value: REDUCES[reduce](within) }));
}

function documentOf(database, row, query) {
  const winner = database.winner(row.id);
  return !winner || winner.deleted ? null : render(database, row.id, winner, { conflicts: query.conflicts });
}

function checkDirection({ start, end, keys, descending = false, ...query }) {
  if (keys || 'key' in query || start === undefined || end === undefined) return;
  const order = compareValues(start, end);
  if (descending ? order >= 0 : order <= 0) return;
  throw queryParseError('No rows can match your key range, reverse your start_key and end_key or set ' +
    `descending=${!descending}`);
}

class View {
  constructor(database, id, name, partition) {
    this.database = database;
    this.partition = partition;
    const design = designOf(database, id);
    this.view = (design.language ?? 'javascript') === 'javascript' && isObject(design.views) ? design.views[name] : undefined;
    if (!this.view) throw notFound('missing_named_view');
    this.ownPartitions = database.partitioned && design.options?.partitioned !== false;
  }

  /// Whether a query of it may be asked there.
  checkPlace() {
    const { ownPartitions, partition } = this;
    if (ownPartitions && partition === undefined)
      throw queryParseError('`partition` parameter is mandatory for queries to this view.');
    if (!ownPartitions && partition !== undefined)
      throw queryParseError('`partition` parameter is not supported in this design doc');
  }

  run(query) {
    const reduces = this.view.reduce !== undefined && query.reduce !== false;
    if (query.reduce === true && this.view.reduce === undefined) throw queryParseError('Reduce is invalid for map-only views.');
    if (!reduces && (query.group === true || query.group_level)) {
      throw queryParseError('Invalid use of grouping on a map view.');
    }
    if (reduces && query.include_docs) throw queryParseError('`include_docs` is invalid for reduce');
    if (reduces && query.keys && !query.group && !query.group_level) {
      throw queryParseError('Multi-key fetchs for reduce views must use `group=true`');
    }
    checkDirection(query);
    const { skip = 0, limit = Infinity } = query;
    const all = rowsOf(this.database, this.view.map, this.partition);
    if (query.keys) {
      const found = query.keys.flatMap((key) => {
        const { chosen } = selectRange(all, { ...query, start: key, end: key });
        return reduces ? reduced(chosen, this.view.reduce, query) : chosen;
      });
      return this.#list(found.slice(skip, skip + limit), reduces, query, all, new Accepted(() => true));
    }
    const { before, chosen } = selectRange(all, query);
    const found = reduces ? reduced(chosen, this.view.reduce, query) : chosen;
    const offset = Math.min(before + skip, all.length);
    return this.#list(found.slice(skip, skip + limit), reduces, query, all,
      found.length > skip && limit > 0 ? offset : new Accepted(() => true));
  }

  #list(found, reduces, query, all, offset) {
    if (reduces) return { rows: found };
    const rows = found.map((row) => {
      const shown = { id: row.id, key: row.key, value: row.value };
      return query.include_docs ? { ...shown, doc: documentOf(this.database, row, query) } : shown;
    });
    return { total_rows: all.length, offset, rows };
  }
}

export function queryView({ request, database, design, view, partition }) {
  const asked = new View(database, design, view, partition);
  asked.checkPlace();
  const fromUrl = readQuery(request.query, false);
  const query = request.method === 'POST' ? readQuery(Object.entries(request.jsonObject()), true, fromUrl) : fromUrl;
  return new Reply(200, asked.run(query));
}

export function queryViewTogether({ request, database, design, view, partition }) {
  const asked = new View(database, design, view, partition);
  const { queries } = request.jsonObject();
  if (queries?.length !== 0) asked.checkPlace();
  const base = readQuery(request.query, false);
  if (!Array.isArray(queries)) throw badRequest('`queries` parameter must be an array.');
  return new Reply(200, { results: queries.map((query) => asked.run(readQuery(Object.entries(query), true, base))) });
}
