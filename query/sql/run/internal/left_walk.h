#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "query/index/automatic_index.h"
#include "query/json/parsed_document.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/run/internal/combinations.h"
#include "query/sql/run/sql_preparation.h"
#include "query/walk/index_walk.h"

namespace octavo::query::sql {

/// The walk of a query's first plan, in the order of ORDER BY, which is left for a sort once it has cost its budget:
/// how far it has come, and the order of the rows that it has left.
///
/// If the walk had returned rows of the page, those that are left are sorted like its entries, so that the walk can
/// continue after any of them. Rows for clients that merge keep their own order, and the walk can begin again at their
/// entries.
class LeftWalk {
 public:
  /// All must outlive this.
  LeftWalk(const PreparedSql& prepared, Evaluation& evaluation, const Combinations& combinations,
           DocumentParser& parser);

  /// The walk has reached the entry or document at `position`: nothing before it is needed any more.
  void reach(std::string_view position) { reached_ = position; }
  /// nullopt: it has reached nothing, on this page or before.
  const std::optional<std::string>& reached() const { return reached_; }
  /// Whether it has reached more than the previous page.
  bool has_progressed() const;

  /// Leaves the walk at `position` after it has cost `spent` request units on this page.
  void leave(IndexPosition position, double spent);
  double spent() const { return spent_; }
  /// Where the walk can be taken up again.
  const IndexPosition& position() const { return position_; }

  /// Sorts the rows that are left like the entries of the walk. Returns what sorts behind all that the walk has
  /// returned; nullopt: it has returned nothing.
  std::optional<std::string> sort_by_entries();
  bool sorts_by_entries() const { return sorts_by_entries_; }
  /// The walk is taken up again, without the sort.
  void take_up() { sorts_by_entries_ = false; }

  /// For rows with their own order: where a page can begin without the rows that the walk has read completely; empty:
  /// unknown.
  void set_start(std::string start) { start_ = std::move(start); }
  const std::string& start() const { return start_; }

  /// Finds the current row's entry in the walk. False: it has none, or the evaluation failed.
  bool find_entry();
  /// The entry that was found last.
  const std::string& entry() const { return entry_; }
  /// The key of the current row among those that are sorted like the entries, until the next call. Null: the row is not
  /// one of them, or the evaluation failed.
  const std::string* make_key();

 private:
  const PreparedSql& prepared_;
  Evaluation& evaluation_;
  const Combinations& combinations_;
  DocumentParser& parser_;
  std::optional<std::string> reached_;
  IndexPosition position_;
  double spent_ = 0;
  bool sorts_by_entries_ = false;
  std::string start_;
  std::string entry_;
  std::string key_;
  AutomaticIndex::Entries scratch_;
};

}  // namespace octavo::query::sql
