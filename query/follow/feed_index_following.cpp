#include <algorithm>
#include <unordered_set>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/memory_retry.h"
#include "base/processor_time.h"
#include "query/follow/feed_batch.h"
#include "query/follow/feed_document.h"
#include "query/follow/feed_follower.h"
#include "query/javascript/interruption.h"

/// The part of FeedIndexes that keeps each index up to date with the feed, and lets queries wait for it.
namespace octavo::query {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRowsMin = 1;
constexpr std::size_t kRowsMax = 32'768;
constexpr std::size_t kBytesMax = 16ULL << 20;
// A batch should occupy its thread for about this long: long enough for commits, and for the reads that update
// summaries, to cost little beside the functions; short enough that the job responds soon to requests (to stop, to
// release the thread).
constexpr std::chrono::nanoseconds kBatchTime = std::chrono::milliseconds(250);
// Commits within this time make one batch, unless a query waits.
constexpr std::chrono::milliseconds kDelay{20};
// After a failure of the disk, and of a function: a function fails again until it or the document is changed.
constexpr std::chrono::milliseconds kRetryMin{100};
constexpr std::chrono::milliseconds kRetryMax{10'000};
constexpr std::chrono::milliseconds kFunctionRetryMin{2'000};
constexpr std::chrono::milliseconds kFunctionRetryMax{300'000};
// After documents change, retry a failed function `kChangedRetryFactor` × the last attempt's duration after its
// failure, within these bounds.
constexpr int kChangedRetryFactor = 2;
constexpr std::chrono::milliseconds kChangedRetryMax{60'000};
// A query waits for such a retry if it is at most this far away.
constexpr std::chrono::milliseconds kWaitForRetryMax{5'000};
// Functions, including a reduce, that take this long for a document are slow.
constexpr std::chrono::milliseconds kSlowDocument{50};

}  // namespace

void FeedIndexes::committed() {
  if (!has_followers_.load(std::memory_order_relaxed)) {
    // First write since the database was opened: an index that is behind continues now.
    if (changes_loaded_.load(std::memory_order_relaxed) != 0 || kinds_.empty() || load_planned_.exchange(true)) return;
    jobs_.post([this] { load_in_background(); });
    return;
  }
  if (waiters_.load(std::memory_order_relaxed) > 0) wake_all(true);
  if (wake_planned_.exchange(true, std::memory_order_acq_rel)) return;
  jobs_.post_after(kDelay, [this] {
    wake_planned_.store(false, std::memory_order_release);
    wake_all(false);
  });
}

void FeedIndexes::wake_all(bool only_awaited) {
  std::vector<FollowerPtr> followers;
  {
    const std::lock_guard lock(mutex_);
    until_memory_suffices([&] { followers = followers_; });
  }
  for (const auto& follower : followers) {
    if (!only_awaited || follower->waiters.load(std::memory_order_relaxed) > 0) wake(follower);
  }
}

void FeedIndexes::wake(const FollowerPtr& follower) {
  if (follower->stopping->load(std::memory_order_relaxed) || !may_try(follower)) return;
  if (follower->following.load() && follower->again.exchange(true)) return;
  post_follow(follower);
}

// Not at once after a failure; a later caller then tries again.
bool FeedIndexes::may_try(const FollowerPtr& follower) {
  const auto watermark = database_.watermark();
  std::chrono::milliseconds wait{0};
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (!follower->failure || now >= follower->not_before) return true;
    // For a query that waits, a disk is tried now; a function would fail again unless documents have changed.
    if (may_pass(*follower->failure)) return follower->waiters.load(std::memory_order_relaxed) > 0;
    if (watermark <= follower->failed_at) return false;
    if (now >= follower->not_before_changes) return true;
    if (std::exchange(follower->early_retry_planned, true)) return false;
    wait = std::chrono::ceil<std::chrono::milliseconds>(follower->not_before_changes - now);
  }
  jobs_.post_after(wait, [this, weak = std::weak_ptr<Follower>(follower)] {
    const auto again = weak.lock();
    if (!again) return;
    {
      const std::lock_guard lock(mutex_);
      again->early_retry_planned = false;
    }
    wake(again);
  });
  return false;
}

void FeedIndexes::post_follow(const FollowerPtr& follower) {
  // A queued job must not keep an index from being removed.
  const auto job = [this, weak = std::weak_ptr<Follower>(follower)] {
    if (const auto waiting = weak.lock()) follow(waiting);
  };
  if (follower->slow.load(std::memory_order_relaxed)) {
    jobs_.post_to(database_.engine().slow_indexing(), job);
  } else {
    jobs_.post(job);
  }
}

void FeedIndexes::follow(const FollowerPtr& follower) {
  follower->again.store(true);
  if (follower->following.exchange(true)) return;  // the running call will check again
  const javascript::StoppableCalls calls(*follower->stopping);
  while (follower->again.exchange(false)) {
    if (follower->stopping->load()) break;
    std::uint64_t attempt = 0;
    {
      const std::lock_guard lock(mutex_);
      attempt = ++follower->attempts;
    }
    const auto more = run_guarded("updating views", [&] { return follow_batch(*follower); });
    if (!more) {
      follower->task = {};
      failed(follower, attempt, more.error());
      break;
    }
    progress_.notify_all();
    if (*more) {
      // Others need the thread, too: go to the end of its queue.
      OCTAVO_ASSERT(follower->following.load());
      follower->following.store(false);
      post_follow(follower);
      return;
    }
    follower->task = {};
    caught_up(*follower);
  }
  OCTAVO_ASSERT(follower->following.load());
  follower->following.store(false);
  // Woken between the last check and the line above.
  if (follower->again.load() && !jobs_.stopping() && !follower->stopping->load()) wake(follower);
}

void FeedIndexes::failed(const FollowerPtr& follower, std::uint64_t attempt, const Error& error) {
  if (javascript::calls_are_stopped()) return;  // the index or the server stops
  const bool function = !may_pass(error);
  follower->retry_delay = std::clamp(2 * follower->retry_delay, function ? kFunctionRetryMin : kRetryMin,
                                     function ? kFunctionRetryMax : kRetryMax);
  const auto now = Clock::now();
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(now - follower->begun);
  // It may have reached its time limit.
  if (function) follower->slow.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    follower->failure = copy_when_memory_suffices(error);
    OCTAVO_ASSERT(attempt > follower->failed_attempt && attempt <= follower->attempts);
    follower->failed_attempt = attempt;
    follower->not_before = now + follower->retry_delay;
    follower->not_before_changes = now + std::clamp(kChangedRetryFactor * took, kFunctionRetryMin, kChangedRetryMax);
    follower->failed_at = follower->begun_at;
  }
  if (!database_.deleted()) {
    spdlog::warn("database {}: {} {} waits: {}", database_.name(), follower->definition.design_document,
                 follower->definition.name, error.reason);
  }
  progress_.notify_all();
  jobs_.post_after(follower->retry_delay, [this, weak = std::weak_ptr<Follower>(follower)] {
    if (const auto again = weak.lock()) wake(again);
  });
}

Expected<bool> FeedIndexes::follow_batch(Follower& follower) {
  const auto begun = processor_time();  // by another clock, a busy machine would get small batches, and become busier
  OCTAVO_ASSERT(follower.index != nullptr && follower.following.load());
  FeedIndex& index = *follower.index;
  // In this order, so that the count includes a purge up to the watermark.
  const storage::Sequence watermark = database_.watermark();
  follower.begun = Clock::now();
  follower.begun_at = watermark;
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  if (index.purge_count() != purge_count) {
    OCTAVO_TRY(const bool through, catch_up_with_purges(database_, index, purge_count));
    if (!through) return true;
  }
  const storage::Sequence checkpoint = index.checkpoint();
  const auto from = begin_of_batch(checkpoint, index.complete_through() >= checkpoint, watermark);
  if (!from) return false;

  std::vector<FeedDocument> documents;
  std::unordered_set<std::string> taken;
  std::size_t bytes = 0;
  const auto take = [&](std::string_view id, const storage::Snapshot& snapshot) -> Expected<bool> {
    OCTAVO_TRY(const auto found, snapshot.find_stored(id));
    if (found && found->sequence > checkpoint && taken.emplace(id).second) {
      OCTAVO_TRY(auto document, read_feed_document(*found, snapshot, database_.partitioned()));
      bytes += document.id.size() + document.json.size();
      documents.push_back(std::move(document));
    }
    return bytes < kBytesMax;
  };
  OCTAVO_TRY(const FeedBatch batch, read_feed_batch(database_, *from, watermark, follower.rows_max, take));
  if (tasks_ && !follower.task && batch.more) {
    ActiveTask task;
    task.type = follower.kind.task_type;
    task.database = database_.name();
    task.design_document = follower.definition.design_document;
    task.index = follower.definition.name;
    follower.task = tasks_->start(std::move(task));
    follower.task_from = checkpoint;
    follower.task.report(0, watermark - checkpoint);
  }
  OCTAVO_TRY_VOID(database_.make_durable());
  const FeedChanges changes{documents, checkpoint, batch.reached, batch.complete, follower.slow.load()};
  OCTAVO_TRY(const std::size_t applied, index.apply(changes));
  OCTAVO_ASSERT(applied <= documents.size());
  const storage::Sequence reached = changes.checkpoint_after(applied);
  {
    const std::lock_guard lock(mutex_);
    follower.failure.reset();
    follower.not_before = {};
  }
  follower.retry_delay = {};
  follower.task.report(reached - follower.task_from, watermark - follower.task_from);

  const auto took = processor_time() - begun;
  if (applied < documents.size()) {
    follower.rows_max = std::max(kRowsMin, applied);
  } else if (took > 2 * kBatchTime) {
    follower.rows_max = std::max(kRowsMin, follower.rows_max / 2);
  } else if (took < kBatchTime && batch.more) {
    follower.rows_max = std::min(kRowsMax, follower.rows_max * 2);
  }
  if (applied > 0) {
    const bool slow = took > kSlowDocument * static_cast<std::int64_t>(applied);
    follower.slow.store(slow, std::memory_order_relaxed);
  }
  return !batch.complete || applied < documents.size() || reached < database_.watermark();
}

// The first time, the former index that served queries until now must be removed.
void FeedIndexes::caught_up(Follower& follower) {
  if (follower.built.exchange(true)) return;
  const std::lock_guard loading(load_mutex_);
  bool replaced = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto& view : views_) {
      if (view.index != follower.index || !view.previous) continue;
      view.previous.reset();
      replaced = true;
    }
  }
  if (!replaced) return;
  // Must not be skipped: it catches up for the first time only once.
  until_memory_suffices([this] { retire_unwanted(); });
  until_memory_suffices([this] { write_definitions(); });
  until_memory_suffices([this] { publish(); });
  until_memory_suffices([this] { remove_retired(); });
}

// --- waiting ---

FeedIndexes::FollowerPtr FeedIndexes::follower_of(const FeedIndex& index) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(followers_, [&](const auto& one) { return one->index.get() == &index; });
  return found == followers_.end() ? nullptr : *found;
}

Expected<bool> FeedIndexes::is_current(const FeedIndex& index, storage::Sequence sequence) const {
  if (index.complete_through() < sequence) return false;
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  return index.purge_count() >= purge_count;
}

void FeedIndexes::update(const FeedIndex& index) {
  if (const auto follower = follower_of(index)) wake(follower);
}

FeedIndexes::Activity FeedIndexes::activity(const FeedIndex& index) const {
  const auto follower = follower_of(index);
  if (!follower) return {};
  return {follower->following.load(), follower->waiters.load()};
}

Task<Expected<void>> FeedIndexes::wait_until_current(std::shared_ptr<FeedIndex> index, storage::Sequence sequence,
                                                     std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = database_.shared_from_this();
  FollowerPtr follower = follower_of(*index);
  {
    const auto current = is_current(*index, sequence);
    if (!current) co_return std::unexpected(current.error());
    if (*current) {
      if (follower) follower->seen_whole.store(true, std::memory_order_relaxed);
      co_return Expected<void>{};
    }
  }
  std::uint64_t attempts_before = 0;
  std::uint64_t failed_before = 0;
  std::optional<CountedWaiter> among_own;
  std::optional<CountedWaiter> among_all;
  if (follower) {
    among_own.emplace(follower->waiters);
    among_all.emplace(waiters_);
    const std::lock_guard lock(mutex_);
    attempts_before = follower->attempts;
    failed_before = follower->failed_attempt;
    // A function that fails is not retried for each query, unless a retry is due soon.
    const bool tried_soon =
        database_.watermark() > follower->failed_at && Clock::now() + kWaitForRetryMax >= follower->not_before_changes;
    if (follower->failure && !may_pass(*follower->failure) && !tried_soon) {
      co_return std::unexpected(*follower->failure);
    }
  }
  bool to_wake = true;
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    const auto current = is_current(*index, sequence);
    if (!current) co_return std::unexpected(current.error());
    if (*current) {
      if (follower) follower->seen_whole.store(true, std::memory_order_relaxed);
      co_return Expected<void>{};
    }
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_) co_return fail(ErrorCode::not_found, "Database does not exist.");
      if (!follower || follower->stopping->load()) co_return fail(ErrorCode::not_found, "missing");
      if (follower->failed_attempt > failed_before && follower->failure) {
        // A failure before this query says nothing about a disk that works again.
        const bool earlier = follower->failed_attempt <= attempts_before && may_pass(*follower->failure);
        if (!earlier) co_return std::unexpected(*follower->failure);
        failed_before = follower->failed_attempt;
        to_wake = true;
      }
    }
    if (std::exchange(to_wake, false)) wake(follower);
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (!notified) {
      co_return fail(ErrorCode::timeout, "The index is still being updated; try again later, or with update=false.");
    }
  }
}

}  // namespace octavo::query
