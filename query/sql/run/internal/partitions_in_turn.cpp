#include "query/sql/run/internal/partitions_in_turn.h"

#include "base/assert.h"
#include "partitioning/keys/range_parts.h"
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

bool PartitionsInTurn::next(const partitioning::PartitionMap& map, partitioning::HashPosition last,
                            const SqlScope& scope) {
  const partitioning::HashPosition first = last + 1;
  if (first == partitioning::hash_space_end || (scope.hash_range && first >= scope.hash_range->second)) return false;
  current_ = partitioning::partition_beginning_at(map, first);
  OCTAVO_ASSERT(current_.has_value());
  return current_.has_value();
}

}  // namespace octavo::query::sql
