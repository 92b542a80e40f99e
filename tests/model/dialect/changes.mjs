// The change feed, normal mode: one row per document, at its last change.
import { isDesign } from './document_parser.mjs';
import { render } from './document_reader.mjs';
import { Accepted, matching, Sequence, SequenceWithin } from './opaque.mjs';
import { badRequest, notFound, Refusal, Reply } from './reply.mjs';
import { countOf, isObject, parseJson } from './request.mjs';
import { matches, parseSelector } from './selector.mjs';

function parseQuery(request) {
  const { query } = request;
  const style = query.get('style') ?? 'main_only';
  const feed = query.get('feed') ?? 'normal';
  if (!['normal', 'longpoll', 'continuous', 'live', 'eventsource'].includes(feed)) {
    throw badRequest('Supported `feed` types: normal, continuous, live, longpoll, eventsource');
  }
  const limit = query.has('limit') ? countOf(query.get('limit')) : Infinity;
  if (!['main_only', 'all_docs'].includes(style)) throw badRequest('Supported `style`s: main_only, all_docs');
  const interval = query.get('seq_interval') ?? '1';
  if (!/^[+-]?\d+$/.test(interval) || Number(interval) <= 0) throw badRequest('invalid_seq_interval');
  const heartbeat = query.get('heartbeat') ?? 'true';
  if (!['true', 'false'].includes(heartbeat)) {
    if (!/^[+-]?\d+$/.test(heartbeat)) {
      throw badRequest('Invalid heartbeat value. Expecting a positive integer value (in milliseconds).');
    }
    if (Number(heartbeat) <= 0) throw badRequest('The heartbeat value should be a positive integer (in milliseconds).');
  }
  return {
    limit,
    allLeaves: style === 'all_docs',
    interval: Number(interval),
    descending: request.flag('descending'),
    includeDocs: request.flag('include_docs'),
    conflicts: request.flag('conflicts'),
  };
}

/// A model's sequence is `<number>-<incarnation>`; what belongs to another incarnation means the beginning. `lacks`: the
/// reader may have seen what was deleted since, and the tombstone is gone.
function parseSince(text, database) {
  if (text === 'now') return { since: database.sequence, lacks: false };
  const [, number, tag] = /^"?(\d+)(?:-([^"]+))?"?$/.exec(text) ?? [];
  if (number === undefined) throw badRequest("Malformed sequence supplied in 'since' parameter.");
  const isForeign = tag !== undefined && tag !== String(database.incarnation);
  const since = isForeign ? 0 : Number(number);
  return { since, lacks: (since > 0 || isForeign) && since < database.droppedThrough };
}

/// What a row's leaves must pass, as `(id, leaf) => boolean`.
function parseFilter(request, database) {
  const name = request.query.get('filter') ?? '';
  switch (name) {
    case '':
      return () => true;
    case '_design':
      return isDesign;
    case '_doc_ids': {
      const ids =
        request.method === 'POST' ? filterBody(request).doc_ids : parseJson(request.query.get('doc_ids') ?? 'null');
      if (!Array.isArray(ids) || ids.some((id) => typeof id !== 'string')) {
        throw badRequest('`doc_ids` filter parameter is not a list of doc ids.');
      }
      return (id) => ids.includes(id);
    }
    case '_selector': {
      if (request.method !== 'POST') throw badRequest('Selector must be specified in POST payload');
      const { selector } = filterBody(request);
      if (!isObject(selector)) throw badRequest('Selector error: expected a JSON object');
      let parsed;
      try {
        parsed = parseSelector(selector);
      } catch (refusal) {
        if (refusal instanceof Refusal) throw badRequest(refusal.reason);
        throw refusal;
      }
      return (id, leaf) =>
        matches(parsed, { _id: id, _rev: leaf.rev, ...leaf.body, ...(leaf.deleted && { _deleted: true }) });
    }
    case '_view': {
      const view = request.query.get('view') ?? '';
      if (view === '') throw badRequest('`view` filter parameter is not provided.');
      return functionOf(database, view, 'views', '`view` must be of the form `designname/viewname`');
    }
    default:
      if (name.startsWith('_')) throw badRequest('unknown builtin filter name');
      return functionOf(database, name, 'filters', '`filter` must be of the form `designname/filtername`');
  }
}

function filterBody(request) {
  request.requireJsonType();
  return request.jsonObject();
}

// Functions of design documents are looked up as CouchDB does. The only filter written lets everything pass, and the only
// views are Mango's indexes.
function functionOf(database, name, member, malformed) {
  const [design, called, ...rest] = name.split('/');
  if (!design || !called || rest.length > 0) throw badRequest(malformed);
  const winner = database.winner(`_design/${design}`);
  if (!winner) throw notFound();
  if (winner.deleted) throw notFound('deleted');
  if (!isObject(winner.body[member])) throw notFound(`missing json key: ${member}`);
  if (!(called in winner.body[member])) throw notFound(`missing json key: ${called}`);
  if (winner.body.language === 'query') {
    throw new Refusal(400, 'unknown_query_language', `_design/${design} has functions of another language than JavaScript.`);
  }
  return () => true;
}

const tombstonesGone = () =>
  new Refusal(
    400,
    'tombstones_gone',
    'Some deletions after this position are no longer kept (tombstone_retention): begin again from 0, with an empty ' +
      'target.',
  );

export function changes({ request, database, partition, hints }) {
  if (request.method === 'POST') request.requireJsonType();
  const query = parseQuery(request);
  const readsBody = ['_doc_ids', '_selector'].includes(request.query.get('filter'));
  if (request.method === 'POST' && request.body && !readsBody) request.jsonObject();
  const { since, lacks } = parseSince(request.query.get('since') ?? '0', database);
  const passes = parseFilter(request, database);
  // Where no row is looked at, nothing is missed: the server may say so or not.
  const looks = query.limit > 0 && request.query.get('filter') !== '_doc_ids';
  if (lacks && (looks || hints.reply?.status === 400)) throw tombstonesGone();

  const inScope = database.feed().filter(({ id }) => partition === undefined || database.partitionOf(id) === partition);
  const rows = inScope.filter(({ sequence }) => sequence > since);
  if (query.descending) rows.reverse();
  const sent = [];
  let looked = 0;
  for (const document of rows) {
    if (sent.length === query.limit) break;
    ++looked;
    const row = rowOf(database, document, passes, query);
    if (!row) continue;
    row.seq = sent.length % query.interval === 0 ? new Sequence(database, document.sequence) : null;
    sent.push(row);
  }
  const left = rows.slice(looked);
  const body = {
    results: sent,
    last_seq: lastSequence(database, query, since, rows, looked, sent.length === query.limit),
    pending: pendingOf(left.length, since, rows),
  };
  return new Reply(200, body, hasTag(request) ? { etag: matching(/^"\d+-[0-9a-f]+-\d+-\d+-[0-9a-f]+"$/) } : {});
}

/// Whether the reply depends on nothing but the URL and the documents.
function hasTag({ method, query }) {
  const filter = query.get('filter') ?? '';
  return method === 'GET' && (query.get('feed') ?? 'normal') === 'normal' && ['', '_design', '_doc_ids'].includes(filter);
}

function rowOf(database, { id, tree }, passes, query) {
  const winner = tree.winner();
  const shown = (query.allLeaves ? tree.leaves() : [winner]).filter((leaf) => passes(id, leaf));
  if (shown.length === 0) return undefined;
  const row = { id, changes: shown.map(({ rev }) => ({ rev })) };
  if (winner.deleted) row.deleted = true;
  if (query.includeDocs) row.doc = render(database, id, winner, { conflicts: query.conflicts });
  return row;
}

function lastSequence(database, query, since, rows, looked, limited) {
  if (limited && looked > 0) return new Sequence(database, rows[looked - 1].sequence);
  if (limited) return new SequenceWithin(database, since, since);
  if (query.descending) return new SequenceWithin(database, 0, database.sequence); // no position to continue from
  const newest = Math.max(since, ...rows.map(({ sequence }) => sequence));
  return new SequenceWithin(database, newest, Math.max(newest, database.sequence));
}

/// 0 exactly when nothing is left; exact whenever few rows are (docs/architecture.md).
const pendingOf = (left) => new Accepted((value) => value === left || `expected ${left} pending`);
