// The edit history of one document: nodes by revision, each with its parent. Leaves are what no node has as parent.
import { compareRevisions, generationOf } from './revision.mjs';

export class RevisionTree {
  #nodes = new Map(); // revision → {rev, parent, deleted, body}

  has(rev) {
    return this.#nodes.has(rev);
  }
  get isEmpty() {
    return this.#nodes.size === 0;
  }

  /// Winner first: living before deleted, then the longer history, then the greater hash.
  leaves() {
    const parents = new Set([...this.#nodes.values()].map((node) => node.parent));
    return [...this.#nodes.values()]
      .filter((node) => !parents.has(node.rev))
      .sort((a, b) => Number(a.deleted) - Number(b.deleted) || compareRevisions(b.rev, a.rev));
  }
  winner() {
    return this.leaves()[0];
  }
  leaf(rev) {
    return this.leaves().find((node) => node.rev === rev);
  }
  livingLeaves() {
    return this.leaves().filter((node) => !node.deleted);
  }

  /// From `rev` to its root, newest first.
  history(rev) {
    const path = [];
    for (let at = rev; at !== undefined && this.#nodes.has(at); at = this.#nodes.get(at).parent) path.push(at);
    return path;
  }

  /// The leaves that came of `rev`; itself when it is one.
  leavesFrom(rev) {
    return this.leaves().filter((leaf) => this.history(leaf.rev).includes(rev));
  }

  /// Adds an edit on top of `parent`, or a new root.
  extend(parent, rev, deleted, body) {
    this.#nodes.set(rev, { rev, parent, deleted, body });
  }

  /// Takes back an edit that was added to the end of a branch.
  forget(rev) {
    this.#nodes.delete(rev);
  }

  /// Grafts a path, newest first: what is not known of it down to the newest that is, and what came before a branch
  /// that had lost its beginning.
  merge(path, deleted, body) {
    if (!this.has(path[0])) this.#nodes.set(path[0], { rev: path[0], deleted, body });
    for (let i = 1; i < path.length; ++i) {
      const child = this.#nodes.get(path[i - 1]);
      child.parent ??= path[i];
      if (child.parent !== path[i]) return; // another history: the tree's own stays
      if (!this.has(path[i])) this.#nodes.set(path[i], { rev: path[i], deleted: false });
    }
  }

  clone() {
    const copy = new RevisionTree();
    for (const node of this.#nodes.values()) copy.#nodes.set(node.rev, { ...node });
    return copy;
  }

  /// Forgets all but the newest `limit` revisions of each branch.
  stem(limit) {
    const kept = new Set(this.leaves().flatMap((leaf) => this.history(leaf.rev).slice(0, limit)));
    for (const rev of [...this.#nodes.keys()]) if (!kept.has(rev)) this.#nodes.delete(rev);
    for (const node of this.#nodes.values()) if (!kept.has(node.parent)) node.parent = undefined;
  }

  /// Removes leaves and what led only to them. Returns those that were leaves.
  purge(revs) {
    const leaves = this.leaves().map((leaf) => leaf.rev);
    const purged = [...new Set(revs)].filter((rev) => leaves.includes(rev));
    const kept = new Set(leaves.filter((rev) => !purged.includes(rev)).flatMap((rev) => this.history(rev)));
    for (const rev of [...this.#nodes.keys()]) if (!kept.has(rev)) this.#nodes.delete(rev);
    return purged;
  }

  missing(revs) {
    return revs.filter((rev) => !this.has(rev));
  }
  /// Leaves that may be what the missing revisions were made from.
  possibleAncestors(missing) {
    const newest = Math.max(...missing.map(generationOf));
    return this.leaves()
      .map((leaf) => leaf.rev)
      .filter((rev) => generationOf(rev) < newest);
  }
}
