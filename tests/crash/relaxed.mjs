// What may be there after a power loss with storage.durability = relaxed: the last commits of each physical partition may
// be gone, but what is left is how the partition was at some earlier moment. Databases themselves are never lost.
import { apply, compare, databaseOf, matches } from './history.mjs';

const isDatabase = (key) => key.startsWith('database ');
const only = (map, wanted) => new Map([...map].filter(([key]) => wanted(key)));

/// Compares as compare() of history.mjs does. `requests`: all; `state`, `pending`: as of `time`.
export function compareRelaxed(requests, time, state, pending, seen, partitionCounts) {
  const problems = compareDatabases(state, pending, seen);
  const byDatabase = new Map([...seen.keys()].filter(isDatabase).map((key) => [databaseOf(key), []]));
  for (const request of requests) {
    if (request.sent >= time) continue;
    const database = databaseOf(request.effects.keys().next().value);
    // A request that made or removed the database begins a new story.
    if (request.effects.keys().next().value.startsWith('database ')) {
      if (byDatabase.has(database) && request.effects.values().next().value !== undefined) byDatabase.set(database, []);
      continue;
    }
    byDatabase.get(database)?.push(request);
  }
  for (const [database, story] of byDatabase) {
    const own = only(seen, (key) => databaseOf(key) === database && !isDatabase(key));
    const onePartition = partitionCounts.get(database) === 1;
    problems.push(...(onePartition ? comparePrefix(database, story, own) : compareValues(story, own)));
  }
  return problems;
}

function compareDatabases(state, pending, seen) {
  const requests = pending.map((request) => ({ ...request, effects: only(request.effects, isDatabase) }))
    .filter((request) => request.effects.size > 0);
  return compare(only(state, isDatabase), requests, only(seen, isDatabase));
}

/// Each value is one that was there once.
function compareValues(story, seen) {
  const values = new Map();
  for (const { effects } of story) {
    for (const [key, value] of effects) {
      if (!values.has(key)) values.set(key, [undefined]);
      values.get(key).push(value);
    }
  }
  return [...new Set([...values.keys(), ...seen.keys()])]
    .filter((key) => !(values.get(key) ?? [undefined]).some((value) => matches(key, value, seen.get(key))))
    .map((key) => `${key}: it never was like this`);
}

/// One partition: a prefix of each client's requests is there, and together they are what was there at one moment.
function comparePrefix(database, story, seen) {
  const problems = [];
  const clients = groupByClient(story);
  let newestThere;
  let oldestLost;
  const claimed = new Set();
  for (const [client, requests] of clients) {
    const keys = new Set(requests.flatMap((request) => [...request.effects.keys()]));
    for (const key of keys) claimed.add(key);
    const now = new Map();
    const wrong = new Set([...keys].filter((key) => !matches(key, undefined, seen.get(key))));
    let first = wrong.size === 0 ? 0 : undefined;
    let last = first;
    for (const [n, request] of requests.entries()) {
      apply(now, request.effects);
      for (const key of request.effects.keys()) {
        if (matches(key, now.get(key), seen.get(key))) wrong.delete(key);
        else wrong.add(key);
      }
      if (wrong.size > 0) continue;
      first ??= n + 1;
      last = n + 1;
    }
    if (first === undefined) {
      problems.push(`${database}: what ${client} wrote is as it never was at any moment`);
      continue;
    }
    const there = requests[first - 1];
    const lost = requests[last];
    if (there && (!newestThere || there.sent > newestThere.sent)) newestThere = there;
    if (lost?.acknowledged && (!oldestLost || lost.acknowledged < oldestLost.acknowledged)) oldestLost = lost;
  }
  if (newestThere && oldestLost && oldestLost.acknowledged < newestThere.sent) {
    problems.push(`${database}: '${newestThere.name}' is there, '${oldestLost.name}', acknowledged before it was sent, is not`);
  }
  for (const key of seen.keys()) if (!claimed.has(key)) problems.push(`${key}: no request wrote it`);
  return problems;
}

function groupByClient(story) {
  const clients = new Map();
  for (const request of story) {
    if (!clients.has(request.client)) clients.set(request.client, []);
    clients.get(request.client).push(request);
  }
  return clients;
}
