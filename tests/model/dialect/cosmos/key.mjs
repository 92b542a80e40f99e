// Partition keys: the values at a container's paths, as headers write them, and as the part of a document's id before
// the colon. A key is a list of values, one for each path; undefined is no key. The beginning of such a list names all
// the keys of a hierarchy below it.
import { isObject } from '../request.mjs';
import { badRequest, keyMismatch } from './reply.mjs';

const isHierarchical = ({ paths }) => paths.length > 1;
const isEmptyObject = (value) => isObject(value) && Object.keys(value).length === 0;

export function valueAt(body, path) {
  return path.reduce((at, name) => (isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), body);
}

function encodeValue(value, container) {
  if (value === undefined) return '!none';
  if (typeof value !== 'string') return `!${JSON.stringify(value)}`;
  if (value === '') return '!""';
  const percent = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return value.replace(isHierarchical(container) ? /[:%,]/g : /[:%]/g, percent).replace(/^[_!]/, percent);
}
function decodeValue(text) {
  if (text === '!none') return undefined;
  return text.startsWith('!') ? JSON.parse(text.slice(1)) : decodeURIComponent(text);
}

export const encodeKey = (values, container) => values.map((value) => encodeValue(value, container)).join(',');
/// The same the other way round.
export const decodeKey = (text, container) => (isHierarchical(container) ? text.split(',') : [text]).map(decodeValue);

export const sameKey = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/// What the ids of the documents of a key, or of the beginning of one, begin with.
export function scopeStart(values, container) {
  if (values.length === 0) return '';
  return encodeKey(values, container) + (values.length === container.paths.length ? ':' : ',');
}

/// A header's key as a list of values; a missing property is `{}` there.
export function parseKey(text, container) {
  let values;
  try {
    values = JSON.parse(text);
  } catch {
    throw badRequest();
  }
  if (!Array.isArray(values) || values.length > container.paths.length) throw badRequest();
  return values.map((value) => {
    if (isEmptyObject(value)) return undefined;
    if (typeof value === 'object' && value !== null) throw badRequest();
    return value;
  });
}

export function completeKey(values, container) {
  if (values.length !== container.paths.length) throw keyMismatch();
  return values;
}

const HEADER = 'x-ms-documentdb-partitionkey';

export function requiredKey(request, container) {
  const text = request.header(HEADER);
  if (!text) throw badRequest();
  return completeKey(parseKey(text, container), container);
}

/// What a query, a list or a feed is about: a key, the beginning of one, or with no values everything.
export function scopeOf(request, container) {
  const text = request.header(HEADER);
  return text ? parseKey(text, container) : [];
}

/// The key of an item that may be stored. An object or an array is no value.
export function storableKey(body, { paths }) {
  return paths.map((path) => {
    const value = valueAt(body, path);
    return typeof value === 'object' && value !== null ? undefined : value;
  });
}
