#include "query/database/version_retention.h"

#include <algorithm>
#include <limits>
#include <new>

#include <spdlog/spdlog.h>

#include "base/unix_time.h"
#include "partitioning/engine.h"

namespace octavo::query {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t versions_per_slice = 1'000;
constexpr milliseconds pause_min{1'000};
constexpr milliseconds pause_max{60'000};

}  // namespace

VersionRetention::VersionRetention(partitioning::Database& database)
    : database_(database),
      pace_(std::make_shared<PartitionPace>()),
      trimming_(database.engine().workers().pool(), [this] { return trim(); }) {}

void VersionRetention::set_seconds(std::int64_t seconds) {
  for (const auto& partition : database_.partition_map().partitions()) {
    if (partition) partition->set_keeps_versions(seconds > 0);
  }
  seconds_ = seconds;
  trimming_.start(pause_min);
}

bool VersionRetention::has_old_versions(std::size_t partition_id, std::int64_t before_s) const {
  const auto snapshot = database_.snapshot(partition_id);
  if (!snapshot) return false;
  const auto since = snapshot->versions_since();
  const storage::VersionLog log = snapshot->versions();
  const auto first = log.rows().seek(0);
  if (!first) return false;
  if (!since || first->sequence <= *since || first->time_s < before_s) return true;
  return log.times(unix_now_s()).of(*first) < before_s;
}

std::optional<milliseconds> VersionRetention::trim() {
  const std::int64_t seconds = seconds_;
  const std::int64_t before_s = seconds > 0 ? unix_now_s() - seconds : std::numeric_limits<std::int64_t>::max();
  std::optional<milliseconds> pause;
  for (const std::size_t partition_id : database_.partition_ids()) {
    if (!has_old_versions(partition_id, before_s)) continue;
    const milliseconds until_next = pace_->pause(partition_id);
    if (until_next == milliseconds{0}) trim(partition_id, before_s);
    pause = std::min(pause.value_or(PartitionPace::rest_time), std::max(until_next, PartitionPace::between_pieces));
  }
  if (pause) return pause;
  if (seconds == 0) return std::nullopt;
  return std::clamp(milliseconds(seconds * 100), pause_min, pause_max);
}

void VersionRetention::trim(std::size_t partition_id, std::int64_t before_s) {
  pace_->begin(partition_id);
  try {
    database_.physical_partition(partition_id)
        .trim_versions(before_s, versions_per_slice, [pace = pace_, partition_id](const Expected<bool>& trimmed) {
          if (!trimmed) spdlog::warn("old versions of documents could not be removed: {}", reason_of(trimmed.error()));
          // Versions that are left although nothing more can be trimmed wait for their time, or for the next write.
          pace->end(partition_id, trimmed && *trimmed);
        });
  } catch (const std::bad_alloc&) {
    pace_->end(partition_id, false);
  }
}

}  // namespace octavo::query
