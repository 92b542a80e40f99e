#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/jobs/repeated_job.h"
#include "partitioning/change_notifier.h"
#include "partitioning/database.h"

namespace octavo::query {

/// Documents expire `default_s` seconds after their last write, or after their own `ttl` in seconds; -1: never.
std::shared_ptr<const storage::TimeToLive> time_to_live(std::int64_t default_s);

/// Applies a database's time to live to its physical partitions, and deletes expired documents in the background, with
/// tombstones; readers do not see them before that either. Thread-safe.
///
/// Each partition's schedule tells which documents have expired, and when the next one does; other documents are read
/// only to build the schedule when documents first have a time to live, or a different one.
class Expiration {
 public:
  explicit Expiration(partitioning::Database& database);
  ~Expiration() { stop(); }

  /// Absent: documents no longer expire.
  void set_default(std::optional<std::int64_t> default_s);
  /// Waits until everything expired by now is deleted; for readers of data that follows the feed. If it cannot be
  /// deleted (the disk is full), waits only until that is known. Errors: timeout, not_found if the database is deleted.
  Task<Expected<void>> wait_until_deleted(std::chrono::steady_clock::time_point deadline);
  /// Idempotent.
  void stop();

 private:
  struct Progress;
  std::optional<std::chrono::milliseconds> walk();
  std::chrono::milliseconds advance(std::size_t partition_id);
  void delete_documents(std::size_t partition_id, std::vector<storage::Snapshot::Expired::Document>& documents);
  Expected<bool> is_deleted_until(std::int64_t time_s) const;

  partitioning::Database& database_;
  std::atomic<bool> wanted_{false};
  const std::shared_ptr<Progress> progress_;  ///< shared with pending writes, which may outlive this
  RepeatedJob walking_;                       ///< last: stops before the members it uses are destroyed
};

}  // namespace octavo::query
