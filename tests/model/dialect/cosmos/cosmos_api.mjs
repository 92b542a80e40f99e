// The Cosmos DB API of the model: the same documents, another dialect. Written from docs/cosmos.md and Azure Cosmos DB's
// REST reference.
import { Reply } from '../reply.mjs';
import { batch } from './batch.mjs';
import * as containers from './containers.mjs';
import { listChanges, listItems } from './feeds.mjs';
import { checkItemId, documentIdOf, itemsOf, parseItem, parseJson } from './item.mjs';
import { parseKey, requiredKey } from './key.mjs';
import { parseMatch } from './match.mjs';
import { runOperation } from './operation.mjs';
import { parsePatchText } from './patch.mjs';
import { queryItems } from './query.mjs';
import { badRequest, CosmosRefusal, methodNotAllowed, noContent, ownerMissing, refusalReply } from './reply.mjs';
import * as scripts from './scripts.mjs';
import { hasTriggers, runWithTriggers } from './triggers.mjs';
import { listVersions } from './versions.mjs';

const isTrue = (text) => /^(true|True|TRUE)$/.test(text ?? '');

export function handleCosmos(context) {
  try {
    return route(context);
  } catch (error) {
    if (!(error instanceof CosmosRefusal)) throw error;
    return refusalReply(error);
  }
}

function route(context) {
  const { request, model } = context;
  const [, owner, , container, collection, id] = request.parts;
  const dispatch = (handlers, more) => {
    const handler = handlers[request.method];
    if (!handler) throw methodNotAllowed();
    return handler({ ...context, ...more });
  };
  switch (request.parts.length) {
    case 1:
      return dispatch({ POST: containers.createAccountDatabase });
    case 2:
      return dispatch({ GET: containers.readAccountDatabase, DELETE: containers.deleteAccountDatabase }, { id: owner });
    case 3:
      return dispatch({ GET: containers.listContainers, POST: containers.createContainer }, { owner });
    case 4:
      return dispatch(
        { GET: containers.readContainer, PUT: containers.replaceContainer, DELETE: containers.deleteContainer },
        { owner, id: container },
      );
  }
  const database = model.databases.get(`${owner}/${container}`);
  if (!database?.container) throw ownerMissing();
  if (collection === 'operations') return dispatch({ POST: deleteKey }, { database });
  if (scripts.isKind(collection)) {
    const { list, create, read, replace, remove, execute } = scripts;
    const more = { database, kind: collection, scripts: database.scripts[collection] };
    if (id === undefined) return dispatch({ GET: list, POST: create }, more);
    const executing = collection === 'sprocs' ? { POST: execute } : {};
    return dispatch({ GET: read, PUT: replace, DELETE: remove, ...executing }, { ...more, id });
  }
  if (id === undefined) return dispatch({ GET: readFeed, POST: postItem }, { database });
  checkItemId(id);
  const handlers = { GET: readItem, PUT: replaceItem, DELETE: deleteItem, PATCH: patchItem };
  return dispatch(handlers, { database, id });
}

function readFeed(context) {
  const mode = context.request.header('a-im');
  if (!mode) return listItems(context);
  if (mode.toLowerCase() === 'full-fidelity feed') return listVersions(context);
  if (mode.toLowerCase() !== 'incremental feed') throw badRequest();
  return listChanges(context);
}

function postItem(context) {
  const { request } = context;
  if (isTrue(request.header('x-ms-documentdb-isquery'))) return queryItems(context);
  if (isTrue(request.header('x-ms-cosmos-is-batch-request'))) return batch(context);
  return createItem(context);
}

/// The reply to one operation on an item with this key.
function write(context, key, operation) {
  const { request, database } = context;
  const { status, etag, item } = hasTriggers(request)
    ? runWithTriggers(context, key, operation)
    : runOperation(database, operation);
  if (status === 204) return noContent(204);
  return new Reply(status, request.header('prefer') === 'return=minimal' ? '' : item, { etag });
}

function createItem(context) {
  const { request, database } = context;
  const { container } = database;
  const header = request.header('x-ms-documentdb-partitionkey');
  const named = header ? parseKey(header, container) : undefined;
  const item = parseItem(parseJson(request.body ?? ''), named, container);
  return write(context, item.key, {
    kind: isTrue(request.header('x-ms-documentdb-is-upsert')) ? 'upsert' : 'create',
    documentId: documentIdOf(item.key, item.id, container),
    body: item.body,
    match: parseMatch(request.header('if-match')),
  });
}

const namedDocument = ({ request, database, id }) =>
  documentIdOf(requiredKey(request, database.container), id, database.container);

function readItem(context) {
  const { request, database } = context;
  const documentId = namedDocument(context);
  const { etag, item } = runOperation(database, { kind: 'read', documentId });
  const known = request.header('if-none-match');
  if (known && [etag, '*', etag.slice(1, -1)].includes(known)) return noContent(304, { etag });
  return new Reply(200, item, { etag });
}

function replaceItem(context) {
  const { request, database, id } = context;
  const key = requiredKey(request, database.container);
  const item = parseItem(parseJson(request.body ?? ''), key, database.container);
  const match = parseMatch(request.header('if-match'));
  return write(context, key, {
    kind: 'replace',
    documentId: documentIdOf(item.key, item.id, database.container),
    formerId: documentIdOf(item.key, id, database.container),
    body: item.body,
    match,
  });
}

function deleteItem(context) {
  const { request, database } = context;
  const documentId = namedDocument(context);
  return write(context, requiredKey(request, database.container), {
    kind: 'remove',
    documentId,
    match: parseMatch(request.header('if-match')),
  });
}

function patchItem(context) {
  const { request, database } = context;
  const documentId = namedDocument(context);
  const patch = parsePatchText(request.body, database);
  return write(context, requiredKey(request, database.container), {
    kind: 'patch',
    documentId,
    patch,
    match: parseMatch(request.header('if-match')),
  });
}

/// All items of a partition key, in the order of their ids.
function deleteKey({ request, database }) {
  const items = itemsOf(database, requiredKey(request, database.container));
  for (const { documentId: id } of items) database.write({ id, deleted: true, body: {}, base: 'live winner' });
  return noContent(200);
}
