#pragma once

#include <boost/json/object.hpp>

#include "api/couch/call/call.h"
#include "partitioning/throughput/limit_report.h"

/// How near partitions are to the limits of their bytes and request units. An extension of the CouchDB API.
namespace octavo::api::couch {

/// `{"bytes":{"used":…,"max":…,"share":…},"request_units":{"per_second":…,"max":…,"share":…}}`
boost::json::object limits_json(const partitioning::PartitionUse& use);
/// `GET /{db}/_limits?top=10`: all physical partitions, and the logical ones that are nearest to a limit.
Task<Expected<Reply>> get_limits(Call& call);

}  // namespace octavo::api::couch
