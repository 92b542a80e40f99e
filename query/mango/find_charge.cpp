#include "query/mango/find_charge.h"

#include <algorithm>

#include "query/walk/storage_statistics.h"

namespace octavo::query {

partitioning::ScanWork scan_work_of(const partitioning::Database& database, const PreparedFind& prepared,
                                    bool in_partition) {
  const auto& branches = prepared.sure_plan().branches;
  const auto is_global = [](const Branch& branch) { return branch.index && branch.index->global != nullptr; };
  const auto uses_only_global_indexes = [&](const Plan& plan) {
    return !plan.branches.empty() && std::ranges::all_of(plan.branches, is_global);
  };
  partitioning::ScanWork work;
  const bool one = in_partition || std::ranges::all_of(prepared.plans, uses_only_global_indexes);
  work.partitions = one ? 1 : ranges_of_points(database, branches).value_or(database.physical_partition_count());
  for (const Branch& branch : branches) {
    work.predicates += branch.selector.fields_used().size() + prepared.request.sort.size();
  }
  return work;
}

}  // namespace octavo::query
