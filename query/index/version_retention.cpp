#include "query/index/version_retention.h"

#include <algorithm>
#include <limits>

#include <spdlog/spdlog.h>

#include "partitioning/engine.h"
#include "storage/unix_time.h"

namespace octavo::query {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kVersionsPerSlice = 1'000;
constexpr milliseconds kBetweenTrims{20};
constexpr milliseconds kPauseMin{1'000};
constexpr milliseconds kPauseMax{60'000};

}  // namespace

VersionRetention::VersionRetention(partitioning::Database& database)
    : database_(database), trimming_(database.engine().workers(), [this] { return trim(); }) {}

void VersionRetention::set_seconds(std::int64_t seconds) {
  for (const auto& partition : database_.partition_map().partitions()) {
    if (partition) partition->set_keeps_versions(seconds > 0);
  }
  seconds_ = seconds;
  trimming_.start(kPauseMin);
}

bool VersionRetention::has_old_versions(std::size_t place, std::int64_t before_s) const {
  const auto snapshot = database_.snapshot(place);
  if (!snapshot) return false;
  const auto since = snapshot->versions_since();
  const auto first = snapshot->versions().rows().seek(0);
  return first && (first->time_s < before_s || !since || first->sequence <= *since);
}

std::optional<milliseconds> VersionRetention::trim() {
  const std::int64_t seconds = seconds_;
  const std::int64_t before_s =
      seconds > 0 ? storage::unix_now_s() - seconds : std::numeric_limits<std::int64_t>::max();
  bool found = false;
  for (const std::size_t place : database_.places()) {
    if (!has_old_versions(place, before_s)) continue;
    found = true;
    database_.physical_partition(place).trim_versions(before_s, kVersionsPerSlice, [](const Expected<bool>& trimmed) {
      // The next pass tries again.
      if (!trimmed) spdlog::warn("old versions of documents could not be removed: {}", trimmed.error().reason);
    });
  }
  if (found) return kBetweenTrims;
  if (seconds == 0) return std::nullopt;
  return std::clamp(milliseconds(seconds * 100), kPauseMin, kPauseMax);
}

}  // namespace octavo::query
