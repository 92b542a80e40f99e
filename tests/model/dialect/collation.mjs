// The order of JSON values in views and selectors: null, false, true, numbers, text by ICU's root collation, arrays,
// objects.
const collator = new Intl.Collator('und', { sensitivity: 'variant', numeric: false });

export function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

const RANKS = { null: 0, boolean: 1, number: 3, string: 4, array: 5, object: 6 };
const rank = (value) => RANKS[typeOf(value)] + (value === true ? 1 : 0);

export const compareText = (a, b) => collator.compare(a, b);
export const compareRawText = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

export function compareValues(a, b, compareStrings = compareText) {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  switch (typeOf(a)) {
    case 'number':
      return a - b;
    case 'string':
      return compareStrings(a, b);
    case 'array':
      return compareLists(a, b, compareStrings);
    case 'object':
      // Member by member, name before value; fewer members come first.
      return compareLists(Object.entries(a).flat(), Object.entries(b).flat(), compareStrings);
    default:
      return 0;
  }
}

function compareLists(a, b, compareStrings) {
  for (let i = 0; i < Math.min(a.length, b.length); ++i) {
    const order = compareValues(a[i], b[i], compareStrings);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
