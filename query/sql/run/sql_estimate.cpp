#include "query/sql/run/sql_estimate.h"

#include <algorithm>
#include <limits>

#include "query/sql/evaluate/program.h"
#include "query/sql/run/query_charge.h"
#include "query/walk/storage_statistics.h"

namespace octavo::query::sql {

Expected<ChargeEstimate> estimate_charge(partitioning::Database& database, const PreparedSql& prepared,
                                         const std::string& partition_key, std::uint64_t page_items_max) {
  const Program& program = prepared.query->program();
  const auto work = scan_work_of(database, prepared, {});
  if (!program.reads_items) {
    ChargeEstimate estimate;
    estimate.charge = partitioning::charge_of_scan(work);
    return estimate;
  }
  StorageStatistics statistics(database, partition_key);
  statistics.look_closely();
  OCTAVO_TRY(const auto scope, statistics_of_scope(database, partition_key));
  const bool reads_all = program.grouped || program.distinct || (!program.order_by.empty() && !prepared.presorted);
  const std::uint64_t page = std::min(program.limit, page_items_max);
  const std::uint64_t wanted =
      program.offset > std::numeric_limits<std::uint64_t>::max() - page ? page : program.offset + page;
  return query::estimate_charge(prepared.plans, prepared.plans.size() - 1, statistics, scope, wanted, reads_all, work);
}

}  // namespace octavo::query::sql
