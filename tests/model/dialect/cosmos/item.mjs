// Items: what a client sends, the document it becomes (docs/cosmos.md), and how documents are shown as items.
import { Accepted, Constant } from '../opaque.mjs';
import { isObject } from '../request.mjs';
import { completeKey, decodeKey, encodeKey, sameKey, scopeStart, storableKey } from './key.mjs';
import { checkLifetime } from './lifetime.mjs';
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

export const documentIdOf = (key, id, container) => `${encodeKey(key, container)}:${id}`;
export const keyOfDocument = (documentId, container) =>
  decodeKey(documentId.slice(0, documentId.indexOf(':')), container);
export const itemIdOf = (documentId) => documentId.slice(documentId.indexOf(':') + 1);

export function checkItemId(id) {
  if (id === '' || Buffer.byteLength(id) > 1023 || /[/\\#\0]/.test(id)) throw badRequest();
}

/// {id, key, body} of an item as it was sent. `named`: the values of the key in the header, if there was one.
export function parseItem(value, named, container) {
  if (!isObject(value)) throw badRequest();
  const body = {};
  for (const [name, content] of Object.entries(value)) if (!name.startsWith('_')) body[name] = content;
  for (const [name, content] of Object.entries(value)) {
    if (OF_DOCUMENTS.includes(name)) throw badRequest();
    if (name.startsWith('_') && !SET_BY_SERVER.includes(name)) body[name] = content;
  }
  if (typeof body.id !== 'string') throw badRequest();
  checkItemId(body.id);
  checkLifetime(body);
  const key = storableKey(body, container);
  if (named !== undefined && !sameKey(completeKey(named, container), key)) throw keyMismatch();
  return { id: body.id, key, body };
}

/// A patched body must still be the same item.
export function checkSameItem(before, after, container) {
  if (JSON.stringify(before.ttl) !== JSON.stringify(after.ttl)) checkLifetime(after);
  if (JSON.stringify(before.id) !== JSON.stringify(after.id)) throw badRequest();
  if (!sameKey(storableKey(before, container), storableKey(after, container))) throw keyMismatch();
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
    _self: Object.assign(startsWith('dbs/'), { documentId }), // procedures find the item by it
    _etag: etagOf(rev),
    _attachments: 'attachments/',
    _ts: aTime,
  };
}

/// All items of the container, or those of one partition key or below the beginning of one: [{documentId, leaf,
/// sequence}], in the order of ids.
export function itemsOf(database, keys = []) {
  const start = scopeStart(keys, database.container);
  return database
    .sorted()
    .filter(({ id, tree }) => !id.startsWith('_') && id.startsWith(start) && !tree.winner().deleted)
    .map(({ id, tree, sequence }) => ({ documentId: id, leaf: tree.winner(), sequence }));
}
