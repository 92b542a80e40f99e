#include "query/sql/run/sql_estimate.h"

#include <algorithm>
#include <limits>
#include <span>

#include "query/sql/evaluate/program.h"
#include "query/sql/run/query_charge.h"
#include "query/walk/storage_statistics.h"

namespace octavo::query::sql {

namespace {

// For a query that reads one physical partition after the other until its page is full. If documents must be tested,
// each partition that it is likely to begin counts as a whole, and the upper bound includes all of them.
Expected<ChargeEstimate> estimate_in_turn(partitioning::Database& database, const PreparedSql& prepared,
                                          std::span<const std::size_t> partition_ids, std::uint64_t wanted,
                                          partitioning::ScanWork work) {
  const Plan& plan = prepared.sure_plan();
  const bool tests = std::ranges::any_of(plan.branches, &Branch::recheck);
  work.partitions = 1;
  ChargeEstimate all;
  double found = 0;
  for (const std::size_t partition_id : partition_ids) {
    const bool is_full = found >= static_cast<double>(wanted);
    if (is_full && !tests) break;
    StorageStatistics statistics(database, {}, partition_id);
    statistics.look_closely();
    OCTAVO_TRY(const auto snapshot, database.snapshot(partition_id));
    OCTAVO_TRY(const auto documents, snapshot.statistics());
    const std::uint64_t left = is_full ? wanted : wanted - static_cast<std::uint64_t>(found);
    OCTAVO_TRY(const auto one, query::estimate_charge({&plan, 1}, 0, statistics, documents, left, false, work));
    all.at_most += one.at_most;
    if (is_full) continue;
    all.keys += one.keys;
    all.documents += one.documents;
    all.charge += one.charge;
    all.exact_rows = all.exact_rows && one.exact_rows;
    found += plan.matching * static_cast<double>(one.keys);
  }
  // The other plans may cost half of its maximum before it runs to its end (walk/plan_turns.h).
  if (prepared.plans.size() > 1) {
    all.at_most += std::max(static_cast<double>(partition_ids.size()), 0.5 * plan.most);
  }
  return all;
}

}  // namespace

Expected<ChargeEstimate> estimate_charge(partitioning::Database& database, const PreparedSql& prepared,
                                         const std::string& partition_key, std::uint64_t page_items_max) {
  const Program& program = prepared.query->program();
  const auto work = scan_work_of(database, prepared, {});
  if (!program.reads_items) {
    ChargeEstimate estimate;
    estimate.charge = partitioning::charge_of_scan(work);
    return estimate;
  }
  const std::uint64_t page = std::min(program.limit, page_items_max);
  const std::uint64_t wanted =
      program.offset > std::numeric_limits<std::uint64_t>::max() - page ? page : program.offset + page;
  SqlScope queried = prepared.scope;
  if (!partition_key.empty()) queried.partition_key = partition_key;
  const auto partition_ids = partition_ids_in_turn(database, prepared, queried);
  if (!partition_ids.empty()) return estimate_in_turn(database, prepared, partition_ids, wanted, work);
  StorageStatistics statistics(database, partition_key);
  statistics.look_closely();
  OCTAVO_TRY(const auto scope, statistics_of_scope(database, partition_key));
  const bool reads_all = program.grouped || program.distinct || (!program.order_by.empty() && !prepared.presorted);
  return query::estimate_charge(prepared.plans, prepared.sure, statistics, scope, wanted, reads_all, work);
}

}  // namespace octavo::query::sql
