#pragma once

#include "api/couch/call/call.h"
#include "partitioning/keys/partition_key.h"

namespace octavo::api::couch {

/// Checks `{partition}` of the route `/{db}/_partition/{partition}/…`, as CouchDB does.
/// Errors: bad_request if the database has no partitions or the query string names another one; illegal_partition.
inline Expected<void> check_partition_parameter(const Call& call) {
  if (!call.database->partitioned()) return fail(ErrorCode::bad_request, "database is not partitioned");
  const auto& partition = call.path("partition");
  OCTAVO_TRY_VOID(partitioning::check_partition_key(partition));
  if (const auto parameter = call.request.parameter("partition"); parameter && *parameter != partition) {
    return fail(ErrorCode::bad_request, "Conflicting value for `partition` in query string");
  }
  return {};
}

}  // namespace octavo::api::couch
