// What happened in a run, as its clients saw it. The checkers read nothing else.
//
// Time is a counter that grows by one at each event of this process: a request is about to be sent, a reply is complete,
// a row of a feed has come. One process watches everything, so this order is the real one: an operation whose `end` is
// below another's `begin` was over before the other began.
//
//   operation := { name, client, begin, end, unit, status, writes: [write], sees: [observation] }
//     An operation is atomic: it happened at one moment between begin and end. What the server does not promise to be
//     atomic (the rows of _bulk_docs, the keys of one _all_docs) is recorded as one operation for each document.
//     unit     the documents among which order is promised: one logical partition, or a database of one physical one
//     status   'done' | 'refused' (nothing was written) | 'unknown' (no reply: it may have happened, then or later)
//   write := { id, named, rev, deleted, tag, … }
//     named    the revision that the request said it replaces; null for none; ANY: whatever was there, of which `over`,
//              if given, is an observation
//     rev      the new revision, from the reply; absent while unknown
//     tag      text that no other write of the run has in its body; null for a DELETE, which has no body
//     revOn    the revision that it makes of a parent's, where the request's body tells: (parent or undefined) => rev
//     …        other fields that queries ask for
//   observation := { id, rev, tag } | { id, tag } | { id, never } | { id, tombstone } | { id, gone } | { id, live }
//                | { id, notRev } | { id, like: { field: value, … } } | { id, unlike: { … } } | { id, unlisted }
//     of the one state in which the document was at the operation's moment: this revision; never written; deleted;
//     one of both; neither; any but this revision; there with these values in these fields; gone or with another value in
//     one of them; in no row of a feed: never written, or just being written. `moves`, beside `unlike`: in no row of a
//     sorted query, whose rows move while their documents are written
//   follower := { name, scope, from, rows: [row], passes: [{ at, seq }] }
//     scope    { partition } | { partitions } | { ids } | { anyOf: [{ field: value, … }] } | {}: what it asked for. `items`: no design
//              documents. `live`: nothing of deletions. `every`: each revision, not the newest alone
//     from     the sequence it began after
//     passes   positions it was told apart from rows: last_seq
//   row := { at, seq, id, revs, deleted, doc }
//     seq      absent where the feed does not tell it
//     revs     of a deletion, where the feed does not tell: none, and `after` is the revision deleted

export const ANY = 'any';

export class History {
  operations = [];
  followers = [];
  /// Things that are wrong whatever the rest says: replies that no request can have.
  complaints = [];
  #now = 0;

  tick() {
    return ++this.#now;
  }
  get now() {
    return this.#now;
  }
  record(operation) {
    this.operations.push({ client: 0, writes: [], sees: [], status: 'done', ...operation });
  }
  complain(text) {
    this.complaints.push(text);
  }
}

/// The number in front of a sequence's tag.
export const sequenceNumber = (seq) => Number(String(seq).split('-')[0]);
export const generationOf = (rev) => Number(rev.split('-')[0]);

const brief = (rev) => (rev ? `${rev.slice(0, rev.indexOf('-') + 7)}` : 'none');

/// One line about an operation, for reports.
export function describe(operation) {
  const writes = operation.writes.map((write) =>
    `${write.id}: ${brief(write.named)} → ${write.rev ? brief(write.rev) : '?'}${write.deleted ? ' deleted' : ''}`);
  const sees = operation.sees.map((seen) => {
    const { id, ...what } = seen;
    if (what.rev) what.rev = brief(what.rev);
    if (what.notRev) what.notRev = brief(what.notRev);
    return `${id} ${JSON.stringify(what)}`;
  });
  const shown = [...writes, ...sees];
  const rest = shown.length > 6 ? ` and ${shown.length - 6} more` : '';
  return `[${operation.begin}, ${operation.end === Infinity ? '…' : operation.end}] client ${operation.client} ` +
    `${operation.name} ${operation.status}: ${shown.slice(0, 6).join('; ')}${rest}`;
}
