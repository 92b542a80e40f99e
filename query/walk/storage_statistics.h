#pragma once

#include <optional>
#include <span>
#include <string>

#include "partitioning/database.h"
#include "query/plan/planner.h"
#include "storage/lmdb/store.h"

namespace octavo::query {

/// The planner's view of a real database: short reads on the calling thread. Sizes of ranges are estimated
/// (storage::ReadTransaction::rows_estimate); where that is not possible, entries are counted.
///
/// Remembers the number of documents once it was read: for one planning, make another for the next.
class StorageStatistics : public PlannerStatistics {
 public:
  /// `partition_key` empty: the whole database, or its physical partition `partition_id`.
  StorageStatistics(partitioning::Database& database, std::string partition_key,
                    std::optional<std::size_t> partition_id = {})
      : database_(database), partition_key_(std::move(partition_key)), partition_id_(partition_id) {}

  /// Reads more, so that the sizes of ranges of some thousand rows are exact. For output that people read.
  void look_closely() { closeness_ = storage::Closeness::close; }

  /// Whether a plan for `planned_documents` documents is still good. For a very different number it may be far from the
  /// best.
  bool are_as_planned(std::uint64_t planned_documents);

  Expected<Documents> documents() override;
  Expected<std::uint64_t> design_documents() override;
  Expected<std::uint64_t> entries(const IndexView& index) override;
  Expected<RowCount> size(const IndexView& index, std::span<const KeyRange> ranges) override;
  Expected<bool> order_is_exact(const IndexView& index) override;
  Expected<RowCount> size_of_ids(std::span<const IdRange> ranges) override;

 private:
  Expected<RowCount> size_of_ids(const IdRange& range);

  partitioning::Database& database_;
  std::string partition_key_;
  std::optional<std::size_t> partition_id_;
  storage::Closeness closeness_ = storage::Closeness::rough;
  std::optional<Documents> documents_;
};

/// Number of physical partitions with the documents that a plan reads by their ids; nullopt if it reads anything else.
std::optional<std::size_t> ranges_of_points(const partitioning::Database& database, std::span<const Branch> branches);

}  // namespace octavo::query
