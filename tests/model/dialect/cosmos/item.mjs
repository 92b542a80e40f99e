// Items: what a client sends, the document it becomes (docs/cosmos.md), and how documents are shown as items.
import { Accepted, Constant } from '../opaque.mjs';
import { isObject } from '../request.mjs';
import { badRequest, keyMismatch } from './reply.mjs';

const SET_BY_SERVER = ['_rid', '_self', '_etag', '_ts', '_attachments', '_lsn', '_metadata'];
const OF_DOCUMENTS = [
  '_id',
  '_rev',
  '_deleted',
  '_revisions',
  '_revs_info',
  '_conflicts',
  '_deleted_conflicts',
  '_local_seq',
  '_removed',
];
export const isReserved = (name) => SET_BY_SERVER.includes(name) || OF_DOCUMENTS.includes(name);

/// Text as JSON.
export function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest();
  }
}

const isEmptyObject = (value) => isObject(value) && Object.keys(value).length === 0;
/// The value at the container's partition key path; what headers write as `{}` is none.
const keyOf = ({ pk }) => (isEmptyObject(pk) ? undefined : pk);

/// A partition key as the part of a document's id before the colon.
export function encodeKey(key) {
  if (key === undefined) return '!none';
  if (typeof key !== 'string') return `!${JSON.stringify(key)}`;
  if (key === '') return '!""';
  const percent = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return key.replace(/[:%]/g, percent).replace(/^[_!]/, percent);
}
/// The same the other way round.
export function decodeKey(text) {
  if (text === '!none') return undefined;
  return text.startsWith('!') ? JSON.parse(text.slice(1)) : decodeURIComponent(text);
}

export const documentIdOf = (key, id) => `${encodeKey(key)}:${id}`;
export const keyOfDocument = (documentId) => decodeKey(documentId.slice(0, documentId.indexOf(':')));
export const itemIdOf = (documentId) => documentId.slice(documentId.indexOf(':') + 1);

/// A header's key as a list of values, of which a complete key has one; a missing property is `{}` there.
export function parseKey(text) {
  const values = parseJson(text);
  if (!Array.isArray(values) || values.length > 1) throw badRequest();
  return values.map((value) => {
    if (isEmptyObject(value)) return undefined;
    if (typeof value === 'object' && value !== null) throw badRequest();
    return value;
  });
}

export function completeKey(values) {
  if (values.length === 0) throw badRequest();
  return values[0];
}

export function requiredKey(request) {
  const text = request.header('x-ms-documentdb-partitionkey');
  if (!text) throw badRequest();
  return completeKey(parseKey(text));
}

export function checkItemId(id) {
  if (id === '' || id.length > 255 || /[/\\?#\0]/.test(id)) throw badRequest();
}

/// {id, key, body} of an item as it was sent. `named`: the values of the key in the header, if there was one.
export function parseItem(value, named) {
  if (!isObject(value)) throw badRequest();
  const body = {};
  for (const [name, content] of Object.entries(value)) if (!name.startsWith('_')) body[name] = content;
  for (const [name, content] of Object.entries(value)) {
    if (OF_DOCUMENTS.includes(name)) throw badRequest();
    if (name.startsWith('_') && !SET_BY_SERVER.includes(name)) body[name] = content;
  }
  if (typeof body.id !== 'string') throw badRequest();
  checkItemId(body.id);
  const key = storableKey(body);
  if (named !== undefined && completeKey(named) !== key) throw keyMismatch();
  return { id: body.id, key, body };
}

export function storableKey(body) {
  const key = keyOf(body);
  if (typeof key === 'object' && key !== null) throw badRequest();
  return key;
}

/// A patched body must still be the same item.
export function checkSameItem(before, after) {
  if (JSON.stringify(before.id) !== JSON.stringify(after.id)) throw badRequest();
  if (storableKey(before) !== storableKey(after)) throw keyMismatch();
}

const startsWith = (start) =>
  new Accepted((value) => (typeof value === 'string' && value.startsWith(start)) || `expected ${start}…`);
const aTime = new Accepted((value) => {
  const now = Date.now() / 1000;
  return (Number.isInteger(value) && value > now - 3600 && value < now + 60) || 'expected the time of a write';
});
const anRid = /^[A-Za-z0-9+/-]+={0,2}$/;

export const etagOf = (rev) => `"${rev}"`;
export const containerRid = ({ name, incarnation }) => new Constant(`rid of ${name} ${incarnation}`, anRid);

/// The living document as items are shown.
export function showItem(database, documentId, { rev, body }) {
  const id = itemIdOf(documentId);
  const { id: own, ...rest } = body;
  return {
    ...(own === id ? body : { id, ...rest }),
    _rid: new Constant(`rid of ${database.name} ${database.incarnation} ${documentId}`, anRid),
    _self: startsWith('dbs/'),
    _etag: etagOf(rev),
    _attachments: 'attachments/',
    _ts: aTime,
  };
}

/// All items of the container, or those of one partition key: [{documentId, key, leaf, sequence}], in the order of ids.
export function itemsOf(database, keys = []) {
  const start = keys.length > 0 ? `${encodeKey(keys[0])}:` : '';
  return database
    .sorted()
    .filter(({ id, tree }) => !id.startsWith('_') && id.startsWith(start) && !tree.winner().deleted)
    .map(({ id, tree, sequence }) => ({ documentId: id, leaf: tree.winner(), sequence }));
}
