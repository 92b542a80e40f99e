// Calls about one document.
import { call, idPath, path, withQuery } from './call.mjs';

function bodyFor(pools, id) {
  return id.startsWith('_design/') ? pools.designBody() : pools.body();
}

function localRevision(pools, database, id) {
  const edit = database?.locals.get(id)?.edit ?? 0;
  return pools.random.chance(0.7) ? `0-${edit}` : undefined;
}

export function put(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const id = random.chance(0.6) ? pools.anyKnownId(database) : pools.id(database);
  const body = bodyFor(pools, id);
  const query = {};
  const headers = {};
  if (id.startsWith('_local/')) {
    body._rev = localRevision(pools, database, id);
  } else if (random.chance(0.15)) {
    return graft(pools, letter, id, body);
  } else {
    const exists = database?.winner(id)?.deleted === false;
    if (random.chance(exists ? 0.85 : 0.15)) {
      const rev = pools.revision(database, id);
      random.weighted([
        [6, () => (body._rev = rev)],
        [1, () => (query.rev = rev)],
        [1, () => (headers['If-Match'] = random.chance(0.5) ? rev : `"${rev}"`)],
        [
          0.5,
          () => {
            body._rev = rev;
            query.rev = rev;
          },
        ],
        [
          0.3,
          () => {
            body._rev = rev;
            query.rev = pools.revision(database, id);
          },
        ],
        [
          0.3,
          () => {
            body._rev = rev;
            headers['If-Match'] = pools.revision(database, id);
          },
        ],
      ])();
    }
    if (random.chance(0.12)) body._deleted = true;
    if (random.chance(0.03)) body._deleted = false;
    if (random.chance(0.08)) query.batch = 'ok';
  }
  if (random.chance(0.1)) body._id = random.chance(0.7) ? id : pools.id(database);
  return call('PUT', withQuery(path(letter, idPath(id)), query), body, headers);
}

function graft(pools, letter, id, body) {
  const { random } = pools;
  const revs = pools.graft();
  const [newest] = revs;
  if (random.chance(0.9)) body._rev = newest;
  if (random.chance(0.8)) {
    body._revisions = { start: Number.parseInt(newest, 10), ids: revs.map((rev) => rev.slice(rev.indexOf('-') + 1)) };
  }
  if (random.chance(0.2)) body._deleted = true;
  return call('PUT', withQuery(path(letter, idPath(id)), { new_edits: 'false' }), body);
}

export function post(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  let body = pools.body();
  if (random.chance(0.8)) {
    const id = random.chance(0.5) ? pools.anyKnownId(database) : pools.id(database);
    if (id.startsWith('_design/')) body = pools.designBody();
    body._id = id;
    if (id.startsWith('_local/')) body._rev = localRevision(pools, database, id);
    else if (random.chance(0.5)) body._rev = pools.revision(database, id);
  }
  return call('POST', withQuery(path(letter), { batch: random.chance(0.1) ? 'ok' : undefined }), body);
}

const FLAGS = ['revs', 'revs_info', 'conflicts', 'deleted_conflicts', 'local_seq', 'meta', 'latest'];

export function flags(pools, names = FLAGS) {
  const { random } = pools;
  const query = {};
  for (const name of random.sample(
    names,
    random.weighted([
      [4, 0],
      [3, 1],
      [2, 2],
      [1, 4],
    ]),
  )) {
    query[name] = random.chance(0.9) ? 'true' : 'false';
  }
  return query;
}

export function get(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const id = pools.anyKnownId(database);
  const query = flags(pools);
  const headers = {};
  random.weighted([
    [5, () => undefined],
    [4, () => (query.rev = pools.revision(database, id))],
    [2, () => (query.open_revs = 'all')],
    [
      3,
      () =>
        (query.open_revs = JSON.stringify([
          ...new Set(random.times(random.below(4), () => pools.revision(database, id))),
        ])),
    ],
  ])();
  if (query.open_revs) headers.Accept = 'application/json';
  if (random.chance(0.15)) headers['If-None-Match'] = `"${pools.revision(database, id)}"`;
  return call(random.chance(0.1) ? 'HEAD' : 'GET', withQuery(path(letter, idPath(id)), query), undefined, headers);
}

export function remove(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const id = pools.anyKnownId(database);
  const query = {};
  const headers = {};
  if (random.chance(0.85)) {
    const rev = pools.revision(database, id);
    if (random.chance(0.8) || id.startsWith('_local/')) query.rev = id.startsWith('_local/') ? '0-1' : rev;
    else headers['If-Match'] = rev;
  }
  if (random.chance(0.05)) query.batch = 'ok';
  return call('DELETE', withQuery(path(letter, idPath(id)), query), undefined, headers);
}

export function copy(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const source = pools.anyKnownId(database);
  const target = random.chance(0.5) ? pools.anyKnownId(database) : pools.plainId(database);
  let destination = idPath(target);
  if (random.chance(0.5) && !target.startsWith('_local/')) destination += `?rev=${pools.revision(database, target)}`;
  const query = random.chance(0.3) ? { rev: pools.revision(database, source) } : {};
  return call('COPY', withQuery(path(letter, idPath(source)), query), undefined, { Destination: destination });
}
