#pragma once

#include <cstddef>
#include <vector>

#include "partitioning/partition_map.h"

namespace octavo::partitioning {

/// What a place is now: itself, or all that it was split into since, in the order of the hash space. Empty: there never
/// was such a place. So a walk through one range after the other goes on in a range that was split meanwhile.
std::vector<std::size_t> parts_of(const PartitionMap& map, std::size_t place);

}  // namespace octavo::partitioning
