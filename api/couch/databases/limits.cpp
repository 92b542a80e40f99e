#include "api/couch/databases/limits.h"

#include <cmath>

#include <boost/json.hpp>

#include "api/couch/call/json_reply.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/shards.h"
#include "partitioning/partition_limits.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

constexpr std::size_t top_default = 10;
constexpr std::size_t top_max = 1'000;

double rounded(double value) {
  return std::round(value * 10'000) / 10'000;
}

Expected<json::object> limit_report(partitioning::Database& database, std::size_t top) {
  OCTAVO_TRY(auto report, partitioning::limits_of(database));
  if (report.logical.size() > top) report.logical.resize(top);
  const auto& map = database.partition_map();
  const auto range_of = [&](std::size_t partition_id) -> json::value {
    const auto* range = map.range_of(partition_id);
    return range == nullptr ? json::value() : json::value(shard_range(*range));  // null: it has just been split
  };
  json::array logical;
  for (const auto& [key, partition_id, use] : report.logical) {
    json::object shown = limits_json(use);
    shown["partition"] = key;
    shown["range"] = range_of(partition_id);
    logical.push_back(std::move(shown));
  }
  json::array physical;
  for (const auto& [partition_id, use] : report.physical) {
    json::object shown = limits_json(use);
    shown["range"] = range_of(partition_id);
    physical.push_back(std::move(shown));
  }
  return json::object{{"db_name", database.name()}, {"logical", std::move(logical)}, {"physical", std::move(physical)}};
}

}  // namespace

json::object limits_json(const partitioning::PartitionUse& use) {
  json::object bytes{{"used", use.bytes}, {"max", use.bytes_max}, {"share", rounded(use.bytes_share())}};
  json::object request_units{{"per_second", rounded(use.per_second)},
                             {"max", rounded(use.per_second_max)},
                             {"share", rounded(use.request_units_share())},
                             {"enforced", use.is_throttled}};
  return {{"bytes", std::move(bytes)}, {"request_units", std::move(request_units)}};
}

Task<Expected<Reply>> get_limits(Call& call) {
  OCTAVO_CO_TRY(const auto top, wanted_count(call.request, "top", top_default, top_max));
  auto work = [&] { return limit_report(*call.database, top); };
  OCTAVO_CO_TRY(const auto report, co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return json_reply(report);
}

}  // namespace octavo::api::couch
