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
#include "storage/environment.h"
#include "storage/long_key_tree.h"

/// Summaries of the rows of views: what LMDB, unlike CouchDB's trees, does not keep in its nodes.
///
/// The rows of a view are cut into blocks of some 64 rows; the blocks of level 1 into blocks of some 64 blocks, and so
/// on, up to kLevels. A block knows how many rows it holds and, in a view with a reduce function, their reduction:
///
///   key   := level:u8 start                      `start`: no row of the block is below it, none of the block before
///   above value := children:varint rows:varint state   `state`: of the Reducer; empty without one, or without rows
///
/// `start` is no longer than it must be, like a separator of a B-tree; that of a view's first block, at each level, is
/// the view's prefix. A block of level n holds the blocks of level n-1 whose starts are at or above its own and below
/// the next one's: blocks of a lower level may end where the block above them does not.
///
/// Counting the rows before a key, finding the row at a place, and reducing a range therefore read some 64 entries at
/// each level, however many rows there are.
namespace octavo::query::views {

inline constexpr std::uint8_t kLevels = 4;  // 64^4 rows in a block of the highest: beyond, there are several of them

struct SummaryTrees {
  storage::Tree rows;
  storage::Tree summaries;
};

/// Brings the summaries of one view in step with its rows. `changed`: the keys of all rows that were written or erased
/// since, sorted. `reducer` may be null. Runs functions, if the reducer does. O(blocks touched).
Expected<void> update_summaries(storage::WriteTransaction& transaction, const SummaryTrees& trees, std::size_t view,
                                const Reducer* reducer, std::span<const std::string> changed);

/// Reads them. As the rows: of one snapshot.
class SummaryReader {
 public:
  SummaryReader(const storage::Transaction& transaction, const SummaryTrees& trees, std::size_t view,
                const Reducer* reducer)
      : transaction_(transaction), trees_(trees), view_(view), reducer_(reducer) {}

  /// Rows of the view.
  std::uint64_t count() const;
  /// Rows of the view whose keys are below `key`.
  std::uint64_t rank(std::string_view key) const;
  /// Key of the row that has `rank` rows of the view before it; nullopt: there are not so many.
  std::optional<std::string> at(std::uint64_t rank) const;
  /// State of the rows from `low` on, up to but without `high`; nullopt: there are none. Precondition: a reducer.
  Expected<std::optional<std::string>> reduce(std::string_view low, std::string_view high) const;
  /// The states that reduce() merges, in the order of the rows: of blocks, and what the reducer made of rows beside
  /// them.
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

/// Whether the summaries of a view are what its rows say; else what is wrong. For `octavo check`. O(rows).
Expected<std::optional<std::string>> check_summaries(const storage::Transaction& transaction, const SummaryTrees& trees,
                                                     std::size_t view, const Reducer* reducer);

/// Rows on their way into a reducer: copies what does not stay where it is while a cursor moves.
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
