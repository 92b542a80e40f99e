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

/// Documents end so many seconds after their last write, or after as many as their own `ttl` says; -1: never.
std::shared_ptr<const storage::TimeToLive> time_to_live(std::int64_t default_s);

/// Applies a database's time to live to its physical partitions, and deletes in the background, with tombstones, what
/// has come to its end: readers do not see it before that either. Thread-safe.
///
/// It knows from each partition's schedule which documents those are, and when the next one ends; it looks at no
/// others, but for making the schedule when documents first have a time to live, or another one.
class Expiration {
 public:
  explicit Expiration(partitioning::Database& database);
  ~Expiration() { stop(); }

  /// Absent: documents do not end any more.
  void set_default(std::optional<std::int64_t> default_s);
  /// Until all that has ended by now is deleted: for whoever reads what follows the feed. Where it cannot be deleted
  /// (the disk is full), not longer than that takes to find out. Errors: timeout, not_found when the database goes.
  Task<Expected<void>> wait_until_deleted(std::chrono::steady_clock::time_point deadline);
  /// Idempotent.
  void stop();

 private:
  struct Progress;
  std::optional<std::chrono::milliseconds> walk();
  std::chrono::milliseconds advance(std::size_t place);
  void delete_documents(std::size_t place, std::vector<storage::Snapshot::Ended::Document>& documents);
  Expected<bool> is_deleted_until(std::int64_t end_s) const;

  partitioning::Database& database_;
  std::atomic<bool> wanted_{false};
  const std::shared_ptr<Progress> progress_;  ///< writes that are on their way know it, whoever is gone meanwhile
  RepeatedJob walking_;                       ///< last: ends before all that it uses
};

}  // namespace octavo::query
