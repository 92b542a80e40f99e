#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "query/sql/sql_query.h"

namespace octavo::query::sql {

/// The partition key of a container, as far as a query plan needs to know it.
struct ContainerKey {
  /// Property paths of the key's levels: {{"address","zip"}}, or several for a hierarchical key.
  std::vector<std::vector<std::string>> paths;
  struct Range {
    std::string min;  ///< effective partition keys in hexadecimal
    std::string max;
    bool max_inclusive = false;
  };
  /// Where the items with the first values.size() levels of the key equal to `values` lie (scalars or null).
  std::function<Range(std::span<const boost::json::value> values)> range_of;
};

/// How a client that asks each partition for itself and merges what they answer must run a query: Azure Cosmos DB's
/// `partitionedQueryExecutionInfo`, version 2.
///
/// `rewrittenQuery` is empty when the query can be sent to the partitions as it is. Otherwise each partition answers
/// rows of the shape that the client's merging expects:
///
///   ORDER BY            {"_rid":…,"orderByItems":[{"item":…}],"payload":…}; the rewritten query contains the
///                       placeholder {documentdb-formattableorderbyquery-filter}, which the client replaces
///   SELECT VALUE aggr.  [{"item":…}]            AVG: {"sum":…,"count":…}; MIN, MAX: beside it item2
///   {"min":…,"count":…} SELECT aggr.        {"payload":{"name":{"item":…}}} GROUP BY
///   {"groupByItems":[{"item":…}],"payload":…} OFFSET, LIMIT       OFFSET 0 LIMIT offset+limit
///
/// Errors: what a client cannot merge, which is compositions of aggregates and other expressions, and a subquery with
/// DISTINCT in FROM.
std::expected<boost::json::object, SqlError> query_plan(const SqlQuery& query, const ContainerKey& key);

/// Whether partitions cannot be asked for `query` without a plan: it has ORDER BY, aggregates, DISTINCT, GROUP BY, TOP
/// or OFFSET, whose results must be merged with those of other partitions.
bool needs_query_plan(const SqlQuery& query);

}  // namespace octavo::query::sql
