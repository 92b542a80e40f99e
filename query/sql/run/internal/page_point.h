#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "query/plan/plan.h"
#include "query/sql/run/continuation.h"
#include "query/sql/run/sql_preparation.h"
#include "query/walk/gone_index.h"

/// The points at which a page of a query may end, as continuations. What OFFSET and LIMIT have left is not in them, nor
/// what other plans have returned.
namespace octavo::query::sql {

/// A position up to which a walk has read, in its order.
struct ReadingPoint {
  std::string key = {};
  std::size_t branch = 0;
  std::optional<std::size_t> partition_id = {};  ///< if one physical partition is read after the other
};

/// The next page reads on after `last`, by the plan `by`.
Continuation point_after(const PreparedSql& prepared, const Plan& by, const ReadingPoint& last);

/// The next page reads on after the row with this entry, by the index that this page is sorted like: it may be there by
/// then. Otherwise that page is sorted, too. nullopt: a page cannot begin so.
std::optional<Continuation> point_by_index(const GoneIndex& index, std::string entry);

// Pages that the index of the first plan is read for in the order of ORDER BY, while equal rows have an order of their
// own.

/// Whether the first plan reads in this order, by entries that are never behind their documents.
bool may_read_in_runs(const PreparedSql& prepared);
/// Whether the previous page was read by the index that the first plan reads, in the same direction.
bool continues_in_order(const PreparedSql& prepared);
/// The next page begins after the row with this key, and reads the index from `start` on.
Continuation point_in_order(const PreparedSql& prepared, std::string key, std::string start);
/// Lets `next` read the index from `start` on.
void begin_at(const PreparedSql& prepared, std::string start, Continuation& next);

/// What the plan that continues has cost, as a continuation has it, because its page ended before it was full: the next
/// page gets no new budget. `spent`: request units.
std::uint64_t spent_before(const PreparedSql& prepared, double spent);

}  // namespace octavo::query::sql
