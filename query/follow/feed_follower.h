#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "query/follow/active_tasks.h"
#include "query/follow/feed_indexes.h"

namespace octavo::query {

/// One index of FeedIndexes and the progress of its job. Private to FeedIndexes.
struct FeedIndexes::Follower {
  Follower(const FeedIndexKind& its_kind, FeedIndexDefinition its_definition)
      : kind(its_kind), definition(std::move(its_definition)) {}

  const FeedIndexKind& kind;
  const FeedIndexDefinition definition;
  std::shared_ptr<FeedIndex> index;
  /// The index is no longer followed: nothing defines it any more.
  const std::shared_ptr<std::atomic<bool>> stopping = std::make_shared<std::atomic<bool>>(false);
  /// It had the whole feed once, and the former index that served queries in its place is gone.
  std::atomic<bool> built{false};
  /// It had the whole feed once: a query has seen it.
  std::atomic<bool> seen_whole{false};

  std::atomic<bool> following{false};
  std::atomic<bool> again{false};
  std::atomic<int> waiters{0};
  /// Its functions occupy a thread for long: it uses Engine::slow_indexing.
  std::atomic<bool> slow{false};

  // Guarded by mutex_.
  std::optional<Error> failure;                        ///< of the last attempt
  std::uint64_t attempts = 0;                          ///< attempts begun
  std::uint64_t failed_attempt = 0;                    ///< number of the last failed attempt
  std::chrono::steady_clock::time_point not_before{};  ///< after a failure: no attempt before this
  /// After a function failed: when to retry it if documents have changed since, and the watermark at the failure.
  std::chrono::steady_clock::time_point not_before_changes{};
  storage::Sequence failed_at = 0;
  bool early_retry_planned = false;

  // Used by the follow job only.
  std::size_t rows_max = 8;                       ///< small at first, as nothing is known about its functions yet
  std::chrono::steady_clock::time_point begun{};  ///< of the last batch
  storage::Sequence begun_at = 0;                 ///< watermark at that time
  std::chrono::milliseconds retry_delay{0};
  ActiveTasks::Handle task;
  storage::Sequence task_from = 0;

  std::string stored_definition;  ///< content of the file beside the index; guarded by load_mutex_
};

struct FeedIndexes::Wanted {
  const FeedIndexKind* kind;
  FeedIndexDefinition definition;
};

}  // namespace octavo::query
