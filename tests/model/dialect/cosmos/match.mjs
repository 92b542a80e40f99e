// If-Match: what an item must be for an edit to happen.

/// The revision of an invalid tag: no document has it.
const NEVER = '0-';

/// { given, any, rev }. A tag that no revision can have never matches.
export function parseMatch(header) {
  if (!header) return { given: false, any: false };
  const text = header.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');
  return { given: true, any: header === '*', rev: /^[1-9][0-9]*-[!-~]+$/.test(text) ? text : undefined };
}

/// What the condition means for Database.write: whether there is an item is asked before it is compared.
export const conditionOf = ({ given, any, rev }) => (given && !any ? { rev: rev ?? NEVER } : {});
