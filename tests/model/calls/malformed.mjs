// Requests that must be refused, with the dialect's words: one fault each.
import { call, idPath, path, withQuery } from './call.mjs';
import * as queries from './queries.mjs';

const NOT_JSON = ['', '{', '{"a":1,}', 'nonsense', '{"a":1} x', '["a"', '{"a":\u0001}'];
const NOT_OBJECTS = ['[]', '1', '"text"', 'null', 'true'];

const BODIES = [
  '_bulk_docs',
  '_bulk_get',
  '_revs_diff',
  '_missing_revs',
  '_purge',
  '_find',
  '_explain',
  '_all_docs',
  '_all_docs/queries',
  '_index',
];

/// A body that is no JSON, or not an object, or not said to be JSON.
function badBody(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const place = random.pick(BODIES);
  return random.weighted([
    [3, () => call('POST', path(letter, place), random.pick(NOT_JSON))],
    [3, () => call('POST', path(letter, place), random.pick(NOT_OBJECTS))],
    [
      1,
      () =>
        call(
          'POST',
          path(letter, place.replace('/queries', '')),
          {},
          { 'Content-Type': random.pick(['text/plain', 'application/x-json', 'multipart/form-data']) },
        ),
    ],
    [2, () => call('PUT', path(letter, idPath(pools.plainId(database))), random.pick([...NOT_JSON, ...NOT_OBJECTS]))],
    [2, () => call('POST', path(letter), random.pick([...NOT_JSON, ...NOT_OBJECTS]))],
    [
      1,
      () =>
        call(
          'PUT',
          path(letter, random.pick(['_security', '_revs_limit', '_purged_infos_limit'])),
          random.pick(NOT_JSON),
        ),
    ],
  ])();
}

const BAD_REVISIONS = ['x', '1', '1-', '-a', '0-0', '1.5-a', 'a-1', '-1-a', ' 1-a'];
const BAD_IDS = ['_x', '_', '_designs', '_foo/bar', ''];
const BAD_PARTITION_IDS = ['a', ':a', 'p:', 'p:_x'];

function badDocument(pools) {
  const { random } = pools;
  const { letter, database } = pools.database();
  const id = pools.plainId(database);
  const target = path(letter, idPath(id));
  const badId = random.pick(database?.partitioned && random.chance(0.6) ? BAD_PARTITION_IDS : BAD_IDS);
  const body = random.pick([
    { _rev: 1 },
    { _rev: random.pick(BAD_REVISIONS) },
    { _deleted: 'x' },
    { _foo: 1 },
    { _attachments: 1 },
    { _: 1 },
    { _id: 1 },
    { _id: null },
    { _id: badId },
    { _revisions: 1 },
    { _revisions: { start: 'x', ids: [] } },
    { _revisions: { start: 1 } },
    { _revisions: { start: 1, ids: [1] } },
    { _revisions: { start: 1, ids: ['a', 'b'] } },
    { _revs_info: 1, _conflicts: 2, _local_seq: 3, _deleted_conflicts: 4 },
  ]);
  return random.weighted([
    [4, () => call('PUT', target, body)],
    [3, () => call('POST', path(letter), body)],
    [
      3,
      () =>
        call('POST', path(letter, '_bulk_docs'), {
          docs: [pools.body(), body].filter((doc) => doc._id || !database?.partitioned),
        }),
    ],
    [2, () => call('PUT', withQuery(target, { rev: random.pick(BAD_REVISIONS) }), {})],
    [1, () => call('PUT', target, {}, { 'If-Match': random.pick(BAD_REVISIONS).trim() })],
    [1, () => call('PUT', withQuery(target, { new_edits: 'false' }), {})],
    [2, () => call('GET', withQuery(target, { rev: random.pick(BAD_REVISIONS) }))],
    [
      2,
      () =>
        call('GET', withQuery(target, { open_revs: random.pick(['x', '{}', '["x"]', '1', '[1]']) }), undefined, {
          Accept: 'application/json',
        }),
    ],
    [1, () => call('DELETE', withQuery(target, { rev: random.pick(BAD_REVISIONS) }))],
    [1, () => call('COPY', target)],
    [
      1,
      () =>
        call('COPY', target, undefined, {
          Destination: random.pick(['http://localhost/x/y', `x?rev=${random.pick(BAD_REVISIONS)}`, '_x']),
        }),
    ],
    [2, () => (badId === '' ? call('GET', target) : call('PUT', path(letter, encodeURIComponent(badId)), {}))],
    [1, () => call('GET', path(letter, '_local'))],
    [1, () => call('PUT', path(letter, random.pick(['_design', '_local']), 'x', 'y'), 'data')],
  ])();
}

function badParameter(pools) {
  const { random } = pools;
  const { letter } = pools.database();
  const flag = random.pick(['descending', 'include_docs', 'inclusive_end', 'conflicts', 'update_seq']);
  return random.weighted([
    [2, () => call('GET', withQuery(path(letter, '_all_docs'), { [flag]: random.pick(['x', '1', '']) }))],
    [
      2,
      () =>
        call(
          'GET',
          withQuery(path(letter, '_all_docs'), {
            [random.pick(['limit', 'skip'])]: random.pick(['x', '-1', '1.5', '']),
          }),
        ),
    ],
    [
      2,
      () =>
        call(
          'GET',
          withQuery(path(letter, '_all_docs'), {
            [random.pick(['key', 'keys', 'startkey', 'end_key'])]: random.pick(['x', '[', '{']),
          }),
        ),
    ],
    [1, () => call('GET', withQuery(path(letter, '_all_docs'), { keys: random.pick(['1', '"a"', '{}']) }))],
    [
      1,
      () =>
        call(
          'GET',
          withQuery(path(letter, '_all_docs'), { keys: '[]', [random.pick(['key', 'startkey', 'endkey'])]: '"a"' }),
        ),
    ],
    [2, () => call('POST', path(letter, '_all_docs'), { [flag]: random.pick([1, 'x', null, []]) })],
    [
      2,
      () =>
        call('POST', path(letter, '_all_docs'), {
          [random.pick(['limit', 'skip'])]: random.pick(['x', -1, 1.5, null, []]),
        }),
    ],
    [1, () => call('POST', path(letter, '_all_docs'), { keys: random.pick([1, 'a', {}]) })],
    [1, () => call('POST', path(letter, '_all_docs', 'queries'), random.pick([{}, { queries: 1 }, { queries: [1] }]))],
    [
      2,
      () =>
        call(
          'GET',
          withQuery(
            path(letter, '_changes'),
            random.pick([
              { since: 'x' },
              { since: '1-' },
              { limit: 'x' },
              { limit: '-1' },
              { style: 'x' },
              { feed: 'x' },
              { seq_interval: '0' },
              { seq_interval: 'x' },
              { heartbeat: 'x' },
              { heartbeat: '0' },
              { filter: '_x' },
              { filter: 'x' },
              { filter: '_doc_ids' },
              { filter: '_selector' },
              { filter: '_view' },
              { filter: '_view', view: 'x' },
            ]),
          ),
        ),
    ],
    [
      1,
      () =>
        call(
          'POST',
          withQuery(path(letter, '_changes'), { filter: random.pick(['_doc_ids', '_selector']) }),
          random.pick([{}, { doc_ids: 1, selector: 1 }, { doc_ids: [1], selector: { n: { $foo: 1 } } }]),
        ),
    ],
    [
      2,
      () =>
        call(
          'POST',
          path(letter, '_bulk_docs'),
          random.pick([
            {},
            { docs: 1 },
            { docs: [1] },
            { docs: [], new_edits: 1 },
            { docs: [{ _id: 'a' }], new_edits: false },
          ]),
        ),
    ],
    [1, () => call('POST', path(letter, '_bulk_get'), random.pick([{}, { docs: 1 }]))],
    [
      1,
      () =>
        call(
          'POST',
          withQuery(path(letter, '_bulk_get'), { [random.pick(['rev', 'open_revs', 'w', 'new_edits'])]: 'x' }),
          { docs: [] },
        ),
    ],
    [
      2,
      () =>
        call(
          'POST',
          path(letter, random.pick(['_revs_diff', '_missing_revs', '_purge'])),
          random.pick([{ a: 1 }, { a: [1] }, { a: ['x'] }, { a: {} }]),
        ),
    ],
  ])();
}

function badQuery(pools) {
  const { random } = pools;
  const { letter } = pools.database();
  const bad = (members) =>
    call('POST', path(letter, random.pick(['_find', '_find', '_explain'])), { selector: {}, ...members });
  return random.weighted([
    [3, () => bad({ selector: random.pick([undefined, 1, [], 'x', null]) })],
    [
      4,
      () =>
        bad({
          selector: random.pick([
            { n: { $foo: 1 } },
            { $and: 1 },
            { $not: 1 },
            { n: { $in: 1 } },
            { n: { $exists: 1 } },
            { n: { $type: 1 } },
            { n: { $mod: [0, 1] } },
            { n: { $mod: 1 } },
            { n: { $size: -1 } },
            { n: { $regex: '[' } },
            { n: { $all: 1 } },
            { $eq: 1 },
            { n: { $elemMatch: 1 } },
            { 'a..b': 1 },
            { n: { $beginsWith: 1 } },
          ]),
        }),
    ],
    [2, () => bad({ [random.pick(['limit', 'skip'])]: random.pick([-1, 'x', null]) })],
    [2, () => bad({ sort: random.pick([1, 'n', [1], [{ n: 'up' }], [{ n: 'asc', s: 'asc' }], ['']]) })],
    [2, () => bad({ fields: random.pick([1, 'n', [1], ['']]) })],
    [
      1,
      () =>
        bad({
          [random.pick(['conflicts', 'update', 'stable', 'execution_stats', 'allow_fallback'])]: random.pick([
            1,
            'x',
            null,
          ]),
        }),
    ],
    [1, () => bad({ foo: 1 })],
    [1, () => bad({ bookmark: 'nonsense' })],
    [
      3,
      () =>
        call(
          'POST',
          path(letter, '_index'),
          random.pick([
            {},
            { index: 1 },
            { index: {} },
            { index: { fields: [] } },
            { index: { fields: 1 } },
            { index: { fields: ['n', 'n'] } },
            { index: { fields: ['n'] }, name: 1 },
            { index: { fields: ['n'] }, name: '' },
            { index: { fields: ['n'] }, ddoc: '' },
            { index: { fields: ['n'] }, type: 'foo' },
            { index: { fields: ['n'] }, foo: 1 },
            { index: { fields: [{ n: 'up' }] } },
            { index: { fields: ['n'] }, partitioned: 1 },
            { index: { fields: ['n'], partial_filter_selector: 1 } },
          ]),
        ),
    ],
    [
      1,
      () =>
        call(
          'POST',
          path(letter, '_index', '_bulk_delete'),
          random.pick([{}, { docids: 1 }, { docids: [1] }, { docids: [''] }]),
        ),
    ],
    [1, () => queries.index(pools)],
  ])();
}

function badDatabase(pools) {
  const { random } = pools;
  const { letter } = pools.database();
  return random.weighted([
    [2, () => call('PUT', `/${random.pick(['A', '_x', '1a', 'a%20b', 'a.b'])}`)],
    [
      2,
      () => call('PUT', withQuery(path(letter), { [random.pick(['q', 'n'])]: random.pick(['0', 'x', '-1', '1.5']) })),
    ],
    [1, () => call('PUT', withQuery(path(letter), { partitioned: 'x' }))],
    [1, () => call('DELETE', withQuery(path(letter), { rev: '1-a' }))],
    [
      2,
      () =>
        call(
          random.pick(['GET', 'DELETE', 'POST']),
          `/no-such-database${random.pick(['', '/a', '/_all_docs', '/_find', '/_changes'])}`,
          undefined,
        ),
    ],
    [
      4,
      () =>
        call(
          random.pick(['DELETE', 'PUT', 'POST', 'GET', 'COPY']),
          path(
            letter,
            random.pick([
              '_all_docs',
              '_changes',
              '_bulk_docs',
              '_find',
              '_security',
              '_revs_limit',
              '_purge',
              '_all_docs/queries',
              '_design_docs',
              '_revs_diff',
              '_compact',
              '_ensure_full_commit',
              '_index',
              '_partition/p',
              '_partition/p/_all_docs',
              '_partition/p/_find',
              '_bulk_get',
              '_missing_revs',
              '_explain',
            ]),
          ),
        ),
    ],
    [
      2,
      () =>
        call(
          'GET',
          path(
            letter,
            '_partition',
            random.pick(['_p', 'p:q', 'none']),
            random.pick(['', '_all_docs', '_find', 'x']),
          ).replace(/\/$/, ''),
        ),
    ],
    [1, () => call('GET', path(letter, '_partition'))],
    [1, () => call('GET', withQuery(path(letter, '_partition', 'p', '_all_docs'), { partition: 'q' }))],
  ])();
}

export function malformed(pools) {
  return pools.random.pick([badBody, badDocument, badParameter, badQuery, badDatabase])(pools);
}
