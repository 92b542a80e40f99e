// What clients asked of a server, what it acknowledged, and what must therefore be in the data folder.
//
// The folder is seen as a set of registers: a document, a local document, an index, a database. Each register belongs to
// one client, which has one request on its way at a time. So at any moment a register has one certain value, from the
// requests that were answered, and at most one other, from the request that was not. A request may set several
// registers; an atomic one sets all or none of them.
//
// Values:
//   database  { partitioned, versions } or undefined; versions: it keeps a log of all versions
//   document  { leaves: [{ rev, generation, deleted, body }] } or undefined; rev is undefined where no reply told it, and
//             generation where it depends on whether a tombstone was left. In the database that drops tombstones a
//             deleted document may also be gone
//   local     { generation, body } or undefined
//   index     { fields, partitioned } or undefined
//   versions  [{ operation, rev, body }]: what the log tells of one document, from the first on; of a deletion the revision
//             and the body that were deleted. A register of its own, but written with the document, or not at all

export const databaseKey = (database) => `database ${database}`;
export const documentKey = (database, id) => `document ${database} ${id}`;
export const localKey = (database, id) => `local ${database} ${id}`;
export const indexKey = (database, ddoc, name) => `index ${database} ${ddoc} ${name}`;
const versionsKeyOf = (key) => `versions ${key.slice('document '.length)}`;
export const versionsKey = (database, id) => versionsKeyOf(documentKey(database, id));
/// The database a key is about. Names of databases have no spaces.
export const databaseOf = (key) => key.split(' ', 2)[1];

/// The database that drops its tombstones (forgetting.mjs).
export const forgettingDatabase = 'forgetting-2';

export const generation = (rev) => Number(rev.slice(0, rev.indexOf('-')));

/// JSON with sorted keys: equal for equal values.
export function canonical(value) {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner);
}

function sameLeaf(expected, seen) {
  if (expected.rev !== undefined && expected.rev !== seen.rev) return false;
  if (expected.generation !== undefined && expected.generation !== seen.generation) return false;
  if (expected.deleted !== seen.deleted) return false;
  return expected.deleted || canonical(expected.body) === canonical(seen.body);
}

/// Live before deleted, then the longer history, then the greater hash.
export function winnerOf(leaves) {
  const rank = (leaf) => [leaf.deleted ? 0 : 1, leaf.generation, leaf.rev?.slice(leaf.rev.indexOf('-') + 1) ?? ''];
  return leaves.reduce((best, leaf) => {
    const [a, b] = [rank(leaf), rank(best)];
    const at = a.findIndex((value, i) => value !== b[i]);
    return at >= 0 && a[at] > b[at] ? leaf : best;
  });
}

/// What one edit adds to the log: changes of the winner, as readers see it.
function versionsBetween(before, after) {
  const winner = (value) => (value ? winnerOf(value.leaves) : undefined);
  const [was, is] = [winner(before), winner(after)];
  const [lived, lives] = [was?.deleted === false, is?.deleted === false];
  const isSame = was === is || (was?.rev !== undefined && was.rev === is?.rev);
  if (lived && !lives) return [{ operation: 'delete', rev: was.rev, body: was.body }];
  if (!lives || (lived && isSame)) return [];
  return [{ operation: lived ? 'replace' : 'create', rev: is.rev, body: is.body }];
}

/// The effects, and those on the logs of their documents.
function withVersions(state, effects) {
  const all = new Map(effects);
  for (const [key, value] of effects) {
    if (!key.startsWith('document ') || !state.get(databaseKey(databaseOf(key)))?.versions) continue;
    const added = versionsBetween(state.get(key), value);
    const log = state.get(versionsKeyOf(key));
    if (added.length > 0) all.set(versionsKeyOf(key), [...(log ?? []), ...added]);
  }
  return all;
}

function sameVersion(expected, seen) {
  if (expected.rev !== undefined && expected.rev !== seen.rev) return false;
  return expected.operation === seen.operation && canonical(expected.body) === canonical(seen.body);
}

/// Whether what was seen is what was expected. `seen` has all revisions.
export function matches(key, expected, seen) {
  const mayBeDropped = databaseOf(key) === forgettingDatabase && expected?.leaves?.every((leaf) => leaf.deleted);
  if (mayBeDropped && seen === undefined) return true;
  if (expected === undefined || seen === undefined) return expected === seen;
  if (key.startsWith('versions ')) {
    return expected.length === seen.length && expected.every((version, i) => sameVersion(version, seen[i]));
  }
  if (!key.startsWith('document ')) return canonical(expected) === canonical(seen);
  if (expected.leaves.length !== seen.leaves.length) return false;
  const open = [...seen.leaves];
  for (const leaf of expected.leaves) {
    const at = open.findIndex((candidate) => sameLeaf(leaf, candidate));
    if (at < 0) return false;
    open.splice(at, 1);
  }
  return true;
}

function brief(value) {
  const text = value === undefined ? 'nothing' : canonical(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/// Deleting a database takes all that is in it.
function effectsOn(state, effects) {
  const all = new Map(effects);
  for (const [key, value] of effects) {
    if (!key.startsWith('database ') || value !== undefined) continue;
    const database = databaseOf(key);
    for (const inside of state.keys()) {
      if (databaseOf(inside) === database && !all.has(inside)) all.set(inside, undefined);
    }
  }
  return all;
}

export function apply(state, effects) {
  for (const [key, value] of effectsOn(state, effects)) {
    if (value === undefined) state.delete(key);
    else state.set(key, value);
  }
}

/// Compares what a server holds with what it must hold. `state`: the values certain; `pending`: requests that may or
/// may not have been carried out: [{ name, atomic, effects: Map }]. Returns problems as texts.
export function compare(state, pending, seen) {
  const problems = [];
  const open = new Set([...state.keys(), ...seen.keys()]);
  for (const request of pending) {
    const effects = effectsOn(state, request.effects);
    let before = 0;
    let after = 0;
    let keys = 0;
    const outcomes = new Map();
    for (const [key, value] of effects) {
      open.delete(key);
      const isBefore = matches(key, state.get(key), seen.get(key));
      const isAfter = matches(key, value, seen.get(key));
      if (!isBefore && !isAfter) {
        problems.push(`${key}: ${request.name} was not acknowledged; there is ${brief(seen.get(key))}, neither what was ` +
          `before (${brief(state.get(key))}) nor what it wrote (${brief(value)})`);
      }
      ++keys;
      before += isBefore;
      after += isAfter;
      outcomes.set(key, { isBefore, isAfter });
    }
    problems.push(...tornVersions(request, outcomes));
    const whole = request.atomic || request.effects.size < effects.size;
    if (whole && before < keys && after < keys) {
      problems.push(`${request.name} is half there: of ${keys} values ${after} are new and ${before} old: ` +
        [...effects.keys()].join(', '));
    }
  }
  for (const key of open) {
    const expected = state.get(key);
    if (matches(key, expected, seen.get(key))) continue;
    problems.push(expected === undefined
      ? `${key}: there is ${brief(seen.get(key))}, which no request wrote, or one removed`
      : `${key}: acknowledged ${brief(expected)}, found ${brief(seen.get(key))}`);
  }
  return problems;
}

/// A document and its version are written in one transaction.
function tornVersions(request, outcomes) {
  return [...outcomes].flatMap(([key, document]) => {
    const log = outcomes.get(key.startsWith('document ') ? versionsKeyOf(key) : '');
    if (!log || (document.isBefore && log.isBefore) || (document.isAfter && log.isAfter)) return [];
    return [`${key}: ${request.name}: the document and the log of versions do not agree`];
  });
}

/// The requests of all clients, in the order in which they were sent.
export class History {
  requests = [];
  /// Values that are certain at this moment.
  state = new Map();

  /// `effects`: Map of key → value; `send` makes the request and returns its reply; `accept(reply)` returns the effects
  /// as the reply tells them (with revisions), or throws when the reply is not a success. A request whose `send` throws
  /// stays open. Times are of CLOCK_MONOTONIC, in nanoseconds.
  async run(client, name, options) {
    const { atomic = false } = options;
    const effects = withVersions(this.state, options.effects);
    const request = { client, name, atomic, effects, sent: process.hrtime.bigint(), acknowledged: undefined };
    this.requests.push(request);
    const reply = await options.send();
    const acknowledged = process.hrtime.bigint();
    request.effects = withVersions(this.state, options.accept(reply));
    request.acknowledged = acknowledged;
    apply(this.state, request.effects);
  }

  get acknowledgedCount() {
    return this.requests.reduce((count, request) => count + (request.acknowledged !== undefined), 0);
  }
  /// Requests without an answer.
  pending = () => this.requests.filter((request) => request.acknowledged === undefined);

  /// The server was killed and what it then held is known: from here on that is certain.
  adopt(seen) {
    this.state = new Map(seen);
    this.requests = [];
  }
}

/// Replays a history up to moments that only go forward.
export class Replay {
  state = new Map();
  #bySending;
  #byAcknowledgement;
  #sent = 0;
  #acknowledged = 0;
  #open = new Set();

  constructor(requests) {
    const order = (field) => (a, b) => (a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0);
    this.#bySending = [...requests].sort(order('sent'));
    this.#byAcknowledgement = requests.filter((request) => request.acknowledged !== undefined).sort(order('acknowledged'));
  }

  /// Certain and pending as of `time`: what was acknowledged earlier, and what was sent earlier but not yet answered.
  at(time) {
    for (; this.#sent < this.#bySending.length && this.#bySending[this.#sent].sent < time; ++this.#sent) {
      this.#open.add(this.#bySending[this.#sent]);
    }
    const done = this.#byAcknowledgement;
    for (; this.#acknowledged < done.length && done[this.#acknowledged].acknowledged < time; ++this.#acknowledged) {
      this.#open.delete(done[this.#acknowledged]);
      apply(this.state, done[this.#acknowledged].effects);
    }
    return { state: this.state, pending: [...this.#open], acknowledgedCount: this.#acknowledged };
  }
}
