#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "partitioning/keys/partition_map.h"
#include "storage/catalog.h"

namespace octavo::partitioning {

/// Positions of the hash space; both inclusive.
struct HashRange {
  HashPosition first = 0;
  HashPosition last = 0;
  bool operator==(const HashRange&) const = default;
};

/// The positions of a physical partition that exists, or was split or merged. nullopt: the id never existed.
std::optional<HashRange> range_ever(const PartitionMap& map, std::size_t partition_id);

/// Where the documents of a physical partition are now. Lets a walk over partitions continue in one that was split or
/// merged meanwhile.
struct RangeParts {
  std::vector<std::size_t> partition_ids;  ///< in the order of the hash space; empty: the id never existed
  HashRange range;                         ///< the positions that it had
  bool hold_more = false;                  ///< they also have documents of other positions: it was merged
};
RangeParts parts_of(const PartitionMap& map, std::size_t partition_id);

/// Whether a range has positions that one of its ancestors did not have: a reader of that ancestor would find more in
/// it than what is left to read.
bool was_merged(const PartitionMap& map, std::size_t partition_id);

/// The id of a physical partition that begins at this position: one that exists, if there is one, or else a former one.
/// Every position where a partition ended is the beginning of another, so a walk over partitions never gets lost.
/// nullopt: no partition ever began there.
std::optional<std::size_t> partition_beginning_at(const PartitionMap& map, HashPosition position);

/// Replaces the ranges that `targets` cover together, which are whole ranges, by `targets`. Remembers the former ones.
void replace_ranges(storage::DatabaseRecord& record, const std::vector<storage::PartitionMapEntry>& targets);
/// The number of physical partitions that the database was created with.
std::uint32_t created_q(const storage::DatabaseRecord& record);

}  // namespace octavo::partitioning
