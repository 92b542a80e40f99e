#pragma once

#include "api/couch/call.h"
#include "partitioning/partition_key.h"

namespace octavo::api::couch {

/// Checks `{partition}` of the route `/{db}/_partition/{partition}/…`, as CouchDB.
/// Errors: bad_request when the database has no partitions, illegal_partition.
inline Expected<void> check_partition_parameter(const Call& call) {
  if (!call.database->partitioned()) return fail(ErrorCode::bad_request, "database is not partitioned");
  return partitioning::check_partition_key(call.path("partition"));
}

}  // namespace octavo::api::couch
