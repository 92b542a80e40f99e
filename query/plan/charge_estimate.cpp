#include "query/plan/charge_estimate.h"

#include <algorithm>

namespace octavo::query {

boost::json::object ChargeEstimate::to_json() const {
  return {{"request_charge", partitioning::rounded_charge(charge)},
          {"at_most", partitioning::rounded_charge(at_most)},
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

Expected<ChargeEstimate> estimate_charge(std::span<const Plan> plans, std::size_t sure, PlannerStatistics& statistics,
                                         const storage::DocumentStatistics& scope, std::uint64_t results_max,
                                         bool reads_all, partitioning::ScanWork work) {
  const Plan& plan = plans[sure];
  ChargeEstimate estimate;
  bool tests = false;
  for (const Branch& branch : plan.branches) {
    RowCount count;
    if (branch.index) {
      OCTAVO_TRY(count, statistics.size_in(*branch.index, branch.bounds));
    } else if (branch.id_ranges.size() == 1 && !branch.id_ranges[0].start && !branch.id_ranges[0].end) {
      OCTAVO_TRY(const std::uint64_t design_documents, statistics.design_documents());
      count.rows = scope.document_count - std::min(scope.document_count, design_documents);
    } else {
      OCTAVO_TRY(count, statistics.size_of_ids(branch.id_ranges));
    }
    estimate.exact_rows = estimate.exact_rows && count.exact;
    estimate.keys += count.rows;
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
  estimate.at_most = estimate.charge;
  if (plans.size() > 1) {
    // Before the surest plan runs to its end, the other plans may cost this share of its maximum
    // (walk/plan_turns.h). If the first plan finishes early, the surest plan costs nothing.
    const double others_share = plan.sort_in_memory ? 1.0 : 0.5;
    constexpr partitioning::RequestUnits others_min = 1;
    estimate.at_most += std::max(others_min, others_share * plan.most);
    if (!stops_early) estimate.charge = std::min(estimate.charge, estimate.charge - plan.most + plans[0].expected);
  }
  return estimate;
}

}  // namespace octavo::query
