#include "query/sql/run/internal/partitions_in_turn.h"

#include <algorithm>

#include "query/sql/run/query_charge.h"

namespace octavo::query::sql {

PartitionsInTurn::PartitionsInTurn(const partitioning::Database& database, const PreparedSql& prepared,
                                   const SqlScope& scope) {
  if (const auto& continuation = prepared.continuation) {
    const bool is_in_range = continuation->partition_id_plus_one != 0 && may_read_in_turn(prepared, scope);
    if (is_in_range) current_ = continuation->partition_id_plus_one - 1;
    return;
  }
  const auto partition_ids = partition_ids_in_turn(database, prepared, scope);
  if (!partition_ids.empty()) current_ = partition_ids.front();
}

bool PartitionsInTurn::next(const partitioning::PartitionMap& map, std::size_t last, const SqlScope& scope) {
  const auto next = std::ranges::find(map.partition_ids(), last) + 1;
  if (next == map.partition_ids().end()) return false;
  if (scope.hash_range && map.range_of(*next)->first >= scope.hash_range->second) return false;
  current_ = *next;
  return true;
}

}  // namespace octavo::query::sql
