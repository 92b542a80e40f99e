#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "partitioning/database.h"
#include "query/index/repeated_job.h"

namespace octavo::query {

/// Documents end so many seconds after their last write, or after as many as their own `ttl` says; -1: never.
std::shared_ptr<const storage::TimeToLive> time_to_live(std::int64_t default_s);

/// Applies a database's time to live to its physical partitions, and deletes in the background, with tombstones, what
/// has come to its end: readers do not see it before that either. Thread-safe.
///
/// Every few seconds it walks over all documents, a slice at a time, and rests at least as long as the walk took ten
/// times.
class Expiration {
 public:
  explicit Expiration(partitioning::Database& database);

  /// Absent: documents do not end any more.
  void set_default(std::optional<std::int64_t> default_s);
  /// Idempotent.
  void stop() { walking_.stop(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<std::chrono::milliseconds> walk();
  void delete_expired(std::size_t place);

  partitioning::Database& database_;
  std::atomic<bool> wanted_{false};
  std::size_t walked_ = 0;             ///< of the database's places, in this round
  std::optional<std::string> next_;  // id to go on from
  Clock::time_point begun_;
  RepeatedJob walking_;  ///< last: ends before all that it uses
};

}  // namespace octavo::query
