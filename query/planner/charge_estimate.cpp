#include "query/planner/charge_estimate.h"

#include <algorithm>
#include <cmath>

namespace octavo::query {

namespace {

constexpr std::uint64_t kCountedMax = 20'000;

}  // namespace

boost::json::object ChargeEstimate::to_json() const {
  return {{"request_charge", std::round(charge * 100) / 100},
          {"keys_examined", keys},
          {"documents_examined", documents},
          {"exact_rows", exact_rows}};
}

Expected<storage::DocumentStatistics> statistics_of_scope(const partitioning::Database& database,
                                                          const std::string& partition_key) {
  if (partition_key.empty()) return database.statistics();
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_partition_key(partition_key));
  return snapshot.statistics_of(partition_key);
}

Expected<ChargeEstimate> estimate_charge(const Plan& plan, PlannerStatistics& statistics,
                                         const storage::DocumentStatistics& scope, std::uint64_t results_max,
                                         bool reads_all, partitioning::ScanWork work) {
  ChargeEstimate estimate;
  bool tests = false;
  for (const Branch& branch : plan.branches) {
    RowCount count;
    if (branch.index) {
      OCTAVO_TRY(count, statistics.count(*branch.index, branch.bounds.ranges, kCountedMax));
    } else {
      OCTAVO_TRY(count, statistics.count_ids(branch.id_ranges, kCountedMax));
    }
    estimate.exact_rows = estimate.exact_rows && !count.capped;
    estimate.keys += count.capped ? std::max(count.rows, scope.document_count) : count.rows;
    tests = tests || branch.recheck;
  }
  const bool stops_early = !tests && !reads_all && !plan.sort_in_memory && plan.branches.size() == 1;
  if (stops_early && results_max < estimate.keys) {
    estimate.keys = results_max;
    estimate.exact_rows = true;
  }
  estimate.documents = plan.covering ? 0 : estimate.keys;
  const std::uint64_t document_bytes = scope.document_count == 0 ? 0 : scope.external_bytes / scope.document_count;
  const std::uint64_t results = reads_all ? 1 : std::min(estimate.keys, results_max);
  work.keys = estimate.keys;
  work.documents = estimate.documents;
  work.document_bytes = estimate.documents * document_bytes;
  work.result_bytes = results * document_bytes;
  estimate.charge = partitioning::charge_of_scan(work);
  return estimate;
}

}  // namespace octavo::query
