#pragma once

#include <optional>
#include <span>
#include <string>

#include "partitioning/database.h"
#include "query/planner/planner.h"

namespace octavo::query {

/// The planner's view of a real database: counts by short reads on the calling thread.
class StorageStatistics : public PlannerStatistics {
 public:
  /// `partition_key` empty: the whole database, or one physical partition of it.
  StorageStatistics(partitioning::Database& database, std::string partition_key, std::optional<std::size_t> place = {})
      : database_(database), partition_key_(std::move(partition_key)), place_(place) {}

  Expected<std::uint64_t> documents() override;
  /// Live design documents of the whole database, which are among documents().
  Expected<std::uint64_t> design_documents();
  Expected<std::uint64_t> entries(const IndexView& index) override;
  Expected<RowCount> count(const IndexView& index, std::span<const KeyRange> ranges, std::uint64_t cap) override;
  Expected<bool> order_is_exact(const IndexView& index) override;
  Expected<RowCount> count_ids(std::span<const IdRange> ranges, std::uint64_t cap) override;

 private:
  partitioning::Database& database_;
  std::string partition_key_;
  std::optional<std::size_t> place_;
};

}  // namespace octavo::query
