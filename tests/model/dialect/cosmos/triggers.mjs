// Writes of single items with triggers, in one transaction: functions before it, which may change the item, and after
// it, which may change what the client sees.
import { documentIdOf, parseItem } from './item.mjs';
import { runOperation } from './operation.mjs';
import { badRequest } from './reply.mjs';
import { atomically, runScript } from './script.mjs';
import { failingAs400 } from './scripts.mjs';

const HEADERS = { Pre: 'x-ms-documentdb-pre-trigger-include', Post: 'x-ms-documentdb-post-trigger-include' };
const OPERATIONS = { create: 'Create', upsert: 'Upsert', replace: 'Replace', remove: 'Delete' };

export const hasTriggers = (request) => Object.values(HEADERS).some((name) => request.header(name) !== undefined);

function find({ request, database }, type) {
  const names = (request.header(HEADERS[type]) ?? '').split(',').map((name) => name.trim());
  return names
    .filter((name) => name !== '')
    .map((name) => {
      const trigger = database.scripts.triggers.get(name);
      if (trigger?.own.triggerType !== type) throw badRequest();
      return trigger.own;
    });
}

/// An upsert is a creation or a replacement too, whichever it turns out to be.
function firesOn(operation, kind, existed) {
  const replaces = kind === 'replace' || (kind === 'upsert' && existed);
  const creates = kind === 'create' || (kind === 'upsert' && !existed);
  const fires = { All: true, Create: creates, Update: replaces, Replace: replaces };
  return fires[operation] ?? OPERATIONS[kind] === operation;
}

/// Does the same as runOperation, with the triggers that the request names. `key`: the item's.
export function runWithTriggers(context, key, operation) {
  const { database } = context;
  const [before, after] = [find(context, 'Pre'), find(context, 'Post')];
  return failingAs400(() => atomically(database, () => run(database, key, operation, before, after)));
}

function run(database, key, asked, before, after) {
  const { kind } = asked;
  const existed = database.winner(asked.formerId ?? asked.documentId)?.deleted === false;
  const runOne = (trigger, messages) => {
    if (!firesOn(trigger.triggerOperation, kind, existed)) throw badRequest();
    return runScript(database, key, trigger.body, { operation: OPERATIONS[kind], ...messages });
  };
  let operation = asked;
  for (const trigger of before) {
    const { request } = runOne(trigger, { request: operation.body });
    if (operation.body !== undefined) operation = changed(database, key, operation, request);
  }
  const { documentId, formerId = documentId } = operation;
  const replaced = [...new Set([documentId, formerId])].map((id) => [id, database.winner(id)]);
  const result = runOperation(database, operation);
  // Queries of what follows do not count the write.
  const hidden = replaced.map(([id, winner]) => ({ documentId: id, replaced: winner, written: database.winner(id) }));
  let { item } = result;
  for (const trigger of after) item = runOne(trigger, { request: operation.body, response: item, hidden }).response;
  return { ...result, item: item === undefined ? '' : item };
}

/// What a trigger made of the item is checked as what a client sends.
function changed({ container }, key, operation, body) {
  const item = parseItem(body, key, container);
  const documentId = documentIdOf(item.key, item.id, container);
  return { ...operation, documentId, body: item.body };
}
