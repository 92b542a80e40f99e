#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "partitioning/keys/partition_key.h"
#include "storage/catalog.h"

namespace octavo::storage {
class PhysicalPartition;
}

namespace octavo::partitioning {

/// Hash range → physical partition, for one database. Immutable: a split or a merge creates a new map.
///
/// A physical partition is identified by its partition id, which it keeps while the database exists, even after it was
/// split or merged and is in no range. A stored id therefore never refers to another partition.
class PartitionMap {
 public:
  /// `partitions`: by partition id; null if the partition does not exist (any more). `former`: as in DatabaseRecord.
  explicit PartitionMap(std::vector<storage::PartitionMapEntry> ranges,
                        std::vector<std::shared_ptr<storage::PhysicalPartition>> partitions = {},
                        std::vector<storage::FormerPartition> former = {});
  /// `count` equal ranges over the whole hash space; their partition ids begin at `first_id`.
  static std::vector<storage::PartitionMapEntry> even(std::uint32_t count, std::uint32_t first_id = 0);

  /// Number of ranges.
  std::size_t size() const { return partition_ids_.size(); }
  /// In the order of the hash space.
  const std::vector<storage::PartitionMapEntry>& ranges() const { return ranges_; }
  /// The partition id of each range, in the order of ranges().
  const std::vector<std::size_t>& partition_ids() const { return partition_ids_; }
  /// The partition id of a position. O(log n).
  std::size_t locate(HashPosition position) const { return partition_ids_[index_of(position)]; }
  /// Partition ids whose ranges overlap [first, last], in order.
  std::vector<std::size_t> partition_ids_between(HashPosition first, HashPosition last) const;
  /// The range of a partition id; null: it has none (any more).
  const storage::PartitionMapEntry* range_of(std::size_t partition_id) const;
  /// Differs from that of every earlier map of the database, also after a restart: each split and each merge makes a
  /// partition with a higher id than all before.
  std::size_t generation() const;
  const std::vector<storage::FormerPartition>& former() const { return former_; }

  /// All partition ids are below this.
  std::size_t partition_id_end() const { return partitions_.size(); }
  const std::shared_ptr<storage::PhysicalPartition>& partition(std::size_t partition_id) const {
    OCTAVO_ASSERT(partition_id < partitions_.size());
    return partitions_[partition_id];
  }
  const std::vector<std::shared_ptr<storage::PhysicalPartition>>& partitions() const { return partitions_; }

 private:
  std::size_t index_of(HashPosition position) const;

  std::vector<storage::PartitionMapEntry> ranges_;
  std::vector<std::size_t> partition_ids_;
  std::vector<std::uint64_t> last_;  ///< inclusive upper bounds of the ranges, ascending
  std::vector<std::shared_ptr<storage::PhysicalPartition>> partitions_;
  std::vector<storage::FormerPartition> former_;
};

}  // namespace octavo::partitioning
