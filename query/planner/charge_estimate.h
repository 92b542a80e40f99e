#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <boost/json.hpp>

#include "partitioning/database.h"
#include "partitioning/request_charge.h"
#include "query/planner/plan.h"
#include "query/planner/planner.h"

namespace octavo::query {

/// What running a plan would read, and cost.
struct ChargeEstimate {
  std::uint64_t keys = 0;       ///< index entries, or document keys
  std::uint64_t documents = 0;  ///< read
  partitioning::RequestUnits charge = 0;
  bool exact_rows = true;                  ///< the sizes of the ranges are known; else estimated
  partitioning::RequestUnits at_most = 0;  ///< whatever the rows are like

  boost::json::object to_json() const;
};

/// Of the logical partition, or of the database where `partition_key` is empty.
Expected<storage::DocumentStatistics> statistics_of_scope(const partitioning::Database& database,
                                                          const std::string& partition_key);

/// `plans`, `sure`: as in PlannerResult. `scope`: the documents of the database, or of the logical partition, that the
/// query is about. `results_max`: a query that asks for no more ends there, unless it must see all rows first
/// (`reads_all`). `work`: what is known of it before. Some short reads.
Expected<ChargeEstimate> estimate_charge(std::span<const Plan> plans, std::size_t sure, PlannerStatistics& statistics,
                                         const storage::DocumentStatistics& scope, std::uint64_t results_max,
                                         bool reads_all, partitioning::ScanWork work);

}  // namespace octavo::query
