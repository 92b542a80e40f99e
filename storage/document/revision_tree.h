#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "storage/document/revision.h"

namespace octavo::storage {

/// The edit history of one document: a forest whose leaves are its current revisions. Several live leaves are a
/// conflict; every server picks the same winner (see leaf_before). Only leaves have bodies; inner revisions are
/// history.
///
/// A value type without I/O: decode, change, encode. Not thread-safe.
class RevisionTree {
 public:
  struct Node {
    Revision revision;
    std::int32_t parent =
        -1;  ///< index of the parent, always below the node's own; -1: a root, or its parent was pruned
    bool leaf = true;
    bool deleted = false;  ///< the edit was a deletion (kept for inner nodes, too)
  };

  enum class Merge : std::uint8_t {
    known,     ///< the revision existed already
    extended,  ///< a leaf grew
    branched,  ///< a new leaf beside others
    completed  ///< the revision existed already, and the path added ancestors to a stemmed branch
  };

  RevisionTree() = default;
  /// The tree of a document that was written only once.
  RevisionTree(const Revision& revision, bool deleted);

  enum class Path : std::uint8_t { whole, winner_alone };
  /// Restores what encode() wrote; with a `path`, which is the winner and its ancestors, what encode_branches() did. If
  /// the path is the winner alone, branches that begin at its ancestors become roots.
  static Expected<RevisionTree> decode(std::string_view bytes, RevisionTree path = {}, Path kind = Path::whole);
  void encode(std::string& out) const { encode(out, std::vector<bool>(nodes_.size(), false)); }
  /// Leaves out the winner and its ancestors. Precondition: the tree has another leaf.
  void encode_branches(std::string& out) const;

  bool empty() const { return nodes_.empty(); }
  std::span<const Node> nodes() const { return nodes_; }
  const Node* find(const Revision& revision) const;
  bool is_leaf(const Revision& revision) const;

  /// Leaves in order of preference, the winner first.
  std::vector<const Node*> leaves() const;
  /// Null only if the tree is empty.
  const Node* winner() const;
  std::size_t live_leaf_count() const;
  /// The path from `revision` to its root, newest first (`_revisions`). Empty if the revision is unknown.
  std::vector<Revision> history(const Revision& revision) const;

  /// Adds an edit on top of the leaf `parent`, or as a new root. Precondition: `parent` is a leaf of this tree.
  void extend(const std::optional<Revision>& parent, const Revision& revision, bool deleted);
  /// Merges a replicated path: newest first, each generation one less than the one before. Stemmed paths and trees are
  /// joined where they overlap. Linear in the size of the tree and of the path, which may both be long.
  Merge merge(std::span<const Revision> path, bool deleted);
  /// Drops history more than `revs_limit` generations above every leaf.
  void prune(std::uint32_t revs_limit);
  /// Removes the leaf and the ancestors that lead only to it (`_purge`). False if `leaf` is not a leaf.
  bool purge(const Revision& leaf);

  /// True when `a` is preferred over `b`: live before deleted, then the higher generation, then the higher hash.
  static bool leaf_before(const Node& a, const Node& b);

 private:
  void encode(std::string& out, const std::vector<bool>& left_out) const;
  std::vector<std::int32_t> indexes_of(std::span<const Revision> path) const;
  bool add_ancestry(std::span<const Revision> path, std::span<const std::int32_t> indexes);
  void sort_parents_first();
  void compact_indexes(const std::vector<bool>& keep);

  std::vector<Node> nodes_;
};

}  // namespace octavo::storage
