#pragma once

#include <future>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/unix_time.h"
#include "partitioning/database.h"
#include "partitioning/keys/partition_key.h"
#include "storage/partition/old_tombstones.h"

namespace octavo::tests {

/// Drops all tombstones of a database, as its retention does when they are old enough. Returns their number.
inline std::size_t drop_tombstones(partitioning::Database& database) {
  std::size_t count = 0;
  for (const std::size_t partition_id : database.partition_ids()) {
    const auto found =
        storage::find_old_tombstones(database.snapshot(partition_id).value(),
                                     {.after = 0,
                                      .through = database.watermark(),
                                      .before_s = std::numeric_limits<std::int64_t>::max(),
                                      .now_s = unix_now_s(),
                                      .rows_max = std::numeric_limits<std::size_t>::max(),
                                      .tombstones_max = storage::PhysicalPartition::tombstones_dropped_max});
    auto tombstones = found.value().tombstones;
    count += tombstones.size();
    for (auto& tombstone : tombstones) {
      tombstone.partition_key = partitioning::partition_key_of(tombstone.id, database.partitioned());
    }
    std::promise<Expected<void>> done;
    database.physical_partition(partition_id).drop_tombstones(std::move(tombstones), [&](Expected<void> result) {
      done.set_value(std::move(result));
    });
    if (const auto dropped = done.get_future().get(); !dropped) throw std::runtime_error(dropped.error().reason);
  }
  return count;
}

}  // namespace octavo::tests
