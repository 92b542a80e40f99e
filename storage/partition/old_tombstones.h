#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "storage/document/document.h"
#include "storage/document/sequence_allocator.h"
#include "storage/partition/snapshot.h"

namespace octavo::storage {

/// A walk over the feed of a physical partition, for tombstones that may be dropped. They are dropped in the order of
/// the feed and without gaps, so that one sequence tells which ones are gone (PartitionCounters::dropped_through).
struct TombstoneWalk {
  Sequence after = 0;         ///< the feed has no tombstones up to here
  Sequence through = 0;       ///< tombstones of later sequences are kept
  std::int64_t before_s = 0;  ///< so are those of this time (Unix time in seconds) and later
  std::int64_t now_s = 0;
  std::size_t rows_max = 0;        ///< rows of the feed to read
  std::size_t tombstones_max = 0;  ///< tombstones to find
};

struct OldTombstones {
  /// What ended the walk.
  enum class End : std::uint8_t {
    feed,    ///< there are no more rows
    limit,   ///< TombstoneWalk::through
    young,   ///< a tombstone that is too young
    budget,  ///< there are more rows to read now
  };
  std::vector<Tombstone> tombstones;  ///< in the order of the feed; the partition keys are not set
  Sequence through = 0;               ///< the feed has no other tombstones up to here
  End end = End::feed;
  std::int64_t young_s = 0;  ///< when the one that is too young was written
};

/// If the clock was ahead for a while, some tombstones are stamped later than now. They count as old as a later change
/// that is not stamped so, if there is one, as in VersionLog::Times. Errors: corrupted.
Expected<OldTombstones> find_old_tombstones(const Snapshot& snapshot, const TombstoneWalk& walk);

}  // namespace octavo::storage
