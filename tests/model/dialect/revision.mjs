// Revisions: `N-hash`. The hash of a new one is the first 8 bytes of SHA-256 over (deleted, parent, body), and 8 bytes that
// are computed from them, as docs/architecture.md promises; docs/formats.md says how the bytes are laid out.
import { createHash } from 'node:crypto';
import { badRequest } from './reply.mjs';

const DIGEST = /^[0-9a-f]{32}$/;

export const generationOf = (rev) => Number(rev.slice(0, rev.indexOf('-')));
export const hashOf = (rev) => rev.slice(rev.indexOf('-') + 1);

const hashBytes = (hash) => (DIGEST.test(hash) ? Buffer.from(hash, 'hex') : Buffer.from(hash, 'latin1'));

/// Falling order of preference among leaves of one kind: the higher generation, then the higher hash.
export function compareRevisions(a, b) {
  return generationOf(a) - generationOf(b) || Buffer.compare(hashBytes(hashOf(a)), hashBytes(hashOf(b)));
}

export function parseRevision(text) {
  if (typeof text !== 'string' || !/^[1-9][0-9]*-[!-~]+$/.test(text)) throw badRequest('Invalid rev format');
  return text;
}

export function parseRevisions(list) {
  if (!Array.isArray(list)) throw badRequest('Invalid list of revisions');
  return list.map(parseRevision);
}

// The finaliser of splitmix64.
function mixed(half) {
  let z = half;
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/// `salt`: of a document's first revision, where tombstones were dropped.
export function newRevision(parent, deleted, body, salt = 0) {
  const parentHash = parent === undefined ? Buffer.alloc(0) : hashBytes(hashOf(parent));
  const generation = parent === undefined ? 0 : generationOf(parent);
  const head = Buffer.alloc(10);
  head.writeUInt8(deleted ? 1 : 0, 0);
  head.writeBigUInt64LE(BigInt(generation), 1);
  head.writeUInt8(parentHash.length, 9);
  const saltBytes = Buffer.alloc(parent === undefined && salt > 0 ? 8 : 0);
  if (saltBytes.length > 0) saltBytes.writeBigUInt64LE(BigInt(salt));
  const input = Buffer.concat([head, parentHash, saltBytes, Buffer.from(JSON.stringify(body))]);
  const hash = createHash('sha256').update(input).digest().subarray(0, 16);
  hash.writeBigUInt64LE(mixed(hash.readBigUInt64LE(0)), 8);
  return `${generation + 1}-${hash.toString('hex')}`;
}
