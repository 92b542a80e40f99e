#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/jobs/background_jobs.h"
#include "partitioning/change_notifier.h"
#include "partitioning/database.h"
#include "query/follow/active_tasks.h"
#include "query/follow/feed_follower.h"
#include "query/index/global/global_index.h"
#include "query/index/global/global_index_builder.h"
#include "query/json/parsed_document.h"

namespace octavo::query {

/// All global indexes of one open database: opens, builds and removes them. Those that are ready are one consumer of
/// the feed, so that each document is parsed once for all; their follower runs on the engine's workers. A build is a
/// job of its own, which does not hold up the others. Owned by MangoIndexes, which says what is defined.
///
/// Folders: <database>/index-<identity>. Thread-safe.
class GlobalIndexes final : FeedConsumer {
 public:
  /// `progress` is notified when an index may have become current or ready, or has failed. `built` is called after each
  /// build, on a worker.
  GlobalIndexes(partitioning::Database& database, ActiveTasks* tasks, partitioning::ChangeNotifier& progress,
                std::function<void()> built);

  /// Opens the global indexes among `definitions`, and retires the others. An index that cannot be opened is left out,
  /// and its error returned. One thread at a time. Errors: not_found after shut_down().
  Expected<std::optional<Error>> reconcile(const std::vector<IndexDefinitionPtr>& definitions);
  /// Removes the folders that none of `definitions` and no open index has. Call after a reconcile() of `definitions`.
  void remove_stray_folders(const std::vector<IndexDefinitionPtr>& definitions);
  /// Removes the files of retired indexes, later if queries still read them.
  void remove_retired();

  /// nullptr: none that is open.
  std::shared_ptr<GlobalIndex> find(std::string_view identity) const;
  /// False: no definition has this index any more, or the database is shut down.
  bool is_wanted(const GlobalIndex& index) const;
  bool any() const { return any_.load(std::memory_order_acquire); }
  /// Up to here the feed was read by all indexes that are ready, if their follower makes progress.
  storage::Sequence followed_through() const;

  /// Documents have changed. Must not block.
  void committed();
  /// Builds and follows in the background what is not current.
  void wake();

  /// Whether a query that begins now need not wait for `index`. Some reads of one row.
  Expected<bool> is_current(const GlobalIndex& index, storage::Sequence sequence) const;
  /// See MangoIndexes::wait_until_current.
  Task<Expected<void>> wait_until_current(std::shared_ptr<GlobalIndex> index, storage::Sequence sequence,
                                          std::chrono::steady_clock::time_point deadline);
  /// Attempts to build that have begun.
  std::uint64_t build_attempts() const;
  /// Why the last build failed, if it was a later one than the first `attempts`.
  std::optional<Error> build_failure_after(std::uint64_t attempts) const;

  // These are called as DatabaseExtension describes.
  void shut_down();
  std::size_t open_store_count() const;
  std::uint64_t last_used_ms() const;
  std::size_t close_idle(std::uint64_t last_used_before_ms);

 private:
  using Indexes = std::vector<std::shared_ptr<GlobalIndex>>;
  /// Those that are ready, or those that are not.
  Indexes select(bool ready) const;
  bool has_any(bool ready) const;

  // The lowest value of the ready indexes. Without a ready index it is the maximum, so nothing is left to do.
  std::uint64_t least_of(std::uint64_t (GlobalIndex::*value)() const) const;
  storage::Sequence checkpoint() const override { return least_of(&GlobalIndex::checkpoint); }
  storage::Sequence complete_through() const override { return least_of(&GlobalIndex::complete_through); }
  std::uint64_t purge_count() const override { return least_of(&GlobalIndex::purge_count); }
  storage::Sequence knows_deletions_through() const override { return least_of(&GlobalIndex::knows_deletions_through); }
  FeedBodies bodies() const override { return FeedBodies::as_stored; }
  Expected<std::size_t> apply(const FeedChanges& changes) override;
  Expected<bool> remove_known(const KnownPurges& purges) override;
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max) override;

  void start_build();
  void build();
  Expected<GlobalIndexBuilder::State> build_slice();

  partitioning::Database& database_;
  ActiveTasks* const tasks_;
  const std::function<void()> built_;
  const storage::Sequence opened_at_;  ///< last sequence of the database at its opening
  std::atomic<bool> any_{false};
  std::atomic<bool> wake_planned_{false};

  mutable std::mutex mutex_;  ///< guards the members up to the empty line
  Indexes indexes_;
  Indexes retired_;  ///< no longer defined; queries may still read them
  bool building_ = false;
  std::chrono::steady_clock::time_point build_not_before_{};  ///< after a failed build: no new one before this
  std::optional<Error> build_failure_;
  std::uint64_t build_attempts_ = 0;
  std::uint64_t failed_build_ = 0;  ///< number of the last failed attempt

  DocumentParser parser_;                           ///< used by the follow job only
  std::unique_ptr<GlobalIndexBuilder> builder_;     ///< used by the build job only
  std::chrono::milliseconds build_retry_delay_{0};  ///< used by the build job only; 0: the last build did not fail
  FollowContext context_;
  std::shared_ptr<FeedFollower> follower_;
  BackgroundJobs jobs_;  ///< last: stops before the members that its jobs use are destroyed
};

}  // namespace octavo::query
