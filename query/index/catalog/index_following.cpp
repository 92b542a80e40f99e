#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/memory_retry.h"
#include "query/follow/feed_batch.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/index/index_entry.h"

/// The part of MangoIndexes that keeps global indexes up to date with the feed, builds new ones, and lets queries
/// wait for them.
namespace octavo::query {

namespace {

constexpr std::size_t kFollowRowsMax = 4096;
constexpr std::size_t kFollowBytesMax = 8ULL << 20;
// Commits within this time make one batch, unless a query waits.
constexpr std::chrono::milliseconds kFollowDelay{20};
// A failed build (usually because the disk is full) starts over, so retries become less and less frequent.
constexpr std::chrono::milliseconds kBuildRetryDelayMin{100};
constexpr std::chrono::milliseconds kBuildRetryDelayMax{10'000};
// A backlog this long is shown in _active_tasks.
constexpr storage::Sequence kVisibleBacklog = 20'000;

}  // namespace

void MangoIndexes::wake(bool now) {
  if (!has_globals_.load(std::memory_order_acquire)) return;
  if (now) {
    jobs_.post([this] { follow(); });
    return;
  }
  if (wake_planned_.exchange(true, std::memory_order_acq_rel)) return;
  jobs_.post_after(kFollowDelay, [this] { follow(); });
}

void MangoIndexes::follow() {
  wake_planned_.store(false, std::memory_order_release);
  follow_again_.store(true);
  if (following_.exchange(true)) return;  // the running call will check again
  while (follow_again_.exchange(false)) {
    const auto attempt = begin_attempt();
    const auto more = run_guarded("updating indexes", [this] { return follow_batch(); });
    if (!more) {
      fail_waiters(attempt, more.error());
      follow_task_ = {};
      break;
    }
    progress_.notify_all();
    if (*more) {
      // Others need the worker, too: go to the end of its queue.
      following_.store(false);
      jobs_.post([this] { follow(); });
      return;
    }
    follow_task_ = {};
  }
  following_.store(false);
  // Woken between the last check and the line above.
  if (follow_again_.load() && !jobs_.stopping()) jobs_.post([this] { follow(); });
}

std::uint64_t MangoIndexes::begin_attempt() {
  const std::lock_guard lock(mutex_);
  return ++attempts_;
}

void MangoIndexes::fail_waiters(std::uint64_t attempt, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = copy_when_memory_suffices(error);
    failed_attempt_ = attempt;
  }
  if (!database_.deleted()) {
    spdlog::warn("database {}: updating global indexes waits: {}", database_.name(), error.reason);
  }
  progress_.notify_all();
}

Expected<bool> MangoIndexes::follow_batch() {
  std::vector<std::shared_ptr<GlobalIndex>> ready;
  {
    const std::lock_guard lock(mutex_);
    const bool unbuilt = std::ranges::any_of(globals_, [](const auto& index) { return !index->ready(); });
    if (unbuilt && !building_ && !shut_down_ && std::chrono::steady_clock::now() >= build_not_before_) {
      building_ = true;
      jobs_.post([this] { build(); });
    }
    for (const auto& index : globals_) {
      if (index->ready()) ready.push_back(index);
    }
  }
  if (ready.empty()) return false;

  // In this order, so that the count includes a purge up to the watermark.
  const storage::Sequence watermark = database_.watermark();
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  for (const auto& index : ready) {
    if (index->purge_count() == purge_count) continue;
    OCTAVO_TRY(const bool through, catch_up_with_purges(database_, *index, purge_count));
    if (!through) return true;
  }

  storage::Sequence checkpoint = watermark;
  for (const auto& index : ready) checkpoint = std::min(checkpoint, index->checkpoint());
  const auto is_complete = [](const auto& index) { return index->complete_through() >= index->checkpoint(); };
  const auto from = begin_of_batch(checkpoint, std::ranges::all_of(ready, is_complete), watermark);
  if (!from) return false;
  if (tasks_ && !follow_task_ && watermark - *from > kVisibleBacklog) {
    ActiveTask task;
    task.type = "indexer";
    task.database = database_.name();
    task.phase = "catch up";
    follow_task_ = tasks_->start(std::move(task));
    follow_task_from_ = *from;
  }

  std::vector<std::vector<GlobalIndex::Change>> changes(ready.size());
  std::size_t bytes = 0;
  const auto take = [&](std::string_view id, const storage::Snapshot& snapshot) -> Expected<bool> {
    if (storage::is_design_id(id)) return true;
    OCTAVO_TRY(const auto found, snapshot.find_stored(id));
    if (!found) return true;
    std::optional<IndexedDocument> document;
    if (!found->deleted) {
      if (const auto root = parser_.parse(found->body)) {
        document = IndexedDocument{*root, found->body, id, found->revision};
      }
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      GlobalIndex::Change change{found->sequence, std::string(id), false, {}, {}};
      change.present = document && append_index_entry(ready[i]->definition(), *document, change.key, change.value);
      bytes += change.id.size() + change.key.size() + change.value.size();
      changes[i].push_back(std::move(change));
    }
    return bytes < kFollowBytesMax;
  };
  OCTAVO_TRY(const FeedBatch batch, read_feed_batch(database_, *from, watermark, kFollowRowsMax, take));
  OCTAVO_TRY_VOID(database_.make_durable());
  for (std::size_t i = 0; i < ready.size(); ++i) {
    OCTAVO_TRY_VOID(ready[i]->apply(changes[i], batch.reached, batch.complete));
  }
  {
    const std::lock_guard lock(mutex_);
    failure_.reset();
  }
  follow_task_.report(batch.reached - follow_task_from_, watermark - follow_task_from_);
  return !batch.complete || batch.reached < database_.watermark();
}

void MangoIndexes::build() {
  const auto attempt = begin_attempt();
  const auto state = run_guarded("building indexes", [this] { return build_slice(); });
  if (state && *state == GlobalIndexBuilder::State::more) {
    jobs_.post([this] { build(); });
    return;
  }
  builder_.reset();
  if (!state) {
    build_retry_delay_ = std::clamp(2 * build_retry_delay_, kBuildRetryDelayMin, kBuildRetryDelayMax);
    {
      const std::lock_guard lock(mutex_);
      building_ = false;
      build_not_before_ = std::chrono::steady_clock::now() + build_retry_delay_;
    }
    fail_waiters(attempt, state.error());
    jobs_.post_after(build_retry_delay_, [this] { follow(); });
    return;
  }
  build_retry_delay_ = {};
  {
    const std::lock_guard lock(mutex_);
    building_ = false;
  }
  publish_or_retry();
  wake(true);
}

Expected<GlobalIndexBuilder::State> MangoIndexes::build_slice() {
  if (!builder_) {
    std::vector<std::shared_ptr<GlobalIndex>> unbuilt;
    {
      const std::lock_guard lock(mutex_);
      std::ranges::copy_if(globals_, std::back_inserter(unbuilt), [](const auto& index) { return !index->ready(); });
    }
    if (unbuilt.empty()) return GlobalIndexBuilder::State::done;
    builder_ = std::make_unique<GlobalIndexBuilder>(database_, std::move(unbuilt), tasks_);
  }
  return builder_->run();
}

// --- waiting ---

Expected<bool> MangoIndexes::is_current(const GlobalIndex& index, storage::Sequence sequence) const {
  if (!index.ready() || index.complete_through() < sequence) return false;
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  return index.purge_count() >= purge_count;
}

Task<Expected<void>> MangoIndexes::wait_until_current(std::shared_ptr<GlobalIndex> index, storage::Sequence sequence,
                                                      std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = database_.shared_from_this();
  std::optional<CountedWaiter> waiting;
  std::uint64_t attempts_before = 0;
  std::uint64_t failed_before = 0;
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    const auto current = is_current(*index, sequence);
    if (!current) co_return std::unexpected(current.error());
    if (*current) co_return Expected<void>{};
    bool to_wake = false;
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_) co_return fail(ErrorCode::not_found, "Database does not exist.");
      if (!waiting) {
        attempts_before = attempts_;
        failed_before = failed_attempt_;
        to_wake = true;
      } else if (failed_attempt_ > failed_before && failure_) {
        // A failure before this query says nothing about a disk that works again.
        if (failed_attempt_ > attempts_before) co_return std::unexpected(*failure_);
        failed_before = failed_attempt_;
        to_wake = true;
      }
    }
    if (!waiting) waiting.emplace(waiters_);
    if (to_wake) wake(true);
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (!notified) {
      co_return fail(ErrorCode::timeout,
                     "The index is still being updated; try again later, or with \"update\": false.");
    }
  }
}

Task<Expected<std::shared_ptr<const IndexCatalog>>> MangoIndexes::wait_until_ready(
    std::string identity, std::size_t partition_id, std::chrono::steady_clock::time_point deadline) {
  using Result = Expected<std::shared_ptr<const IndexCatalog>>;
  const auto keep_alive = database_.shared_from_this();
  std::uint64_t attempts_before = 0;
  {
    const std::lock_guard lock(mutex_);
    attempts_before = attempts_;
  }
  wake(true);
  for (const auto& local : locals()) {
    if (local) local->resume();
  }
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    auto now = catalog();
    if (!now) co_return Result(std::unexpected(now.error()));
    const IndexView* view = (*now)->find(identity);
    // Nothing is built any more in a partition that was split.
    const bool was_split = view && view->is_local() && !database_.is_current(partition_id);
    if (!view || view->ready(partition_id) || was_split) co_return Result(std::move(*now));
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_) co_return Result(fail(ErrorCode::not_found, "Database does not exist."));
      if (view->global && failed_attempt_ > attempts_before && failure_) co_return Result(std::unexpected(*failure_));
    }
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (!notified) co_return Result(std::move(*now));
  }
}

}  // namespace octavo::query
