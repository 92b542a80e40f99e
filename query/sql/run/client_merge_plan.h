#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "query/sql/compile/sql_query.h"

namespace octavo::query::sql {

/// The part of a container's partition key that the plan needs.
struct ContainerKey {
  /// Property paths of the key's levels: {{"address","zip"}}, or several for a hierarchical key.
  std::vector<std::vector<std::string>> paths;
  struct Range {
    std::string min;  ///< effective partition keys in hexadecimal
    std::string max;
    bool max_inclusive = false;
  };
  /// The range of the items whose first values.size() levels of the key equal `values` (scalars or null).
  std::function<Range(std::span<const boost::json::value> values)> range_of;
};

/// How a client that queries each partition separately and merges the results must run a query: Azure Cosmos DB's
/// `partitionedQueryExecutionInfo`, version 2.
///
/// `rewrittenQuery` is empty if the query can be sent to the partitions unchanged. Otherwise each partition returns
/// rows of the form that the client's merging expects:
///
///   ORDER BY            {"_rid":…,"orderByItems":[{"item":…}],"payload":…}; the rewritten query contains the
///                       placeholder {documentdb-formattableorderbyquery-filter}, which the client replaces
///   SELECT VALUE aggr.  [{"item":…}]; the item of AVG is {"sum":…,"count":…}; MIN and MAX have beside it an item2,
///                       {"min":…,"count":…} or {"max":…,"count":…}
///   SELECT aggr.        {"payload":{"name":{"item":…}}}
///   GROUP BY            {"groupByItems":[{"item":…}],"payload":…}
///   OFFSET, LIMIT       OFFSET 0 LIMIT offset+limit
///
/// Errors: queries that a client cannot merge, namely compositions of aggregates and other expressions, and a subquery
/// with DISTINCT in FROM.
std::expected<boost::json::object, SqlError> client_merge_plan(const SqlQuery& query, const ContainerKey& key);

/// Whether `query` cannot be sent to partitions without a plan: it has ORDER BY, aggregates, DISTINCT, GROUP BY, TOP or
/// OFFSET, whose results must be merged with those of other partitions.
bool needs_client_merge_plan(const SqlQuery& query);

/// Whether a client that merges has one value at the end, whatever partitions return: `SELECT VALUE MAX(c.n) FROM c`.
bool merges_to_one_value(const SqlQuery& query);

}  // namespace octavo::query::sql
