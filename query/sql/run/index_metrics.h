#pragma once

#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "query/index/automatic_index.h"
#include "query/sql/run/sql_preparation.h"

namespace octavo::query::sql {

/// The indexes that a query uses, and those that it could use, in Azure Cosmos DB's notation.
struct IndexMetrics {
  std::vector<std::string> utilized_single;                  ///< `/price/?`, `/tags/[]/?`
  std::vector<std::string> potential_single;                 ///< paths of conditions that the policy does not include
  std::vector<std::vector<std::string>> utilized_composite;  ///< `/item ASC`, `/price DESC`
  std::vector<std::vector<std::string>> potential_composite;

  /// `{"UtilizedIndexes":{"SingleIndexes":[…],"CompositeIndexes":[…]},"PotentialIndexes":{…}}`.
  boost::json::object to_json() const;
  /// The same in the older form: `{"UtilizedSingleIndexes":[…],…}`.
  boost::json::object to_flat_json() const;
};

/// `automatic`: the container's index; null: it has none. `key_paths`: of the partition key, as far as the request
/// names its values: the order in which documents are stored is an index of them. Does not read data.
IndexMetrics index_metrics_of(const PreparedSql& prepared, const AutomaticIndex* automatic,
                              std::span<const FieldPath> key_paths);

}  // namespace octavo::query::sql
