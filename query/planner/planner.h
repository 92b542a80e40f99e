#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "query/index/index_manager.h"
#include "query/planner/find_request.h"
#include "query/planner/plan.h"

namespace octavo::query {

/// How many rows lie in ranges.
struct RowCount {
  std::uint64_t rows = 0;
  bool exact = true;  ///< not estimated
};

/// What the planner asks of the data. Few, short reads.
class PlannerStatistics {
 public:
  virtual ~PlannerStatistics() = default;
  /// Documents in the scope of the query (the database, or one logical partition).
  struct Documents {
    std::uint64_t count = 0;
    double average_bytes = 0;
  };
  virtual Expected<Documents> documents() = 0;
  /// Of these, the design documents, which no query returns. Reads their rows.
  virtual Expected<std::uint64_t> design_documents() { return 0; }
  /// Entries of an index in the scope; for a local index the documents of the partition are a good answer.
  virtual Expected<std::uint64_t> entries(const IndexView& index) = 0;
  /// Sizes that are not exact are right within a factor of 1.5, however large.
  virtual Expected<RowCount> size(const IndexView& index, std::span<const KeyRange> ranges) = 0;
  /// Whether the entries of an automatic index stand in the order of the values: none of their keys was cut off.
  virtual Expected<bool> order_is_exact(const IndexView& /*index*/) { return true; }
  virtual Expected<RowCount> size_of_ids(std::span<const IdRange> ranges) = 0;
};

/// Where a query runs.
struct PlannerScope {
  bool partition_query = false;  ///< one logical partition
  std::size_t place = 0;         ///< its physical partition
  bool ignore_unbuilt = false;   ///< do not count on indexes that are still being built
  bool ignore_global = false;    ///< nor on global ones: the disk is full, and they cannot follow
  /// By a bookmark: identity of the index to go on with, "" for the primary one.
  std::optional<std::string> pinned;
  /// By a bookmark of a union: the side that goes on with `pinned`. Those after it have not begun, and are free.
  std::optional<std::uint64_t> pinned_side;
  bool explain = false;  ///< examine every candidate, also when the choice is clear
};

struct PlannerResult {
  /// By which the query begins. At least one; several may take turns (executor/plan_turns.h), the most hopeful first.
  std::vector<Plan> plans;
  std::size_t sure = 0;               ///< number of the plan whose `most` is the least
  std::vector<Candidate> candidates;  ///< all indexes, the chosen one first, the others by ranking
};

/// Picks the ways to run `request`: examines the primary index and every index in the query's scope, with the ranges
/// the selector allows in each, the number of rows in them, what has to be read and tested per row, whether the order
/// is the one asked for, and how soon the limit is likely to end the walk. The surest plan is the one that costs the
/// least when all in its ranges is read; where the order and the limit may end others sooner, they go before it or
/// beside it. An alternative between different fields (`$or`) is a union, when each side has an index.
///
/// `use_index` is obeyed when that index can be used; of a partial one it gives what is in it. Errors:
/// no_usable_index / invalid_index for `allow_fallback: false`; bad_request invalid_bookmark when the pinned index
/// cannot be used; those of the statistics.
Expected<PlannerResult> plan_query(const FindRequest& request, const IndexCatalog& catalog, const PlannerScope& scope,
                                   PlannerStatistics& statistics);

/// What to say when a sort needs an index: CouchDB's words, and the index to create.
Error missing_sort_index(const FindRequest& request, bool database_is_partitioned);

}  // namespace octavo::query
