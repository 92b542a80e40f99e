// The server in memory: takes the requests the server takes, by either API, and says what it must answer. This is the
// CouchDB dialect; cosmos/cosmos_api.mjs is the other one, over the same databases and documents.
//
// Written from CouchDB's documentation and behaviour, and from what docs/architecture.md says Octavo does differently;
// nothing is translated from the product. Everything is naive on purpose: lists are filtered, trees are walked.
import { batch, bulkDocs, bulkGet } from './bulk.mjs';
import { listDocuments, runQueries } from './all_docs.mjs';
import { changes } from './changes.mjs';
import { handleCosmos } from './cosmos/cosmos_api.mjs';
import { Database } from './database.mjs';
import * as databases from './databases.mjs';
import { checkId, isDesign } from './document_parser.mjs';
import { getDocument } from './document_reader.mjs';
import { copyDocument, deleteDocument, postDocument, putDocument } from './document_writer.mjs';
import { createIndex, deleteIndex, deleteIndexes, listIndexes } from './indexes.mjs';
import { explain, find } from './find.mjs';
import { badRequest, methodNotAllowed, notFound, Refusal, Reply } from './reply.mjs';
import { Request } from './request.mjs';
import { querySearch } from './search.mjs';
import { queryView, queryViewTogether } from './views.mjs';
import { missingRevs, purge, revsDiff } from './revision_requests.mjs';

const LISTS = ['_all_docs', '_design_docs', '_local_docs'];
const value = (content) => new Reply(200, content);

/// What may be asked below a database: path → method → handler. `allowed` is CouchDB's list of methods.
const BELOW_DATABASE = {
  _bulk_docs: { POST: bulkDocs },
  _bulk_get: { POST: bulkGet },
  _revs_diff: { POST: revsDiff },
  _missing_revs: { POST: missingRevs },
  _purge: { POST: purge },
  _changes: { allowed: 'GET,POST,HEAD', GET: changes, POST: changes },
  _revs_limit: { allowed: 'PUT,GET', GET: ({ database }) => value(database.revsLimit), PUT: databases.putRevsLimit },
  _purged_infos_limit: {
    allowed: 'GET,HEAD,PUT',
    GET: ({ database }) => value(database.purgedInfosLimit),
    PUT: databases.putPurgedInfosLimit,
  },
  _security: { allowed: 'PUT,GET', GET: ({ database }) => value(database.security), PUT: databases.putSecurity },
  _compact: { POST: databases.compact },
  _view_cleanup: { POST: () => new Reply(202, { ok: true }) },
  _ensure_full_commit: { POST: databases.ensureFullCommit },
  _find: { POST: find },
  _explain: { POST: explain },
  _index: { allowed: 'GET,POST', GET: listIndexes, POST: createIndex },
};

const DOCUMENT = {
  allowed: 'DELETE,GET,HEAD,POST,PUT,COPY',
  GET: getDocument,
  PUT: putDocument,
  DELETE: deleteDocument,
  COPY: copyDocument,
};

/// Attachments, and functions of design documents, are not supported yet.
const unsupported = (reason) => new Refusal(501, 'not_implemented', reason);
function refuseAttachment({ request, database, id, attachment }) {
  const isFunction = isDesign(id) && attachment.startsWith('_');
  const writes = request.method === 'PUT' || request.method === 'POST';
  if (isFunction || !writes) {
    const winner = database.winner(id);
    if (!winner || winner.deleted) throw notFound(winner ? 'deleted' : 'missing');
  }
  if (isFunction) throw unsupported(`\`${attachment}\` is not supported yet.`);
  throw writes ? unsupported('Attachments are not supported yet.') : notFound('Document is missing attachment');
}
const ATTACHMENT = { GET: refuseAttachment, PUT: refuseAttachment, POST: refuseAttachment, DELETE: refuseAttachment };

export class Model {
  databases = new Map();
  incarnations = new Map(); // name → how often it was created
  bookmarks = new Map();
  accountDatabases = new Map(); // of the Cosmos DB API: id → incarnation
  continuations = new Map(); // of its lists: token → ids of the last document and the one that followed

  /// `hints.reply`: what the server answered, looked at only for what it chose itself (ids of new documents).
  handle(call, hints = {}) {
    const request = new Request(call);
    const context = {
      model: this,
      request,
      call,
      hints,
      generatedId: (i, prefix) => generatedId(hints.reply, i, prefix),
    };
    for (const database of this.databases.values()) database.isSeen = (rev) => isSeen(hints.reply, rev);
    if (call.api === 'cosmos') return handleCosmos(context);
    let reply;
    try {
      reply = this.#route(context);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      reply = error.reply();
    }
    return request.isHead ? new Reply(reply.status, '', reply.headers) : reply;
  }

  createDatabase(name, facts) {
    const incarnation = (this.incarnations.get(name) ?? 0) + 1;
    this.incarnations.set(name, incarnation);
    const database = new Database(name, incarnation, facts);
    this.databases.set(name, database);
    return database;
  }

  #route(context) {
    const { request } = context;
    const [first, ...rest] = request.parts;
    if (first === '_all_dbs') return databases.allDatabases(context);
    if (first === '_dbs_info') return databases.databasesInfo(context);
    if (rest.length === 0) return this.#routeDatabase({ ...context, name: first });
    const database = this.#find(first);
    return routeBelow({ ...context, database }, rest);
  }

  #find(name) {
    const database = this.databases.get(name);
    if (!database) throw notFound('Database does not exist.');
    return database;
  }

  #routeDatabase(context) {
    const { request, name } = context;
    if (request.method === 'PUT') return databases.createDatabase(context);
    const handlers = {
      allowed: 'DELETE,GET,HEAD,POST',
      GET: ({ database }) => value(databases.databaseInfo(database)),
      DELETE: databases.deleteDatabase,
      POST: postDocument,
    };
    return dispatch(handlers, { ...context, find: () => this.#find(name) });
  }
}

const isSeen = (reply, rev) => Boolean(reply?.headers.etag?.includes(rev) || reply?.text.includes(rev));

function dispatch(handlers, context) {
  const handler = handlers[context.request.method];
  if (!handler) throw methodNotAllowed(handlers.allowed ?? Object.keys(handlers).join(','));
  return handler(context.find ? { ...context, database: context.find() } : context);
}

function routeBelow(context, parts) {
  const [first, second] = parts;
  if (first === '_partition') return routePartition(context, parts.slice(1));
  if (first === '_design' && parts[2] === '_view' && parts.length > 3) return routeView(context, parts);
  if (first === '_design' && parts[2] === '_search' && parts.length === 4) return routeSearch(context, parts);
  if (first === '_design' && parts.length > 2)
    return dispatch(ATTACHMENT, { ...context, id: `_design/${second}`, attachment: parts[2] });
  if (first === '_design' && parts.length === 2) return dispatch(DOCUMENT, { ...context, id: `_design/${second}` });
  if (first === '_local') {
    if (parts.length === 1) throw badRequest('Invalid _local document id.');
    if (parts.length > 2) throw badRequest('_local documents do not accept attachments.');
    return dispatch(DOCUMENT, { ...context, id: `_local/${second}` });
  }
  if (LISTS.includes(first)) return routeList({ ...context, name: first }, parts);
  if (first === '_index' && parts.length > 1) return routeIndex(context, parts.slice(1));
  if (first === '_compact' && parts.length === 2)
    return dispatch({ POST: databases.compactDesign }, { ...context, design: second });
  if (BELOW_DATABASE[first] && parts.length === 1) return dispatch(BELOW_DATABASE[first], context);
  if (first.startsWith('_') && !BELOW_DATABASE[first]) {
    const { method } = context.request;
    if (method === 'PUT' || (method === 'POST' && parts.length === 1)) checkId(first, context.database);
    throw notFound(`There is no such endpoint: /{db}/${first}`);
  }
  if (parts.length > 1) return dispatch(ATTACHMENT, { ...context, id: first, attachment: second });
  return dispatch(DOCUMENT, { ...context, id: first });
}

function routeView(context, [, design, , view, queries]) {
  const asked = { ...context, design: `_design/${design}`, view };
  if (queries === 'queries') return dispatch({ POST: queryViewTogether }, asked);
  return dispatch({ allowed: 'GET,HEAD,POST', GET: queryView, POST: queryView }, asked);
}

function routeSearch(context, [, design, , index]) {
  return dispatch({ allowed: 'GET,HEAD,POST', GET: querySearch, POST: querySearch }, { ...context, design: `_design/${design}`, index });
}

function routeList(context, parts) {
  if (parts.length === 1)
    return dispatch({ allowed: 'GET,HEAD,POST', GET: listDocuments, POST: listDocuments }, context);
  return dispatch({ POST: runQueries }, context);
}

function routeIndex(context, parts) {
  if (parts.length === 1 && parts[0] === '_bulk_delete') return dispatch({ POST: deleteIndexes }, context);
  const [name, type, design] = [...parts].reverse();
  return dispatch({ DELETE: deleteIndex }, { ...context, design, type, name });
}

const BELOW_PARTITION = {
  _changes: { allowed: 'GET,HEAD,POST', GET: changes, POST: changes },
  _find: { POST: find },
  _explain: { POST: explain },
  _batch: { POST: batch },
};

function routePartition(context, [partition, ...rest]) {
  const { request, database } = context;
  if (partition === undefined) throw badRequest('invalid_partition_req');
  const checked = { ...context, partition };
  const check = () => {
    if (!database.partitioned) throw badRequest('database is not partitioned');
    checkPartition(partition);
    const asked = request.query.get('partition');
    if (asked !== undefined && asked !== partition)
      throw badRequest('Conflicting value for `partition` in query string');
    return database;
  };
  if (rest.length === 0) return dispatch({ allowed: 'GET', GET: databases.partitionInfo }, { ...checked, find: check });
  const [name] = rest;
  if (name === '_all_docs') return routeList({ ...checked, name, find: check }, rest);
  if (name === '_design' && rest[2] === '_view' && rest.length > 3) {
    check();
    return routeView(checked, rest);
  }
  if (name === '_design' && rest[2] === '_search' && rest.length === 4) {
    check();
    return routeSearch(checked, rest);
  }
  if (BELOW_PARTITION[name]) return dispatch(BELOW_PARTITION[name], { ...checked, find: check });
  check();
  throw notFound();
}

export function checkPartition(partition) {
  const illegal = (reason) => new Refusal(400, 'illegal_partition', reason);
  if (partition === '') throw illegal('Partition must not be empty');
  if (partition.startsWith('_')) throw illegal('Partition must not start with an underscore');
  if (partition.includes(':')) throw illegal('Partition must not contain a colon');
}

/// The id the server made for document `i` of the request; a wrong one makes the comparison fail.
function generatedId(reply, i, prefix = '') {
  const row = Array.isArray(reply?.body) ? reply.body[i] : reply?.body;
  const mine = row?.id?.startsWith(prefix) && /^[0-9a-f]{32}$/.test(row.id.slice(prefix.length));
  return mine ? row.id : `${prefix}generated-${i}`;
}
