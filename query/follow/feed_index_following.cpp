#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/memory_retry.h"
#include "query/follow/feed_index_follower.h"

/// The part of FeedIndexes that keeps the indexes up to date with the feed, and lets queries wait for them.
namespace octavo::query {

namespace {

// Commits within this time make one batch, unless a query waits.
constexpr std::chrono::milliseconds commit_delay{20};

}  // namespace

void FeedIndexes::committed() {
  if (!has_followers_.load(std::memory_order_relaxed)) {
    // First write since the database was opened: an index that is behind continues now.
    if (changes_loaded_.load(std::memory_order_relaxed) != 0 || kinds_.empty() || load_planned_.exchange(true)) return;
    jobs_.post([this] { load_in_background(); });
    return;
  }
  if (context_.waiters.load(std::memory_order_relaxed) > 0) wake_all(true);
  if (wake_planned_.exchange(true, std::memory_order_acq_rel)) return;
  jobs_.post_after(commit_delay, [this] {
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
    if (!only_awaited || follower->waiters() > 0) follower->wake();
  }
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

storage::Sequence FeedIndexes::followed_through() const {
  std::vector<FollowerPtr> followers;
  {
    const std::lock_guard lock(mutex_);
    until_memory_suffices([&] { followers = followers_; });
  }
  storage::Sequence least = std::numeric_limits<storage::Sequence>::max();
  for (const auto& follower : followers) {
    if (follower->makes_progress()) least = std::min(least, follower->index->checkpoint());
  }
  return least;
}

Expected<bool> FeedIndexes::is_current(const FeedIndex& index, storage::Sequence sequence) const {
  if (index.complete_through() < sequence) return false;
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  return index.purge_count() >= purge_count;
}

void FeedIndexes::update(const FeedIndex& index) {
  if (const auto follower = follower_of(index)) follower->wake();
}

bool FeedIndexes::is_wanted(const FeedIndex& index) const {
  const std::lock_guard lock(mutex_);
  return !context_.shut_down &&
         std::ranges::any_of(views_, [&](const auto& view) { return view.index.get() == &index; });
}

FeedIndexes::Activity FeedIndexes::activity(const FeedIndex& index) const {
  const auto follower = follower_of(index);
  if (!follower) return {};
  return {follower->following(), follower->waiters()};
}

Task<Expected<void>> FeedIndexes::wait_until_current(std::shared_ptr<FeedIndex> index, storage::Sequence sequence,
                                                     std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = database_.shared_from_this();
  const FollowerPtr follower = follower_of(*index);
  if (!follower) {
    OCTAVO_CO_TRY(const bool current, is_current(*index, sequence));
    if (current) co_return Expected<void>{};
    co_return fail(ErrorCode::not_found, context_.shut_down ? "Database does not exist." : "missing");
  }
  std::function<Expected<bool>()> is_reached = [this, index, sequence] { return is_current(*index, sequence); };
  OCTAVO_CO_TRY_VOID(co_await follower->wait(std::move(is_reached), deadline));
  follower->seen_whole.store(true, std::memory_order_relaxed);
  co_return Expected<void>{};
}

}  // namespace octavo::query
