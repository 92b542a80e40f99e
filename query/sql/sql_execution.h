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
#include "query/sql/row_shape.h"
#include "query/sql/sql_limits.h"
#include "query/sql/sql_preparation.h"

namespace octavo::query::sql {

/// Documents as they are somewhere else than in the database: inside a transaction that is not committed, or in memory.
class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// Visits live documents in byte order of their ids from `from` on; `more`: then `from` is where to go on.
  virtual Expected<partitioning::ScanState> scan(
      std::optional<std::string>& from, partitioning::ScanBudget budget,
      FunctionRef<partitioning::Visit(const storage::DocumentView&)> visit) = 0;
  /// The document (maybe deleted) where it is another one than the database's; null: it is the same.
  virtual const storage::DocumentView* changed(std::string_view id) const = 0;
};

/// What one run of a query may return, and from where it goes on.
struct SqlOptions {
  std::uint64_t page_items_max = UINT64_MAX;
  std::size_t page_bytes_max = sql_page_bytes_max;  ///< of results as text; a page has at least one
  std::size_t memory_bytes_max = 64ULL << 20;       ///< for sorting, grouping, distinct
  std::size_t continuation_key_bytes_max = Continuation::key_bytes_max;  ///< at least Continuation::beginning_bytes
  UserFunctions* user_functions = nullptr;                               ///< outlives the run; null: calls are refused
  /// Where the documents are; outlives the run. Null: in the database. A query that was prepared to be run without an
  /// index (prepare_sql_over) is given the source's documents, and needs no database; one by an index is given those
  /// that the index has.
  DocumentSource* source = nullptr;
  bool may_stop = false;  ///< SqlExecution::stop will be asked for…
  /// … when the query has cost so many request units. A sort that could cost more is not begun while a walk in order
  /// can go on.
  double charge_max = std::numeric_limits<double>::infinity();
  /// Another logical partition than the one prepared with, in the same physical partition: plans are shared.
  std::optional<std::string> partition_key;
};

/// What a query has read and found so far.
struct SqlStatistics {
  std::uint64_t keys_examined = 0;       ///< index entries, or document keys without an index
  std::uint64_t documents_examined = 0;  ///< documents read
  std::uint64_t document_bytes = 0;      ///< of their bodies
  std::uint64_t results_returned = 0;
  std::uint64_t result_bytes = 0;
  bool left_walk = false;       ///< in the order of ORDER BY, for a plan that sorts
  std::size_t ranges_read = 0;  ///< physical partitions, of a query that reads one after the other; 0: of another
};

/// One page of a query: reads slice by slice and writes results as text. Between slices it holds no snapshot and goes
/// on by key, so a slow client pins nothing; documents that change meanwhile are seen as they are when their turn
/// comes.
///
/// A walk in the order of ORDER BY that has cost its budget is left for a plan that sorts (executor/plan_turns.h). What
/// it has not returned comes sorted as the entries of its index, so that its place in the index tells both what was
/// returned and where the next page begins, which goes on with the walk, or once more leaves it. Rows for clients that
/// merge have an order of their own, and their pages begin with none given out.
///
/// Continuations are stateless texts for every shape of query. A sorted, grouped or distinct result is computed anew
/// for each page, and goes on after the last row's key; a plain one goes on where it stopped, inside a JOIN too.
///
/// One thread at a time, which may be another for each slice. Memory: one slice's output, and what is sorted, grouped
/// or distinct up to `memory_bytes_max`; sorting keeps only the rows that may be on the page.
class SqlExecution {
 public:
  SqlExecution(std::shared_ptr<partitioning::Database> database, std::shared_ptr<const PreparedSql> prepared,
               SqlOptions options);
  SqlExecution(SqlExecution&&) noexcept;
  ~SqlExecution();

  /// One slice: appends results to output(), separated by commas. Ends early when there is much output.
  /// Errors: too_large when a sort or grouping exceeds its memory, or an item its limits; those of the storage; those
  /// of user functions.
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget);

  /// Whether it returns results while it reads: a query that sorts, groups or is distinct reads everything first.
  bool is_resumable() const;
  /// Between slices: ends the page after the last document that was looked at; continuation() goes on there. False: not
  /// here, run on.
  bool stop();

  /// What has been written and not been taken yet; the caller empties it as it likes between slices.
  std::string& output();
  const SqlStatistics& statistics() const;
  /// Once done: where the next page starts; nullopt: nothing follows. A full page looks some way ahead for a row that
  /// follows, and has one where it finds neither that nor the end.
  std::optional<std::string> continuation() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace octavo::query::sql
