// One database: documents with their revision trees, the change feed, local documents, facts. What an edit may do and
// what it leaves is here; how a request says it is in the handlers.
import { checkUniqueKeys } from './cosmos/unique_keys.mjs';
import { isDesign } from './document_parser.mjs';
import { isValidated, validate } from './functions.mjs';
import { conflict, notFound } from './reply.mjs';
import { newRevision } from './revision.mjs';
import { RevisionTree } from './revision_tree.mjs';

export const compareBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

export class Database {
  documents = new Map(); // id → {id, tree, sequence, writtenAt, expired}
  locals = new Map(); // id → {edit, body}
  sequence = 0;
  purges = 0;
  revsLimit = 1000;
  purgedInfosLimit = 1000;
  security = {};
  container = undefined; // what the Cosmos DB API knows of it, if it made it
  scripts = { sprocs: new Map(), triggers: new Map(), udfs: new Map() }; // of the Cosmos DB API
  versions = []; // every change of a winner, where the container keeps them
  droppedThrough = 0; // tombstones up to this sequence were dropped
  salt = 0; // the same sequence as the server counts
  isSeen = () => false; // (revision) → does the reply to the present call show it?

  constructor(name, incarnation, { partitioned = false, q = 1 } = {}) {
    this.name = name;
    this.incarnation = incarnation; // tells a re-created database from the one before
    this.partitioned = partitioned;
    this.q = q;
  }

  tree(id) {
    return this.documents.get(id)?.tree;
  }
  winner(id) {
    return this.tree(id)?.winner();
  }
  partitionOf(id) {
    return this.partitioned && !isDesign(id) && id.includes(':') ? id.slice(0, id.indexOf(':')) : undefined;
  }

  /// [{id, tree, sequence}], living and deleted, in the order of their ids' bytes.
  sorted() {
    return [...this.documents.values()].sort((a, b) => compareBytes(a.id, b.id));
  }
  counts(filter = () => true) {
    const all = [...this.documents.values()].filter(filter);
    const deleted = all.filter(({ tree }) => tree.winner().deleted).length;
    return { doc_count: all.length - deleted, doc_del_count: deleted };
  }
  /// One row per document, by its last change.
  feed() {
    return [...this.documents.values()].sort((a, b) => a.sequence - b.sequence);
  }

  /// The parent of an edit of `id` that names `rev`. `base`: 'live winner', or 'upserted' for an edit on top of what is
  /// there, which `rev` must be where it is named and there is something. Throws a conflict, or that nothing is there.
  #parentOf(tree, rev, base) {
    if (base !== undefined) {
      const winner = tree?.winner();
      const isLive = winner !== undefined && !winner.deleted;
      if (base === 'live winner' && !isLive) throw notFound();
      if (rev !== undefined && isLive && winner.rev !== rev) throw conflict();
      return winner?.rev;
    }
    if (rev !== undefined) {
      if (!tree?.leaf(rev)) throw conflict();
      return rev;
    }
    if (!tree) return undefined;
    if (!tree.winner().deleted) throw conflict();
    return tree.winner().rev; // written again on top of the tombstone
  }

  /// Would the edit be taken? Throws a conflict.
  check({ id, rev, deleted, body }, replicated = false) {
    if (!replicated) this.#parentOf(this.tree(id), rev);
    this.#validate(id, deleted, body);
  }

  /// An edit by a client. Returns the new revision.
  write({ id, rev, deleted, body, base }) {
    const tree = this.tree(id) ?? new RevisionTree();
    let parent = this.#parentOf(this.tree(id), rev, base);
    if (this.container && !deleted) checkUniqueKeys(this, id, body);
    this.#validate(id, deleted, body);
    let made = newRevision(parent, deleted, body, this.salt);
    const { expired } = this.documents.get(id) ?? {};
    if (expired && this.isSeen(newRevision(expired.rev, deleted, body))) {
      // It has expired, but is not removed yet: the new revision follows the expired one.
      tree.forget(parent);
      parent = expired.rev;
      made = newRevision(parent, deleted, body);
    }
    if (tree.has(made)) throw conflict();
    const before = expired ? undefined : tree.winner();
    tree.extend(parent, made, deleted, body);
    this.#changed(id, tree);
    this.#logVersion(id, before, tree.winner());
    return made;
  }

  /// An expiration: the server deletes the item, sooner or later.
  expire(id) {
    const { tree } = this.documents.get(id);
    const expired = tree.winner();
    tree.extend(expired.rev, newRevision(expired.rev, true, {}), true, {});
    this.#changed(id, tree);
    this.documents.get(id).expired = expired;
    this.#logVersion(id, expired, tree.winner(), true);
  }

  /// Drops all tombstones. `salt`: the server's sequence of the newest one.
  dropTombstones(salt) {
    for (const { id, tree, sequence } of this.feed()) {
      if (!tree.winner().deleted) continue;
      this.documents.delete(id);
      this.droppedThrough = sequence;
    }
    this.salt = salt;
  }

  #logVersion(id, before, after, expires = false) {
    if (!this.container?.retention) return;
    const existed = before !== undefined && !before.deleted;
    if (!existed && after.deleted) return;
    const operation = !existed ? 'create' : after.deleted ? 'delete' : 'replace';
    this.versions.push({ id, operation, expires, sequence: this.sequence, leaf: after.deleted ? before : after });
  }

  /// An edit by a replicator, which brings its revision and never conflicts.
  graft({ id, rev, history, deleted, body }) {
    this.#validate(id, deleted, body);
    const before = this.tree(id) ?? new RevisionTree();
    const tree = before.clone();
    // A revision that is known changes nothing, unless more is known now of how it came about, and may be kept.
    const nothingNew = () => before.has(rev) && tree.history(rev).join() === before.history(rev).join();
    tree.merge(history.length > 0 ? history : [rev], deleted, body);
    if (nothingNew()) return rev;
    tree.stem(this.revsLimit);
    if (!nothingNew()) this.#changed(id, tree);
    return rev;
  }

  validates() {
    return isValidated(this);
  }
  #validate(id, deleted, body) {
    validate(this, { _id: id, ...body, ...(deleted && { _deleted: true }) });
  }

  #changed(id, tree) {
    tree.stem(this.revsLimit);
    this.documents.set(id, { id, tree, sequence: ++this.sequence, writtenAt: Date.now() });
  }

  purge(id, revs) {
    const tree = this.tree(id);
    const purged = tree ? tree.purge(revs) : [];
    if (purged.length === 0) return purged;
    ++this.purges;
    ++this.sequence;
    if (tree.isEmpty) this.documents.delete(id);
    else this.documents.get(id).sequence = this.sequence;
    return purged;
  }

  /// What `restore` takes: several edits are undone together. Their places in the feed stay empty, unless they were tried
  /// beside the documents first, where there are validations.
  save() {
    const documents = [...this.documents].map(([id, document]) => [id, { ...document, tree: document.tree.clone() }]);
    return { documents: new Map(documents), sequence: this.sequence, versions: this.versions.length };
  }
  restore({ documents, sequence, versions }) {
    this.documents = documents;
    this.versions.length = versions;
    if (this.validates()) this.sequence = sequence;
  }

  writeLocal(id, { deleted, body, localEdit = 0 }) {
    if (deleted) {
      this.locals.delete(id);
      return 0;
    }
    this.locals.set(id, { edit: localEdit + 1, body });
    return localEdit + 1;
  }
}
