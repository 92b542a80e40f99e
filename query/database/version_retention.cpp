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

constexpr std::size_t kVersionsPerSlice = 1'000;
constexpr milliseconds kBetweenTrims{20};
constexpr milliseconds kPauseMin{1'000};
constexpr milliseconds kPauseMax{60'000};
// Pause of a partition in which a trim failed, or left nothing for the next one: a full disk stays full for a while.
constexpr milliseconds kRest{5'000};

}  // namespace

/// Partition ids with a pending trim, and those where none may begin yet.
class VersionRetention::Trims {
 public:
  /// Zero: a trim may begin. It must not queue behind the previous one, as all writes would wait behind it.
  milliseconds pause(std::size_t place) {
    const std::lock_guard lock(mutex_);
    const auto known = places_.find(place);
    if (known == places_.end()) return milliseconds{0};
    if (known->second.busy) return kBetweenTrims;
    return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(known->second.rests_until - Clock::now()));
  }
  void begin(std::size_t place) {
    const std::lock_guard lock(mutex_);
    places_[place].busy = true;
  }
  void end(std::size_t place, bool goes_on) {
    const std::lock_guard lock(mutex_);
    places_[place] = {.busy = false, .rests_until = goes_on ? Clock::time_point{} : Clock::now() + kRest};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Place {
    bool busy = false;
    Clock::time_point rests_until{};
  };

  std::mutex mutex_;
  std::map<std::size_t, Place> places_;
};

VersionRetention::VersionRetention(partitioning::Database& database)
    : database_(database),
      trims_(std::make_shared<Trims>()),
      trimming_(database.engine().workers(), [this] { return trim(); }) {}

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
  const std::int64_t before_s = seconds > 0 ? unix_now_s() - seconds : std::numeric_limits<std::int64_t>::max();
  std::optional<milliseconds> pause;
  for (const std::size_t place : database_.places()) {
    if (!has_old_versions(place, before_s)) continue;
    const milliseconds until_next = trims_->pause(place);
    if (until_next == milliseconds{0}) trim(place, before_s);
    pause = std::min(pause.value_or(kRest), std::max(until_next, kBetweenTrims));
  }
  if (pause) return pause;
  if (seconds == 0) return std::nullopt;
  return std::clamp(milliseconds(seconds * 100), kPauseMin, kPauseMax);
}

void VersionRetention::trim(std::size_t place, std::int64_t before_s) {
  trims_->begin(place);
  try {
    database_.physical_partition(place).trim_versions(
        before_s, kVersionsPerSlice, [trims = trims_, place](const Expected<bool>& trimmed) {
          if (!trimmed) spdlog::warn("old versions of documents could not be removed: {}", trimmed.error().reason);
          // Versions that are left although nothing more can be trimmed wait for their time, or for the next write.
          trims->end(place, trimmed && *trimmed);
        });
  } catch (const std::bad_alloc&) {
    trims_->end(place, false);
  }
}

}  // namespace octavo::query
