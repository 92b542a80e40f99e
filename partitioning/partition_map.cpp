#include "partitioning/partition_map.h"

#include <algorithm>

#include <fmt/format.h>

namespace octavo::partitioning {

PartitionMap::PartitionMap(const std::vector<storage::PartitionMapEntry>& entries) {
  last_.reserve(entries.size());
  for (const storage::PartitionMapEntry& entry : entries) last_.push_back(entry.last);
}

std::vector<storage::PartitionMapEntry> PartitionMap::even(std::uint32_t count) {
  std::vector<storage::PartitionMapEntry> entries;
  const HashPosition width = kHashSpaceEnd / count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const HashPosition first = width * i;
    const HashPosition last = i + 1 == count ? kHashSpaceEnd - 1 : width * (i + 1) - 1;
    entries.push_back({first, last, fmt::format("partition-{}", i)});
  }
  return entries;
}

std::size_t PartitionMap::locate(HashPosition position) const {
  const auto found = std::ranges::lower_bound(last_, position);
  return found == last_.end() ? last_.size() - 1 : static_cast<std::size_t>(found - last_.begin());
}

}  // namespace octavo::partitioning
