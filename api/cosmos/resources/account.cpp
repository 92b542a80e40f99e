// The database account. A client reads it first, to learn the endpoints.
#include <boost/json.hpp>

#include "api/cosmos/resources/resource_handlers.h"

namespace octavo::api::cosmos {

Handled serve_account(Call& call) {
  namespace json = boost::json;
  if (call.request.method != Method::get && call.request.method != Method::head) co_return method_not_allowed();
  // Returns the address that the client used: it may not be able to reach any other.
  const std::string endpoint = base_url(call.request) + "/";
  const json::array locations{json::object{{"name", "Octavo"}, {"databaseAccountEndpoint", endpoint}}};
  // The limits of the query language, for clients that plan queries themselves.
  constexpr std::string_view query_engine =
      "{\"maxSqlQueryInputLength\":524288,\"maxJoinsPerSqlQuery\":10,\"maxLogicalAndPerSqlQuery\":2000,"
      "\"maxLogicalOrPerSqlQuery\":2000,\"maxUdfRefPerSqlQuery\":10,\"maxInExpressionItemsCount\":6000,"
      "\"queryMaxInMemorySortDocumentCount\":500,\"maxQueryRequestTimeoutFraction\":0.9,"
      "\"sqlAllowNonFiniteNumbers\":false,\"sqlAllowAggregateFunctions\":true,\"sqlAllowSubQuery\":true,"
      "\"sqlAllowScalarSubQuery\":true,\"allowNewKeywords\":true,\"sqlAllowLike\":true,"
      "\"sqlAllowGroupByClause\":true,\"maxSpatialQueryCells\":12,\"spatialMaxGeometryPointCount\":256,"
      "\"sqlDisableOptimizationFlags\":0,\"sqlAllowTop\":true,\"enableSpatialIndexing\":true}";
  const json::object account{
      {"id", "octavo"},
      {"_self", ""},
      {"_rid", "octavo"},
      {"_dbs", "//dbs/"},
      {"media", "//media/"},
      {"addresses", "//addresses/"},
      {"writableLocations", locations},
      {"readableLocations", locations},
      {"enableMultipleWriteLocations", false},
      {"continuousBackupEnabled", false},
      {"userReplicationPolicy",
       json::object{{"asyncReplication", false}, {"minReplicaSetSize", 1}, {"maxReplicasetSize", 1}}},
      {"userConsistencyPolicy", json::object{{"defaultConsistencyLevel", "Session"}}},
      {"systemReplicationPolicy", json::object{{"minReplicaSetSize", 1}, {"maxReplicasetSize", 1}}},
      {"readPolicy", json::object{{"primaryReadCoefficient", 1}, {"secondaryReadCoefficient", 1}}},
      {"queryEngineConfiguration", query_engine},
  };
  auto reply = resource_reply(200, json::serialize(account), "");
  // Java's client 2 reads them as numbers: of the media of attachments, which are not offered.
  for (const std::string_view name : {"x-ms-max-media-storage-usage-mb", "x-ms-media-storage-usage-mb"}) {
    reply.headers.emplace_back(name, "0");
  }
  co_return reply;
}

}  // namespace octavo::api::cosmos
