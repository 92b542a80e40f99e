#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <boost/json.hpp>

#include "partitioning/database.h"
#include "partitioning/throughput/request_charge.h"
#include "query/plan/plan.h"
#include "query/plan/planner.h"

namespace octavo::query {

/// What running a plan is expected to read and to cost.
struct ChargeEstimate {
  std::uint64_t keys = 0;       ///< index entries, or document keys
  std::uint64_t documents = 0;  ///< documents read
  partitioning::RequestUnits charge = 0;
  bool exact_rows = true;                  ///< the sizes of the ranges are exact, not estimated
  partitioning::RequestUnits at_most = 0;  ///< upper bound, whatever the rows contain

  boost::json::object to_json() const;
};

/// Statistics of the logical partition, or of the database if `partition_key` is empty.
Expected<storage::DocumentStatistics> statistics_of_scope(const partitioning::Database& database,
                                                          const std::string& partition_key);

/// `plans`, `sure`: as in PlannerResult. `scope`: statistics of the queried database or logical partition.
/// `results_max`: the query stops after this many results, unless it must read all rows first (`reads_all`). `work`:
/// what is known of the work before reading. Does a few short reads.
Expected<ChargeEstimate> estimate_charge(std::span<const Plan> plans, std::size_t sure, PlannerStatistics& statistics,
                                         const storage::DocumentStatistics& scope, std::uint64_t results_max,
                                         bool reads_all, partitioning::ScanWork work);

}  // namespace octavo::query
