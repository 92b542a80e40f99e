// Revisions: `N-hash`. A new one is the first 16 bytes of SHA-256 over (deleted, parent, body), as docs/architecture.md
// promises; the bytes are laid out as storage/document/revision.h says.
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

export function newRevision(parent, deleted, body) {
  const parentHash = parent === undefined ? Buffer.alloc(0) : hashBytes(hashOf(parent));
  const generation = parent === undefined ? 0 : generationOf(parent);
  const head = Buffer.alloc(10);
  head.writeUInt8(deleted ? 1 : 0, 0);
  head.writeBigUInt64LE(BigInt(generation), 1);
  head.writeUInt8(parentHash.length, 9);
  const digest = createHash('sha256').update(head).update(parentHash).update(JSON.stringify(body)).digest('hex');
  return `${generation + 1}-${digest.slice(0, 32)}`;
}
