// A request as the dialect reads it: decoded path, query parameters, JSON body.
import { badRequest, invalidJson, queryParseError, Refusal } from './reply.mjs';

export class Request {
  constructor({ method, target, headers = {}, body }) {
    this.isHead = method === 'HEAD';
    this.method = this.isHead ? 'GET' : method;
    const question = target.indexOf('?');
    const path = question < 0 ? target : target.slice(0, question);
    this.parts = path.slice(1).split('/').map(decodeURIComponent);
    if (this.parts.at(-1) === '') this.parts.pop();
    this.query = new Map();
    if (question >= 0) {
      for (const pair of target.slice(question + 1).split('&')) {
        const equals = pair.indexOf('=');
        const decode = (text) => decodeURIComponent(text.replaceAll('+', ' '));
        this.query.set(
          decode(equals < 0 ? pair : pair.slice(0, equals)),
          equals < 0 ? '' : decode(pair.slice(equals + 1)),
        );
      }
    }
    this.headers = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    this.body = body;
  }

  header(name) {
    return this.headers.get(name.toLowerCase());
  }
  /// The flags of single documents and of feeds: true only when they say `true`.
  flag(name) {
    return this.query.get(name) === 'true';
  }

  requireJsonType() {
    // The client says application/json whenever it sends a body and is not told otherwise.
    const type = this.header('content-type') ?? (this.body === undefined ? undefined : 'application/json');
    if (type?.split(';')[0].trim().toLowerCase() !== 'application/json') {
      throw new Refusal(415, 'bad_content_type', "Content-Type must be application/json; with curl: -H 'Content-Type: application/json'");
    }
  }
  json() {
    return parseJson(this.body ?? '');
  }
  jsonObject() {
    const value = this.json();
    if (!isObject(value)) throw badRequest('Request body must be a JSON object');
    return value;
  }
}

export function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidJson();
  }
}

export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/// JSON with the members of objects in one order.
export const canonical = (value) =>
  JSON.stringify(value, (_, inner) => (isObject(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner));

/// A boolean or a count, out of the query string (text) or a JSON body (a value).
export function booleanOf(value) {
  if (typeof value === 'boolean') return value;
  const text = String(value).toLowerCase();
  if (typeof value === 'string' && (text === 'true' || text === 'false')) return text === 'true';
  throw queryParseError(`Invalid boolean parameter: ${JSON.stringify(value)}`);
}

export function countOf(value) {
  const number = typeof value === 'number' ? value : /^[+-]?\d+$/.test(value) ? Number(value) : NaN;
  if (!Number.isInteger(number)) throw queryParseError(`Invalid value for integer: ${JSON.stringify(value)}`);
  if (number < 0) throw queryParseError(`Invalid value for positive integer: ${JSON.stringify(value)}`);
  return number;
}

export const encodeId = (id) =>
  [...Buffer.from(id)]
    .map((byte) => (/[A-Za-z0-9_.:-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : percent(byte)))
    .join('');
const percent = (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
