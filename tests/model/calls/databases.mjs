// Calls about databases, the restarts, and the end of tombstones.
import { DATABASES } from '../driver/session.mjs';
import { call, idPath, path, withQuery } from './call.mjs';
import * as items from './items.mjs';

export function create(pools) {
  const { random } = pools;
  const { letter } = pools.database();
  const query = {};
  if (random.chance(0.4)) query.partitioned = random.chance(0.9) ? 'true' : 'false';
  if (random.chance(0.4)) query.q = random.pick(['1', '2', '3']);
  return call('PUT', withQuery(path(letter), query));
}

export function remove(pools) {
  return call('DELETE', path(pools.database().letter));
}

export function info(pools) {
  return call(pools.random.chance(0.1) ? 'HEAD' : 'GET', path(pools.database().letter));
}

export function list(pools) {
  const [startkey, endkey] = ['«»', '«»\ufff0'].map((name) => JSON.stringify(name));
  return call('GET', withQuery('/_all_dbs', { startkey, endkey }));
}

export function listInfos(pools) {
  return call('POST', '/_dbs_info', { keys: pools.random.sample(['«a»', '«b»', '«c»'], 3) });
}

export function restart(pools) {
  return { restart: pools.random.pick(['SIGTERM', 'SIGKILL']) };
}

/// Tombstones are dropped.
export function forget() {
  return { forget: true };
}

export function facts(pools) {
  const { random } = pools;
  const { letter } = pools.database();
  return random.weighted([
    [1, () => call('GET', path(letter, '_revs_limit'))],
    [3, () => call('PUT', path(letter, '_revs_limit'), random.pick(['1', '2', '3', '1000']))],
    [
      1,
      () =>
        call(
          'PUT',
          path(letter, '_revs_limit'),
          random.pick(['1', '2', '3', '1000', '0', '-1', '"x"', '1.5', '1000001']),
        ),
    ],
    [1, () => call('GET', path(letter, '_purged_infos_limit'))],
    [1, () => call('PUT', path(letter, '_purged_infos_limit'), random.pick(['1', '50', '0', '"x"']))],
    [2, () => call('GET', path(letter, '_security'))],
    [2, () => call('PUT', path(letter, '_security'), security(random))],
    [1, () => call('POST', path(letter, '_ensure_full_commit'), random.chance(0.8) ? {} : undefined)],
    [1, () => call('POST', path(letter, '_compact'), random.chance(0.8) ? {} : undefined)],
    [1, () => call('POST', path(letter, '_compact', random.pick(['one', 'two', 'none'])), {})],
    [1, () => call('POST', path(letter, '_view_cleanup'), {})],
  ])();
}

function security(random) {
  const list = () => ({
    names: random.sample(['ann', 'bob'], random.below(3)),
    roles: random.sample(['r1', 'r2'], random.below(2)),
  });
  return random.weighted([
    [2, () => ({})],
    [3, () => ({ admins: list(), members: list() })],
    [1, () => ({ members: list(), more: { kept: true } })],
    [1, () => ({ admins: { names: 'ann' } })],
    [1, () => ({ members: [] })],
    [1, () => []],
  ])();
}

/// Where documents end by themselves, the server's own deletions are in its counts and its feed sooner or later.
const auditOfEnding = (letter, database) => [
  ...[...database.documents.keys()].map((id) => call('GET', path(letter, idPath(id)))),
  call('POST', path(letter, '_find'), { selector: {}, limit: 1000 }),
];

/// Everything a client can see of every database: made at the end of each sequence.
export function audit(session, pools) {
  const calls = [list()];
  for (const letter of DATABASES) {
    const database = session.model.databases.get(session.nameOf(letter));
    if (database?.container) calls.push(...items.audit(pools, letter));
    if (database?.container?.defaultTtl !== undefined) {
      calls.push(...auditOfEnding(letter, database));
      continue;
    }
    calls.push(call('GET', path(letter)));
    if (!database) continue;
    calls.push(
      call(
        'GET',
        withQuery(path(letter, '_all_docs'), { include_docs: 'true', conflicts: 'true', update_seq: 'true' }),
      ),
      call('GET', withQuery(path(letter, '_changes'), { style: 'all_docs', include_docs: 'true', conflicts: 'true' })),
      call('POST', withQuery(path(letter, '_bulk_get'), { revs: 'true', local_seq: 'true' }), {
        docs: [...database.documents.keys()].map((id) => ({ id })),
      }),
      call('POST', path(letter, '_find'), { selector: {}, limit: 1000 }),
    );
    if (letter === 'e') continue; // the other API has put nothing else there
    calls.push(
      call('GET', withQuery(path(letter, '_local_docs'), { include_docs: 'true' })),
      call('GET', path(letter, '_index')),
      call('GET', path(letter, '_security')),
    );
    if (!database.partitioned) continue;
    for (const partition of ['p', 'q', 'P']) {
      calls.push(
        call('GET', path(letter, '_partition', partition)),
        call('GET', path(letter, '_partition', partition, '_all_docs')),
        call('GET', path(letter, '_partition', partition, '_changes')),
        call('POST', path(letter, '_partition', partition, '_find'), { selector: {}, limit: 1000 }),
      );
    }
  }
  return calls;
}
