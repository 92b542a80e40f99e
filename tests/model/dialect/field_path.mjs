// Field names of selectors, sorts and projections: `a.b`, `list.0`, `with\.dot`.
import { Refusal } from './reply.mjs';

export function parsePath(text) {
  const parts = text.split(/(?<!\\)\./);
  if (parts.some((part) => part === '')) throw new Refusal(400, 'invalid_field_name', `Invalid field name: ${text}`);
  return parts.map((part) => part.replaceAll('\\', ''));
}

export const MISSING = Symbol('missing');
export const BAD_PATH = Symbol('bad path'); // a step into something that has no members

export function lookUp(value, path) {
  for (const part of path) {
    if (Array.isArray(value)) {
      if (!/^\d+$/.test(part) || Number(part) >= value.length) return BAD_PATH;
      value = value[Number(part)];
    } else if (typeof value === 'object' && value !== null) {
      if (!Object.hasOwn(value, part)) return MISSING;
      value = value[part];
    } else {
      return BAD_PATH;
    }
  }
  return value;
}

export const isThere = (value) => value !== MISSING && value !== BAD_PATH;

/// The document with these fields alone.
export function project(document, fields) {
  if (fields.length === 0) return document;
  const result = {};
  for (const field of fields) {
    const path = parsePath(field);
    const value = lookUp(document, path);
    if (!isThere(value)) continue;
    let at = result;
    for (const part of path.slice(0, -1)) at = at[part] ??= {};
    at[path.at(-1)] = value;
  }
  return result;
}
