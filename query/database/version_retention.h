#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/jobs/repeated_job.h"
#include "partitioning/database.h"
#include "query/database/partition_pace.h"

namespace octavo::query {

/// Makes a database keep every version of its documents for a given time, and removes older ones in the background.
/// Thread-safe.
class VersionRetention {
 public:
  explicit VersionRetention(partitioning::Database& database);

  /// 0: versions are no longer kept, and existing ones are removed.
  void set_seconds(std::int64_t seconds);
  /// Idempotent.
  void stop() { trimming_.stop(); }

 private:
  std::optional<std::chrono::milliseconds> trim();
  void trim(std::size_t partition_id, std::int64_t before_s);
  bool has_old_versions(std::size_t partition_id, std::int64_t before_s) const;

  partitioning::Database& database_;
  std::atomic<std::int64_t> seconds_{0};
  const std::shared_ptr<PartitionPace> pace_;  ///< shared with pending trims, which may outlive this
  RepeatedJob trimming_;                       ///< last: stops before the members it uses are destroyed
};

}  // namespace octavo::query
