// Lists of items, page by page, and the change feed in its latest-version mode.
import { Accepted, Judged, Sequence, SequenceWithin } from '../opaque.mjs';
import { Reply } from '../reply.mjs';
import { containerRid, itemsOf, showItem } from './item.mjs';
import { scopeOf } from './key.mjs';
import { badRequest, noContent, rangeGone } from './reply.mjs';

const PAGE_ITEMS_DEFAULT = 100;
const aPosition = new Accepted((value) => (Number.isInteger(value) && value > 0) || 'expected a position');
const aContinuation = new Accepted((value) => (typeof value === 'string' && value !== '') || 'expected a continuation');

export function checkRange(request, database) {
  const range = request.header('x-ms-documentdb-partitionkeyrangeid');
  if (range && !(/^\d+$/.test(range) && Number(range) < database.q)) throw rangeGone();
}

export function pageSize(request) {
  const text = request.header('x-ms-max-item-count');
  if (!text || text === '-1' || text === '0') return PAGE_ITEMS_DEFAULT;
  if (!/^\d+$/.test(text)) throw badRequest();
  return Number(text);
}

export function feedReply(database, documents, headers = {}) {
  const body = { _rid: containerRid(database), Documents: documents, _count: documents.length };
  return new Reply(200, body, { 'x-ms-item-count': String(documents.length), ...headers });
}

/// Physical partitions come one after the other, and only the server knows which key is where: with several of them the
/// items of a list are known, and the order of those of one key.
export function listItems({ request, database, model, call, hints }) {
  const keys = scopeOf(request, database.container);
  checkRange(request, database);
  const size = call.pages ? Infinity : pageSize(request);
  if (call.pages) pageSize(request);
  const token = request.header('x-ms-continuation');
  const after = token ? model.continuations.get(token) : undefined;
  if (token && after === undefined) throw badRequest();
  if (database.q > 1 && keys.length === 0) return unorderedList(database, call);
  const shows = after === undefined ? () => true : goesOn(after, hints.reply);
  const rest = itemsOf(database, keys).filter(shows);
  const shown = rest.slice(0, size);
  const headers = {};
  if (rest.length > shown.length) {
    headers['x-ms-continuation'] = aContinuation;
    const [last, next] = [shown.at(-1), rest[shown.length]].map(({ documentId }) => documentId);
    model.continuations.set(`continuation-${call.n}`, { last, next });
  }
  return feedReply(
    database,
    shown.map(({ documentId, leaf }) => showItem(database, documentId, leaf)),
    headers,
  );
}

/// What a page after another one shows: all that follows. Whether an item is among it that came since then between the
/// last one and the next is the server's affair.
function goesOn({ last, next }, reply) {
  const seen = new Set(reply?.body?.Documents?.map(({ _etag }) => _etag));
  return ({ documentId, leaf }) =>
    compare(documentId, next) >= 0 || (compare(documentId, last) > 0 && seen.has(`"${leaf.rev}"`));
}

const compare = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function unorderedList(database, call) {
  const items = itemsOf(database);
  if (!call.pages && items.length > PAGE_ITEMS_DEFAULT) throw new Error('a list with pages of a container in parts');
  const byEtag = ({ _etag, id }) => `${id} ${_etag}`;
  const wanted = items.map(({ documentId, leaf }) => `${documentId.slice(documentId.indexOf(':') + 1)} "${leaf.rev}"`);
  return new Reply(
    200,
    new Judged((body) => {
      const seen = body.Documents?.map(byEtag) ?? [];
      return [...seen].sort().join('\n') === [...wanted].sort().join('\n')
        ? undefined
        : `expected the items ${wanted}, got ${seen}`;
    }),
    { 'x-ms-item-count': String(items.length) },
  );
}

/// `"N"`, or `*` for now. A model's position is its sequence.
export function parsePosition(text, database) {
  if (!text) return 0;
  if (text === '*') return database.sequence;
  const [, number] = /^"*(\d+)"*$/.exec(text) ?? [];
  if (number === undefined) throw badRequest();
  return Number(number);
}

const FAR = { past: 0, future: Infinity };
function parseModifiedSince(text) {
  if (!text) return FAR.past;
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw badRequest();
  return time < Date.now() - 365 * 86_400_000 ? FAR.past : FAR.future; // nothing in between is asked for
}

/// Where items end by themselves, the feed moves on at any time.
export const newestPosition = ({ container, sequence }, seen) =>
  container.defaultTtl === undefined ? Math.max(seen, sequence) : Infinity;

export function listChanges({ request, database }) {
  const keys = scopeOf(request, database.container);
  checkRange(request, database);
  const size = pageSize(request);
  const since = parsePosition(request.header('if-none-match'), database);
  const notBefore = parseModifiedSince(request.header('if-modified-since'));
  const changed = itemsOf(database, keys)
    .filter(({ sequence }) => sequence > since)
    .sort((a, b) => a.sequence - b.sequence);
  const rows = notBefore === FAR.future ? [] : changed;
  const shown = rows.slice(0, size);
  // A full page ends at its last row, another one where everything is seen.
  const newest = shown.at(-1)?.sequence ?? since;
  const etag =
    shown.length === size && rows.length > size
      ? new Sequence(database, newest, 'position')
      : new SequenceWithin(database, newest, newestPosition(database, newest), 'position');
  if (shown.length === 0) return noContent(304, { etag, 'x-ms-item-count': '0' });
  return feedReply(
    database,
    shown.map(({ documentId, leaf }) => ({ ...showItem(database, documentId, leaf), _lsn: aPosition })),
    { etag },
  );
}
