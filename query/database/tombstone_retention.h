#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/jobs/repeated_job.h"
#include "base/unix_time.h"
#include "partitioning/database.h"
#include "query/database/partition_pace.h"

namespace octavo::query {

/// Drops the tombstones of a database in the background when they are old enough. Where there are none it costs nothing
/// until documents change. Thread-safe.
///
/// A follower of the feed that has not read a dropped tombstone finds that out (FeedScan): a client is refused, and an
/// index looks at all that it contains.
class TombstoneRetention {
 public:
  /// `followed_through`: how far the indexes have read the feed that make progress. Later tombstones are kept for them,
  /// so that they need not look at all that they contain. Called by the job, each second as long as that keeps some.
  /// `now_s`: the clock that stamps documents, or another one in tests.
  TombstoneRetention(partitioning::Database& database, std::function<storage::Sequence()> followed_through,
                     std::function<std::int64_t()> now_s = unix_now_s);

  /// 0: tombstones are kept for ever, from now on.
  void set_seconds(std::int64_t retention_s);
  /// Documents have changed. Must not block.
  void committed();
  /// Idempotent.
  void stop() { dropping_.stop(); }

 private:
  using Milliseconds = std::chrono::milliseconds;
  std::optional<Milliseconds> drop();
  /// Begins to drop the next tombstones of one partition. Returns the time until there may be others; nullopt: until
  /// documents change.
  Expected<std::optional<Milliseconds>> drop(std::size_t partition_id, std::int64_t retention_s,
                                             storage::Sequence through);

  partitioning::Database& database_;
  const std::function<storage::Sequence()> followed_through_;
  const std::function<std::int64_t()> now_s_;
  std::atomic<std::int64_t> seconds_{0};
  std::atomic<bool> idle_{false};                    ///< a commit must start the job
  std::map<std::size_t, storage::Sequence> walked_;  ///< feeds without tombstones up to here; used by the job only
  const std::shared_ptr<PartitionPace> pace_;        ///< shared with pending drops, which may outlive this
  RepeatedJob dropping_;                             ///< last: stops before the members it uses are destroyed
};

}  // namespace octavo::query
