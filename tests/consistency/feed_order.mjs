// What each follower of a change feed was told: all of it, once, in order.
import { describe, sequenceNumber } from './history.mjs';

/// Deletions that name only what they deleted get the revision that came of it.
export function resolveDeletions(followers, chains) {
  for (const { rows } of followers) {
    for (const row of rows) {
      if (row.after === undefined) continue;
      const chain = chains.get(row.id);
      row.revs = [chain?.states[chain.byRev.get(row.after)?.index + 1]?.rev ?? `what came after ${row.after}`];
    }
  }
}

/// Sequences of revisions as followers heard them: `id rev` → number. Two followers must not be told differently.
export function collectSequences(followers, problems) {
  const sequences = new Map();
  const bearers = new Map();
  for (const follower of followers) {
    for (const row of follower.rows) {
      if (row.seq === undefined) continue;
      const number = sequenceNumber(row.seq);
      const key = `${row.id} ${row.revs[0]}`;
      if (sequences.has(key) && sequences.get(key) !== number) {
        problems.push(`${follower.name}: ${key} has sequence ${number}, and ${sequences.get(key)} for another follower`);
      }
      if (bearers.has(number) && bearers.get(number) !== key) {
        problems.push(`${follower.name}: sequence ${number} is ${key}, and ${bearers.get(number)} for another follower`);
      }
      sequences.set(key, number);
      bearers.set(number, key);
    }
  }
  return sequences;
}

/// A write has happened when a follower was told of it, however late its own reply came.
export function endWritesAtFirstSighting(followers, chains) {
  for (const follower of followers) {
    for (const row of follower.rows) {
      const writer = chains.get(row.id)?.byRev.get(row.revs[0])?.writer;
      if (writer && row.at < writer.end) writer.end = row.at;
    }
  }
}

/// Sequences follow the chains and the clock: a write that was over before another began has the lower one.
export function checkSequences(sequences, chains) {
  const problems = [];
  const written = [];
  for (const chain of chains.values()) {
    let last = 0;
    for (const state of chain.states) {
      const sequence = sequences.get(`${chain.id} ${state.rev}`);
      if (sequence === undefined) continue;
      if (sequence <= last) problems.push(`${chain.id}: ${state.rev} has sequence ${sequence}, an earlier revision ${last}`);
      last = sequence;
      if (state.writer) written.push({ sequence, operation: state.writer });
    }
  }
  written.sort((a, b) => b.sequence - a.sequence);
  // From the highest sequence down: the earliest end so far must not be before a later begin.
  let first;
  for (const { sequence, operation } of written) {
    if (first && first.operation.end < operation.begin) {
      problems.push(`sequence ${first.sequence} was over before sequence ${sequence} began: ${describe(first.operation)}; ${describe(operation)}`);
    }
    if (!first || operation.end < first.operation.end) first = { sequence, operation };
  }
  return problems;
}

/// Does a follower want to hear of this state? undefined: its body is not known.
export function covers(scope, id, state) {
  if (scope.items && id.startsWith('_')) return false;
  if (scope.partition !== undefined && !id.startsWith(`${scope.partition}:`)) return false;
  if (scope.partitions && !scope.partitions.includes(id.split(':')[0])) return false;
  if (scope.live && state.uncertain) return undefined;
  if (scope.live && state.gone) return false;
  if (scope.ids) return scope.ids.includes(id);
  // A tombstone without a body matches no selector that asks for a field.
  if (scope.anyOf && state.uncertain) return undefined;
  if (scope.anyOf) return scope.anyOf.some((fields) => Object.entries(fields).every(([field, value]) => state.fields?.[field] === value));
  return true;
}

/// All that one follower can have wrong.
export function checkFollower(follower, chains, sequences) {
  const problems = [];
  const complain = (text) => problems.push(`${follower.name}: ${text}`);
  const seen = new Map();  // id → indexes of states, in the order they came
  let last = follower.from;
  for (const row of follower.rows) {
    const number = numberOf(row, sequences);
    if (number !== undefined && !(number > last)) complain(`sequence ${number} came after ${last} (${row.id})`);
    last = Math.max(last, number ?? last);
    if (row.revs.length !== 1) complain(`${row.id} has the leaves ${row.revs.join(', ')}: there was never a conflict`);
    const chain = chains.get(row.id);
    const state = chain?.byRev.get(row.revs[0]);
    if (!state || state.index === 0) {
      complain(`${row.id} ${row.revs[0]} was never written`);
      continue;
    }
    if (row.at < (state.writer?.begin ?? 0)) complain(`${row.id} ${state.rev} came before it was written`);
    if (covers(follower.scope, row.id, state) === false) complain(`${row.id} ${state.rev} is not what it asked for`);
    if (!state.uncertain && Boolean(row.deleted) !== state.gone) complain(`${row.id} ${state.rev}: deleted is ${row.deleted}`);
    if (row.operation !== undefined) checkOperation(row, state, chain.states[state.index - 1], complain);
    if (row.doc !== undefined) {
      if (row.doc?._rev !== state.rev) complain(`${row.id}: the row says ${state.rev}, its document ${row.doc?._rev}`);
      else if (!state.gone && !state.uncertain && (row.doc.tag ?? null) !== state.tag) complain(`${row.id} ${state.rev} has the body ${row.doc.tag}, not ${state.tag}`);
    }
    const known = seen.get(row.id);
    if (!known) seen.set(row.id, [state.index]);
    else {
      if (state.index <= known.at(-1)) complain(`${row.id}: state ${state.index} came after state ${known.at(-1)}`);
      known.push(state.index);
    }
  }
  checkNothingMissed(follower, chains, sequences, seen, complain);
  return problems;
}

// What a log of versions says has been done.
function checkOperation(row, state, parent, complain) {
  if (state.uncertain || parent.uncertain) return;
  const expected = state.gone ? 'delete' : parent.gone ? 'create' : 'replace';
  if (row.operation !== expected) complain(`${row.id} ${state.rev} was a ${expected}, not a ${row.operation}`);
}

/// The sequence of a row, as it says or as others were told.
const numberOf = (row, sequences) => (row.seq === undefined ? sequences.get(`${row.id} ${row.revs[0]}`) : sequenceNumber(row.seq));

// A follower may pass over a revision only if a newer one had taken its place when it got there: the newer one's write
// had begun before the follower was told of anything later.
function checkNothingMissed(follower, chains, sequences, seen, complain) {
  const heardOf = follower.rows.map((row) => ({ at: row.at, number: numberOf(row, sequences) })).filter(({ number }) => number !== undefined);
  const passes = follower.passes.map(({ at, seq }) => ({ at, number: sequenceNumber(seq) }));
  const passed = [...heardOf, ...passes].sort((a, b) => a.number - b.number);
  // When a sequence or a later one was first heard of.
  let earliest = Infinity;
  for (let i = passed.length - 1; i >= 0; --i) passed[i].at = earliest = Math.min(earliest, passed[i].at);
  const passedAt = (number) => {
    let low = 0, high = passed.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (passed[middle].number < number) low = middle + 1;
      else high = middle;
    }
    return passed[low]?.at ?? Infinity;
  };
  for (const chain of chains.values()) {
    const heard = new Set(seen.get(chain.id));
    for (const state of chain.states) {
      if (state.index === 0 || heard.has(state.index) || !covers(follower.scope, chain.id, state)) continue;
      const sequence = sequences.get(`${chain.id} ${state.rev}`);
      if (sequence !== undefined && sequence <= follower.from) continue;
      const next = chain.states[state.index + 1];
      if (follower.scope.every) complain(`${chain.id}: the revision ${state.rev} (${sequence ?? 'no sequence'}) never came`);
      else if (!next) complain(`${chain.id}: the last revision ${state.rev} (${sequence ?? 'no sequence'}) never came`);
      else if (sequence !== undefined && next.writer && passedAt(sequence) < next.writer.begin) {
        complain(`${chain.id}: ${state.rev} (${sequence}) was passed over at ${passedAt(sequence)}, before its successor was asked for at ${next.writer.begin}`);
      }
    }
  }
}

/// The feed of databases. `rows`: { at, seq, database, type }; `databases`: name → { last: 'deleted' | 'updated',
/// written: begin of its last write that was acknowledged }.
export function checkDatabaseUpdates(rows, databases) {
  const problems = [];
  let last = { number: 0, tag: '' };
  const newest = new Map();
  for (const row of rows) {
    const number = sequenceNumber(row.seq);
    const tag = String(row.seq).slice(String(number).length);
    // Another run of the server counts from 1 again.
    if (tag === last.tag && number <= last.number) problems.push(`_db_updates: sequence ${number} came after ${last.number}`);
    last = { number, tag };
    newest.set(row.database, row);
  }
  for (const [name, { last: state, written }] of databases) {
    const row = newest.get(name);
    if (!row) problems.push(`_db_updates: ${name} never came`);
    else if ((row.type === 'deleted') !== (state === 'deleted')) problems.push(`_db_updates: ${name} is ${state}, the last event says ${row.type}`);
    else if (state !== 'deleted' && row.at < written) problems.push(`_db_updates: ${name} was written to at ${written}, its last event came at ${row.at}`);
  }
  return problems;
}
