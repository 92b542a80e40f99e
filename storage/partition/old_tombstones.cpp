#include "storage/partition/old_tombstones.h"

#include <optional>
#include <string>

#include "base/assert.h"

namespace octavo::storage {
namespace {

/// When the change was made, by the clock at that time. nullopt: the row does not agree with its document, which
/// `octavo check` reports.
Expected<std::optional<std::int64_t>> stamp_of(const Snapshot& snapshot, const FeedRow& row) {
  OCTAVO_TRY(const auto document, snapshot.find_stored_record(row.id));
  if (!document || document->sequence != row.sequence) return std::nullopt;
  return document->modified_s;
}

/// When changes were made, at the latest.
class ChangeTimes {
 public:
  ChangeTimes(const Snapshot& snapshot, std::int64_t now_s) : snapshot_(snapshot), now_s_(now_s) {}

  Expected<std::int64_t> of(Sequence sequence, std::int64_t stamp) {
    if (stamp <= now_s_) return stamp;
    if (sequence >= later_sequence_) OCTAVO_TRY_VOID(find_later(sequence));
    return sequence < later_sequence_ ? later_time_s_ : stamp;
  }

 private:
  // Looks for a later change that is not stamped ahead, at doubling distances.
  Expected<void> find_later(Sequence sequence) {
    later_sequence_ = 0;
    constexpr Sequence any_distance = ~Sequence{0} / 4;
    auto feed = snapshot_.feed();
    for (Sequence distance = 1; distance < any_distance; distance *= 2) {
      const auto row = feed.seek(sequence + distance);
      if (!row) break;
      OCTAVO_TRY(const auto stamp, stamp_of(snapshot_, *row));
      if (!stamp || *stamp > now_s_) continue;
      later_sequence_ = row->sequence;
      later_time_s_ = *stamp;
      break;
    }
    return {};
  }

  const Snapshot& snapshot_;
  const std::int64_t now_s_;
  Sequence later_sequence_ = 0;  ///< of a change whose time counts for those before it; 0: none is known
  std::int64_t later_time_s_ = 0;
};

}  // namespace

Expected<OldTombstones> find_old_tombstones(const Snapshot& snapshot, const TombstoneWalk& walk) {
  OCTAVO_ASSERT(walk.rows_max > 0 && walk.tombstones_max > 0);  // otherwise it never ends
  OldTombstones found;
  found.through = walk.after;
  ChangeTimes times(snapshot, walk.now_s);
  std::size_t rows = 0;
  auto feed = snapshot.feed();
  for (auto row = feed.seek(walk.after + 1); row; row = feed.next()) {
    if (row->sequence > walk.through) {
      found.end = OldTombstones::End::limit;
      break;
    }
    if (rows == walk.rows_max || found.tombstones.size() == walk.tombstones_max) {
      found.end = OldTombstones::End::budget;
      break;
    }
    ++rows;
    if (row->deleted) {
      OCTAVO_TRY(const auto stamp, stamp_of(snapshot, *row));
      if (stamp) {
        OCTAVO_TRY(const std::int64_t time_s, times.of(row->sequence, *stamp));
        if (time_s >= walk.before_s) {
          found.end = OldTombstones::End::young;
          found.young_s = time_s;
          break;
        }
        found.tombstones.push_back({.id = std::string(row->id), .partition_key = {}, .sequence = row->sequence});
      }
    }
    found.through = row->sequence;
  }
  return found;
}

}  // namespace octavo::storage
