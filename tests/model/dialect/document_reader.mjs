// GET of one document: the winner, a revision, or open_revs.
import { isLocal } from './document_parser.mjs';
import { Sequence } from './opaque.mjs';
import { notFound, Reply } from './reply.mjs';
import { parseJson } from './request.mjs';
import { parseRevision, parseRevisions } from './revision.mjs';

export function readOptions(request) {
  const meta = request.flag('meta');
  return {
    revs: request.flag('revs'),
    revsInfo: meta || request.flag('revs_info'),
    conflicts: meta || request.flag('conflicts'),
    deletedConflicts: meta || request.flag('deleted_conflicts'),
    localSequence: request.flag('local_seq'),
    latest: request.flag('latest'),
  };
}

/// The document as JSON shows it, at one of its leaves.
export function render(database, id, leaf, options = {}) {
  const { tree, sequence } = database.documents.get(id);
  const shown = { _id: id, _rev: leaf.rev, ...leaf.body };
  if (leaf.deleted) shown._deleted = true;
  const history = tree.history(leaf.rev);
  const generation = Number.parseInt(leaf.rev, 10);
  if (options.revs)
    shown._revisions = { start: generation, ids: history.map((rev) => rev.slice(rev.indexOf('-') + 1)) };
  if (options.revsInfo) shown._revs_info = history.map((rev) => ({ rev, status: statusOf(tree, rev) }));
  const others = tree.leaves().filter((other) => other.rev !== leaf.rev);
  const living = others.filter((other) => !other.deleted).map((other) => other.rev);
  const deleted = others.filter((other) => other.deleted).map((other) => other.rev);
  if (options.conflicts && living.length > 0) shown._conflicts = living;
  if (options.deletedConflicts && deleted.length > 0) shown._deleted_conflicts = deleted;
  if (options.localSequence) shown._local_seq = new Sequence(database, sequence, 'local');
  return shown;
}

// Only leaves keep their bodies, as after a compaction (docs/architecture.md).
function statusOf(tree, rev) {
  const leaf = tree.leaf(rev);
  if (!leaf) return 'missing';
  return leaf.deleted ? 'deleted' : 'available';
}

const META = ['_revs_info', '_conflicts', '_deleted_conflicts', '_local_seq'];

/// A reply with its ETag, or 304 when the client has that. With meta members there is no ETag.
function withEtag(request, shown, rev) {
  if (META.some((name) => name in shown)) return new Reply(200, shown);
  const etag = `"${rev}"`;
  const known = (request.header('if-none-match') ?? '').split(',').map((text) => text.trim().replace(/^W\//, ''));
  return known.includes(etag) ? new Reply(304, '', { etag }) : new Reply(200, shown, { etag });
}

export function getDocument({ request, database, id }) {
  if (isLocal(id)) {
    const local = database.locals.get(id);
    if (!local) throw notFound();
    const rev = `0-${local.edit}`;
    return withEtag(request, { _id: id, _rev: rev, ...local.body }, rev);
  }
  const options = readOptions(request);
  const asked = request.query.get('rev');
  const rev = asked === undefined ? undefined : parseRevision(asked);
  if (request.query.has('open_revs')) return openRevisions(request, database, id, options);
  const tree = database.tree(id);
  if (!tree) throw notFound();
  // `latest` asks for whatever the revision has become: the winner.
  if (rev !== undefined && !options.latest) {
    const leaf = tree.leaf(rev);
    if (!leaf) throw notFound();
    return withEtag(request, render(database, id, leaf, options), rev);
  }
  const winner = tree.winner();
  if (winner.deleted) throw notFound('deleted');
  return withEtag(request, render(database, id, winner, options), winner.rev);
}

function openRevisions(request, database, id, options) {
  const text = request.query.get('open_revs');
  const wanted = text === 'all' ? undefined : parseRevisions(parseJson(text));
  const tree = database.tree(id);
  if (!wanted) {
    if (!tree) throw notFound();
    return new Reply(
      200,
      tree.leaves().map((leaf) => ({ ok: render(database, id, leaf, options) })),
    );
  }
  const shown = new Set();
  const rows = wanted.flatMap((rev) => {
    const leaves = leavesFor(tree, rev, options.latest);
    if (leaves.length === 0) return [{ missing: rev }];
    // With `latest`, a leaf that came of several of the revisions is shown once.
    const more = leaves.filter((leaf) => !options.latest || !shown.has(leaf.rev));
    for (const leaf of more) shown.add(leaf.rev);
    return more.map((leaf) => ({ ok: render(database, id, leaf, options) }));
  });
  return new Reply(200, rows);
}

/// The leaf `rev`, or with `latest` those that came of it.
export function leavesFor(tree, rev, latest) {
  if (!tree?.has(rev)) return [];
  const leaf = tree.leaf(rev);
  if (leaf) return [leaf];
  return latest ? tree.leavesFrom(rev) : [];
}
