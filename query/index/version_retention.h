#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/jobs/repeated_job.h"
#include "partitioning/database.h"

namespace octavo::query {

/// Has a database keep every version of its documents for so long, and forgets older ones in the background.
/// Thread-safe.
class VersionRetention {
 public:
  explicit VersionRetention(partitioning::Database& database);

  /// 0: no versions are kept any more, and those that are there go.
  void set_seconds(std::int64_t seconds);
  /// Idempotent.
  void stop() { trimming_.stop(); }

 private:
  class Trims;
  std::optional<std::chrono::milliseconds> trim();
  void trim(std::size_t place, std::int64_t before_s);
  bool has_old_versions(std::size_t place, std::int64_t before_s) const;

  partitioning::Database& database_;
  std::atomic<std::int64_t> seconds_{0};
  const std::shared_ptr<Trims> trims_;  ///< those that are on their way know it, whoever is gone meanwhile
  RepeatedJob trimming_;                ///< last: ends before all that it uses
};

}  // namespace octavo::query
