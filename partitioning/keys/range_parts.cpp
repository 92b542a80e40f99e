#include "partitioning/keys/range_parts.h"

#include <algorithm>

namespace octavo::partitioning {

std::vector<std::size_t> parts_of(const PartitionMap& map, std::size_t partition_id) {
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const auto& ancestors = map.ranges()[i].ancestors;
    const bool is_part =
        map.partition_ids()[i] == partition_id || std::ranges::find(ancestors, partition_id) != ancestors.end();
    if (is_part) parts.push_back(map.partition_ids()[i]);
  }
  return parts;
}

}  // namespace octavo::partitioning
