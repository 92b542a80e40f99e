#pragma once

#include <cstddef>
#include <vector>

#include "partitioning/keys/partition_map.h"

namespace octavo::partitioning {

/// The current partition ids of a range: `partition_id` itself, or those of all partitions that it was split into, in
/// the order of the hash space. Empty: the id never existed. Lets a walk over ranges continue in a range that was split
/// meanwhile.
std::vector<std::size_t> parts_of(const PartitionMap& map, std::size_t partition_id);

}  // namespace octavo::partitioning
