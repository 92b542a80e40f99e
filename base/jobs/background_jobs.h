#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <mutex>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/function_ref.h"
#include "base/jobs/work_lane.h"
#include "base/memory_retry.h"

namespace octavo {

/// Failures of the disk or for lack of memory may be temporary, so they are worth a retry. A function fails until it is
/// fixed.
inline bool may_pass(const Error& error) {
  switch (error.code) {
    case ErrorCode::disk_full:
    case ErrorCode::io_failure:
    case ErrorCode::overloaded:
    case ErrorCode::partition_split:
    case ErrorCode::index_went_back:
      return true;
    default:
      return false;
  }
}

/// Counts a query that waits for an index, so that commits wake the index's follower at once.
class CountedWaiter {
 public:
  explicit CountedWaiter(std::atomic<int>& count) : count_(count) { count_.fetch_add(1, std::memory_order_relaxed); }
  ~CountedWaiter() { count_.fetch_sub(1, std::memory_order_relaxed); }
  CountedWaiter(const CountedWaiter&) = delete;
  CountedWaiter& operator=(const CountedWaiter&) = delete;

 private:
  std::atomic<int>& count_;
};

/// Work of one owner on a shared thread pool, which ends before its owner does: after stop() none of it runs or will
/// run, and none of its timers keeps the pool from being joined.
///
/// stop() waits only for running jobs, not for queued ones, so it may be called on a thread of the same pool (but not
/// from inside a job). Thread-safe.
class BackgroundJobs {
  struct State {
    std::mutex mutex;
    std::condition_variable idle;
    bool stopped = false;
    std::size_t running = 0;
    std::list<boost::asio::steady_timer> timers;  ///< each until its handler runs

    void forget(std::list<boost::asio::steady_timer>::iterator timer) {
      const std::lock_guard lock(mutex);
      timers.erase(timer);
    }

    void run(FunctionRef<void()> job) {
      {
        const std::lock_guard lock(mutex);
        if (stopped) return;
        ++running;
      }
      try {
        job();
      } catch (const std::exception& error) {
        spdlog::error("a background job ended by an exception: {}", error.what());
      }
      const std::lock_guard lock(mutex);
      OCTAVO_ASSERT(running > 0);
      --running;
      idle.notify_all();
    }
  };

  template <class Job>
  auto run_of(const Job& job) const {
    // `job = job`, not `job`: the copy of a constant is constant, so that moving it would copy it. Asio moves it in the
    // pool's own functions, where an exception ends the process.
    return [state = state_, job = job]() mutable { state->run(job); };
  }

 public:
  explicit BackgroundJobs(boost::asio::thread_pool& pool) : pool_(pool) {}
  ~BackgroundJobs() { stop(); }
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  /// Queues `job`. Does nothing after stop(). A job that throws is logged and dropped: it must leave its owner in
  /// order. A dropped job would never be posted again, so this waits for the little memory that it needs.
  template <class Job>
  void post(Job job) {
    until_memory_suffices([&] { boost::asio::post(pool_, run_of(job)); });
  }

  /// Does the same as post, through another queue of the same pool.
  template <class Job>
  void post_to(WorkLane& lane, Job job) {
    until_memory_suffices([&] { lane.post(run_of(job)); });
  }

  /// Queues `job` once `delay` has passed.
  template <class Job>
  void post_after(std::chrono::milliseconds delay, Job job) {
    until_memory_suffices([&] {
      const std::lock_guard lock(state_->mutex);
      if (state_->stopped) return;
      const auto timer = state_->timers.emplace(state_->timers.end(), pool_.get_executor(), delay);
      try {
        timer->async_wait([timer, state = state_, run = run_of(job)](const boost::system::error_code& ended) mutable {
          state->forget(timer);
          if (!ended) run();
        });
      } catch (...) {
        state_->timers.erase(timer);
        throw;
      }
    });
  }

  /// Idempotent.
  void stop() {
    std::unique_lock lock(state_->mutex);
    state_->stopped = true;
    for (auto& timer : state_->timers) timer.cancel();
    state_->idle.wait(lock, [this] { return state_->running == 0; });
  }

  /// Whether a long job should return early.
  bool stopping() const {
    const std::lock_guard lock(state_->mutex);
    return state_->stopped;
  }

 private:
  boost::asio::thread_pool& pool_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace octavo
