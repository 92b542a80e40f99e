#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/jobs/background_jobs.h"
#include "base/task.h"
#include "partitioning/change_notifier.h"
#include "partitioning/database.h"
#include "query/follow/active_tasks.h"
#include "query/follow/feed_index.h"

namespace octavo::query {

/// What the followers of one owner share. It must outlive them, and the jobs must have been stopped before it goes.
struct FollowContext {
  partitioning::Database& database;
  ActiveTasks* tasks;  ///< may be null
  BackgroundJobs& jobs;
  partitioning::ChangeNotifier& progress;  ///< notified when a consumer has applied something, or has failed
  WorkLane* slow_lane;                     ///< for consumers whose functions occupy a thread for long; may be null
  std::atomic<bool> shut_down{false};
  std::atomic<int> waiters{0};  ///< queries that wait for any of the followers
};

/// Feeds one consumer (feed_index.h) in the background and lets queries wait for it: the one follower of the change
/// feed, for views, search indexes and global indexes.
///
/// A job reads a batch of changes, makes it durable in the database, and gives it to the consumer with the checkpoint.
/// The last batch's duration decides the next one's size. A consumer that fails is fed again after a growing delay, or
/// at once for a query that waits if the failure may pass, or soon after documents have changed if it may not.
///
/// Thread-safe. Must be owned by a shared_ptr: a queued job does not keep it, a running one does.
class FeedFollower : public std::enable_shared_from_this<FeedFollower> {
 public:
  struct Options {
    std::string subject;  ///< of a line in the log that ends "… waits: reason"
    /// Listed while there are more changes than one batch has, and more than `backlog_listed`; without its database.
    ActiveTask task;
    storage::Sequence backlog_listed = 0;
    std::size_t rows_first = 8;  ///< of a batch; small, as nothing is known about the functions yet
    std::size_t rows_max = 32'768;
    /// A batch is the last one although documents were written meanwhile: the owner wakes the follower for those,
    /// later.
    bool leaves_new_writes = false;
    /// Of the time, it works at most this part, above 0: after a batch it rests, even if a query waits.
    double share = 1;
    std::string_view not_waiting = "update=false";  ///< how a client says that it does not want to wait
  };

  /// `stopping`: once true, the consumer is no longer fed. It may become false again.
  FeedFollower(FollowContext& context, FeedConsumer& consumer, Options options,
               std::shared_ptr<std::atomic<bool>> stopping = std::make_shared<std::atomic<bool>>(false));
  virtual ~FeedFollower() = default;
  FeedFollower(const FeedFollower&) = delete;
  FeedFollower& operator=(const FeedFollower&) = delete;

  /// Feeds the consumer up to the present in the background, unless it failed only recently.
  void wake();
  /// Waits until `is_reached`, which is called again after each progress. Errors: those of `is_reached`; the reason why
  /// the consumer cannot be fed (disk_full, function_failed, …); not_found if the database is gone or the consumer is
  /// to stop; timeout at the deadline.
  Task<Expected<void>> wait(std::function<Expected<bool>()> is_reached, std::chrono::steady_clock::time_point deadline);

  bool following() const { return following_.load(); }
  /// False: the consumer is not fed, or its last attempt failed, which may last.
  bool makes_progress();
  /// Why the last attempt failed; nullopt: it did not.
  std::optional<Error> failure();
  /// How long it has worked, and how long it has rested after that, because of Options::share.
  struct Times {
    std::chrono::milliseconds worked{0};
    std::chrono::milliseconds rested{0};
  };
  Times times() const;
  int waiters() const { return waiters_.load(std::memory_order_relaxed); }
  void set_stopping(bool stopping) { stopping_->store(stopping); }
  /// After the jobs were stopped.
  void end_task() { task_ = {}; }

 private:
  /// The consumer has everything that was there.
  virtual void caught_up() {}

  bool may_try();
  void count_work(std::chrono::steady_clock::duration work);
  void rest(bool has_more);
  bool waits_for_end_of_rest();
  void end_rest(std::chrono::steady_clock::duration rested);
  void post_follow();
  void follow();
  Expected<bool> follow_batch();
  Expected<FeedDocument> read(const storage::DocumentRecord& record, const storage::Snapshot& snapshot) const;
  void failed(std::uint64_t attempt, const Error& error);

  FollowContext& context_;
  FeedConsumer& consumer_;
  const Options options_;
  const std::shared_ptr<std::atomic<bool>> stopping_;

  std::atomic<bool> following_{false};
  std::atomic<bool> again_{false};
  std::atomic<int> waiters_{0};
  /// Its functions occupy a thread for long: it uses the slow lane.
  std::atomic<bool> slow_{false};

  std::mutex mutex_;                                    ///< guards the members up to the empty line
  std::optional<Error> failure_;                        ///< of the last attempt
  std::uint64_t attempts_ = 0;                          ///< attempts begun
  std::uint64_t failed_attempt_ = 0;                    ///< number of the last failed attempt
  std::chrono::steady_clock::time_point not_before_{};  ///< after a failure: no attempt before this
  /// After a function failed: when to retry it if documents have changed since, and the watermark at the failure.
  std::chrono::steady_clock::time_point not_before_changes_{};
  storage::Sequence failed_at_ = 0;
  bool early_retry_planned_ = false;
  bool rests_ = false;
  bool goes_on_after_rest_ = false;

  std::atomic<std::int64_t> worked_us_{0};
  std::atomic<std::int64_t> rested_us_{0};

  // Used by the follow job only.
  std::size_t rows_;
  std::chrono::steady_clock::time_point begun_{};  ///< of the last batch
  storage::Sequence begun_at_ = 0;                 ///< watermark at that time
  std::chrono::milliseconds retry_delay_{0};
  std::chrono::steady_clock::duration unrested_{0};  ///< rest that is still to come
  ActiveTasks::Handle task_;
  storage::Sequence task_from_ = 0;
};

}  // namespace octavo::query
