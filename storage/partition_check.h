#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/physical_partition.h"

namespace octavo::storage {

/// What a check found. Bounded: after kProblemsMax the rest is only counted.
struct CheckReport {
  static constexpr std::size_t kProblemsMax = 100;
  std::uint64_t documents = 0;
  std::uint64_t feed_rows = 0;
  std::uint64_t problem_count = 0;
  std::vector<std::string> problems;  ///< one line each, naming tree and key

  void add(std::string problem);
};

/// Verifies one physical partition, reading every row: pages ↔ trees, documents ↔ revision trees ↔ conflicting leaves ↔
/// feed ↔ partition feed ↔ counters. Changes nothing. O(rows); memory O(logical partitions).
/// Errors: only when the files cannot be read at all; what is wrong inside goes into the report.
Expected<CheckReport> check_partition(const PhysicalPartition& partition, bool partitioned);

}  // namespace octavo::storage
