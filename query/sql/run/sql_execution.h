#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/scan.h"
#include "query/sql/evaluate/row_shape.h"
#include "query/sql/evaluate/user_functions.h"
#include "query/sql/run/sql_preparation.h"
#include "query/sql/syntax/sql_limits.h"
#include "query/walk/plan_walk.h"

namespace octavo::query::sql {

/// Documents from a source other than the database: a transaction that is not committed, or memory.
class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// Visits live documents in byte order of their ids, beginning at `from`. Result `more`: `from` is where to continue.
  virtual Expected<partitioning::ScanState> scan(
      std::optional<std::string>& from, partitioning::ScanBudget budget,
      FunctionRef<partitioning::Visit(const storage::DocumentView&)> visit) = 0;
  /// The document (possibly deleted) if it differs from the database's; null: it is the same.
  virtual const storage::DocumentView* changed(std::string_view id) const = 0;
};

/// What one run of a query may return, and how it reads.
struct SqlOptions {
  std::uint64_t page_items_max = UINT64_MAX;
  std::size_t page_bytes_max = sql_page_bytes_max;  ///< of results as text; a page has at least one result
  std::size_t memory_bytes_max = 64ULL << 20;       ///< for sorting, grouping, distinct
  std::size_t continuation_key_bytes_max = Continuation::key_bytes_max;  ///< at least Continuation::beginning_bytes
  UserFunctions* user_functions = nullptr;                               ///< outlives the run; null: calls are rejected
  /// Where the documents are; must outlive the run. Null: in the database. A query that was prepared without an index
  /// (prepare_sql_over) reads the source's documents and needs no database; a query with an index reads the documents
  /// that the index has.
  DocumentSource* source = nullptr;
  bool may_stop = false;  ///< SqlExecution::stop will be called…
  /// … when the query has cost this many request units. A sort that could cost more is not begun while a walk in order
  /// can continue.
  double charge_max = std::numeric_limits<double>::infinity();
  /// A logical partition other than the prepared one, in the same physical partition: plans are shared.
  std::optional<std::string> partition_key;
};

/// What a query has read and found so far.
struct SqlStatistics : WalkStatistics {
  std::uint64_t result_bytes = 0;
  bool left_walk = false;       ///< a walk was left for another plan: for one that sorts, or in turns
  std::size_t ranges_read = 0;  ///< physical partitions, if it reads one after the other; otherwise 0
};

/// One page of a query: reads slice by slice and writes results as text. Between slices it holds no snapshot and
/// continues by key, so a slow client pins nothing; documents that change meanwhile are seen as they are when they are
/// reached.
///
/// Without an order, plans that may end at the limit take turns, in each physical partition if these are read one after
/// the other; each continues where it was, and skips what the others have returned (walk/plan_walks.h).
///
/// A walk in the order of ORDER BY that has cost its budget is left for a plan that sorts (walk/plan_turns.h). What
/// it has not returned is sorted like the entries of its index. So its position in the index says both what was
/// returned and where the next page begins, which continues the walk, or leaves it again. Rows for clients that merge
/// have their own order, and their sort begins before any row of the page was returned.
///
/// Continuations are stateless texts for every kind of query. A sorted, grouped or distinct result is computed again
/// for each page, and continues after the key of the last row; a plain one continues where it stopped, also inside a
/// JOIN.
///
/// One thread at a time; each slice may run on another one. Memory: the output of one slice, and up to
/// `memory_bytes_max` for what is sorted, grouped or distinct; sorting keeps only the rows that may be on the page.
class SqlExecution {
 public:
  SqlExecution(std::shared_ptr<partitioning::Database> database, std::shared_ptr<const PreparedSql> prepared,
               SqlOptions options);
  SqlExecution(SqlExecution&&) noexcept;
  ~SqlExecution();

  /// Runs one slice: appends results to output(), separated by commas. Ends early when there is much output. Errors:
  /// too_large if a sort or grouping exceeds its memory, or an item its limits; those of the storage; those of user
  /// functions.
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget);

  /// Whether it returns results while it reads. A query that sorts, groups or is distinct reads everything first.
  bool is_resumable() const;
  /// For use between slices: ends the page after the last document examined; continuation() continues there. False: the
  /// page cannot end here, call run() again.
  bool stop();

  /// Results that were written and not taken yet; the caller may empty it between slices.
  std::string& output();
  const SqlStatistics& statistics() const;
  /// What each plan of the prepared query has read, for display; empty: there is one plan.
  boost::json::array explain_reads() const;
  /// After the last slice: where the next page starts; nullopt: nothing follows. A full page looks ahead for a
  /// following row, up to a limit. If it finds neither a row nor the end, there is a continuation.
  std::optional<std::string> continuation() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace octavo::query::sql
