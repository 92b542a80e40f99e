// Stored procedures, executed with arguments that fit what is stored, triggers, and functions of queries: created,
// replaced, read, deleted.
import { itemIdOf } from '../dialect/cosmos/item.mjs';
import { scopeStart } from '../dialect/cosmos/key.mjs';
import { cosmos, whereOf } from './containers.mjs';
import { itemBody, keyHeader, place, replacing, winnerAt } from './items.mjs';
import * as texts from './script_texts.mjs';

const { procedures } = texts;
const IDS = Object.keys(procedures);
const BROKEN = ['', 'function () { var ; }', '42', 'function (', '"text"', 1];

/// What a procedure is asked to do to an item.
function operation(pools, where, key) {
  const { random } = pools;
  const at = place(pools, where, key);
  const rev = winnerAt(where, at)?.rev;
  const tag = random.chance(0.8) && rev ? rev : random.pick([`1-${'0'.repeat(32)}`, 'none']);
  const etag = random.chance(0.2) ? { etag: `"${tag}"` } : {};
  const body = () => itemBody(pools, where, at);
  return random.weighted([
    [4, () => ({ op: 'create', body: body() })],
    [4, () => ({ op: 'upsert', body: body() })],
    [3, () => ({ op: 'replace', id: at.id, body: itemBody(pools, where, replacing(pools, where, at)), ...etag })],
    [2, () => ({ op: 'delete', id: at.id, ...etag })],
    [2, () => ({ op: 'read', id: at.id })],
    [1, () => ({ op: 'touch', id: at.id, value: pools.value(1) })],
    [1, () => ({ op: 'count' })],
  ])();
}

function argumentsOf(pools, where, key, text) {
  const { random } = pools;
  const operations = () => random.times(random.between(1, 4), () => operation(pools, where, key));
  const start = scopeStart(key, where.container);
  const ids = [...(where.database?.documents.keys() ?? [])].filter((id) => id.startsWith(start)).map(itemIdOf);
  const id = () => random.pick(ids.length > 0 ? ids : ['a']);
  switch (text) {
    case String(procedures.each):
    case String(procedures.inTurn):
      return random.chance(0.25) ? [operations(), random.below(4)] : [operations()];
    case String(procedures.transfer):
      return [id(), id(), random.pick([0, 1, 2, 100])];
    case String(procedures.raise):
      return [random.pick([-1, 0, 1, 2]), random.pick([1, 0.5]), random.pick([0, 1, 2, 100])];
    case String(procedures.copy):
      return [random.pick(['', '2', 'x']), random.chance(0.3)];
    case String(procedures.clear):
      return random.chance(0.4) ? [random.pick([0, 1, 2])] : [];
    default:
      return random.times(random.below(3), () => pools.value());
  }
}

/// Some to begin with.
export function some(pools, letter) {
  const { random } = pools;
  const { path } = whereOf(pools, letter);
  const ids = letter === 'd' ? ['each'] : ['each', random.pick(IDS.slice(1))];
  const calls = ids.map((id) => cosmos('POST', `${path}/sprocs`, { id, body: String(procedures[id]) }));
  if (letter === 'd') return calls; // its writes are those of both APIs, which name no triggers
  calls.push(...random.times(random.below(2), () => cosmos('POST', `${path}/triggers`, trigger(pools))));
  calls.push(...random.times(random.below(2), () => cosmos('POST', `${path}/udfs`, userFunction(pools))));
  return calls;
}

export function procedure(pools) {
  const { random } = pools;
  const where = whereOf(pools, pools.letter ?? random.pick(['d', 'e', 'e', 'e']));
  const stored = [...(where.database?.scripts.sprocs.keys() ?? [])];
  const id = random.pick(stored.length > 0 && random.chance(0.8) ? stored : IDS);
  const path = `${where.path}/sprocs`;
  const text = String(procedures[random.chance(0.9) ? id : random.pick(IDS)]);
  const known = where.database?.scripts.sprocs.get(id);
  const source = () => (random.chance(0.9) ? text : random.pick(BROKEN));
  if (!known && random.chance(0.8)) return cosmos('POST', path, { id, body: source() });
  const { key } = place(pools, where);
  const execute = () =>
    cosmos('POST', `${path}/${id}`, argumentsOf(pools, where, key, known?.own.body), keyHeader(key));
  return random.weighted([
    [30, execute],
    [1, () => cosmos('POST', `${path}/${id}`, random.pick(['{}', '1', '[', '']), keyHeader(key))],
    [1, () => cosmos('POST', `${path}/${id}`, [])],
    [1, () => cosmos('GET', `${path}/${id}`)],
    [1, () => cosmos('GET', path)],
    [1, () => cosmos('POST', path, { id, body: source() })],
    [2, () => cosmos('PUT', `${path}/${id}`, { id: random.chance(0.9) ? id : 'other', body: source() })],
    [1, () => cosmos('DELETE', `${path}/${id}`)],
  ])();
}

const TRIGGER_OPERATIONS = ['All', 'All', 'All', 'All', 'All', 'Create', 'Update', 'Replace', 'Delete', 'Upsert'];

function trigger({ random }) {
  const triggerType = random.pick(['Pre', 'Post']);
  const [id, text] = random.pick(Object.entries(texts.triggers[triggerType]));
  const body = random.chance(0.95) ? String(text) : random.pick(BROKEN);
  const wrong = random.chance(0.05) ? { triggerType: 'During' } : {};
  return { id, body, triggerType, triggerOperation: random.pick(TRIGGER_OPERATIONS), ...wrong };
}

function userFunction({ random }) {
  const [id, text] = random.pick(Object.entries(texts.functions));
  const other = random.chance(0.1) ? random.pick(Object.values(texts.functions)) : text;
  return { id, body: random.chance(0.95) ? String(other) : random.pick(BROKEN) };
}

/// Triggers and functions of queries as resources.
export function script(pools) {
  const { random } = pools;
  const { database, path } = whereOf(pools, 'e');
  const kind = random.pick(['triggers', 'udfs']);
  const sent = kind === 'triggers' ? trigger(pools) : userFunction(pools);
  const place = `${path}/${kind}`;
  if (!database?.scripts[kind].has(sent.id) && random.chance(0.8)) return cosmos('POST', place, sent);
  return random.weighted([
    [1, () => cosmos('POST', place, sent)],
    [4, () => cosmos('PUT', `${place}/${sent.id}`, sent)],
    [1, () => cosmos('GET', `${place}/${sent.id}`)],
    [1, () => cosmos('GET', place)],
    [1, () => cosmos('DELETE', `${place}/${sent.id}`)],
  ])();
}

/// Headers that name triggers of the container; sometimes some that do not fit.
export function triggerHeaders({ random }, { database }) {
  const known = [...(database?.scripts.triggers.values() ?? [])].map(({ own }) => own);
  if (known.length === 0 || !random.chance(0.5)) return {};
  const headers = {};
  for (const { id, triggerType } of random.sample(known, random.between(1, 2))) {
    const type = random.chance(0.97) ? triggerType : 'Pre';
    const name = `x-ms-documentdb-${type.toLowerCase()}-trigger-include`;
    headers[name] = headers[name] ? `${headers[name]}, ${id}` : id;
  }
  return headers;
}
