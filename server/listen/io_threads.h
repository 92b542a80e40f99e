#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/task.h"

namespace octavo::server {

/// The I/O threads. Each runs its own io_context, and work that is started on one thread stays there.
///
/// Thread-safe except start/stop, which one thread calls. The contexts live until this object is destroyed, even after
/// stop(): work posted to a stopped context is kept and destroyed with it, never run. Other threads that post must
/// therefore end before this object is destroyed.
class IoThreads {
 public:
  /// Precondition: `count` is at least 1. Nothing runs before start().
  explicit IoThreads(std::size_t count);
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  void start();
  /// Stops the loops immediately and joins the threads.
  void stop();

  std::size_t size() const { return threads_.size(); }
  boost::asio::io_context& context(std::size_t index) { return threads_[index]->context; }

 private:
  struct Thread {
    // Concurrency hint 1: one thread runs it, so its scheduler need not wake others.
    boost::asio::io_context context{1};
    std::thread thread;
  };
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace octavo::server
