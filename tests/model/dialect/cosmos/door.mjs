// The Cosmos door of the model: the same documents, another dialect. Written from docs/cosmos.md and Azure Cosmos DB's
// REST reference.
import { Reply } from '../reply.mjs';
import { batch } from './batch.mjs';
import * as containers from './containers.mjs';
import { listChanges, listItems } from './feeds.mjs';
import { checkItemId, documentIdOf, itemsOf, parseItem, parseJson, parseKey, requiredKey } from './item.mjs';
import { parseMatch } from './match.mjs';
import { runOperation } from './operation.mjs';
import { parsePatchText } from './patch.mjs';
import { queryItems } from './query.mjs';
import { badRequest, CosmosRefusal, methodNotAllowed, noContent, ownerMissing, refusalReply } from './reply.mjs';

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
      return dispatch({ GET: containers.readContainer, DELETE: containers.deleteContainer }, { owner, id: container });
  }
  const database = model.databases.get(`${owner}/${container}`);
  if (!database?.container) throw ownerMissing();
  if (collection === 'operations') return dispatch({ POST: deleteKey }, { database });
  if (id === undefined) return dispatch({ GET: readFeed, POST: postItem }, { database });
  checkItemId(id);
  const handlers = { GET: readItem, PUT: replaceItem, DELETE: deleteItem, PATCH: patchItem };
  return dispatch(handlers, { database, id });
}

function readFeed(context) {
  const mode = context.request.header('a-im');
  if (!mode) return listItems(context);
  if (mode.toLowerCase() !== 'incremental feed') throw badRequest();
  return listChanges(context);
}

function postItem(context) {
  const { request } = context;
  if (isTrue(request.header('x-ms-documentdb-isquery'))) return queryItems(context);
  if (isTrue(request.header('x-ms-cosmos-is-batch-request'))) return batch(context);
  return createItem(context);
}

/// The reply to one operation.
function write({ request, database }, operation) {
  const { status, etag, item } = runOperation(database, operation);
  if (status === 204) return noContent(204);
  return new Reply(status, request.header('prefer') === 'return=minimal' ? '' : item, { etag });
}

function createItem(context) {
  const { request } = context;
  const header = request.header('x-ms-documentdb-partitionkey');
  const named = header ? parseKey(header) : undefined;
  const item = parseItem(parseJson(request.body ?? ''), named);
  return write(context, {
    kind: isTrue(request.header('x-ms-documentdb-is-upsert')) ? 'upsert' : 'create',
    documentId: documentIdOf(item.key, item.id),
    body: item.body,
    match: parseMatch(request.header('if-match')),
  });
}

function readItem({ request, database, id }) {
  const documentId = documentIdOf(requiredKey(request), id);
  const { etag, item } = runOperation(database, { kind: 'read', documentId });
  const known = request.header('if-none-match');
  if (known && [etag, '*', etag.slice(1, -1)].includes(known)) return noContent(304, { etag });
  return new Reply(200, item, { etag });
}

function replaceItem(context) {
  const { request, id } = context;
  const key = requiredKey(request);
  const item = parseItem(parseJson(request.body ?? ''), [key]);
  if (item.id !== id) throw badRequest();
  const match = parseMatch(request.header('if-match'));
  return write(context, { kind: 'replace', documentId: documentIdOf(key, id), body: item.body, match });
}

function deleteItem(context) {
  const { request, id } = context;
  const documentId = documentIdOf(requiredKey(request), id);
  return write(context, { kind: 'remove', documentId, match: parseMatch(request.header('if-match')) });
}

function patchItem(context) {
  const { request, id } = context;
  const documentId = documentIdOf(requiredKey(request), id);
  const patch = parsePatchText(request.body);
  return write(context, { kind: 'patch', documentId, patch, match: parseMatch(request.header('if-match')) });
}

/// All items of a partition key, in the order of their ids.
function deleteKey({ request, database }) {
  const items = itemsOf(database, [requiredKey(request)]);
  for (const { documentId: id } of items) database.write({ id, deleted: true, body: {}, base: 'live winner' });
  return noContent(200);
}
