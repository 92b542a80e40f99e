// If-Match: what an item must be for an edit to happen.
import { etagDiffers } from './reply.mjs';

/// { given, any, rev }. A tag that no revision can have never matches.
export function parseMatch(header) {
  if (!header) return { given: false, any: false };
  const text = header.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');
  return { given: true, any: header === '*', rev: /^[1-9][0-9]*-[!-~]+$/.test(text) ? text : undefined };
}

/// What the condition means for Database.write.
export function conditionOf(match) {
  if (match.given && !match.any && match.rev === undefined) throw etagDiffers();
  return match.given && !match.any ? { rev: match.rev } : {};
}
