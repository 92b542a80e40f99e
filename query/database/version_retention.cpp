#include "query/database/version_retention.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <new>

#include <spdlog/spdlog.h>

#include "base/unix_time.h"
#include "partitioning/engine.h"

namespace octavo::query {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t versions_per_slice = 1'000;
constexpr milliseconds between_trims{20};
constexpr milliseconds pause_min{1'000};
constexpr milliseconds pause_max{60'000};
// Pause of a partition in which a trim failed, or left nothing for the next one: a full disk stays full for a while.
constexpr milliseconds rest_time{5'000};

}  // namespace

/// Partition ids with a pending trim, and those where none may begin yet.
class VersionRetention::Trims {
 public:
  /// Zero: a trim may begin. It must not queue behind the previous one, as all writes would wait behind it.
  milliseconds pause(std::size_t partition_id) {
    const std::lock_guard lock(mutex_);
    const auto known = states_.find(partition_id);
    if (known == states_.end()) return milliseconds{0};
    if (known->second.busy) return between_trims;
    return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(known->second.rests_until - Clock::now()));
  }
  void begin(std::size_t partition_id) {
    const std::lock_guard lock(mutex_);
    states_[partition_id].busy = true;
  }
  void end(std::size_t partition_id, bool goes_on) {
    const std::lock_guard lock(mutex_);
    states_[partition_id] = {.busy = false, .rests_until = goes_on ? Clock::time_point{} : Clock::now() + rest_time};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct State {
    bool busy = false;
    Clock::time_point rests_until{};
  };

  std::mutex mutex_;
  std::map<std::size_t, State> states_;
};

VersionRetention::VersionRetention(partitioning::Database& database)
    : database_(database),
      trims_(std::make_shared<Trims>()),
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
    const milliseconds until_next = trims_->pause(partition_id);
    if (until_next == milliseconds{0}) trim(partition_id, before_s);
    pause = std::min(pause.value_or(rest_time), std::max(until_next, between_trims));
  }
  if (pause) return pause;
  if (seconds == 0) return std::nullopt;
  return std::clamp(milliseconds(seconds * 100), pause_min, pause_max);
}

void VersionRetention::trim(std::size_t partition_id, std::int64_t before_s) {
  trims_->begin(partition_id);
  try {
    database_.physical_partition(partition_id)
        .trim_versions(before_s, versions_per_slice, [trims = trims_, partition_id](const Expected<bool>& trimmed) {
          if (!trimmed) spdlog::warn("old versions of documents could not be removed: {}", trimmed.error().reason);
          // Versions that are left although nothing more can be trimmed wait for their time, or for the next write.
          trims->end(partition_id, trimmed && *trimmed);
        });
  } catch (const std::bad_alloc&) {
    trims_->end(partition_id, false);
  }
}

}  // namespace octavo::query
