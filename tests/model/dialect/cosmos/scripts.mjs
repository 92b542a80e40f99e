// Functions of a container: stored procedures, triggers, and the functions that queries call. Resources, and the
// execution of a procedure on one partition key, whole or not at all.
import { compareBytes } from '../database.mjs';
import { Accepted, Constant } from '../opaque.mjs';
import { Reply } from '../reply.mjs';
import { isObject } from '../request.mjs';
import { containerRid, parseJson } from './item.mjs';
import { requiredKey } from './key.mjs';
import { badRequest, CosmosRefusal, exists, noContent, notFound } from './reply.mjs';
import { atomically, compile, runScript, ScriptFailure } from './script.mjs';

const LISTS = { sprocs: 'StoredProcedures', triggers: 'Triggers', udfs: 'UserDefinedFunctions' };
const TRIGGER_TYPES = ['Pre', 'Post'];
const TRIGGER_OPERATIONS = ['All', 'Create', 'Update', 'Replace', 'Delete', 'Upsert'];

const aTime = new Accepted((value) => Number.isInteger(value) || 'expected a time');
const aLink = new Accepted((value) => /^dbs\/.+\/(sprocs|triggers|udfs)\/.+/.test(value) || 'expected a link');
const anRid = /^[A-Za-z0-9+/-]+={0,2}$/;

let versions = 0;

export const isKind = (name) => Object.hasOwn(LISTS, name);

function parseScript(request, kind) {
  const sent = parseJson(request.body ?? '');
  if (!isObject(sent) || typeof sent.id !== 'string' || sent.id === '' || /[/\\?#]/.test(sent.id)) throw badRequest();
  if (typeof sent.body !== 'string') throw badRequest();
  const call = compile(sent.body);
  if (!call) throw badRequest();
  const own = { id: sent.id, body: sent.body };
  if (kind !== 'triggers') return { own, call };
  const { triggerType, triggerOperation } = sent;
  if (!TRIGGER_TYPES.includes(triggerType) || !TRIGGER_OPERATIONS.includes(triggerOperation)) throw badRequest();
  return { own: { ...own, triggerType, triggerOperation }, call };
}

function shown({ own, version, made }) {
  const etag = new Constant(`etag of version ${version} of a function`, /^".+"$/);
  const rid = new Constant(`rid of function ${made}`, anRid);
  return { ...own, _rid: rid, _self: aLink, _etag: etag, _ts: aTime };
}
function reply(script, status) {
  const body = shown(script);
  return new Reply(status, body, { etag: body._etag });
}

function find(scripts, id) {
  const script = scripts.get(id);
  if (!script) throw notFound();
  return script;
}

export function create({ request, scripts, kind }) {
  const sent = parseScript(request, kind);
  if (scripts.has(sent.own.id)) throw exists();
  const script = { ...sent, version: ++versions, made: versions };
  scripts.set(sent.own.id, script);
  return reply(script, 201);
}

export const read = ({ scripts, id }) => reply(find(scripts, id), 200);

export function replace({ request, scripts, kind, id }) {
  const sent = parseScript(request, kind);
  if (sent.own.id !== id) throw badRequest();
  const script = { ...find(scripts, id), ...sent, version: ++versions };
  scripts.set(id, script);
  return reply(script, 200);
}

export function remove({ scripts, id }) {
  find(scripts, id);
  scripts.delete(id);
  return noContent(204);
}

export function list({ database, scripts, kind }) {
  const all = [...scripts.values()].sort((a, b) => compareBytes(a.own.id, b.own.id));
  const body = { _rid: containerRid(database), [LISTS[kind]]: all.map(shown), _count: all.length };
  return new Reply(200, body, { 'x-ms-item-count': String(all.length) });
}

export function execute({ request, database, scripts, id }) {
  const key = requiredKey(request, database.container);
  const parameters = parseJson(request.body || '[]');
  if (!Array.isArray(parameters)) throw badRequest();
  const { own } = find(scripts, id);
  const { response } = failingAs400(() =>
    atomically(database, () => runScript(database, key, own.body, { parameters, response: undefined })),
  );
  return new Reply(200, response === undefined ? '' : response);
}

/// A function that throws is a bad request; the number it throws is the sub-status.
export function failingAs400(run) {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ScriptFailure)) throw error;
    throw new CosmosRefusal(400, error.number);
  }
}
