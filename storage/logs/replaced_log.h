#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/document/document.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// How long and how much of replaced revisions a physical partition keeps.
struct ReplacedLimits {
  std::uint32_t kept_s = 0;         ///< 0: none are kept
  std::uint32_t share_percent = 0;  ///< of the bytes of the documents; less than 1 MiB is always kept
};

/// The bodies of winners that were replaced by a later edit, until they are too old or too many: what CouchDB keeps
/// until a compaction. For readers only. No feed, index or other partition depends on it.
///
/// Format (log of replaced revisions):
///   replaced   sequence:u64be → version:u8 flags:u8 time_s:u48 previous:varint total:varint
///                               [body: revision id:sized body]
///   flags := 1 body: the revision that the edit with this sequence replaced; absent if the document moved in the feed
///              and kept its winner
///            2 its hash is text
///
/// `previous` is the document's sequence before that edit, at which an older row may be, so that the rows of a document
/// are a list that begins at its present sequence. `total` sums the bytes of all rows so far, so that the difference
/// of the last and the first row tells how many bytes the log has.
namespace replaced_log {

struct Row {
  Sequence sequence = 0;
  Sequence previous = 0;
  std::int64_t time_s = 0;  ///< of the edit
  std::uint64_t total = 0;
  std::optional<Revision> revision;  ///< nullopt: the winner was not replaced
  std::string_view id;
  std::string_view body;
};

Expected<Row> decode(std::string_view key, std::string_view record);

/// Adds rows, and removes the oldest, in one group of writes.
class Writer {
 public:
  Writer(WriteTransaction& transaction, Tree log) : transaction_(transaction), log_(log) {}

  /// `row.total` is set here. Sequences ascend. Two tree writes at most.
  Expected<void> append(Row row);
  /// Removes the rows of a document that is purged; `sequence`: its last one.
  Expected<void> erase_of(Sequence sequence, std::string_view id);
  /// Removes rows beyond the limits, but not many more than were appended, so that no group has to wait for a long
  /// clean-up. Must be the last call.
  Expected<void> trim(const ReplacedLimits& limits, std::int64_t now_s, std::uint64_t document_bytes);

 private:
  WriteTransaction& transaction_;
  Tree log_;
  std::optional<std::uint64_t> total_;  ///< of the last row; nullopt: not read yet
  std::size_t appended_ = 0;
};

/// Removes the oldest rows, at most `rows_max`. True: there are more.
Expected<bool> erase_oldest(WriteTransaction& transaction, Tree log, std::size_t rows_max);

/// The body of a revision that `winner`'s document had as its winner before; lives as long as the transaction. nullopt:
/// it is not kept. O(log n) for each edit since then.
Expected<std::optional<std::string_view>> find(const Transaction& transaction, Tree log, const DocumentView& winner,
                                               const Revision& revision);
/// All revisions that find() would find, in ascending order.
Expected<std::vector<Revision>> revisions_of(const Transaction& transaction, Tree log, const DocumentView& winner);

}  // namespace replaced_log
}  // namespace octavo::storage
