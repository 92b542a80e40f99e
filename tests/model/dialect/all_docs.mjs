// Lists of documents by id: _all_docs, _design_docs, _local_docs, a partition's, and `queries` of each.
import { compareBytes } from './database.mjs';
import { isDesign, isLocal } from './document_parser.mjs';
import { render } from './document_reader.mjs';
import { Accepted, Sequence } from './opaque.mjs';
import { badRequest, queryParseError, Reply } from './reply.mjs';
import { booleanOf, countOf, isObject, parseJson } from './request.mjs';

const READERS = {
  inclusive_end: booleanOf,
  descending: booleanOf,
  include_docs: booleanOf,
  conflicts: booleanOf,
  update_seq: booleanOf,
  limit: countOf,
  skip: countOf,
};
const KEY_NAMES = { startkey: 'start', start_key: 'start', endkey: 'end', end_key: 'end' };

/// Adds the parameters of one place (`json`: they are values, else text) to a query.
function readParameters(entries, json, base = {}) {
  const query = { ...base };
  const valueOf = (content) => (json ? content : parseJson(content));
  for (const [name, content] of entries) {
    if (name === 'keys') {
      const keys = valueOf(content);
      if (keys !== null && !Array.isArray(keys))
        throw badRequest(`\`keys\` ${json ? 'body member' : 'parameter'} must be an array.`);
      query.keys = keys ?? undefined;
    } else if (name === 'key') {
      query.start = query.end = valueOf(content);
    } else if (KEY_NAMES[name]) {
      query[KEY_NAMES[name]] = valueOf(content);
    } else if (READERS[name]) {
      query[name] = READERS[name](content);
    }
  }
  if (query.keys && ('start' in query || 'end' in query)) {
    throw queryParseError('`keys` is incompatible with `key`, `start_key` and `end_key`');
  }
  return query;
}

/// Ids sort by their bytes, and after every key that is not text. JSON objects and arrays would sort after text, but no
/// id is one.
const after = (id, key) => typeof key !== 'string' || compareBytes(id, key) > 0;
const same = (id, key) => typeof key === 'string' && id === key;

function selectRange(rows, { start, end, inclusive_end: inclusive = true, descending = false }) {
  const ordered = descending ? [...rows].reverse() : rows;
  return ordered.filter(({ id }) => {
    const fromStart = start === undefined || same(id, start) || after(id, start) !== descending;
    const toEnd = end === undefined || (same(id, end) ? inclusive : after(id, end) === descending);
    return fromStart && toEnd;
  });
}

const SUBSETS = {
  _all_docs: { holds: () => true },
  _design_docs: { holds: isDesign },
  _local_docs: { holds: isLocal },
};

class Listing {
  constructor(database, name, partition) {
    this.database = database;
    this.isLocal = name === '_local_docs';
    this.holds = partition === undefined ? SUBSETS[name].holds : (id) => id.startsWith(`${partition}:`);
    this.isDesign = name === '_design_docs';
  }

  #row(id, query) {
    const { database } = this;
    if (isLocal(id)) {
      const local = database.locals.get(id);
      if (!local) return undefined;
      const rev = `0-${local.edit}`;
      const row = { id, key: id, value: { rev } };
      return query.include_docs ? { ...row, doc: { _id: id, _rev: rev, ...local.body } } : row;
    }
    const winner = database.winner(id);
    if (!winner) return undefined;
    const row = { id, key: id, value: { rev: winner.rev } };
    if (winner.deleted) row.value.deleted = true;
    if (!query.include_docs) return row;
    return { ...row, doc: winner.deleted ? null : render(database, id, winner, { conflicts: query.conflicts }) };
  }

  #ids() {
    if (this.isLocal) return [...this.database.locals.keys()].sort(compareBytes);
    return this.database
      .sorted()
      .filter(({ tree }) => !tree.winner().deleted)
      .map(({ id }) => id)
      .filter(this.holds);
  }

  #byKeys(query) {
    const keys = query.descending ? [...query.keys].reverse() : query.keys;
    return keys.map((key) => {
      const row = typeof key === 'string' && this.holds(key) ? this.#row(key, query) : undefined;
      return row ?? { key, error: 'not_found' };
    });
  }

  run(query) {
    const { skip = 0, limit = Infinity } = query;
    const found = query.keys
      ? this.#byKeys(query)
      : selectRange(
          this.#ids().map((id) => this.#row(id, query)),
          query,
        );
    const list = { total_rows: this.#total(), offset: this.#offset(query), rows: found.slice(skip, skip + limit) };
    if (query.update_seq) {
      list.update_seq = query.keys || this.isLocal ? null : new Sequence(this.database, this.database.sequence);
    }
    return list;
  }

  #total() {
    if (this.isLocal) return null;
    if (this.isDesign) return this.#ids().length;
    return this.database.counts().doc_count;
  }

  /// The number of rows before the first one, or null where the server does not count them (docs/architecture.md).
  #offset(query) {
    if (this.isLocal || query.keys || 'start' in query)
      return new Accepted((value) => value === null || 'expected null');
    return Math.min(this.#total(), query.skip ?? 0);
  }
}

export function listDocuments({ request, database, name, partition }) {
  const listing = new Listing(database, name, partition);
  if (request.method === 'POST') request.requireJsonType();
  const fromBody = request.method === 'POST' ? request.jsonObject() : {};
  const query = readParameters(request.query, false, readParameters(Object.entries(fromBody), true));
  return new Reply(200, listing.run(query));
}

export function runQueries({ request, database, name, partition }) {
  const listing = new Listing(database, name, partition);
  const { queries } = request.jsonObject();
  const base = readParameters(request.query, false);
  if (queries === undefined) throw badRequest('POST body must include `queries` parameter.');
  if (!Array.isArray(queries)) throw badRequest('`queries` parameter must be an array.');
  const parsed = queries.map((query) => {
    if (!isObject(query)) throw badRequest('`queries` must be JSON objects.');
    return readParameters(Object.entries(query), true, base);
  });
  return new Reply(200, { results: parsed.map((query) => listing.run(query)) });
}
