#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "partitioning/database.h"
#include "partitioning/keys/partition_map.h"
#include "query/sql/run/sql_preparation.h"

namespace octavo::query::sql {

/// The physical partitions that a query reads one after the other. A query without an order need not read all of them
/// for each page. A query that began in all of them at once continues that way.
class PartitionsInTurn {
 public:
  /// Begins with the first one, or with that of the continuation.
  PartitionsInTurn(const partitioning::Database& database, const PreparedSql& prepared, const SqlScope& scope);
  /// Reads all of the scope at once.
  PartitionsInTurn() = default;

  /// The one that is read. It may have been split or merged since the previous page. nullopt: all are read at once.
  const std::optional<std::size_t>& current() const { return current_; }
  /// Whether the current one is read for the first time in this run: true once for each.
  bool count() { return std::exchange(counted_, current_) != current_; }
  /// Continues behind `last`, the last position of the current one: perhaps with a former partition, if it was merged.
  /// False: there is no other in the scope.
  bool next(const partitioning::PartitionMap& map, partitioning::HashPosition last, const SqlScope& scope);

 private:
  std::optional<std::size_t> current_;
  std::optional<std::size_t> counted_;
};

}  // namespace octavo::query::sql
