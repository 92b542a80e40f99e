// The change feed in its mode "all versions and deletes": every version of every item, and deletions, which have the
// item as it was.
import { Accepted, Judged, Sequence, SequenceWithin } from '../opaque.mjs';
import { Reply } from '../reply.mjs';
import { checkRange, newestPosition, pageSize, parsePosition } from './feeds.mjs';
import { containerRid, itemIdOf, showItem } from './item.mjs';
import { decodeKey, scopeOf, scopeStart } from './key.mjs';
import { badRequest } from './reply.mjs';

const aTime = new Accepted((value) => Number.isInteger(value) || 'expected a time');
const aNumber = new Accepted((value) => Number.isInteger(value) || 'expected a number');

/// A position of the feed. The server alone decides the position of an expiration.
const positionOf = (database, version) =>
  version.expires ? aNumber : new Sequence(database, version.sequence, 'local');

function rowOf(database, version) {
  const item = showItem(database, version.id, version.leaf);
  const metadata = { operationType: version.operation, lsn: positionOf(database, version), crts: aTime };
  if (version.operation !== 'create') {
    const previous = database.versions.findLast(({ id, sequence }) => id === version.id && sequence < version.sequence);
    metadata.previousImageLSN = positionOf(database, previous);
  }
  if (version.operation !== 'delete') return { current: item, metadata };
  const key = decodeKey(version.id.slice(0, version.id.indexOf(':')), database.container);
  const names = database.container.paths.map((path) => path.join('/'));
  Object.assign(metadata, {
    timeToLiveExpired: version.expires,
    id: itemIdOf(version.id),
    partitionKey: Object.fromEntries(names.map((name, i) => [name, key[i] === undefined ? {} : key[i]])),
  });
  return { current: {}, previous: item, metadata };
}

const isExpiration = (row) => row.metadata?.timeToLiveExpired === true;
const etagOfRow = (row) => row.previous?._etag ?? row.current?._etag;

/// An expiration is in the feed where the server noticed it: before a later version, if one was written.
function judge(database, start, versions, since, rows, compare) {
  const wrong = compare(
    versions.filter(({ expires }) => !expires).map((version) => rowOf(database, version)),
    rows.filter((row) => !isExpiration(row)),
  );
  if (wrong) return wrong;
  const expired = database.versions.filter(({ id, expires }) => expires && id.startsWith(start));
  const unknown = rows.find((row) => isExpiration(row) && !expired.some(({ leaf }) => `"${leaf.rev}"` === etagOfRow(row)));
  if (unknown) return `${JSON.stringify(unknown)} should not be here`;
  for (const id of new Set(expired.map((version) => version.id))) {
    const differs = judgeItem(database, id, versions, since, rows, compare);
    if (differs) return `the versions of ${id}: ${differs}`;
  }
  return undefined;
}

function judgeItem(database, id, versions, since, rows, compare) {
  const all = database.versions.filter((version) => version.id === id);
  const etags = all.map(({ leaf }) => `"${leaf.rev}"`);
  const seen = rows.filter((row) => etags.includes(etagOfRow(row)));
  for (const version of all.filter((one) => one.expires || versions.includes(one))) {
    const isNext =
      seen.length > 0 && isExpiration(seen[0]) === version.expires && etagOfRow(seen[0]) === `"${version.leaf.rev}"`;
    // The server may not have noticed the last one yet, or may have noticed it before the feed's start.
    const mayMiss = version.expires && (version === all.at(-1) || version.sequence <= since);
    if (!isNext && mayMiss) continue;
    const wrong = compare(rowOf(database, version), seen.shift());
    if (wrong) return wrong;
  }
  return seen.length === 0 ? undefined : `unexpected ${JSON.stringify(seen)}`;
}

export function listVersions({ request, database }) {
  const start = scopeStart(scopeOf(request, database.container), database.container);
  checkRange(request, database);
  if (!database.container.retention) throw badRequest();
  const size = pageSize(request);
  if (!request.header('if-none-match')) throw badRequest(); // the beginning
  const since = parsePosition(request.header('if-none-match'), database);
  const versions = database.versions.filter(({ id, sequence }) => id.startsWith(start) && sequence > since);
  if (versions.length > size) throw new Error('a page of versions that is not the last');
  const certain = versions.filter(({ expires }) => !expires);
  const mayExpire = database.versions.some(({ expires }) => expires);
  const newest = Math.max(since, ...certain.map(({ sequence }) => sequence));
  const etag = new SequenceWithin(database, newest, newestPosition(database, newest), 'position');
  if (certain.length === 0 && !mayExpire) return new Reply(304, '', { etag, 'x-ms-item-count': '0' });
  const status = new Judged((value) =>
    value === 200 || (value === 304 && certain.length === 0) ? undefined : `expected versions, got ${value}`,
  );
  const check = (body, compare) => {
    if (body === '') return certain.length === 0 ? undefined : 'expected versions';
    const wrong = compare(containerRid(database), body._rid);
    if (wrong) return wrong;
    if (body._count !== body.Documents.length) return `_count is ${body._count}, not ${body.Documents.length}`;
    return judge(database, start, versions, since, body.Documents, compare);
  };
  return new Reply(status, new Judged(check), { etag, 'x-ms-item-count': new Judged(() => undefined) });
}
