#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "storage/document/document_record.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// Gives the rows that format 1 left in a physical partition the present form, in steps that are transactions of their
/// own. What readers see stays the same: no sequence, revision or time changes, so that the feed, indexes and splits
/// need not know. A step that was lost is made again by the next walk.
///
/// Rows of format 1 are
///   - all rows of `partitions`, which belong into `logical`, and of `revisions`, which belong into `histories`,
///   - records of documents with another head, and those of deleted documents in `documents`,
///   - rows of long keys in the form of older versions (long_key_tree.h).
///
/// Such rows are never written again. So a partition without them is marked in `meta`: when its first document is
/// written, or when a walk has found no others.
namespace format_upgrade {

/// Format (mark of the rows' format):
///   "format" → 02      all rows of the partition have the form of format 2; absent: some may have that of format 1
inline constexpr std::string_view mark_key = "format";

/// Whether the partition is marked: the cost of one row.
Expected<bool> is_marked(const Transaction& transaction, const Store& trees);
Expected<void> mark(WriteTransaction& transaction, const Store& trees);

/// Rows of one tree that must be written again.
struct OldRows {
  PartitionTree tree = PartitionTree::documents;
  std::vector<std::string> keys;
  std::size_t bytes = 0;  ///< about what they hold
};

/// Finds old rows, except those of `partitions`, in the order of the trees and of their keys. It is continued in
/// another transaction after each step, and does not need to see what was written meanwhile.
class Walk {
 public:
  explicit Walk(const Store& trees) : trees_(trees) {}

  /// Reads some thousand rows at most, and finds some hundred. May find none before the end. nullopt: that is the end.
  /// Errors: corrupted. Throws as Cursor does.
  Expected<std::optional<OldRows>> next(const Transaction& transaction);
  std::uint64_t rows_read() const { return rows_read_; }
  /// About how many rows a walk reads.
  std::uint64_t rows_expected(const ReadTransaction& transaction) const;

 private:
  const Store& trees_;
  std::size_t tree_ = 0;  ///< position in the list of trees
  std::string last_key_;  ///< up to which the tree was read
  std::uint64_t rows_read_ = 0;
};

/// Writes these rows again, as far as they are still old. Errors: corrupted, and those of writing.
Expected<void> rewrite(WriteTransaction& transaction, const Store& trees, const OldRows& rows);
/// Moves about `rows_max` rows of `partitions` to `logical`. False: none is left. Errors: as above.
Expected<bool> move_logical_rows(WriteTransaction& transaction, const Store& trees, std::size_t rows_max);

}  // namespace format_upgrade
}  // namespace octavo::storage
