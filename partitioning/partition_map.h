#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "partitioning/partition_key.h"
#include "storage/catalog.h"

namespace octavo::partitioning {

/// Hash range → physical partition, for one database. Immutable: a split makes a new one.
class PartitionMap {
 public:
  explicit PartitionMap(const std::vector<storage::PartitionMapEntry>& entries);
  /// `count` equal ranges over the whole hash space.
  static std::vector<storage::PartitionMapEntry> even(std::uint32_t count);

  std::size_t size() const { return last_.size(); }
  /// Index of the physical partition that holds a position. O(log n).
  std::size_t locate(HashPosition position) const;

 private:
  std::vector<std::uint64_t> last_;  ///< inclusive upper bounds, rising
};

}  // namespace octavo::partitioning
