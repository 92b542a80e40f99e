#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/task.h"

namespace octavo::server {

/// The I/O threads, each with an io_context of its own that only it runs. What is started on one stays there.
///
/// Thread-safe but for start/stop, which one thread calls. The contexts live until this object ends, also after stop():
/// work posted to a stopped context is kept and destroyed with it, never run. Whoever posts from other threads must
/// therefore have ended before this object does.
class IoThreads {
 public:
  /// `count` 0 means one per core. Nothing runs before start().
  explicit IoThreads(std::size_t count);
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  void start();
  /// Ends the loops where they are and joins the threads.
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
