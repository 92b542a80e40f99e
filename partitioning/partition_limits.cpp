#include "partitioning/partition_limits.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "partitioning/database.h"
#include "partitioning/engine.h"

namespace octavo::partitioning {

namespace {

PartitionUse limits_in(const Database& database, std::uint64_t bytes_max) {
  PartitionUse use;
  use.bytes_max = bytes_max;
  use.per_second_max = partition_throughput_max;
  const auto budget = database.meter().budget();
  if (!budget || budget->rate() == 0) return use;
  use.per_second_max = static_cast<double>(budget->rate()) / static_cast<double>(budget->shares());
  use.is_throttled = true;
  return use;
}

// Notes the logical partitions that were written before the server started.
Expected<void> complete(storage::LargePartitions& large, const storage::Snapshot& snapshot) {
  if (large.is_complete()) return {};
  OCTAVO_TRY(const auto all, snapshot.statistics());
  if (all.external_bytes >= large.large_bytes()) {
    OCTAVO_TRY_VOID(snapshot.for_each_partition([&](std::string_view partition_key, const auto& statistics) {
      large.note(partition_key, statistics.external_bytes);
    }));
  }
  large.set_complete();
  return {};
}

Expected<PartitionUse> physical_use(Database& database, std::size_t partition_id, const Consumption::Report& spent) {
  auto use = limits_in(database, database.engine().settings().physical_partition_bytes_max);
  OCTAVO_TRY(const auto sizes, database.physical_partition(partition_id).store().sizes());
  use.bytes = sizes.used_bytes;
  use.per_second = spent.last_minute / 60;
  return use;
}

}  // namespace

Expected<PartitionUse> limits_of_partition(Database& database, std::string_view partition_key) {
  const std::size_t partition_id = database.locate_partition_key(partition_key);
  OCTAVO_TRY(const auto snapshot, database.snapshot(partition_id));
  OCTAVO_TRY(const auto statistics, snapshot.statistics_of(partition_key));
  auto use = limits_in(database, database.physical_partition(partition_id).options().logical_partition_bytes_max);
  use.bytes = statistics.external_bytes;
  use.per_second = database.meter().recent_of(partition_id, partition_key).per_second;
  return use;
}

Expected<PartitionUse> limits_of_physical_partition(Database& database, std::size_t partition_id) {
  return physical_use(database, partition_id, database.meter().report(partition_id, 0));
}

Expected<LimitReport> limits_of(Database& database) {
  LimitReport report;
  for (const std::size_t partition_id : database.partition_ids()) {
    auto& partition = database.physical_partition(partition_id);
    const auto spent = database.meter().report(partition_id, HotKeys::keys_max);
    OCTAVO_TRY(const auto physical, physical_use(database, partition_id, spent));
    report.physical.push_back({partition_id, physical});

    OCTAVO_TRY(const auto snapshot, database.snapshot(partition_id));
    OCTAVO_TRY_VOID(complete(partition.large_partitions(), snapshot));
    auto keys = partition.large_partitions().keys();
    for (const HotKey& hot : spent.hot_keys) {
      if (std::ranges::find(keys, hot.partition_key) == keys.end()) keys.push_back(hot.partition_key);
    }
    const auto unused = limits_in(database, partition.options().logical_partition_bytes_max);
    for (std::string& key : keys) {
      auto use = unused;
      OCTAVO_TRY(const auto statistics, snapshot.statistics_of(key));
      use.bytes = statistics.external_bytes;
      const auto hot = std::ranges::find(spent.hot_keys, key, &HotKey::partition_key);
      if (hot != spent.hot_keys.end()) use.per_second = hot->per_second;
      report.logical.push_back({std::move(key), partition_id, use});
    }
  }
  std::ranges::stable_sort(report.logical, std::ranges::greater{},
                           [](const LogicalPartitionUse& one) { return one.use.largest_share(); });
  return report;
}

}  // namespace octavo::partitioning
