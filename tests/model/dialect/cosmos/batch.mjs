// Up to a hundred operations in one request: of one partition key, all or nothing, each seeing those before it; or each
// for itself.
import { isObject } from '../request.mjs';
import { Reply } from '../reply.mjs';
import { aCharge } from '../opaque.mjs';
import { checkItemId, documentIdOf, parseItem, parseJson } from './item.mjs';
import { completeKey, parseKey, requiredKey, sameKey } from './key.mjs';
import { parseMatch } from './match.mjs';
import { runOperation } from './operation.mjs';
import { parsePatch } from './patch.mjs';
import { aMessage, badRequest, CosmosRefusal, failedDependency, keyMismatch } from './reply.mjs';

const KINDS = {
  Create: 'create',
  Upsert: 'upsert',
  Read: 'read',
  Replace: 'replace',
  Delete: 'remove',
  Patch: 'patch',
};
const OPERATIONS_MAX = 100;

/// What is wrong with one operation is found when its turn comes.
function parseOperation(sent, batchKey, database) {
  const { container } = database;
  if (!isObject(sent)) throw badRequest();
  const kind = KINDS[sent.operationType];
  if (kind === undefined) throw badRequest();
  let key = batchKey;
  if (sent.partitionKey) {
    key = completeKey(parseKey(sent.partitionKey, container), container);
    if (batchKey && !sameKey(key, batchKey)) throw keyMismatch();
  }
  const match = parseMatch(sent.ifMatch);
  const { resourceBody, id = '' } = sent;
  if (typeof id !== 'string') throw badRequest();
  if (kind === 'create' || kind === 'upsert' || kind === 'replace') {
    const item = parseItem(resourceBody, key, container);
    const operation = { kind, match, documentId: documentIdOf(item.key, item.id, container), body: item.body };
    if (kind !== 'replace') return operation;
    checkItemId(id);
    return { ...operation, formerId: documentIdOf(item.key, id, container) };
  }
  if (!key) throw badRequest();
  checkItemId(id);
  const operation = { kind, match, documentId: documentIdOf(key, id, container) };
  return kind === 'patch' ? { ...operation, patch: parsePatch(resourceBody, database) } : operation;
}

function failed({ status, substatus }) {
  return {
    statusCode: status,
    requestCharge: aCharge,
    ...(substatus ? { subStatusCode: substatus } : {}),
    message: aMessage,
  };
}

function succeeded({ status, etag, item }, showsBodies) {
  const result = { statusCode: status, requestCharge: aCharge };
  if (status !== 204) Object.assign(result, { eTag: etag, ...(showsBodies ? { resourceBody: item } : {}) });
  return result;
}

export function batch({ request, database }) {
  const atomic = request.header('x-ms-cosmos-batch-atomic') === 'true';
  const goesOn = (request.header('x-ms-cosmos-batch-continue-on-error') ?? 'true') === 'true';
  const showsBodies = request.header('prefer') !== 'return=minimal';
  const batchKey = atomic ? requiredKey(request, database.container) : undefined;
  if (!atomic && database.q > 1) throw badRequest();
  const sent = parseJson(request.body ?? '');
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > OPERATIONS_MAX) throw badRequest();

  const before = database.save();
  const results = [];
  for (const one of sent) {
    try {
      const operation = parseOperation(one, batchKey, database);
      // What was read is shown also to a client that does not want to see what it writes.
      results.push(succeeded(runOperation(database, operation), showsBodies || operation.kind === 'read'));
    } catch (error) {
      if (!(error instanceof CosmosRefusal)) throw error;
      if (atomic) {
        database.restore(before);
        results.fill(failed(failedDependency()));
      }
      results.push(failed(error));
      if (atomic || !goesOn) break;
    }
  }
  while (results.length < sent.length) results.push(failed(failedDependency()));
  return new Reply(results.some((result) => result.message !== undefined) ? 207 : 200, results);
}
