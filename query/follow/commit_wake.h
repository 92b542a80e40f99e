#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "query/follow/feed_follower.h"

namespace octavo::query {

/// Wakes followers after commits: those within a short time make one batch, unless a request waits. Thread-safe. Must
/// outlive the jobs of the context.
class CommitWake {
 public:
  CommitWake(FollowContext& context, std::function<void()> wake) : context_(context), wake_(std::move(wake)) {}

  /// Must not block: it is called on the writer's thread.
  void plan() {
    if (context_.waiters.load(std::memory_order_relaxed) > 0) wake_();
    if (planned_.exchange(true, std::memory_order_acq_rel)) return;
    context_.jobs.post_after(delay, [this] {
      planned_.store(false, std::memory_order_release);
      wake_();
    });
  }

 private:
  static constexpr std::chrono::milliseconds delay{20};

  FollowContext& context_;
  const std::function<void()> wake_;
  std::atomic<bool> planned_{false};
};

}  // namespace octavo::query
