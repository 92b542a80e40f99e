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

/// What a query asks of a view's rows, as the client has it: `start` is met first also when descending.
struct KeyRange {
  std::optional<boost::json::value> start;
  std::optional<boost::json::value> end;
  std::optional<std::string> start_document;  ///< only with `start`
  std::optional<std::string> end_document;    ///< only with `end`
  bool inclusive_end = true;
  bool descending = false;
};

/// The same in row keys: from `low` on, up to but without `high`; within `scope`, all rows of the view, or of the
/// partition that is asked for.
struct RowRange {
  std::string scope;
  std::string low;
  std::string high;
  bool descending = false;
};

/// `partition`: of a query of a partitioned view; empty otherwise.
/// Errors: query_parse_error "No rows can match your key range, …", as CouchDB.
Expected<RowRange> row_range(const ViewGroup& group, std::size_t view, std::string_view partition,
                             const KeyRange& keys);

/// Numbers of a listing's head.
struct RowCounts {
  std::uint64_t total = 0;   ///< rows in the scope
  std::uint64_t offset = 0;  ///< rows before the first of the range, in its direction; 0 when it is empty
  bool empty = true;         ///< no row is in the range
};
/// Some hundred entries of the summaries.
Expected<RowCounts> count_rows(ViewGroup& group, std::size_t view, const RowRange& range);

/// Walks the rows of a range. Holds no snapshot between calls: each slice resumes by key. One thread at a time.
class RowScan {
 public:
  /// `skip` rows are left out, at the cost of one look at the summaries.
  RowScan(std::shared_ptr<ViewGroup> group, std::size_t view, RowRange range, std::uint64_t skip);
  /// Rows until the visitor or the budget ends the slice; they live for the length of the visit.
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget,
                                        FunctionRef<partitioning::Visit(const ViewRow&)> visit);
  /// What is left to skip: more than 0 once the range has ended in it.
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
  /// How rows make groups: 0: all rows are one; `exact`: equal keys; otherwise arrays by so many first elements, other
  /// keys when they are equal.
  static constexpr std::uint64_t exact = UINT64_MAX;

  ReduceScan(std::shared_ptr<ViewGroup> group, std::size_t view, RowRange range, std::uint64_t level);

  struct Group {
    std::string key;    ///< JSON text
    std::string value;  ///< JSON text; empty when it was not asked for
  };
  /// The next group, or nullopt at the end; `skip`: without its value. Runs functions when the view's reducer does.
  /// Errors: of Reducer::finish.
  Expected<std::optional<Group>> next(bool skip);

 private:
  /// States for all of the rows; `reducer` is the view's, or stands for it.
  Expected<std::vector<std::string>> states_of(const storage::ReadTransaction& transaction, std::string_view low,
                                               std::string_view high, const Reducer& reducer) const;

  std::shared_ptr<ViewGroup> group_;
  std::size_t view_;
  RowRange range_;
  std::uint64_t level_;
};

}  // namespace octavo::query::views
