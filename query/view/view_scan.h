#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "partitioning/scan.h"
#include "query/view/view_group.h"

namespace octavo::query::views {

/// The key range of a query, as the client gives it: `start` comes first also in descending order.
struct KeyRange {
  std::optional<boost::json::value> start;
  std::optional<boost::json::value> end;
  std::optional<std::string> start_document;  ///< only with `start`
  std::optional<std::string> end_document;    ///< only with `end`
  bool inclusive_end = true;
  bool descending = false;
};

/// The same range in row keys: [`low`, `high`). `scope` is the prefix of all rows of the view, or of the queried
/// partition.
struct RowRange {
  std::string scope;
  std::string low;
  std::string high;
  bool descending = false;
};

/// `partition`: the queried partition of a partitioned view; empty otherwise.
/// Errors: query_parse_error "No rows can match your key range, …", as in CouchDB.
Expected<RowRange> row_range(const ViewGroup& group, std::size_t view, std::string_view partition,
                             const KeyRange& keys);

/// The numbers at the head of a listing.
struct RowCounts {
  std::uint64_t total = 0;   ///< rows in the scope
  std::uint64_t offset = 0;  ///< rows before the first of the range, in its direction; 0 if the range is empty
  bool empty = true;         ///< no row is in the range
};
/// Cost: reads some hundred entries of the summaries.
Expected<RowCounts> count_rows(ViewGroup& group, std::size_t view, const RowRange& range);

/// Walks the rows of a range. Holds no snapshot between calls: each slice resumes at a key. One thread at a time.
class RowScan {
 public:
  /// Skips the first `skip` rows, at the cost of one lookup in the summaries.
  RowScan(std::shared_ptr<ViewGroup> group, std::size_t view, RowRange range, std::uint64_t skip);
  /// Visits rows until the visitor or the budget ends the slice. A row is valid only during its visit.
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget,
                                        FunctionRef<partitioning::Visit(const ViewRow&)> visit);
  /// Rows still to skip: more than 0 if the range has fewer rows than `skip`.
  std::uint64_t skip_left() const { return skip_; }

 private:
  Expected<void> skip_rows(const storage::ReadTransaction& transaction);

  std::shared_ptr<ViewGroup> group_;
  std::size_t view_;
  RowRange range_;
  std::uint64_t skip_;
};

/// Reduces a range, group by group.
class ReduceScan {
 public:
  /// `level` decides which rows form a group. 0: all rows; `exact`: rows with equal keys; otherwise rows whose keys are
  /// arrays with the same first `level` elements, or are equal.
  static constexpr std::uint64_t exact = UINT64_MAX;

  ReduceScan(std::shared_ptr<ViewGroup> group, std::size_t view, RowRange range, std::uint64_t level);

  struct Group {
    std::string key;    ///< JSON text
    std::string value;  ///< JSON text; empty for next(skip = true)
  };
  /// The next group, or nullopt at the end; `skip`: without its value. Runs JavaScript if the view's reducer does.
  /// Errors: those of Reducer::finish.
  Expected<std::optional<Group>> next(bool skip);

 private:
  /// The states of all rows in [`low`, `high`). `reducer` is the view's, or a DeferredReducer in its place.
  Expected<std::vector<std::string>> states_of(const storage::ReadTransaction& transaction, std::string_view low,
                                               std::string_view high, const Reducer& reducer) const;

  std::shared_ptr<ViewGroup> group_;
  std::size_t view_;
  RowRange range_;
  std::uint64_t level_;
};

}  // namespace octavo::query::views
