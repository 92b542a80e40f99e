#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "partitioning/throughput/request_charge.h"

namespace octavo::partitioning {

/// What a partition uses of its limits.
struct PartitionUse {
  std::uint64_t bytes = 0;          ///< of the documents of a logical partition, of the pages of a physical one
  std::uint64_t bytes_max = 0;      ///< beyond it: a logical partition is full, a physical one is split
  RequestUnits per_second = 0;      ///< mean of the last 30 to 60 seconds
  RequestUnits per_second_max = 0;  ///< the physical partition's share of the throughput, or partition_throughput_max
  bool is_throttled = false;        ///< the database has throughput: requests beyond per_second_max are refused

  double bytes_share() const { return static_cast<double>(bytes) / static_cast<double>(bytes_max); }
  double request_units_share() const { return per_second / per_second_max; }
  double largest_share() const { return std::max(bytes_share(), request_units_share()); }
};

struct LogicalPartitionUse {
  std::string partition_key;
  std::size_t partition_id = 0;  ///< where it is stored
  PartitionUse use;
};

struct PhysicalPartitionUse {
  std::size_t partition_id = 0;
  PartitionUse use;
};

/// What a database uses of the limits of its partitions.
struct LimitReport {
  std::vector<LogicalPartitionUse> logical;    ///< those near a limit first; see limits_of()
  std::vector<PhysicalPartitionUse> physical;  ///< in the order of the hash space
};

}  // namespace octavo::partitioning
