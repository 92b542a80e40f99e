#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "query/index/catalog/index_catalog.h"
#include "query/plan/plan.h"
#include "query/plan/plan_request.h"

namespace octavo::query {

/// The number of rows in some ranges.
struct RowCount {
  std::uint64_t rows = 0;
  bool exact = true;  ///< not estimated
};

/// What the planner needs to know about the data. Does few, short reads.
class PlannerStatistics {
 public:
  virtual ~PlannerStatistics() = default;
  /// Documents in the scope of the query (the database, or one logical partition).
  struct Documents {
    std::uint64_t count = 0;
    double average_bytes = 0;
  };
  virtual Expected<Documents> documents() = 0;
  /// How many of them are design documents, which no query returns. Reads their rows.
  virtual Expected<std::uint64_t> design_documents() { return 0; }
  /// Number of entries of an index in the scope. For a local index, the number of documents is a good approximation.
  virtual Expected<std::uint64_t> entries(const IndexView& index) = 0;
  /// Sizes that are not exact are right within a factor of 1.5, however large they are.
  virtual Expected<RowCount> size(const IndexView& index, std::span<const KeyRange> ranges) = 0;
  /// The size of the ranges in `bounds`. For statistics that know properties rather than keys.
  virtual Expected<RowCount> size_in(const IndexView& index, const IndexBounds& bounds) {
    return size(index, bounds.ranges);
  }
  /// Whether the entries of an automatic index are in the order of the values: none of their keys is truncated.
  virtual Expected<bool> order_is_exact(const IndexView& /*index*/) { return true; }
  virtual Expected<RowCount> size_of_ids(std::span<const IdRange> ranges) = 0;
};

/// Where a query runs.
struct PlannerScope {
  bool partition_query = false;  ///< one logical partition
  std::size_t partition_id = 0;  ///< partition id of its physical partition
  bool ignore_unbuilt = false;   ///< do not use indexes that are still being built
  bool ignore_global = false;    ///< do not use global indexes: the disk is full, so they cannot be updated
  /// From a bookmark: identity of the index to continue with, "" for the primary one.
  std::optional<std::string> pinned;
  /// From a bookmark of a union: the side that continues with `pinned`. Later sides have not begun and may use any
  /// index.
  std::optional<std::uint64_t> pinned_side;
  bool explain = false;  ///< examine every candidate, even if the choice is clear
};

struct PlannerResult {
  /// At least one. Several take turns (walk/plan_turns.h); the first is the most likely to finish cheaply.
  std::vector<Plan> plans;
  std::size_t sure = 0;               ///< number of the *surest* plan: the one with the least `most`
  std::vector<Candidate> candidates;  ///< all indexes, the chosen one first, the others by ranking
};

/// Chooses the plans for `request`. Examines the primary index and every index in the query's scope: the ranges that
/// the selector allows, the number of rows in them, what has to be read and tested per row, whether the order is the
/// requested one, and how soon the limit is likely to end the walk. The surest plan costs the least if everything in
/// its ranges is read. Plans that the order and the limit may end sooner run before it or take turns with it. An
/// alternative between different fields (`$or`) becomes a union if each side has an index.
///
/// `use_index` is obeyed if that index can be used; a partial index then returns only what it contains. Errors:
/// no_usable_index / invalid_index for `allow_fallback: false`; index_gone if the pinned index cannot be
/// used; those of the statistics.
Expected<PlannerResult> plan_query(const PlanRequest& request, const IndexCatalog& catalog, const PlannerScope& scope,
                                   PlannerStatistics& statistics);

/// The sides of the union by which plan_query may answer a query with this selector, in the order of its branches;
/// empty: there is no such union. Each result matches one of them.
std::vector<Selector> sides_of_union(const Selector& selector);

}  // namespace octavo::query
