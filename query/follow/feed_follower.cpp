#include "query/follow/feed_follower.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/jobs/run_guarded.h"
#include "base/machine/processor_time.h"
#include "base/memory_retry.h"
#include "query/follow/feed_batch.h"
#include "query/follow/feed_document.h"
#include "query/javascript/interruption.h"

namespace octavo::query {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t batch_rows_min = 1;
constexpr std::size_t batch_bytes_max = 16ULL << 20;
// A batch should occupy its thread for about this long: long enough for commits, and for the reads that update
// summaries, to cost little beside the functions; short enough that the job responds soon to requests (to stop, to
// release the thread).
constexpr std::chrono::nanoseconds batch_time = std::chrono::milliseconds(250);
// After a failure of the disk, and of a function: a function fails again until it or the document is changed.
constexpr std::chrono::milliseconds retry_min{100};
constexpr std::chrono::milliseconds retry_max{10'000};
constexpr std::chrono::milliseconds function_retry_min{2'000};
constexpr std::chrono::milliseconds function_retry_max{300'000};
// After documents change, retry a failed function `changed_retry_factor` × the last attempt's duration after its
// failure, within these bounds.
constexpr int changed_retry_factor = 2;
constexpr std::chrono::milliseconds changed_retry_max{60'000};
// A query waits for such a retry if it is at most this far away.
constexpr std::chrono::milliseconds wait_for_retry_max{5'000};
// Functions, including a reduce, that take this long for a document are slow.
constexpr std::chrono::milliseconds slow_document{50};
// Of one rest. What is due below it is added to the next rest; what is due beyond it is forgotten, so that a batch that
// met a slow disk does not stop a follower for hours.
constexpr std::chrono::milliseconds rest_min{1};
constexpr std::chrono::milliseconds rest_max{60'000};

}  // namespace

FeedFollower::FeedFollower(FollowContext& context, FeedConsumer& consumer, Options options,
                           std::shared_ptr<std::atomic<bool>> stopping)
    : context_(context),
      consumer_(consumer),
      options_(std::move(options)),
      stopping_(std::move(stopping)),
      rows_(options_.rows_first) {}

void FeedFollower::wake() {
  if (stopping_->load(std::memory_order_relaxed) || waits_for_end_of_rest() || !may_try()) return;
  if (following_.load() && again_.exchange(true)) return;
  post_follow();
}

// Not at once after a failure; a later caller then tries again.
bool FeedFollower::may_try() {
  const auto watermark = context_.database.watermark();
  std::chrono::milliseconds delay{0};
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (!failure_ || now >= not_before_) return true;
    // For a query that waits, a disk is tried now; a function would fail again unless documents have changed.
    if (may_pass(*failure_)) return waiters() > 0;
    if (watermark <= failed_at_) return false;
    if (now >= not_before_changes_) return true;
    if (std::exchange(early_retry_planned_, true)) return false;
    delay = std::chrono::ceil<std::chrono::milliseconds>(not_before_changes_ - now);
  }
  context_.jobs.post_after(delay, [weak = weak_from_this()] {
    const auto again = weak.lock();
    if (!again) return;
    {
      const std::lock_guard lock(again->mutex_);
      again->early_retry_planned_ = false;
    }
    again->wake();
  });
  return false;
}

bool FeedFollower::makes_progress() {
  if (stopping_->load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  return !failure_;
}

// Called by the follow job.
void FeedFollower::count_work(Clock::duration work) {
  worked_us_.fetch_add(std::chrono::duration_cast<std::chrono::microseconds>(work).count(), std::memory_order_relaxed);
  OCTAVO_ASSERT(options_.share > 0 && options_.share <= 1);
  const std::chrono::duration<double> due(work * ((1 - options_.share) / options_.share));
  unrested_ = std::min<Clock::duration>(unrested_ + std::chrono::duration_cast<Clock::duration>(due), rest_max);
}

// Called by the follow job, which ends. `has_more`: it continues afterwards, otherwise only if it is woken meanwhile:
// an idle follower does nothing.
void FeedFollower::rest(bool has_more) {
  const auto duration = std::chrono::ceil<std::chrono::milliseconds>(std::exchange(unrested_, Clock::duration(0)));
  {
    const std::lock_guard lock(mutex_);
    rests_ = true;
    goes_on_after_rest_ = has_more;
  }
  OCTAVO_ASSERT(following_.load());
  following_.store(false);
  // Woken during the batch.
  if (again_.load()) static_cast<void>(waits_for_end_of_rest());
  context_.jobs.post_after(duration, [weak = weak_from_this(), begun = Clock::now()] {
    if (const auto rested = weak.lock()) rested->end_rest(Clock::now() - begun);
  });
}

// True: it rests, and continues afterwards.
bool FeedFollower::waits_for_end_of_rest() {
  const std::lock_guard lock(mutex_);
  if (rests_) goes_on_after_rest_ = true;
  return rests_;
}

void FeedFollower::end_rest(Clock::duration rested) {
  rested_us_.fetch_add(std::chrono::duration_cast<std::chrono::microseconds>(rested).count(),
                       std::memory_order_relaxed);
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    OCTAVO_ASSERT(rests_);
    rests_ = false;
    goes_on = goes_on_after_rest_;
  }
  if (goes_on) wake();
}

FeedFollower::Times FeedFollower::times() const {
  const auto shown = [](const std::atomic<std::int64_t>& us) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::microseconds(us.load(std::memory_order_relaxed)));
  };
  return {shown(worked_us_), shown(rested_us_)};
}

std::optional<Error> FeedFollower::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void FeedFollower::post_follow() {
  // A queued job must not keep an index from being removed.
  const auto job = [weak = weak_from_this()] {
    if (const auto waiting = weak.lock()) waiting->follow();
  };
  if (context_.slow_lane != nullptr && slow_.load(std::memory_order_relaxed)) {
    context_.jobs.post_to(*context_.slow_lane, job);
  } else {
    context_.jobs.post(job);
  }
}

void FeedFollower::follow() {
  again_.store(true);
  if (following_.exchange(true)) return;  // the running call will check again
  const javascript::StoppableCalls calls(*stopping_);
  while (!waits_for_end_of_rest() && again_.exchange(false)) {
    if (stopping_->load()) break;
    std::uint64_t attempt = 0;
    {
      const std::lock_guard lock(mutex_);
      attempt = ++attempts_;
    }
    const auto begun = Clock::now();
    const auto more = run_guarded("following the feed", [this] { return follow_batch(); });
    count_work(Clock::now() - begun);
    if (!more) {
      task_ = {};
      failed(attempt, more.error());
      break;
    }
    context_.progress.notify_all();
    if (!*more) {
      task_ = {};
      caught_up();
    }
    if (unrested_ >= rest_min) {
      rest(*more);
      return;
    }
    if (*more) {
      // Others need the thread, too: go to the end of its queue.
      OCTAVO_ASSERT(following_.load());
      following_.store(false);
      post_follow();
      return;
    }
  }
  OCTAVO_ASSERT(following_.load());
  following_.store(false);
  // Woken between the last check and the line above.
  if (again_.load() && !context_.jobs.stopping() && !stopping_->load()) wake();
}

void FeedFollower::failed(std::uint64_t attempt, const Error& error) {
  if (javascript::calls_are_stopped()) return;  // the index or the server stops
  const bool function = !may_pass(error);
  retry_delay_ = std::clamp(2 * retry_delay_, function ? function_retry_min : retry_min,
                            function ? function_retry_max : retry_max);
  const auto now = Clock::now();
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(now - begun_);
  // It may have reached its time limit.
  if (function) slow_.store(true, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    failure_ = copy_when_memory_suffices(error);
    OCTAVO_ASSERT(attempt > failed_attempt_ && attempt <= attempts_);
    failed_attempt_ = attempt;
    not_before_ = now + retry_delay_;
    not_before_changes_ = now + std::clamp(changed_retry_factor * took, function_retry_min, changed_retry_max);
    failed_at_ = begun_at_;
  }
  if (!context_.database.deleted()) {
    spdlog::warn("database {}: {} waits: {}", context_.database.name(), options_.subject, reason_of(error));
  }
  context_.progress.notify_all();
  context_.jobs.post_after(retry_delay_, [weak = weak_from_this()] {
    if (const auto again = weak.lock()) again->wake();
  });
}

Expected<FeedDocument> FeedFollower::read(const storage::DocumentRecord& record,
                                          const storage::Snapshot& snapshot) const {
  const bool partitioned = context_.database.partitioned();
  const FeedBodies bodies = consumer_.bodies();
  if (bodies == FeedBodies::none) return read_feed_head(record, partitioned);
  OCTAVO_TRY(const auto found, snapshot.open(record));
  if (bodies == FeedBodies::as_stored) return read_feed_body(found, partitioned);
  return read_feed_document(found, snapshot, partitioned);
}

Expected<bool> FeedFollower::follow_batch() {
  const auto begun = processor_time();  // by another clock, a busy machine would get small batches, and become busier
  OCTAVO_ASSERT(following_.load());
  partitioning::Database& database = context_.database;
  // In this order, so that the count includes a purge up to the watermark, and a scan knows every change up to it.
  const storage::Sequence watermark = database.watermark();
  begun_ = Clock::now();
  begun_at_ = watermark;
  OCTAVO_TRY(const partitioning::HiddenDeletions hidden, database.hidden_deletions());
  if (consumer_.purge_count() != hidden.purge_count || consumer_.knows_deletions_through() < hidden.dropped_through) {
    OCTAVO_TRY(const bool through, catch_up_with_deletions(database, consumer_, hidden, watermark));
    // A scan counts the purges at its beginning. Those after it are removed before the checkpoint passes them.
    if (!through || consumer_.purge_count() != hidden.purge_count) return true;
  }
  const storage::Sequence checkpoint = consumer_.checkpoint();
  const auto from = begin_of_batch(checkpoint, consumer_.complete_through() >= checkpoint, watermark);
  if (!from) return false;

  std::vector<FeedDocument> documents;
  std::unordered_set<std::string> taken;
  std::size_t bytes = 0;
  const auto take = [&](std::string_view id, const storage::Snapshot& snapshot) -> Expected<bool> {
    OCTAVO_TRY(const auto record, snapshot.find_stored_record(id));
    if (record && record->sequence > checkpoint && taken.emplace(id).second) {
      OCTAVO_TRY(auto document, read(*record, snapshot));
      bytes += document.id.size() + document.json.size();
      documents.push_back(std::move(document));
    }
    return bytes < batch_bytes_max;
  };
  OCTAVO_TRY(const FeedBatch batch, read_feed_batch(database, *from, watermark, rows_, take));
  // Tombstones may have been dropped after `hidden` was read. The batch lacks them, so it must not move the checkpoint.
  if (consumer_.knows_deletions_through() < batch.dropped_through) return true;
  if (context_.tasks && !task_ && batch.more && watermark - checkpoint > options_.backlog_listed) {
    ActiveTask task = options_.task;
    task.database = database.name();
    task_ = context_.tasks->start(std::move(task));
    task_from_ = std::max(checkpoint, database.sequence_base());
    task_.report(0, watermark - task_from_);
  }
  OCTAVO_TRY_VOID(database.make_durable());
  const FeedChanges changes{.documents = documents,
                            .from = checkpoint,
                            .reached = batch.reached,
                            .complete = batch.complete,
                            .alone = slow_.load(),
                            .dropped_through = batch.dropped_through,
                            .purge_count = hidden.purge_count};
  OCTAVO_TRY(const std::size_t applied, consumer_.apply(changes));
  OCTAVO_ASSERT(applied <= documents.size());
  const storage::Sequence reached = changes.checkpoint_after(applied);
  {
    const std::lock_guard lock(mutex_);
    failure_.reset();
    not_before_ = {};
  }
  retry_delay_ = {};
  task_.report(reached - task_from_, watermark - task_from_);

  const auto took = processor_time() - begun;
  if (applied < documents.size()) {
    rows_ = std::max(batch_rows_min, applied);
  } else if (took > 2 * batch_time) {
    rows_ = std::max(batch_rows_min, rows_ / 2);
  } else if (took < batch_time && batch.more) {
    rows_ = std::min(options_.rows_max, rows_ * 2);
  }
  if (applied > 0) {
    const bool slow = took > slow_document * static_cast<std::int64_t>(applied);
    slow_.store(slow, std::memory_order_relaxed);
  }
  const bool has_new_writes = !options_.leaves_new_writes && reached < database.watermark();
  return !batch.complete || applied < documents.size() || has_new_writes;
}

Task<Expected<void>> FeedFollower::wait(std::function<Expected<bool>()> is_reached,
                                        std::chrono::steady_clock::time_point deadline) {
  const auto keep_database = context_.database.shared_from_this();
  const auto keep_this = shared_from_this();
  {
    OCTAVO_CO_TRY(const bool reached, is_reached());
    if (reached) co_return Expected<void>{};
  }
  const CountedWaiter among_own(waiters_);
  const CountedWaiter among_all(context_.waiters);
  std::uint64_t attempts_before = 0;
  std::uint64_t failed_before = 0;
  {
    const std::lock_guard lock(mutex_);
    attempts_before = attempts_;
    failed_before = failed_attempt_;
    // A function that fails is not retried for each query, unless a retry is due soon.
    const bool tried_soon =
        context_.database.watermark() > failed_at_ && Clock::now() + wait_for_retry_max >= not_before_changes_;
    if (failure_ && !may_pass(*failure_) && !tried_soon) co_return std::unexpected(*failure_);
  }
  bool to_wake = true;
  while (true) {
    const std::uint64_t epoch = context_.progress.epoch();
    OCTAVO_CO_TRY(const bool reached, is_reached());
    if (reached) co_return Expected<void>{};
    // In this order: a shutdown stops all followers.
    const bool stopped = stopping_->load();
    if (context_.shut_down.load()) co_return fail(ErrorCode::not_found, "Database does not exist.");
    if (stopped) co_return fail(ErrorCode::not_found, "missing");
    {
      const std::lock_guard lock(mutex_);
      if (failed_attempt_ > failed_before && failure_) {
        // A failure before this query says nothing about a disk that works again.
        const bool earlier = failed_attempt_ <= attempts_before && may_pass(*failure_);
        if (!earlier) co_return std::unexpected(*failure_);
        failed_before = failed_attempt_;
        to_wake = true;
      }
    }
    if (std::exchange(to_wake, false)) wake();
    const bool notified = co_await context_.progress.wait(epoch, deadline);
    if (!notified) {
      co_return fail(ErrorCode::timeout, fmt::format("The index is still being updated; try again later, or with {}.",
                                                     options_.not_waiting));
    }
  }
}

}  // namespace octavo::query
