// Indexes are views of design documents of language "query"; _index edits and lists those.
import { compareBytes } from './database.mjs';
import { isDesign } from './document_parser.mjs';
import { badRequest, notFound, Refusal, Reply } from './reply.mjs';
import { isObject, parseJson } from './request.mjs';
import { parsePath } from './field_path.mjs';
import { parseSelector } from './selector.mjs';

const refusal = (error, reason) => new Refusal(400, error, reason);
const shown = (value) => JSON.stringify(value);

/// [[name, 'asc' | 'desc'], …] of `["a", {"b": "desc"}]`.
export function parseSort(list) {
  if (!Array.isArray(list))
    throw refusal('invalid_sort_json', `Sort must be an array of sort specs, not: ${shown(list)}`);
  return list.map((element) => {
    if (typeof element === 'string' && element !== '') return [element, 'asc'];
    if (!isObject(element) || Object.keys(element).length !== 1)
      throw refusal('invalid_sort_field', `Invalid sort field: ${shown(element)}`);
    const [[name, direction]] = Object.entries(element);
    if (direction !== 'asc' && direction !== 'desc')
      throw refusal('invalid_sort_dir', `Invalid sort direction: ${shown(direction)}`);
    return [name, direction];
  });
}

/// All indexes a database has now: {ddoc, name, partitioned, fields, filter}.
export function indexesOf(database) {
  return database
    .sorted()
    .filter(({ id, tree }) => isDesign(id) && !tree.winner().deleted)
    .flatMap(({ id, tree }) => {
      const { language, views, options } = tree.winner().body;
      if (language !== 'query' || !isObject(views)) return [];
      const partitioned = database.partitioned && (options?.partitioned ?? true);
      return Object.entries(views) // those without fields are no indexes
        .filter(([, view]) => isObject(view?.map?.fields) && Object.keys(view.map.fields).length > 0)
        .sort(([a], [b]) => compareBytes(a, b))
        .map(([name, { map }]) => ({
          ddoc: id,
          name,
          partitioned,
          fields: Object.entries(map.fields),
          filter: map.partial_filter_selector ?? {},
        }));
    });
}

export function indexJson({ ddoc, name, partitioned, fields, filter }) {
  const def = { fields: fields.map(([field, direction]) => ({ [field]: direction })) };
  if (Object.keys(filter).length > 0) def.partial_filter_selector = filter;
  return { ddoc, name, type: 'json', partitioned, def };
}

export const PRIMARY = { ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } };

export function listIndexes({ request, database }) {
  const all = [PRIMARY, ...indexesOf(database).map(indexJson)];
  const limit = Number(request.query.get('limit') ?? all.length);
  const skip = Number(request.query.get('skip') ?? 0);
  if (!(limit >= 1) || !(skip >= 0)) {
    return new Reply(500, {
      error: 'invalid_list_index_params',
      reason: 'Index parameter ranges: limit > 1, skip > 0',
    });
  }
  return new Reply(200, { total_rows: all.length, indexes: all.slice(skip, skip + limit) });
}

const KNOWN = ['index', 'type', 'name', 'ddoc', 'w', 'partitioned'];

function parseCreation(request) {
  const body = request.json();
  if (!isObject(body)) throw badRequest('Request body must be a JSON object');
  const { index, type = 'json', name, ddoc, partitioned } = body;
  if (index === undefined) throw refusal('missing_required_key', 'Missing required key: index');
  if (type !== 'json') throw refusal('invalid_index', `Invalid type for index: ${type}`);
  if (partitioned !== undefined && typeof partitioned !== 'boolean') {
    throw refusal('invalid_partitioned_value', `Invalid value for partitioned: ${shown(partitioned)}`);
  }
  for (const text of [name, ddoc]) {
    if (text === undefined) continue;
    if (typeof text !== 'string') throw refusal('invalid_string', `Invalid string: ${shown(text)}`);
    if (text === '') throw refusal('invalid_index_name', 'Invalid index name: ""');
  }
  const unknown = Object.keys(body).find((key) => !KNOWN.includes(key));
  if (unknown) throw refusal('invalid_key', `Invalid key ${unknown} for this request.`);
  if (!isObject(index)) throw refusal('invalid_index', `JSON indexes must be an object, not: ${shown(index)}`);
  if (index.fields === undefined) throw refusal('missing_required_key', 'Missing required key: fields');
  const fields = parseSort(index.fields);
  if (fields.length === 0) throw refusal('invalid_index', 'An index needs at least one field.');
  fields.forEach(([field], i) => {
    if (fields.findIndex(([other]) => other === field) < i)
      throw refusal('invalid_index', `An index names a field only once: ${field}`);
    parsePath(field);
  });
  const filter = index.partial_filter_selector ?? {};
  if (!isObject(filter))
    throw refusal('invalid_selector_json', `Selector must be a JSON object, not: ${shown(filter)}`);
  parseSelector(filter);
  return { index, name, ddoc, partitioned, fields, filter };
}

/// The name the server made up, when it is one.
const madeName = (hints, i) => {
  const name = i === 'id' ? hints.reply?.body?.id?.replace(/^_design\//, '') : hints.reply?.body?.name;
  return /^[0-9a-f]{40}$/.test(name) ? name : 'generated';
};
const designId = (ddoc) => (isDesign(ddoc) ? ddoc : `_design/${ddoc}`);

export function createIndex({ request, database, hints }) {
  request.requireJsonType();
  const wanted = parseCreation(request);
  const id = designId(wanted.ddoc ?? madeName(hints, 'id'));
  const name = wanted.name ?? madeName(hints, 'name');
  if (wanted.partitioned && !database.partitioned) {
    throw badRequest('partitioned option cannot be true in a non-partitioned database.');
  }
  const winner = database.winner(id);
  const existing = winner && !winner.deleted ? winner : undefined;
  const design = existing ? structuredClone(existing.body) : { language: 'query' };
  if (existing && design.language !== 'query') {
    throw refusal(
      'invalid_ddoc_lang',
      `Existing design doc has an invalid language: ${shown(design.language ?? 'javascript')}`,
    );
  }
  if (existing && design.options?.partitioned !== wanted.partitioned) {
    throw refusal(
      'invalid_partitioned_option',
      `Requested partitioned option does not match existing value on design document ${id}`,
    );
  }
  if (!existing && wanted.partitioned !== undefined) design.options = { partitioned: wanted.partitioned };
  const view = {
    map: { fields: Object.fromEntries(wanted.fields), partial_filter_selector: wanted.filter },
    reduce: '_count',
    options: { def: wanted.index },
  };
  const views = (design.views ??= {});
  const result = shown(views[name]) === shown(view) ? 'exists' : 'created';
  if (result === 'created') {
    views[name] = view;
    database.write({ id, rev: existing?.rev, deleted: false, body: design });
  }
  return new Reply(200, { result, id, name });
}

/// Removes one index of a design document, or with no name all.
function removeIndex(database, id, name) {
  const mine = indexesOf(database).filter((index) => index.ddoc === id && (name === undefined || index.name === name));
  if (mine.length === 0) throw notFound();
  const winner = database.winner(id);
  const design = structuredClone(winner.body);
  for (const index of mine) delete design.views[index.name];
  if (Object.keys(design.views).length === 0) delete design.views;
  const rest = Object.keys(design).filter((key) => key !== 'language' && key !== 'options');
  const gone = rest.length === 0;
  database.write({ id, rev: winner.rev, deleted: gone, body: gone ? {} : design });
}

export function deleteIndex({ database, design, type, name }) {
  if (type !== 'json') throw notFound();
  removeIndex(database, designId(design), name);
  return new Reply(200, { ok: true });
}

export function deleteIndexes({ request, database }) {
  request.requireJsonType();
  const body = parseJson(request.body ?? '');
  if (!isObject(body)) throw badRequest('Request body must be a JSON object');
  const { docids } = body;
  if (docids === undefined) throw refusal('missing_required_key', 'Missing required key: docids');
  if (!Array.isArray(docids) || docids.some((id) => typeof id !== 'string' || id === '')) {
    throw refusal('invalid_bulk_docs', `Bulk Delete requires an array of non-null docids. Docids: ${shown(docids)}`);
  }
  const reply = { success: [], fail: [] };
  for (const docid of docids) {
    const id = designId(docid);
    try {
      removeIndex(database, id);
      reply.success.push({ id, ok: true });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      reply.fail.push({ id, error: error.error });
    }
  }
  return new Reply(200, reply);
}
