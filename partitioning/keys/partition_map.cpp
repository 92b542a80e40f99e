#include "partitioning/keys/partition_map.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace octavo::partitioning {

PartitionMap::PartitionMap(std::vector<storage::PartitionMapEntry> ranges,
                           std::vector<std::shared_ptr<storage::PhysicalPartition>> partitions,
                           std::vector<storage::FormerPartition> former)
    : ranges_(std::move(ranges)), partitions_(std::move(partitions)), former_(std::move(former)) {
  partition_ids_.reserve(ranges_.size());
  last_.reserve(ranges_.size());
  for (const storage::PartitionMapEntry& range : ranges_) {
    partition_ids_.push_back(storage::partition_number(range.folder).value());  // the catalog reads no other names
    OCTAVO_ASSERT(partitions_.empty() || partition_ids_.back() < partitions_.size());
    last_.push_back(range.last);
  }
}

std::vector<storage::PartitionMapEntry> PartitionMap::even(std::uint32_t count, std::uint32_t first_id) {
  OCTAVO_ASSERT(count > 0);
  std::vector<storage::PartitionMapEntry> entries;
  const HashPosition width = hash_space_end / count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const HashPosition first = width * i;
    const HashPosition last = i + 1 == count ? hash_space_end - 1 : width * (i + 1) - 1;
    entries.push_back({first, last, storage::partition_folder(first_id + i), {}});
  }
  return entries;
}

std::size_t PartitionMap::index_of(HashPosition position) const {
  OCTAVO_ASSERT(!last_.empty());
  if (last_.size() == 1) return 0;
  const auto found = std::ranges::lower_bound(last_, position);
  return found == last_.end() ? last_.size() - 1 : static_cast<std::size_t>(found - last_.begin());
}

std::vector<std::size_t> PartitionMap::partition_ids_between(HashPosition first, HashPosition last) const {
  const auto begin = partition_ids_.begin();
  return {begin + static_cast<std::ptrdiff_t>(index_of(first)),
          begin + static_cast<std::ptrdiff_t>(std::max(index_of(first), index_of(last))) + 1};
}

const storage::PartitionMapEntry* PartitionMap::range_of(std::size_t partition_id) const {
  const auto found = std::ranges::find(partition_ids_, partition_id);
  return found == partition_ids_.end() ? nullptr : &ranges_[static_cast<std::size_t>(found - partition_ids_.begin())];
}

std::size_t PartitionMap::generation() const {
  OCTAVO_ASSERT(!partition_ids_.empty());
  return *std::ranges::max_element(partition_ids_) + 1;
}

}  // namespace octavo::partitioning
