// Is there one order of all operations, in which each takes effect at one moment between its begin and its end, and
// every reply is what the documents' states at that moment make it? (Strict serializability; for operations on one
// document, linearizability.)
//
// The order of the writes of a document is known (document_chains.mjs), so nothing has to be tried out for them: what
// must come before what is a graph of
//   begin and end   an operation that was over before another began comes first
//   states          the write of a state, then who read it, then the write of the next state
//   the feed        writes in the order of their sequences
// and the search is a walk through this graph that carries the documents along: an operation may go when all before it
// went; one that only reads goes when its observations fit the current states, and going early never harms others. What
// an observation leaves open (a 409 fits every state but one) is thereby decided by the walk. If the walk comes to the
// end, its order is the proof; if it sticks, the operations left over are the contradiction, shown as a cycle.
import { fits } from './document_chains.mjs';
import { describe } from './history.mjs';

/// Checks one unit's operations. `sequences`: `id rev` → sequence number, where a follower told.
/// Returns { problems, order } with the order found, or undefined.
export function checkOrder(operations, chains, sequences = new Map()) {
  const problems = [];
  const nodes = operations.filter((operation) => operation.status !== 'unknown' || operation.applied);
  const windows = new Windows(nodes, chains, problems);
  if (problems.length > 0) return { problems };
  const constraints = nodes.map((operation) => windows.constraintsOf(operation, problems));
  if (problems.length > 0) return { problems };

  const graph = buildGraph(nodes, constraints, chains, sequences);
  const strategies = [(a, b) => nodes[a].end - nodes[b].end, (a, b) => nodes[a].begin - nodes[b].begin];
  let stuck;
  for (const strategy of strategies) {
    const walk = new Walk(nodes, constraints, graph, strategy);
    if (walk.run()) return { problems, order: walk.order.map((index) => nodes[index]) };
    stuck ??= walk;
  }
  problems.push(explain(stuck, nodes, constraints, graph));
  return { problems };
}

/// Between which states of a document an operation must be, by begin and end alone.
class Windows {
  constructor(nodes, chains, problems) {
    this.chains = chains;
    this.byDocument = new Map();
    for (const operation of nodes) {
      for (const [id, state] of statesWritten(operation, chains)) this.#of(id).push({ operation, index: state.index, wrote: true });
      for (const seen of operation.sees) {
        if (seen.rev === undefined && seen.tag === undefined && !seen.never) continue;
        const state = stateOf(seen, chains.get(seen.id));
        if (!state) {
          problems.push(`${seen.id}: a state was read that the document never had: ${describe(operation)}`);
          continue;
        }
        this.#of(seen.id).push({ operation, index: state.index, wrote: false });
      }
    }
    for (const events of this.byDocument.values()) {
      events.ended = [...events].sort((a, b) => a.operation.end - b.operation.end);
      events.begun = [...events].sort((a, b) => a.operation.begin - b.operation.begin);
      let newest = 0;
      events.newest = events.ended.map((event) => (newest = Math.max(newest, event.index)));
      let oldest = Infinity;
      events.oldest = new Array(events.begun.length);
      for (let i = events.begun.length - 1; i >= 0; --i) {
        const event = events.begun[i];
        oldest = Math.min(oldest, event.wrote ? event.index - 1 : event.index);
        events.oldest[i] = oldest;
      }
    }
  }

  #of(id) {
    if (!this.byDocument.has(id)) this.byDocument.set(id, []);
    return this.byDocument.get(id);
  }

  between(id, begin, end) {
    const last = (this.chains.get(id)?.states.length ?? 1) - 1;
    const events = this.byDocument.get(id);
    if (!events) return [0, last];
    const before = countWhile(events.ended, (event) => event.operation.end < begin);
    const notAfter = countWhile(events.begun, (event) => event.operation.begin <= end);
    return [before > 0 ? events.newest[before - 1] : 0, notAfter < events.begun.length ? Math.min(last, events.oldest[notAfter]) : last];
  }

  /// For each observation the states it fits, as { id, allowed: indexes in rising order }; for writes the state before.
  constraintsOf(operation, problems) {
    const constraints = [];
    for (const [id, state] of statesWritten(operation, this.chains)) constraints.push({ id, allowed: [state.index - 1], wrote: state.index });
    for (const seen of operation.sees) {
      const chain = this.chains.get(seen.id);
      const states = chain?.states ?? [{ index: 0, rev: null, gone: true }];
      const [first, last] = this.between(seen.id, operation.begin, operation.end);
      // A row of a feed or of a sorted query moves while its document is written; without a write it stands where it was.
      if ((seen.unlisted || seen.moves) && first < last) continue;
      const allowed = [];
      for (let index = first; index <= last; ++index) if (fits(seen, states[index])) allowed.push(index);
      if (allowed.length === 0) problems.push(contradiction(operation, seen, states, first, last));
      else constraints.push({ id: seen.id, allowed });
    }
    return constraints;
  }
}

function contradiction(operation, seen, states, first, last) {
  const name = (index) => (states[index] ? `${index}:${states[index].rev ?? 'never'}${states[index].gone && index > 0 ? ' deleted' : ''}` : String(index));
  const range = first > last ? `no state at all (${name(first)} was known before, ${name(last)} after)` : `the states ${name(first)} to ${name(last)}`;
  return `${seen.id}: ${describe(operation)}: between its begin and its end the document had ${range}, which does not fit ${JSON.stringify(seen)}`;
}

function countWhile(sorted, holds) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(sorted[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function* statesWritten(operation, chains) {
  if (operation.status === 'refused') return;
  for (const write of operation.writes) {
    const chain = chains.get(write.id);
    const state = write.rev !== undefined ? chain?.byRev.get(write.rev) : chain?.states.find((one) => one.writer === operation);
    if (state && state.writer === operation) yield [write.id, state];
  }
}

function stateOf(seen, chain) {
  if (seen.never) return chain ? chain.states[0] : { index: 0 };
  if (!chain) return undefined;
  if (seen.rev !== undefined) return chain.byRev.get(seen.rev);
  chain.byTag ??= new Map(chain.states.filter((state) => state.tag != null).map((state) => [state.tag, state]));
  return chain.byTag.get(seen.tag);
}

// Nodes 0 … n-1 are operations. Behind them stand the ends of operations in the order of time, each linked to the next:
// an operation comes before its own end, and after the last end that was before its begin.
function buildGraph(nodes, constraints, chains, sequences) {
  const ends = nodes.map((operation, index) => ({ end: operation.end, index })).filter(({ end }) => end !== Infinity).sort((a, b) => a.end - b.end);
  const after = Array.from({ length: nodes.length + ends.length }, () => []);
  const incoming = new Int32Array(after.length);
  const link = (from, to) => {
    after[from].push(to);
    ++incoming[to];
  };
  ends.forEach(({ index }, place) => {
    link(index, nodes.length + place);
    if (place > 0) link(nodes.length + place - 1, nodes.length + place);
  });
  nodes.forEach((operation, index) => {
    const before = countWhile(ends, ({ end }) => end < operation.begin);
    if (before > 0) link(nodes.length + before - 1, index);
  });

  const writers = new Map();  // `id index` → node
  constraints.forEach((list, node) => {
    for (const { id, wrote } of list) if (wrote !== undefined) writers.set(`${id} ${wrote}`, node);
  });
  constraints.forEach((list, node) => {
    for (const { id, allowed, wrote } of list) {
      const before = writers.get(`${id} ${allowed[0]}`);
      const next = writers.get(`${id} ${allowed.at(-1) + 1}`);
      if (before !== undefined && before !== node) link(before, node);
      if (wrote === undefined && next !== undefined && next !== node) link(node, next);
    }
  });

  const inFeed = [];
  nodes.forEach((operation, node) => {
    for (const [id, state] of statesWritten(operation, chains)) {
      const sequence = sequences.get(`${id} ${state.rev}`);
      if (sequence !== undefined) inFeed.push({ sequence, node });
    }
  });
  inFeed.sort((a, b) => a.sequence - b.sequence);
  for (let i = 1; i < inFeed.length; ++i) if (inFeed[i - 1].node !== inFeed[i].node) link(inFeed[i - 1].node, inFeed[i].node);
  return { after, incoming };
}

class Walk {
  constructor(nodes, constraints, graph, compare) {
    Object.assign(this, { nodes, constraints, graph, compare });
    this.waits = Int32Array.from(graph.incoming);
    this.gone = new Uint8Array(graph.after.length);
    this.states = new Map();  // id → index of the current state; 0 when absent
    this.order = [];
    this.readers = new Set();
    this.writers = new Set();
  }

  run() {
    const free = [];
    for (let node = 0; node < this.waits.length; ++node) if (this.waits[node] === 0) free.push(node);
    for (;;) {
      while (free.length > 0) this.#arrive(free.pop(), free);
      if (this.writers.size === 0) break;
      const writer = this.#choose();
      this.writers.delete(writer);
      for (const { id, wrote } of this.constraints[writer]) if (wrote !== undefined) this.states.set(id, wrote);
      this.#place(writer, free);
      for (const reader of [...this.readers]) {
        if (!this.#satisfied(reader)) continue;
        this.readers.delete(reader);
        this.#place(reader, free);
      }
    }
    return this.order.length === this.nodes.length;
  }

  #arrive(node, free) {
    if (node >= this.nodes.length) return this.#pass(node, free);
    const writes = this.constraints[node].some(({ wrote }) => wrote !== undefined);
    if (writes) this.writers.add(node);
    else if (this.#satisfied(node)) this.#place(node, free);
    else this.readers.add(node);
  }
  #place(node, free) {
    this.order.push(node);
    this.#pass(node, free);
  }
  #pass(node, free) {
    this.gone[node] = 1;
    for (const next of this.graph.after[node]) if (--this.waits[next] === 0) free.push(next);
  }
  #satisfied(node) {
    return this.constraints[node].every(({ id, allowed }) => allowed.includes(this.states.get(id) ?? 0));
  }
  // The write that a waiting reader needs, if one does; else the one whose time is up first.
  #choose() {
    const wanted = new Set();
    for (const reader of this.readers) {
      for (const { id, allowed } of this.constraints[reader]) if (!allowed.includes(this.states.get(id) ?? 0)) wanted.add(id);
    }
    const useful = [...this.writers].filter((node) => this.constraints[node].some(({ id, wrote }) => wrote !== undefined && wanted.has(id)));
    const candidates = useful.length > 0 ? useful : [...this.writers];
    return candidates.reduce((best, node) => (this.compare(node, best) < 0 ? node : best));
  }
}

// The shortest cycle among what is left over, or else who waits for a state in vain.
function explain(walk, nodes, constraints, graph) {
  const left = (node) => !walk.gone[node];
  let shortest;
  let tried = 0;
  for (let start = 0; start < nodes.length && tried < 200; ++start) {
    if (!left(start)) continue;
    ++tried;
    const from = new Map([[start, undefined]]);
    const queue = [start];
    search: for (let i = 0; i < queue.length; ++i) {
      for (const next of graph.after[queue[i]]) {
        if (next === start) {
          const cycle = [];
          for (let node = queue[i]; node !== undefined; node = from.get(node)) if (node < nodes.length) cycle.unshift(node);
          if (!shortest || cycle.length < shortest.length) shortest = cycle;
          break search;
        }
        if (!left(next) || from.has(next)) continue;
        from.set(next, queue[i]);
        queue.push(next);
      }
    }
  }
  if (shortest) return `no order exists: each of these must come before the next, and the last before the first:\n    ` + shortest.map((node) => describe(nodes[node])).join('\n    ');
  const waiting = [...walk.readers].slice(0, 5).map((node) => {
    const missing = constraints[node].filter(({ id, allowed }) => !allowed.includes(walk.states.get(id) ?? 0));
    return `${describe(nodes[node])} needs ${missing.map(({ id, allowed }) => `${id} in ${allowed.join('|')}, it is in ${walk.states.get(id) ?? 0}`).join(', ')}`;
  });
  return `no order found: these observations fit no common moment:\n    ${waiting.join('\n    ')}`;
}
