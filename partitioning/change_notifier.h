#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>

#include "base/task.h"

namespace octavo::partitioning {

/// Wakes the coroutines that wait for something to grow. A waiter costs only memory; notify_all without waiters is one
/// atomic load. Thread-safe; each waiter resumes on its own I/O thread.
class ChangeNotifier {
 public:
  ChangeNotifier();
  ~ChangeNotifier();

  /// A number that changes with each notify_all. Read it, check the condition, then wait: no wake-up is lost.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  /// Waits until the epoch differs from `seen` or the deadline passes; true if notified.
  Task<bool> wait(std::uint64_t seen, std::chrono::steady_clock::time_point deadline);
  void notify_all();

 private:
  struct Waiter;
  struct Wave;
  static void wake(const std::shared_ptr<Wave>& wave);
  class Entry;
  std::atomic<std::uint64_t> epoch_{1};
  std::atomic<std::size_t> waiting_{0};
  std::mutex mutex_;
  std::list<std::shared_ptr<Waiter>> waiters_;
};

}  // namespace octavo::partitioning
