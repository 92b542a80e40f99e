#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "storage/document/document.h"
#include "storage/document/logical_record.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// The statistics, the feed and the unique keys of logical partitions, in the tree `logical`. The feed of a logical
/// partition is a set of sequences: of the last change of each of its documents. The rows of the tree `feed` say the
/// rest of each change.
///
/// A write adds its sequences to the record, which it rewrites anyway for the statistics: one page, however many
/// documents of the logical partition are written together. The oldest sequences of a record that has too many become a
/// chunk, whose row is not written again until one of its documents is. Differences of sequences take one to three
/// bytes, where a row of format 1 took 27.
///
/// A sequence is removed from its chunk at once, as the document is written again. It could stay until half of the
/// chunk is dead, since readers look up the feed's row anyway, and find none. But nothing would tell the share of the
/// dead without reading all of their rows, and a check could not compare the number of sequences with that of the
/// documents. A chunk that has become small is merged with a neighbour that has room for it.
///
/// Format 1 had a row for each sequence, and rows of statistics and unique keys, in the tree `partitions`. They are
/// read there. The next write of a logical partition moves its statistics, and as many of its newest rows as a group of
/// writes may move. Those that remain are below all sequences in `logical`: sequences grow. A unique key moves when it
/// is next taken.
namespace logical_rows {

inline constexpr std::size_t newest_max = 64;  ///< sequences in a record
inline constexpr std::size_t chunk_max = 64;   ///< sequences in a chunk
/// How many rows of format 1 a group of writes moves: each needs a lookup in the feed.
inline constexpr std::size_t former_rows_per_group = 1024;

struct Trees {
  Tree logical;
  Tree feed;
  Tree partitions;  ///< rows of format 1
};

// --- reading ---

/// Zeroes if the logical partition has no documents.
Expected<DocumentStatistics> statistics(const Transaction& transaction, const Trees& trees, std::string_view key);
/// Sequence of the last change; 0: there are no documents. For detecting changes since an earlier call: a logical
/// partition may count a change of another one in format 1.
Expected<Sequence> last_change(const Transaction& transaction, const Trees& trees, std::string_view key);
/// Id of the document that has taken a unique key; see UniqueKeys. Lives as long as the transaction.
Expected<std::optional<std::string_view>> unique_owner(const Transaction& transaction, const Trees& trees,
                                                       std::string_view key, std::string_view digest);
/// All logical partitions: those in `logical` in the order of their keys, and then those of format 1. O(their number).
Expected<void> for_each(const Transaction& transaction, const Trees& trees,
                        FunctionRef<void(std::string_view key, const DocumentStatistics&)> visit);

/// Walks the sequences of a logical partition's feed, both ways. May show sequences of other logical partitions, in
/// format 1: readers must check the id in the feed's row. All members throw as Cursor does, also at a damaged row. Must
/// not outlive its transaction.
class Feed {
 public:
  Feed(const Transaction& transaction, const Trees& trees, std::string_view key);
  /// With the newest sequences of a record that is not stored yet.
  Feed(const Transaction& transaction, const Trees& trees, std::string_view key, std::vector<Sequence> newest);

  std::optional<Sequence> seek(Sequence at_least);
  std::optional<Sequence> seek_back(Sequence at_most);
  std::optional<Sequence> next();
  std::optional<Sequence> previous();

 private:
  const std::vector<Sequence>& newest();
  bool open_former(Sequence at_least);
  bool open_former_back(Sequence at_most);
  bool open_chunk(Sequence at_least);
  bool open_chunk_back(Sequence at_most);

  const Transaction* transaction_;
  Trees trees_;
  std::string name_;
  std::string former_prefix_;
  std::optional<std::vector<Sequence>> newest_;  ///< once read
  std::vector<Sequence> window_;                 ///< a part of the feed without gaps; empty: before seek, or at the end
  std::size_t position_ = 0;                     ///< in window_
};

// --- writing ---

/// A logical partition during a group of writes. Chunks are written at once; the record is written by store().
struct Partition {
  LogicalRecord record;
  bool changed = false;
  bool in_format_1 = false;  ///< its statistics are in `partitions`
};

Expected<Partition> load(const Transaction& transaction, const Trees& trees, std::string_view key);
/// The last change of a partition whose record is not stored yet. Throws as Cursor does.
Expected<Sequence> last_change(const Transaction& transaction, const Trees& trees, std::string_view key,
                               const Partition& partition);
/// Precondition: `sequence` is above all others of the logical partition.
Expected<void> add(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                   Sequence sequence);
/// Adds any sequence that the logical partition does not have. It must have no rows of format 1.
Expected<void> insert(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                      Sequence sequence);
Expected<void> remove(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                      Sequence sequence);
/// Writes the record if it has changed, with the statistics that it has now, and moves rows of format 1, of which it
/// takes those that it has read off `former_rows_left`.
Expected<void> store(WriteTransaction& transaction, const Trees& trees, std::string_view key, Partition& partition,
                     std::size_t& former_rows_left);

Expected<void> take_unique(WriteTransaction& transaction, const Trees& trees, std::string_view key,
                           std::string_view digest, std::string_view id);
/// Does nothing if another document has taken it.
Expected<void> release_unique(WriteTransaction& transaction, const Trees& trees, std::string_view key,
                              std::string_view digest, std::string_view id);

}  // namespace logical_rows
}  // namespace octavo::storage
