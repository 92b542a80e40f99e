// Calls with many documents or revisions.
import { call, path, withQuery } from './call.mjs';
import { flags } from './documents.mjs';

function edit(pools, database, id) {
  const { random } = pools;
  const body = id?.startsWith('_design/') ? pools.designBody() : pools.body();
  if (id === undefined) return body;
  body._id = id;
  if (id.startsWith('_local/')) {
    if (database?.locals.has(id) && random.chance(0.7)) body._rev = `0-${database.locals.get(id).edit}`;
    return body;
  }
  const living = database?.winner(id)?.deleted === false;
  if (random.chance(living ? 0.85 : 0.1)) body._rev = pools.revision(database, id);
  if (random.chance(0.15)) body._deleted = true;
  return body;
}

function graft(pools, id) {
  const { random } = pools;
  const revs = pools.graft();
  const body = { _id: id, _rev: revs[0], ...pools.body() };
  if (random.chance(0.85)) {
    body._revisions = { start: Number.parseInt(revs[0], 10), ids: revs.map((rev) => rev.slice(rev.indexOf('-') + 1)) };
  }
  if (random.chance(0.2)) body._deleted = true;
  return body;
}

const idOf = (pools, database) => (pools.random.chance(0.5) ? pools.anyKnownId(database) : pools.id(database));

export function bulkDocs(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  if (random.chance(0.3)) {
    const ids = random.times(random.below(5), () => pools.knownId(database));
    return call('POST', path(letter, '_bulk_docs'), { docs: ids.map((id) => graft(pools, id)), new_edits: false });
  }
  const docs = random.times(random.below(6), () =>
    edit(pools, database, random.chance(0.9) ? idOf(pools, database) : undefined),
  );
  if (database?.partitioned) for (const doc of docs) doc._id ??= pools.plainId(database);
  return call('POST', path(letter, '_bulk_docs'), { docs });
}

/// New documents, as many as there are ids.
export function fill(pools, letter) {
  const database = pools.session.model.databases.get(pools.session.nameOf(letter));
  const ids = [...new Set(pools.random.times(pools.random.below(16), () => pools.plainId(database)))];
  return call('POST', path(letter, '_bulk_docs'), { docs: ids.map((_id) => ({ _id, ...pools.body() })) });
}

export function batch(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const partition = pools.partition();
  const docs = random.times(random.between(0, 4), () => {
    const id = pools.plainId(database);
    const mine = random.chance(0.95) ? `${partition}:${id.slice(id.indexOf(':') + 1)}` : id;
    return edit(pools, database, random.chance(0.95) ? mine : undefined);
  });
  return call('POST', path(letter, '_partition', partition, '_batch'), { docs });
}

export function bulkGet(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const docs = random.times(random.below(5), () => {
    const id = pools.knownId(database);
    return random.chance(0.5) ? { id } : { id, rev: pools.revision(database, id) };
  });
  if (random.chance(0.1))
    docs.push(random.pick([{}, 1, { id: 1 }, { id: '' }, { id: 'a', rev: 'x' }, { rev: '1-a' }, { id: '_x' }]));
  return call('POST', withQuery(path(letter, '_bulk_get'), flags(pools)), { docs });
}

function revisionLists(pools, database) {
  const { random } = pools;
  const ids = [...new Set(random.times(random.below(4), () => pools.knownId(database)))].filter(
    (id) => !/^\d+$/.test(id),
  );
  return Object.fromEntries(
    ids.map((id) => [
      id,
      [
        ...new Set(
          random.times(random.below(4), () =>
            random.chance(0.7) ? pools.revision(database, id) : random.pick(pools.graft()),
          ),
        ),
      ],
    ]),
  );
}

export function revsDiff(pools) {
  const { letter, database } = pools.database();
  return call('POST', path(letter, pools.random.pick(['_revs_diff', '_missing_revs'])), revisionLists(pools, database));
}

export function purge(pools) {
  const { letter, database } = pools.database();
  return call('POST', path(letter, '_purge'), revisionLists(pools, database));
}
