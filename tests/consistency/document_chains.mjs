// The states of each document in their order: what was never written, then one state per revision.
//
// The order is not guessed. Edits that name their parent make a chain, and the document itself shows it at the end
// (`revs=true`). Every acknowledged write must be a link of it, on the parent that it named; every link must have been
// written by a client.
import { ANY, describe, generationOf } from './history.mjs';

/// Does an observation fit a state?
export function fits(seen, state) {
  if (seen.rev !== undefined) return state.rev === seen.rev;
  if (seen.notRev !== undefined) return state.rev !== seen.notRev;
  if (state.uncertain) return !seen.never && !seen.unlisted && seen.tag === undefined;
  if (seen.tag !== undefined) return !state.gone && state.tag === seen.tag;
  if (seen.never || seen.unlisted) return state.index === 0;
  if (seen.tombstone) return state.gone && state.index > 0;
  if (seen.gone) return state.gone;
  if (seen.live) return !state.gone;
  if (seen.like) return !state.gone && Object.entries(seen.like).every(([field, value]) => state.fields?.[field] === value);
  if (seen.unlike) return state.gone || Object.entries(seen.unlike).some(([field, value]) => state.fields?.[field] !== value);
  throw new Error(`an observation of nothing: ${JSON.stringify(seen)}`);
}

/// `finals`: id → { revs: oldest first, deleted, tag } as read when all was over.
/// Returns { chains: id → { id, states, byRev }, problems }. A state is `uncertain` when several requests without a reply
/// may have written it and no client read its body.
export function buildChains(operations, finals, followers = []) {
  const problems = [];
  const chains = new Map();
  for (const [id, final] of finals) chains.set(id, newChain(id, final, problems));

  const tags = sightings(operations, finals, followers, problems);
  for (const operation of operations) {
    if (operation.status === 'done') claimAcknowledged(operation, chains, tags, problems);
  }
  claimUnknown(operations, chains, tags);
  for (const chain of chains.values()) finishChain(chain, finals.get(chain.id), tags, problems);
  return { chains, problems };
}

function newChain(id, final, problems) {
  const states = [{ index: 0, rev: null, gone: true, writer: null }];
  for (const rev of final.revs) {
    states.push({ index: states.length, rev, gone: false, writer: null });
    if (generationOf(rev) !== states.length - 1) problems.push(`${id}: revision ${rev} stands at place ${states.length - 1} of its history`);
  }
  const byRev = new Map(states.map((state) => [state.rev, state]));
  if (byRev.size !== states.length) problems.push(`${id}: a revision occurs twice in its history`);
  return { id, states, byRev };
}

// Which body was seen under which revision: one, always the same.
function sightings(operations, finals, followers, problems) {
  const tags = new Map();
  const note = (id, rev, tag, where) => {
    if (rev === undefined || tag === undefined) return;
    const key = `${id} ${rev}`;
    if (!tags.has(key)) tags.set(key, tag);
    else if (tags.get(key) !== tag) problems.push(`${id}: revision ${rev} was read with the bodies ${tags.get(key)} and ${tag}: ${where()}`);
  };
  for (const operation of operations) for (const seen of operation.sees) note(seen.id, seen.rev, seen.tag, () => describe(operation));
  for (const [id, final] of finals) note(id, final.revs.at(-1), final.tag, () => 'at the end');
  for (const follower of followers) {
    for (const row of follower.rows) if (row.doc?.tag !== undefined) note(row.id, row.doc._rev, row.doc.tag, () => follower.name);
  }
  return tags;
}

function claim(state, operation, write) {
  const { id, named, over, revOn, rev, deleted, tag, ...fields } = write;
  state.writer = operation;
  state.gone = Boolean(deleted);
  state.tag = tag;
  state.fields = { ...fields, tag };
}

function claimAcknowledged(operation, chains, tags, problems) {
  for (const write of operation.writes) {
    const chain = chains.get(write.id);
    const state = chain?.byRev.get(write.rev);
    if (!state || state.index === 0) {
      problems.push(`${write.id}: an acknowledged write is lost: ${write.rev} is not in the document's history: ${describe(operation)}`);
      continue;
    }
    if (state.writer) {
      problems.push(`${write.id}: ${write.rev} was acknowledged twice: ${describe(operation)} and ${describe(state.writer)}`);
      continue;
    }
    claim(state, operation, write);
    const parent = chain.states[state.index - 1];
    // Without a revision named, the parent must be nothing or a tombstone: finishChain knows which it is.
    if (write.named !== null && write.named !== ANY && parent.rev !== write.named) {
      problems.push(`${write.id}: ${write.rev} replaced ${parent.rev}, not ${write.named} as it was told: ${describe(operation)}`);
    }
  }
}

// A request without a reply may have been carried out. It was, if the history has links that no other request wrote, on the
// parents that it named; then it was carried out whole.
function claimUnknown(operations, chains, tags) {
  const unclaimed = new Map();
  for (const chain of chains.values()) {
    for (const state of chain.states) if (state.index > 0 && !state.writer) unclaimed.set(`${chain.id} ${state.rev}`, { chain, state });
  }
  if (unclaimed.size === 0) return;
  const known = (chain, state) => tags.get(`${chain.id} ${state.rev}`);
  const placeOf = (write) => {
    const chain = chains.get(write.id);
    const fitting = chain?.states.filter((state) => state.index > 0 && !state.writer && unclaimed.has(`${write.id} ${state.rev}`) &&
      mayFollow(write, chain.states[state.index - 1], state)) ?? [];
    const seen = fitting.find((state) => known(chain, state) !== undefined && known(chain, state) === write.tag);
    return seen ?? fitting.find((state) => known(chain, state) === undefined);
  };
  const open = operations.filter((operation) => operation.status === 'unknown' && operation.writes.length > 0);
  // First those whose body was read somewhere, then atomic ones, then by age.
  const certain = (operation) => operation.writes.some((write) => {
    const state = placeOf(write);
    return state && write.tag !== null && known(chains.get(write.id), state) === write.tag;
  });
  const order = [...open].sort((a, b) => certain(b) - certain(a) || b.writes.length - a.writes.length || a.begin - b.begin);
  // A link of an unknown parent may only be found after its parent: go round until nothing changes.
  for (let changed = true; changed; ) {
    changed = false;
    for (const operation of order) {
      if (operation.applied) continue;
      const places = operation.writes.map(placeOf);
      if (places.some((place) => !place)) continue;
      operation.applied = true;
      changed = true;
      operation.writes.forEach((write, i) => {
        const rival = open.some((other) => !other.applied && other.writes.some((one) => one.id === write.id && placeOf(one) === places[i]));
        claim(places[i], operation, { ...write, rev: places[i].rev });
        places[i].uncertain = rival && known(chains.get(write.id), places[i]) === undefined;
      });
    }
  }
}

function mayFollow(write, parent, state) {
  if (write.revOn && write.revOn(parent.rev ?? undefined) !== state.rev) return false;
  if (write.named === ANY) return (parent.index === 0 || parent.writer !== null) && (!write.over || fits(write.over, parent));
  if (write.named !== null) return parent.rev === write.named;
  return parent.index === 0 || (parent.writer !== null && (parent.gone || parent.uncertain));
}

function finishChain(chain, final, tags, problems) {
  for (const state of chain.states) {
    if (state.index === 0) continue;
    if (!state.writer) {
      problems.push(`${chain.id}: no request wrote revision ${state.rev}` + (tags.has(`${chain.id} ${state.rev}`) ? ` (${tags.get(`${chain.id} ${state.rev}`)})` : ''));
      continue;
    }
    const write = state.writer.writes.find((one) => one.id === chain.id);
    const parent = chain.states[state.index - 1];
    if (write.named === null && !parent.gone && !parent.uncertain) {
      problems.push(`${chain.id}: ${state.rev} replaced the live ${parent.rev} without naming it: ${describe(state.writer)}`);
    }
    if (write.over && !fits(write.over, parent)) {
      problems.push(`${chain.id}: ${state.rev} replaced ${parent.rev}${parent.gone ? ', which is gone' : ''}, not ${JSON.stringify(write.over)} as the reply says: ${describe(state.writer)}`);
    }
    const seen = tags.get(`${chain.id} ${state.rev}`);
    if (seen !== undefined && seen !== state.tag) {
      problems.push(`${chain.id}: ${state.rev} was written with the body ${state.tag} and read with ${seen}: ${describe(state.writer)}`);
    }
  }
  const last = chain.states.at(-1);
  if (last.writer && !last.uncertain && Boolean(final.deleted) !== last.gone) problems.push(`${chain.id}: the last write says deleted=${last.gone}, the document ${final.deleted}`);
  if (last.writer && !last.gone && final.tag !== undefined && final.tag !== last.tag) {
    problems.push(`${chain.id}: the last write has the body ${last.tag}, the document ${final.tag}`);
  }
}
