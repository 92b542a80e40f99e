#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/task.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/index/catalog/query_cache.h"
#include "query/plan/planner.h"
#include "query/selector/selector.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/constraints/exact_matches.h"
#include "query/sql/evaluate/row_shape.h"
#include "query/sql/run/continuation.h"
#include "query/walk/gone_index.h"
#include "query/walk/plan_walk.h"
#include "query/walk/walked_part.h"

namespace octavo::query::sql {

using SqlScope = QueryScope;

/// A query and how it is run: everything that is known before reading. Immutable, shared by the runs of equal requests.
struct PreparedSql : CachedQuery {
  SqlQuery::Ptr query;
  SqlScope scope;
  const RowShape* shape = nullptr;
  std::string token_origin = {};  ///< Database::token_origin
  /// One plan, or several (walk/plan_turns.h): a walk in the order of ORDER BY, and the surest plan, which sorts and
  /// replaces the walk once that has cost its budget; or without an order plans that take turns.
  std::vector<Plan> plans = std::vector<Plan>(1);
  std::size_t sure = 0;
  std::vector<WalkedPart> walked;                ///< from the continuation: of plans that were left
  std::optional<Continuation> continuation;      ///< of the previous page
  std::optional<GoneIndex> gone_index;           ///< by which the previous page was read, or the next one may be
  std::vector<Selector> sides;                   ///< of the union that the previous page was a part of, with gone_index
  bool presorted = false;                        ///< the first plan reads in the order of the query's ORDER BY
  std::vector<Candidate> candidates;             ///< with `explain` only
  std::uint64_t generation = 0;                  ///< of the index catalog
  bool keepable = false;                         ///< may serve later equal requests
  std::uint64_t planned_documents = 0;           ///< in the scope, when it was planned
  WhereHolds where_holds = WhereHolds::unknown;  ///< for the documents that the index finds
  /// WHERE holds for any document that has these texts; empty: it must be evaluated.
  std::vector<ExactMatch> exact_matches;
  bool over_source = false;  ///< reads the documents of SqlOptions::source

  const Plan& plan() const { return plans.front(); }
  const Plan& sure_plan() const { return plans[sure]; }
  /// Whether the first plan is replaced by one that sorts.
  bool may_sort_instead() const { return plans.size() > 1 && sure_plan().sort_in_memory; }
};

struct SqlPlanning {
  bool explain = false;        ///< examine and keep all candidates, and do not wait for indexes
  bool ignore_global = false;  ///< do not use global indexes: the disk is full, so they cannot be updated
};

/// Plans `query` of the indexes' database. `shape` must outlive the result. If the best index is still being built,
/// waits for it some seconds and then plans without it. Does not wait until global indexes are current:
/// query::wait_for_indexes does. Errors: those of the indexes and the storage; bad_request if the scope is invalid.
Task<Expected<std::shared_ptr<const PreparedSql>>> prepare_sql(MangoIndexes& indexes, SqlQuery::Ptr query,
                                                               SqlScope scope, const RowShape& shape,
                                                               std::optional<std::string> continuation = {},
                                                               SqlPlanning planning = {});

/// Like prepare_sql, but never waits: indexes that are not built yet are not used. For callers that are not coroutines.
Expected<std::shared_ptr<const PreparedSql>> prepare_sql_now(MangoIndexes& indexes, SqlQuery::Ptr query, SqlScope scope,
                                                             const RowShape& shape,
                                                             const std::optional<std::string>& continuation = {});
/// Prepares `query` for all documents of a source (SqlOptions::source), without an index and without a database.
Expected<std::shared_ptr<const PreparedSql>> prepare_sql_over(SqlQuery::Ptr query, const RowShape& shape,
                                                              const std::optional<std::string>& continuation = {});

/// What the planner reads of a query that was prepared, from its beginning.
PlanRequest plan_request_of(const PreparedSql& prepared);

/// The plans of an earlier equal request. `request`: a text of the whole request (query, parameters, scope). Null if no
/// plan is kept, or if the number of documents of `partition_key` (empty: of the database) has changed much since.
std::shared_ptr<const PreparedSql> find_prepared_sql(MangoIndexes& indexes, std::string_view request,
                                                     const std::string& partition_key);
void keep_prepared_sql(MangoIndexes& indexes, std::string_view request,
                       const std::shared_ptr<const PreparedSql>& prepared);

}  // namespace octavo::query::sql
