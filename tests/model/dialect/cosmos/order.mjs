// The order of JSON values in SQL: null, false, true, numbers, strings by their bytes, arrays, objects.
export const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

const RANKS = { undefined: 0, null: 1, boolean: 2, number: 4, string: 5, array: 6, object: 7 };
const rank = (value) => RANKS[typeOf(value)] + (value === true ? 1 : 0);

/// Arrays are alike here, and so are objects: their order among each other is the server's.
export function compareValues(a, b) {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'number') return a - b;
  return typeof a === 'string' ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : 0;
}
