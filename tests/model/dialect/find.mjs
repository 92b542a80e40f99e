// _find and _explain. The model knows which documents match and how sorted results follow each other; among equals, and
// without a sort where there are indexes, the order is the planner's. So replies are judged, not predicted.
import { compareRawText, compareText, compareValues } from './collation.mjs';
import { isDesign } from './document_parser.mjs';
import { render } from './document_reader.mjs';
import { isThere, lookUp, parsePath, project } from './field_path.mjs';
import { indexesOf, indexJson, parseSort, PRIMARY } from './indexes.mjs';
import { Judged } from './opaque.mjs';
import { badRequest, invalidJson, Refusal, Reply } from './reply.mjs';
import { isObject } from './request.mjs';
import { parseSelector } from './selector.mjs';

const refusal = (error, reason) => new Refusal(400, error, reason);
const shown = (value) => JSON.stringify(value);
const canonical = (value) =>
  JSON.stringify(value, (_, inner) => (isObject(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner));

const KNOWN = [
  'selector',
  'use_index',
  'bookmark',
  'limit',
  'skip',
  'sort',
  'fields',
  'partition',
  'r',
  'conflicts',
  'stale',
  'update',
  'stable',
  'execution_stats',
  'allow_fallback',
];

function parseFind({ request, model }) {
  let body;
  try {
    body = request.json();
  } catch {
    throw invalidJson();
  }
  if (!isObject(body)) throw badRequest('Request body must be a JSON object');
  if (body.selector === undefined) throw refusal('missing_required_key', 'Missing required key: selector');
  if (!isObject(body.selector))
    throw refusal('invalid_selector_json', `Selector must be a JSON object, not: ${shown(body.selector)}`);
  const find = { selector: parseSelector(body.selector), body };
  for (const name of ['limit', 'skip']) {
    const value = name in body ? body[name] : { limit: 25, skip: 0 }[name];
    if (!Number.isInteger(value) || value < 0) {
      throw refusal('invalid_non_neg_integer', `${shown(value)} is not an integer greater than or equal to zero`);
    }
    find[name] = value;
  }
  find.sort = parseSort(body.sort ?? []);
  const fields = body.fields ?? [];
  if (!Array.isArray(fields))
    throw refusal('invalid_fields', `Fields must be an array of strings, not: ${shown(fields)}`);
  for (const field of fields) {
    if (typeof field !== 'string' || field === '')
      throw refusal('invalid_field', `Invalid JSON for field spec: ${shown(field)}`);
  }
  find.fields = fields;
  checkBookmark(body.bookmark, model);
  for (const name of ['conflicts', 'update', 'stable', 'execution_stats', 'allow_fallback']) {
    if (body[name] !== undefined && typeof body[name] !== 'boolean') {
      throw refusal('invalid_boolean', `Invalid boolean value: ${shown(body[name])}`);
    }
  }
  const unknown = Object.keys(body).find((key) => !KNOWN.includes(key));
  if (unknown) throw refusal('invalid_key', `Invalid key ${unknown} for this request.`);
  return find;
}

function checkBookmark(bookmark, model) {
  if ([undefined, null, '', 'nil'].includes(bookmark) || model.bookmarks.has(bookmark)) return;
  throw refusal('invalid_bookmark', `Invalid bookmark value: ${shown(bookmark)}`);
}

const sortKey = (document, sort) => sort.map(([field]) => lookUp(document, parsePath(field)));
const sameKey = (a, b, sort) => compareKeys(a, b, sort) === 0;

function compareKeys(a, b, sort) {
  for (let i = 0; i < sort.length; ++i) {
    const [field, direction] = sort[i];
    const order = compareValues(a[i], b[i], field === '_id' ? compareRawText : compareText);
    if (order !== 0) return direction === 'desc' ? -order : order;
  }
  return 0;
}

/// What matches: [{id, key, json}] in the order of the sort, else of ids.
function matching(database, partition, find) {
  const found = [];
  for (const { id, tree } of database.sorted()) {
    const winner = tree.winner();
    if (winner.deleted || isDesign(id) || (partition !== undefined && database.partitionOf(id) !== partition)) continue;
    const document = { _id: id, _rev: winner.rev, ...winner.body };
    if (!find.selector(document)) continue;
    const key = sortKey(document, find.sort);
    if (!key.every(isThere)) continue; // what lacks a field that is sorted by is in no index on it
    const conflicts = find.body.conflicts === true;
    found.push({ id, key, json: canonical(project(render(database, id, winner, { conflicts }), find.fields)) });
  }
  return found.sort((a, b) => compareKeys(a.key, b.key, find.sort));
}

export function find({ request, database, partition, model, call, hints }) {
  request.requireJsonType();
  const find = parseFind({ request, model });
  const scope = partition ?? find.body.partition;
  if (scope !== undefined && !database.partitioned) throw badRequest('database is not partitioned');
  const indexes = indexesOf(database).filter((index) => index.partitioned === (scope !== undefined));
  const bookmark = model.bookmarks.get(find.body.bookmark);
  const page = { database, sequence: database.sequence, seen: new Set(bookmark?.seen) };
  // A client that does not wait for a global index may miss what was written just now.
  const mayBeBehind = find.body.update === false && indexes.some((index) => !index.partitioned);
  const unchanged =
    !mayBeBehind && (!bookmark || (bookmark.database === database && bookmark.sequence === database.sequence));
  const all = matching(database, scope, find);
  const verdict = new Judged((body) => {
    if (!isObject(body) || !Array.isArray(body.docs)) return 'expected {"docs": […], …}';
    const wrong = judge({ find, indexes, bookmark, unchanged, all, page }, body);
    if (wrong) return wrong;
    if (body.docs.length === 0) {
      const echo = find.body.bookmark ? hints.sent.bookmark : 'nil';
      if (body.bookmark !== echo) return `nothing found: expected the bookmark ${shown(echo)}`;
    } else if (typeof body.bookmark !== 'string' || body.bookmark === 'nil') {
      return 'expected a bookmark';
    }
    model.bookmarks.set(`bookmark-${call.n}`, page);
    return judgeWarning(body, indexes.length === 0 && !database.container);
  });
  return new Reply(
    unchanged ? 200 : new Judged((status) => ([200, 400].includes(status) ? undefined : 'expected 200 or 400')),
    verdict,
  );
}

function judge({ find, indexes, bookmark, unchanged, all, page }, body) {
  // Documents may look the same under a projection: each is taken for the first one that is still free.
  const free = all.filter(({ id }) => !(unchanged && page.seen.has(id)));
  const expectedCount = Math.min(find.limit, Math.max(0, free.length - find.skip));
  if (!unchanged) page.sequence = -1; // so that the next page is not predicted either
  if (unchanged ? body.docs.length !== expectedCount : body.docs.length > find.limit) {
    return `expected ${expectedCount} documents, got ${body.docs.length}`;
  }
  const ordered = free.slice(find.skip);
  // Sides of an $or may be read one after the other.
  const inOneWalk = indexes.length === 0 && !page.database.container && !/"\$n?or"/.test(shown(find.body.selector));
  const exact = inOneWalk && find.sort.length === 0 && !bookmark;
  const taken = [];
  for (const [i, document] of body.docs.entries()) {
    const json = canonical(document);
    const fits = ({ id, key }, matchJson) =>
      matchJson === json &&
      !taken.includes(id) &&
      (!unchanged || find.sort.length === 0 || sameKey(key, ordered[i].key, find.sort));
    const match = exact ? ordered[i] : free.find((candidate) => fits(candidate, candidate.json));
    if (!match || match.json !== json) return `document ${i} should not be here: ${json}; expected ${ordered[i]?.json}`;
    taken.push(match.id);
  }
  // Where rows look alike it is not known which were seen: later pages are then not predicted.
  const alike = new Set(all.map(({ json }) => json)).size < all.length;
  if (alike || find.skip > 0) page.sequence = -1;
  for (const id of taken) page.seen.add(id);
  return undefined;
}

const NO_INDEX = 'No matching index found, create an index to optimize query time.';
const SCAN =
  'The number of documents examined is high in proportion to the number of results returned. ' +
  'Consider adding a more specific index to improve this.';

function judgeWarning({ warning }, noIndex) {
  const lines = warning === undefined ? [] : warning.split('\n');
  const unknown = lines.find((line) => line !== NO_INDEX && line !== SCAN && !/ was not used because /.test(line));
  if (unknown !== undefined) return `unknown warning: ${unknown}`;
  if (noIndex && !lines.includes(NO_INDEX)) return 'expected the warning that no index matches';
  return undefined;
}

export function explain({ request, database, partition, model }) {
  request.requireJsonType();
  const find = parseFind({ request, model });
  const scope = partition ?? find.body.partition;
  if (scope !== undefined && !database.partitioned) throw badRequest('database is not partitioned');
  const indexes = indexesOf(database).filter((index) => index.partitioned === (scope !== undefined));
  const known = [PRIMARY, ...indexes.map(indexJson)].map(canonical);
  return new Reply(
    200,
    new Judged((body) => {
      const isAutomatic = database.container && body.index?.type === 'automatic';
      if (!isAutomatic && !known.includes(canonical(body.index))) return `unknown index ${shown(body.index)}`;
      const expected = {
        dbname: database.name,
        partitioned: database.partitioned,
        limit: find.limit,
        skip: find.skip,
        fields: find.fields,
      };
      for (const [name, value] of Object.entries(expected)) {
        if (canonical(body[name]) !== canonical(value))
          return `${name}: expected ${shown(value)}, got ${shown(body[name])}`;
      }
      return undefined;
    }),
  );
}
