#include "query/database/tombstone_retention.h"

#include <algorithm>
#include <new>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "partitioning/engine.h"
#include "partitioning/keys/partition_key.h"
#include "storage/partition/old_tombstones.h"

namespace octavo::query {

namespace {

using std::chrono::milliseconds;
using storage::OldTombstones;

constexpr std::size_t feed_rows_per_slice = 5'000;
constexpr milliseconds look_pause_min{1'000};
/// The clock may be set, and a database that is not used may close its files.
constexpr milliseconds look_pause_max{600'000};
/// At the beginning, and after a commit where there was nothing to do.
constexpr milliseconds first_pause_max{60'000};

milliseconds look_pause(std::int64_t pause_s, milliseconds at_most) {
  return std::clamp<milliseconds>(std::chrono::seconds(pause_s), look_pause_min, at_most);
}

}  // namespace

TombstoneRetention::TombstoneRetention(partitioning::Database& database,
                                       std::function<storage::Sequence()> followed_through,
                                       std::function<std::int64_t()> now_s)
    : database_(database),
      followed_through_(std::move(followed_through)),
      now_s_(std::move(now_s)),
      pace_(std::make_shared<PartitionPace>()),
      dropping_(database.engine().workers().pool(), [this] { return drop(); }) {}

void TombstoneRetention::set_seconds(std::int64_t retention_s) {
  // Before anything is dropped: readers that begin from now on are told their floor.
  if (retention_s > 0) database_.expect_dropped_tombstones();
  const std::int64_t before_s = seconds_.exchange(retention_s);
  dropping_.start(look_pause(retention_s, first_pause_max));
  if (before_s > 0 && retention_s != before_s) dropping_.run_now();
}

void TombstoneRetention::committed() {
  if (!idle_.load(std::memory_order_relaxed) || !idle_.exchange(false)) return;
  // What was deleted just now is not old enough before that.
  dropping_.start(look_pause(seconds_, first_pause_max));
}

std::optional<milliseconds> TombstoneRetention::drop() {
  const std::int64_t retention_s = seconds_;
  if (retention_s == 0 || database_.deleted()) return std::nullopt;
  // Before the feeds are read, so that no later commit is missed.
  idle_ = true;
  const storage::Sequence through = std::min(database_.watermark(), followed_through_());
  std::optional<milliseconds> pause;
  for (const std::size_t partition_id : database_.partition_ids()) {
    std::optional<milliseconds> next = pace_->pause(partition_id);
    if (*next == milliseconds{0}) {
      const auto begun = run_guarded("dropping tombstones", [&] { return drop(partition_id, retention_s, through); });
      next = begun ? *begun : PartitionPace::rest_time;
      if (!begun && !database_.deleted() && begun.error().code != ErrorCode::partition_split) {
        spdlog::warn("database {}: old tombstones cannot be found: {}", database_.name(), reason_of(begun.error()));
      }
    }
    if (next) pause = std::min(pause.value_or(*next), *next);
  }
  if (pause) return std::max(*pause, PartitionPace::between_pieces);
  return std::nullopt;
}

Expected<std::optional<milliseconds>> TombstoneRetention::drop(std::size_t partition_id, std::int64_t retention_s,
                                                               storage::Sequence through) {
  storage::Sequence& walked = walked_[partition_id];
  OldTombstones found;
  const std::int64_t now_s = now_s_();
  {
    OCTAVO_TRY(const storage::Snapshot snapshot, database_.snapshot(partition_id));
    OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
    if (counters.documents.deleted_count == 0) {
      walked = std::max(walked, counters.last_sequence);
      return std::nullopt;
    }
    OCTAVO_TRY(found, storage::find_old_tombstones(
                          snapshot, {.after = std::max(walked, counters.dropped_through),
                                     .through = through,
                                     .before_s = now_s - retention_s,
                                     .now_s = now_s,
                                     .rows_max = feed_rows_per_slice,
                                     .tombstones_max = storage::PhysicalPartition::tombstones_dropped_max}));
  }
  if (!found.tombstones.empty()) {
    for (storage::Tombstone& tombstone : found.tombstones) {
      tombstone.partition_key = partitioning::partition_key_of(tombstone.id, database_.partitioned());
    }
    pace_->begin(partition_id);
    const auto ended = [pace = pace_, partition_id](const Expected<void>& dropped) {
      if (!dropped) spdlog::warn("old tombstones could not be dropped: {}", reason_of(dropped.error()));
      pace->end(partition_id, dropped.has_value());
    };
    try {
      database_.physical_partition(partition_id).drop_tombstones(std::move(found.tombstones), ended);
    } catch (const std::bad_alloc&) {
      pace_->end(partition_id, false);
    }
    return PartitionPace::between_pieces;
  }
  walked = found.through;
  switch (found.end) {
    case OldTombstones::End::budget:
      return PartitionPace::between_pieces;
    case OldTombstones::End::limit:
      return look_pause_min;
    case OldTombstones::End::young:
      return look_pause(found.young_s + retention_s - now_s + 1, look_pause_max);
    case OldTombstones::End::feed:
      break;
  }
  return std::nullopt;
}

}  // namespace octavo::query
