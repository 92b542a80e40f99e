// What a container is: its partition key, unique keys, time to live, retention of versions.
import { canonical, isObject } from '../request.mjs';
import { isReserved } from './item.mjs';
import { parseDefaultTtl } from './lifetime.mjs';
import { badRequest } from './reply.mjs';
import { parseExpression } from './sql.mjs';

const HIERARCHY_DEPTH_MAX = 3;
const RETENTION_MINUTES_MAX = 43_200;
const COMPUTED_MAX = 20;
const SHOWN = ['id', 'partitionKey', 'uniqueKeyPolicy', 'defaultTtl', 'changeFeedPolicy', 'computedProperties'];

function parsePath(text) {
  if (typeof text !== 'string' || !/^(\/[^/*?"]+)+$/.test(text)) throw badRequest();
  return text.slice(1).split('/');
}

function parsePartitionKey(sent) {
  if (!isObject(sent) || !Array.isArray(sent.paths) || sent.paths.length === 0) throw badRequest();
  const { kind = sent.paths.length > 1 ? 'MultiHash' : 'Hash', version = 2 } = sent;
  if (!['Hash', 'MultiHash'].includes(kind) || ![1, 2].includes(version)) throw badRequest();
  if (kind === 'Hash' && sent.paths.length > 1) throw badRequest();
  if (kind === 'MultiHash' && (sent.paths.length > HIERARCHY_DEPTH_MAX || version !== 2)) throw badRequest();
  const paths = sent.paths.map(parsePath);
  if (paths.some(([first]) => isReserved(first)) || new Set(sent.paths).size < paths.length) throw badRequest();
  return { paths, shown: { ...sent, kind, version } };
}

function parseUniqueKeys(policy) {
  if (policy === undefined || policy === null) return [];
  if (!isObject(policy) || !Array.isArray(policy.uniqueKeys)) throw badRequest();
  return policy.uniqueKeys.map((key) => {
    if (!isObject(key) || !Array.isArray(key.paths) || key.paths.length === 0) throw badRequest();
    return key.paths.map(parsePath);
  });
}

function parseRetention(policy) {
  if (policy === undefined || policy === null) return 0;
  const minutes = policy.retentionDuration;
  if (!Number.isInteger(minutes) || minutes < 0 || minutes > RETENTION_MINUTES_MAX) throw badRequest();
  return minutes;
}

/// Computed properties: name → (item) => value.
function parseComputed(list) {
  if (list === undefined || list === null) return new Map();
  if (!Array.isArray(list) || list.length > COMPUTED_MAX) throw badRequest();
  const computed = new Map();
  for (const property of list) {
    if (!isObject(property) || typeof property.name !== 'string' || typeof property.query !== 'string')
      throw badRequest();
    const { name, query } = property;
    if (name === 'id' || name === '' || name.includes('/') || isReserved(name) || computed.has(name))
      throw badRequest();
    computed.set(name, parseExpression(query));
  }
  return computed;
}

/// `body`: what the client sent, with an id that may be one.
export function parseDefinition(body) {
  const { paths, shown: partitionKey } = parsePartitionKey(body.partitionKey);
  return {
    id: body.id,
    paths,
    uniqueKeys: parseUniqueKeys(body.uniqueKeyPolicy),
    defaultTtl: parseDefaultTtl(body.defaultTtl),
    retention: parseRetention(body.changeFeedPolicy),
    computed: parseComputed(body.computedProperties),
    shown: {
      ...Object.fromEntries(SHOWN.filter((name) => body[name] != null).map((name) => [name, body[name]])),
      partitionKey,
    },
  };
}

/// What replaces a definition. Neither the partition key nor the unique keys can be changed.
export function replaceDefinition(current, body) {
  const next = parseDefinition({ partitionKey: current.shown.partitionKey, ...body });
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  if (next.id !== current.id || !same(next.paths, current.paths)) throw badRequest();
  if (!same(next.uniqueKeys, current.uniqueKeys)) throw badRequest();
  return next;
}

/// What differs from the definition in what the server shows of it.
export function differsFrom({ shown }, body) {
  const wrong = SHOWN.find((name) => canonical(shown[name]) !== canonical(body?.[name]));
  return wrong && `expected ${wrong} to be ${canonical(shown[wrong])}, got ${canonical(body?.[wrong])}`;
}
