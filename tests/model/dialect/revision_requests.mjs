// Requests about revisions alone: _revs_diff, _missing_revs, _purge.
import { badRequest, Reply } from './reply.mjs';
import { parseRevision } from './revision.mjs';

function parseAsked(request) {
  request.requireJsonType();
  return Object.entries(request.jsonObject()).map(([id, revs]) => {
    if (!Array.isArray(revs)) throw badRequest('Invalid list of revisions');
    return [id, revs.map(parseRevision)];
  });
}

function missingOf(database, asked) {
  return asked
    .map(([id, revs]) => {
      const tree = database.tree(id);
      const missing = tree ? tree.missing(revs) : revs;
      return { id, missing, ancestors: tree && missing.length > 0 ? tree.possibleAncestors(missing) : [] };
    })
    .filter(({ missing }) => missing.length > 0);
}

export function revsDiff({ request, database }) {
  const rows = missingOf(database, parseAsked(request)).map(({ id, missing, ancestors }) => [
    id,
    ancestors.length > 0 ? { missing, possible_ancestors: ancestors } : { missing },
  ]);
  return new Reply(200, Object.fromEntries(rows));
}

export function missingRevs({ request, database }) {
  const rows = missingOf(database, parseAsked(request)).map(({ id, missing }) => [id, missing]);
  return new Reply(200, { missing_revs: Object.fromEntries(rows) });
}

export function purge({ request, database }) {
  const asked = parseAsked(request);
  if (asked.length > 100) throw badRequest('Exceeded maximum number of documents.');
  if (asked.flatMap(([, revs]) => revs).length > 1000) throw badRequest('Exceeded maximum number of revisions.');
  const purged = asked.map(([id, revs]) => [id, database.purge(id, revs)]);
  return new Reply(201, { purge_seq: null, purged: Object.fromEntries(purged) });
}
