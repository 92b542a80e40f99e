#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "partitioning/partition_key.h"
#include "query/collation/sort_key.h"
#include "query/index/query_cache.h"
#include "query/json/field_path.h"
#include "query/planner/planner.h"
#include "query/sql/continuation.h"
#include "query/sql/equal_texts.h"
#include "query/sql/row_shape.h"
#include "query/sql/sql_query.h"
#include "query/sql/sql_selector.h"

namespace octavo::query::sql {

/// What of a database a query is about. The narrowest that is given counts.
struct SqlScope {
  std::string partition_key;                      ///< one logical partition (as in document ids); empty: all
  std::optional<std::size_t> physical_partition;  ///< one physical partition
  /// Documents whose hash position lies in [first, second): part of a physical partition, or of several.
  std::optional<std::pair<partitioning::HashPosition, partitioning::HashPosition>> hash_range;

  std::string id_prefix = {};  ///< documents whose ids begin so: the beginning of a hierarchical key

  bool is_everything() const {
    return partition_key.empty() && !physical_partition && !hash_range && id_prefix.empty();
  }
};

/// One path of an automatic index, whose entries told the order of the pages before. A change of the indexing policy
/// took it away: the rows that are left are sorted as its entries were.
struct GoneIndex {
  FieldPath path;
  StringOrder order = StringOrder::bytes;

  /// As in Continuation::start.
  std::string to_text() const { return (order == StringOrder::bytes ? 'b' : 'c') + path.text(); }
  /// nullopt: it is none.
  static std::optional<GoneIndex> from_text(std::string_view text);
};

/// A query and how it is run: all that can be known before reading. Immutable, shared by the runs of equal requests.
struct PreparedSql : CachedQuery {
  SqlQuery::Ptr query;
  SqlScope scope;
  const RowShape* shape = nullptr;
  /// One; or two: a walk in the order of ORDER BY, and the surest plan, which sorts, for which the walk is left when it
  /// has cost its budget (executor/plan_turns.h).
  std::vector<Plan> plans = std::vector<Plan>(1);
  std::optional<Continuation> continuation;      ///< of the page before
  std::optional<GoneIndex> gone_index;           ///< that the page before was read by
  bool presorted = false;                        ///< the first plan reads in the order of the query's ORDER BY
  std::vector<Candidate> candidates;             ///< with `explain` only
  std::uint64_t generation = 0;                  ///< of the index catalog
  bool keepable = false;                         ///< may serve equal requests that come later
  std::uint64_t planned_documents = 0;           ///< in the scope, when it was planned
  WhereHolds where_holds = WhereHolds::unknown;  ///< of the documents that the index names
  /// WHERE holds of any document that has these texts; empty: it must be evaluated.
  std::vector<EqualText> equal_texts;
  bool over_source = false;  ///< reads the documents of SqlOptions::source

  const Plan& plan() const { return plans.front(); }
  const Plan& sure_plan() const { return plans.back(); }
};

struct SqlPlanning {
  bool explain = false;        ///< examine and keep all candidates, and wait for nothing
  bool ignore_global = false;  ///< do without global indexes: the disk is full, and they cannot follow
};

/// Plans `query` onto the database's indexes. `shape` outlives the result. When the best index is still being built,
/// this waits for it some seconds and then does without. It does not wait for what a global index has not seen yet:
/// current_sql.h does. Errors: those of the indexes and the storage; bad_request for a scope that is none.
Task<Expected<std::shared_ptr<const PreparedSql>>> prepare_sql(std::shared_ptr<partitioning::Database> database,
                                                               SqlQuery::Ptr query, SqlScope scope,
                                                               const RowShape& shape,
                                                               std::optional<std::string> continuation = {},
                                                               SqlPlanning planning = {});

/// As prepare_sql, without waiting for anything: indexes that are not built yet are done without. For callers who are
/// no coroutines.
Expected<std::shared_ptr<const PreparedSql>> prepare_sql_now(partitioning::Database& database, SqlQuery::Ptr query,
                                                             SqlScope scope, const RowShape& shape,
                                                             const std::optional<std::string>& continuation = {});
/// For all documents of a source (SqlOptions::source), without an index, and without a database that they are of.
Expected<std::shared_ptr<const PreparedSql>> prepare_sql_over(SqlQuery::Ptr query, const RowShape& shape,
                                                              const std::optional<std::string>& continuation = {});

/// The plans of an earlier equal request, by a text with all of the request (query, parameters, scope). Null if no plan
/// is kept, or if the number of documents of `partition_key` (empty: of the database) has changed much since.
std::shared_ptr<const PreparedSql> find_prepared_sql(partitioning::Database& database, std::string_view request,
                                                     const std::string& partition_key);
void keep_prepared_sql(partitioning::Database& database, std::string_view request,
                       const std::shared_ptr<const PreparedSql>& prepared);

}  // namespace octavo::query::sql
