// Patches of items: operations one after another on a copy, all or none.
import { isObject } from '../request.mjs';
import { isReserved, parseJson } from './item.mjs';
import { badRequest } from './reply.mjs';
import { parseCondition } from './sql.mjs';

const KINDS = ['add', 'set', 'replace', 'remove', 'incr', 'move'];
const OPERATIONS_MAX = 10;

function parsePointer(text) {
  if (typeof text !== 'string' || !text.startsWith('/') || text === '/') throw badRequest();
  const parts = text.slice(1).split('/');
  if (parts.some((part) => part === '')) throw badRequest();
  return parts.map((part) => part.replace(/~[01]/g, (escape) => (escape === '~0' ? '~' : '/')));
}

function parseOperation(sent) {
  if (!isObject(sent) || !KINDS.includes(sent.op)) throw badRequest();
  const operation = { kind: sent.op, path: parsePointer(sent.path) };
  if (isReserved(operation.path[0])) throw badRequest();
  if (sent.op === 'remove') return operation;
  if (sent.op === 'move') return { ...operation, from: parsePointer(sent.from) };
  if (sent.value === undefined) throw badRequest();
  if (sent.op === 'incr' && typeof sent.value !== 'number') throw badRequest();
  return { ...operation, value: sent.value };
}

/// `sent`: a list of operations, or { operations, condition }.
export function parsePatch(sent, database) {
  const { operations, condition } = Array.isArray(sent) ? { operations: sent } : isObject(sent) ? sent : {};
  if (condition !== undefined && condition !== null && typeof condition !== 'string') throw badRequest();
  const parsed = { condition: condition ? parseCondition(condition, database) : undefined };
  if (condition === '') throw badRequest();
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > OPERATIONS_MAX) throw badRequest();
  return { ...parsed, operations: operations.map(parseOperation) };
}

export const parsePatchText = (text, database) => parsePatch(parseJson(text ?? ''), database);

/// Where the last step of a path leads from, or a refusal where it leads nowhere.
function parentOf(root, path) {
  let at = root;
  for (const part of path.slice(0, -1)) at = at[placeIn(at, part)];
  if (typeof at !== 'object' || at === null) throw badRequest();
  return at;
}

/// The member or index of something that is there.
function placeIn(value, part) {
  if (Array.isArray(value)) {
    if (!/^(0|[1-9]\d*)$/.test(part) || Number(part) >= value.length) throw badRequest();
    return Number(part);
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) throw badRequest();
  return part;
}

function put(root, path, value, { inserts }) {
  const parent = parentOf(root, path);
  const last = path.at(-1);
  if (!Array.isArray(parent)) {
    parent[last] = value;
    return;
  }
  const index = last === '-' || last === String(parent.length) ? parent.length : placeIn(parent, last);
  if (inserts) parent.splice(index, 0, value);
  else parent[index] = value;
}

function take(root, path) {
  const parent = parentOf(root, path);
  const place = placeIn(parent, path.at(-1));
  const value = parent[place];
  if (Array.isArray(parent)) parent.splice(place, 1);
  else delete parent[place];
  return value;
}

function run(root, { kind, path, from, value }) {
  switch (kind) {
    case 'add':
      return put(root, path, value, { inserts: true });
    case 'set':
      return put(root, path, value, { inserts: false });
    case 'remove':
      return take(root, path);
    case 'move': {
      if (path.length > from.length && from.every((part, i) => part === path[i])) throw badRequest();
      return put(root, path, take(root, from), { inserts: true });
    }
  }
  const parent = parentOf(root, path);
  const last = path.at(-1);
  if (kind === 'incr' && !Array.isArray(parent) && !Object.hasOwn(parent, last)) {
    parent[last] = value;
    return undefined;
  }
  const place = placeIn(parent, last);
  if (kind === 'incr' && typeof parent[place] !== 'number') throw badRequest();
  parent[place] = kind === 'incr' ? parent[place] + value : value;
  return undefined;
}

export function applyPatch({ operations }, body) {
  const patched = structuredClone(body);
  for (const operation of operations) run(patched, structuredClone(operation));
  return patched;
}
