// Items that expire. All of them are written one after the other, by calls whose replies cannot depend on
// which of them have expired. Then follow calls whose replies do; the driver waits before the first of these.
import { documentIdOf, itemIdOf, keyOfDocument } from '../dialect/cosmos/item.mjs';
import { cosmos, whereOf } from './containers.mjs';
import * as items from './items.mjs';
import * as scripts from './scripts.mjs';

const WRITES = 8;
const LOOKS = 16;
const TURNS = 12;
const LETTER = 'e';

/// Calls whose replies depend on it, mostly reads and writes of expired items.
const LOOK_WEIGHTS = [
  [6, items.read],
  [5, items.create],
  [5, items.upsert],
  [3, items.replace],
  [3, items.remove],
  [3, items.patch],
  [4, items.batch],
  [3, items.sql],
  [2, items.list],
  [4, items.changes],
  [4, scripts.procedure],
];

/// The rest of a plan: functions that make one call each, when its turn has come.
export function expirations(pools) {
  const { random } = pools;
  const written = new Set();
  const begin = [() => introduce(pools), () => cosmos('GET', whereOf(pools, LETTER).docs)]; // waits for expirations
  const writes = random.times(WRITES, () => () => write(pools, written));
  const looks = random.times(LOOKS, () => () => {
    pools.letter = LETTER;
    const call = random.weighted(LOOK_WEIGHTS)(pools);
    pools.letter = undefined;
    return call;
  });
  const walk = random.times(TURNS, (i) => () => turn(pools, written, i < TURNS / 3));
  return [...begin, ...writes, ...looks.slice(0, 4), ...walk, ...looks.slice(4)];
}

/// Items of one key take unique values from each other: one that has expired, and two more, which come `first`.
function turn(pools, written, first) {
  const { random } = pools;
  const where = whereOf(pools, LETTER);
  const hasExpired = (id) => where.database?.winner(id)?.deleted ?? true;
  pools.contested ??= [...written].find(hasExpired) ?? [...written][0];
  const key = keyOfDocument(pools.contested, where.container);
  const at = { key, id: random.pick(first ? ['x', 'y'] : [itemIdOf(pools.contested), 'x', 'y']) };
  if (random.chance(0.25)) return cosmos('DELETE', items.target(where, at.id), undefined, items.keyHeader(key));
  const body = items.plainBody(pools, where, at);
  const n = [...written].indexOf(pools.contested);
  const value = random.pick([`end-${n}`, `end-${n}`, 'other']);
  for (const [path] of where.container.uniqueKeys) items.putAt(body, path, value);
  if (where.container.defaultTtl === 1) body.ttl = -1;
  return cosmos('POST', where.docs, body, { ...items.keyHeader(key), 'x-ms-documentdb-is-upsert': 'true' });
}

/// A container that has no times to live yet gets them: items that were written with a time to live of a second expire.
function introduce(pools) {
  const { path, container } = whereOf(pools, LETTER);
  if (container.shown === undefined || container.defaultTtl !== undefined) return cosmos('GET', path);
  return cosmos('PUT', path, { ...container.shown, defaultTtl: pools.random.pick([-1, 1000]) });
}

/// A body that lives for a second, with values of its own where they must be unique.
function expiringBody(pools, where, at, n) {
  const { defaultTtl } = where.container;
  const { ttl, ...body } = items.plainBody(pools, where, at);
  for (const [path] of where.container.uniqueKeys) items.putAt(body, path, `end-${n}`);
  return defaultTtl === 1 ? body : { ...body, ttl: 1 };
}

function write(pools, written) {
  const { random } = pools;
  const where = whereOf(pools, LETTER);
  const n = written.size;
  const documentIdAt = ({ key, id }) => documentIdOf(key, id, where.container);
  let at = items.place(pools, where);
  for (let tries = 0; written.has(documentIdAt(at)) && tries < 20; ++tries) at = items.place(pools, where);
  if (written.has(documentIdAt(at))) at = { ...at, id: `end-${n}` };
  written.add(documentIdAt(at));
  const body = expiringBody(pools, where, at, n);
  const isThere = items.winnerAt(where, at)?.deleted === false;
  const key = items.keyHeader(at.key);
  const call = random.weighted([
    [2, () => cosmos('POST', where.docs, body, { ...key, 'x-ms-documentdb-is-upsert': 'true' })],
    [isThere ? 0 : 2, () => cosmos('POST', where.docs, body, key)],
    [isThere ? 3 : 0, () => cosmos('PUT', items.target(where, at.id), body, key)],
    [
      isThere && body.ttl === 1 ? 3 : 0,
      () => cosmos('PATCH', items.target(where, at.id), [{ op: 'set', path: '/ttl', value: 1 }], key),
    ],
    [
      1,
      () =>
        cosmos('POST', where.docs, [{ operationType: 'Upsert', resourceBody: body }], {
          ...key,
          'x-ms-cosmos-is-batch-request': 'true',
          'x-ms-cosmos-batch-atomic': 'true',
        }),
    ],
  ])();
  return { ...call, blind: true };
}
