#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/view/reducer.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/lmdb/store.h"

/// Summaries of the rows of views. CouchDB's trees store them in their nodes; LMDB has no place for them there.
///
/// The rows of a view are divided into blocks of about 64 rows, these blocks of level 1 into blocks of about 64 blocks,
/// and so on up to level level_max. A block stores its number of rows and, in a view with a reduce function, their
/// reduction.
///
/// Format (summaries of views):
///   key   := level:u8 start                      `start`: above all rows of the previous block, not above its own
///   value := children:varint rows:varint state   `state`: the Reducer's; empty without a reducer or without rows
///
/// `start` is as short as possible, like a separator in a B-tree. The start of a view's first block, at each level, is
/// the view's prefix. A block of level n consists of the blocks of level n-1 whose starts are at or above its own start
/// and below the next block's. The last of these blocks may extend beyond the end of the block that contains it.
///
/// Counting the rows before a key, finding the row with a given rank, and reducing a range therefore read about 64
/// entries per level, independent of the number of rows.
namespace octavo::query::views {

inline constexpr std::uint8_t level_max = 4;  // a block of the highest level has 64^4 rows; larger views have several

struct SummaryTrees {
  storage::Tree rows;
  storage::Tree summaries;
};

/// Updates the summaries of one view after changes to its rows. `changed`: the sorted keys of all rows written or
/// erased since the last update. `reducer` may be null. Runs JavaScript if the reducer does. O(blocks touched).
Expected<void> update_summaries(storage::WriteTransaction& transaction, const SummaryTrees& trees, std::size_t view,
                                const Reducer* reducer, std::span<const std::string> changed);

/// Reads summaries, in the same snapshot as the rows.
class SummaryReader {
 public:
  SummaryReader(const storage::Transaction& transaction, const SummaryTrees& trees, std::size_t view,
                const Reducer* reducer)
      : transaction_(transaction), trees_(trees), view_(view), reducer_(reducer) {}

  /// The number of rows of the view.
  std::uint64_t count() const;
  /// The number of rows of the view whose keys are below `key`.
  std::uint64_t rank(std::string_view key) const;
  /// The key of the row that has `rank` rows of the view before it; nullopt if the view has no such row.
  std::optional<std::string> at(std::uint64_t rank) const;
  /// The state of the rows in [`low`, `high`); nullopt if there are none. Precondition: the view has a reducer.
  Expected<std::optional<std::string>> reduce(std::string_view low, std::string_view high) const;
  /// The states that reduce() merges, in the order of the rows: the states of whole blocks, and reductions of the rows
  /// before and after these blocks.
  Expected<std::vector<std::string>> states(std::string_view low, std::string_view high) const;

 private:
  struct Entry;
  std::optional<Entry> entry_at_or_before(std::uint8_t level, std::string_view start) const;
  std::optional<Entry> entry_before(std::string_view start) const;
  std::optional<std::string> start_after(std::uint8_t level, std::string_view start) const;
  Expected<void> reduce_rows(std::string_view low, std::string_view high, std::vector<std::string>& states) const;
  Expected<void> reduce_blocks(std::uint8_t level, std::string_view low, std::string_view high,
                               std::vector<std::string>& states) const;

  const storage::Transaction& transaction_;
  SummaryTrees trees_;
  std::size_t view_;
  const Reducer* reducer_;
};

/// Compares the summaries of a view with its rows: nullopt if they agree, else what is wrong. For `octavo check`.
/// O(rows).
Expected<std::optional<std::string>> check_summaries(const storage::Transaction& transaction, const SummaryTrees& trees,
                                                     std::size_t view, const Reducer* reducer);

/// Collects rows for a reducer. Copies the parts of a row that become invalid when the cursor moves.
class RowBatch {
 public:
  void add(const ViewRow& row);
  std::span<const ViewRow> rows() const { return rows_; }
  std::size_t size() const { return rows_.size(); }
  void clear();

 private:
  std::vector<ViewRow> rows_;
  std::vector<std::unique_ptr<std::string>> long_keys_;
};

}  // namespace octavo::query::views
