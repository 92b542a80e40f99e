// `_throughput`: the request units that each physical partition of a database may spend and has spent, and its hottest
// logical partitions. An extension of the CouchDB API.
#include "api/couch/databases/throughput.h"

#include <cmath>

#include <boost/json.hpp>

#include "api/couch/call/json_reply.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/limits.h"
#include "api/couch/databases/shards.h"
#include "partitioning/partition_limits.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

constexpr std::size_t hot_keys_default = 10;

double hundredths(double units) {
  return std::round(units * 100) / 100;
}

json::array hot_keys(const std::vector<partitioning::HotKey>& keys) {
  json::array shown;
  for (const auto& key : keys) {
    shown.push_back(json::object{{"partition", key.partition_key},
                                 {"request_units", hundredths(key.units)},
                                 {"error_max", hundredths(key.error_max)}});
  }
  return shown;
}

Expected<json::object> throughput_report(partitioning::Database& database, std::size_t hot_keys_wanted) {
  const auto& meter = database.meter();
  const auto budget = meter.budget();
  const std::uint32_t rate = budget ? budget->rate() : 0;
  json::array partitions;
  const auto& map = database.partition_map();
  for (const std::size_t partition_id : map.partition_ids()) {
    const auto report = meter.report(partition_id, hot_keys_wanted);
    OCTAVO_TRY(const auto use, partitioning::limits_of_physical_partition(database, partition_id));
    json::object shown{{"range", shard_range(*map.range_of(partition_id))},
                       {"last_second", hundredths(report.last_second)},
                       {"per_second_last_minute", hundredths(report.last_minute / 60)},
                       {"total", hundredths(report.total)},
                       {"refused", report.refused},
                       {"hot_partitions", hot_keys(report.hot_keys)},
                       {"limits", limits_json(use)}};
    if (use.is_throttled) {
      shown["throughput"] = hundredths(use.per_second_max);
      shown["used"] = hundredths(report.last_second / use.per_second_max);
    }
    partitions.push_back(std::move(shown));
  }
  json::object reply{{"db_name", database.name()}, {"throughput", rate == 0 ? json::value() : json::value(rate)}};
  reply["partitions"] = std::move(partitions);
  return reply;
}

}  // namespace

Task<Expected<Reply>> get_throughput(Call& call) {
  OCTAVO_CO_TRY(const auto wanted,
                wanted_count(call.request, "hot", hot_keys_default, partitioning::HotKeys::keys_max));
  auto work = [&] { return throughput_report(*call.database, wanted); };
  OCTAVO_CO_TRY(const auto report, co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return json_reply(report);
}

}  // namespace octavo::api::couch
