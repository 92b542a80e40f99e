#include "query/sql/run/query_charge.h"

#include <algorithm>

#include "query/sql/evaluate/program.h"
#include "query/walk/storage_statistics.h"

namespace octavo::query::sql {

namespace {

std::size_t partitions_visited(const partitioning::Database& database, const PreparedSql& prepared,
                               const SqlStatistics& statistics) {
  if (statistics.ranges_read > 0) return statistics.ranges_read;
  const SqlScope& scope = prepared.scope;
  const auto& branches = prepared.sure_plan().branches;
  if (!scope.partition_key.empty() || !scope.id_prefix.empty() || scope.physical_partition) return 1;
  const auto uses_only_global_indexes = [](const Plan& plan) {
    return !plan.branches.empty() && std::ranges::all_of(plan.branches, [](const Branch& branch) {
      return branch.index && branch.index->global != nullptr;
    });
  };
  if (std::ranges::all_of(prepared.plans, uses_only_global_indexes)) return 1;
  if (const auto ranges = ranges_of_points(database, branches)) return *ranges;
  if (!scope.hash_range) return database.physical_partition_count();
  const auto [first, end] = *scope.hash_range;
  const auto visited = std::ranges::count_if(
      database.partition_map().ranges(), [&](const auto& range) { return range.first < end && range.last >= first; });
  return std::max<std::size_t>(static_cast<std::size_t>(visited), 1);
}

// Counts each alternative, because each one is queried separately.
std::size_t predicates_of(const PreparedSql& prepared) {
  std::size_t count = 0;
  for (const Branch& branch : prepared.sure_plan().branches) {
    count += branch.selector.fields_used().size() + prepared.query->program().order_by.size();
  }
  return count;
}

}  // namespace

partitioning::ScanWork scan_work_of(const partitioning::Database& database, const PreparedSql& prepared,
                                    const SqlStatistics& statistics) {
  return {.partitions = partitions_visited(database, prepared, statistics),
          .predicates = predicates_of(prepared),
          .keys = statistics.keys_examined,
          .documents = statistics.documents_examined,
          .document_bytes = statistics.document_bytes,
          .result_bytes = statistics.result_bytes};
}

bool may_read_in_turn(const PreparedSql& prepared, const SqlScope& scope) {
  const Program& program = prepared.query->program();
  const bool waits = program.grouped || program.distinct || program.has_distinct_source() || prepared.gone_index;
  if (prepared.over_source || waits || !program.order_by.empty() || !program.reads_items) return false;
  return scope.partition_key.empty() && scope.id_prefix.empty() && !scope.physical_partition;
}

std::vector<std::size_t> partition_ids_in_turn(const partitioning::Database& database, const PreparedSql& prepared,
                                               const SqlScope& scope) {
  std::vector<std::size_t> partition_ids;
  if (!may_read_in_turn(prepared, scope)) return partition_ids;
  const auto& branches = prepared.plan().branches;  // others that take turns are global or not, like this one
  const auto is_global = [](const Branch& branch) { return branch.index && branch.index->global; };
  // A global index has the entries of all partitions in one store.
  if (branches.empty() || std::ranges::any_of(branches, is_global)) return partition_ids;
  if (ranges_of_points(database, branches)) return partition_ids;
  const auto& map = database.partition_map();
  partition_ids = scope.hash_range ? map.partition_ids_between(scope.hash_range->first, scope.hash_range->second - 1)
                                   : map.partition_ids();
  if (partition_ids.size() < 2) partition_ids.clear();
  return partition_ids;
}

}  // namespace octavo::query::sql
