#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "partitioning/partition_key.h"
#include "storage/catalog.h"

namespace octavo::storage {
class PhysicalPartition;
}

namespace octavo::partitioning {

/// Hash range → physical partition, for one database. Immutable: a split makes a new one.
///
/// A physical partition is named by its place: a number that stays its own for as long as the database lives, also when
/// it was split and is in no range any more. So whoever has noted a place never gets another partition for it.
class PartitionMap {
 public:
  /// `partitions`: by place; null where there is none (any more).
  explicit PartitionMap(std::vector<storage::PartitionMapEntry> ranges,
                        std::vector<std::shared_ptr<storage::PhysicalPartition>> partitions = {});
  /// `count` equal ranges over the whole hash space.
  static std::vector<storage::PartitionMapEntry> even(std::uint32_t count);

  /// Number of ranges.
  std::size_t size() const { return places_.size(); }
  /// In the order of the hash space.
  const std::vector<storage::PartitionMapEntry>& ranges() const { return ranges_; }
  /// As ranges(): the place of each.
  const std::vector<std::size_t>& places() const { return places_; }
  /// The place that holds a position. O(log n).
  std::size_t locate(HashPosition position) const { return places_[index_of(position)]; }
  /// Places whose ranges touch [first, last], in order.
  std::vector<std::size_t> places_between(HashPosition first, HashPosition last) const;
  /// The range of a place; null: it has none (any more).
  const storage::PartitionMapEntry* range_of(std::size_t place) const;

  /// All places are below.
  std::size_t place_end() const { return partitions_.size(); }
  const std::shared_ptr<storage::PhysicalPartition>& partition(std::size_t place) const { return partitions_[place]; }
  const std::vector<std::shared_ptr<storage::PhysicalPartition>>& partitions() const { return partitions_; }

 private:
  std::size_t index_of(HashPosition position) const;

  std::vector<storage::PartitionMapEntry> ranges_;
  std::vector<std::size_t> places_;
  std::vector<std::uint64_t> last_;  ///< inclusive upper bounds of the ranges, rising
  std::vector<std::shared_ptr<storage::PhysicalPartition>> partitions_;
};

}  // namespace octavo::partitioning
