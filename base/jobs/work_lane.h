#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/assert.h"
#include "base/memory_retry.h"

namespace octavo {

/// A second queue of a thread pool, for work that is long or comes in floods. It may use all threads while nothing else
/// needs them, but at most as many of its tasks as there are threads are in the pool's own queue. A task posted to the
/// pool itself therefore waits for only a few of these tasks, however many wait here.
///
/// Thread-safe. Must outlive its tasks: the pool is joined first.
class WorkLane {
 public:
  using Task = std::move_only_function<void()>;

  WorkLane(boost::asio::thread_pool& pool, std::size_t threads) : pool_(pool), running_max_(threads) {}
  WorkLane(const WorkLane&) = delete;
  WorkLane& operator=(const WorkLane&) = delete;

  void post(Task task) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
    start_next();
  }

 private:
  // Posts the next task behind the pool's waiting tasks. Call with mutex_ held.
  void start_next() {
    if (waiting_.size() == posted_ || posted_ + running_ == running_max_) return;
    until_memory_suffices([this] { boost::asio::post(pool_, [this] { run_one(); }); });
    ++posted_;
  }

  void run_one() {
    Task task;
    {
      const std::lock_guard lock(mutex_);
      OCTAVO_ASSERT(posted_ > 0 && !waiting_.empty());
      OCTAVO_ASSERT(running_ < running_max_);
      --posted_;
      ++running_;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
    task = {};
    const std::lock_guard lock(mutex_);
    --running_;
    start_next();
  }

  boost::asio::thread_pool& pool_;
  const std::size_t running_max_;
  std::mutex mutex_;  ///< guards all members below
  std::deque<Task> waiting_;
  std::size_t posted_ = 0;
  std::size_t running_ = 0;
};

}  // namespace octavo
