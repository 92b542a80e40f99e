// All checks of one history.
import { buildChains } from './document_chains.mjs';
import { checkFollower, checkSequences, collectSequences, endWritesAtFirstSighting, resolveDeletions } from './feed_order.mjs';
import { checkOrder } from './serial_order.mjs';

/// Returns { problems, figures }. See history.mjs for what a history is, document_chains.mjs for `finals`.
export function checkHistory(history, finals) {
  const problems = [...history.complaints];
  const { chains, problems: broken } = buildChains(history.operations, finals, history.followers);
  problems.push(...broken);
  resolveDeletions(history.followers, chains);
  const sequences = collectSequences(history.followers, problems);
  endWritesAtFirstSighting(history.followers, chains);
  problems.push(...checkSequences(sequences, chains));
  for (const follower of history.followers) problems.push(...checkFollower(follower, chains, sequences));

  const units = new Map();
  for (const operation of history.operations) {
    if (!units.has(operation.unit)) units.set(operation.unit, []);
    units.get(operation.unit).push(operation);
  }
  let ordered = 0;
  for (const operations of units.values()) {
    const result = checkOrder(operations, chains, sequences);
    problems.push(...result.problems);
    ordered += result.order?.length ?? 0;
  }
  const count = (test) => history.operations.filter(test).length;
  return {
    problems,
    figures: {
      operations: history.operations.length,
      ordered,
      writes: count((operation) => operation.status === 'done' && operation.writes.length > 0),
      batches: count((operation) => operation.name === 'batch' && operation.status === 'done'),
      refused: count((operation) => operation.status === 'refused'),
      unknown: count((operation) => operation.status === 'unknown'),
      snapshots: count((operation) => operation.sees.length > 1 && operation.status === 'done'),
      documents: chains.size,
      followers: history.followers.length,
      events: history.followers.reduce((sum, follower) => sum + follower.rows.length, 0),
    },
  };
}
