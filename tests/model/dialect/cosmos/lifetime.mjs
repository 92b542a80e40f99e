// Times to live. An expired item is deleted for every client at once. The server decides when it is removed from the disk.
//
// The server counts whole seconds by its own clock, so the moment at which an item expires is not known: calls are made
// when an item surely lives or has surely expired. Either its time is longer than any sequence of calls, or the next call
// whose reply could depend on it waits (driver/session.mjs).
import { badRequest } from './reply.mjs';

const LONG_S = 600;
const SECONDS_MAX = 2 ** 31 - 1;
const SLACK_MS = 150;

const isTime = (value) => value === -1 || (Number.isInteger(value) && value >= 1 && value <= SECONDS_MAX);

export function parseDefaultTtl(value) {
  if (value === undefined) return undefined;
  if (!isTime(value)) throw badRequest();
  return value;
}

/// An item's own must be one, also where the container knows none.
export function checkLifetime({ ttl }) {
  if (ttl !== undefined && !isTime(ttl)) throw badRequest();
}

/// Seconds from the last write on.
function lifetimeOf({ ttl }, { defaultTtl }) {
  if (defaultTtl === undefined) return Infinity;
  const seconds = isTime(ttl) ? ttl : defaultTtl;
  return seconds === -1 ? Infinity : seconds;
}

/// [[id, the time in milliseconds at which it has surely expired]…] of the living items that expire soon.
function expirations(database) {
  if (database.container?.defaultTtl === undefined) return [];
  return [...database.documents.values()]
    .map(({ id, tree, writtenAt }) => ({ id, writtenAt, winner: tree.winner() }))
    .filter(({ winner }) => !winner.deleted && lifetimeOf(winner.body, database.container) < LONG_S)
    .map(({ id, writtenAt, winner }) => {
      const second = Math.floor(writtenAt / 1000) + lifetimeOf(winner.body, database.container);
      return [id, (second + 1) * 1000 + SLACK_MS];
    });
}

/// When it is known again what lives; 0: it is.
export const settledAt = (database) => Math.max(0, ...expirations(database).map(([, expiredAt]) => expiredAt));

/// Deletes the items that have surely expired.
export function expireItems(database, now) {
  for (const [id, expiredAt] of expirations(database)) if (expiredAt <= now) database.expire(id);
}
