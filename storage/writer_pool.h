#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace octavo::storage {

/// Something with a queue of writes to drain: a physical partition. drain() is never called by two threads at once for
/// one source.
class WriteSource {
 public:
  virtual ~WriteSource() = default;
  /// Commits one group. True when more is waiting (it is then scheduled again, behind the others).
  virtual bool drain() = 0;
};

/// The threads that commit: few, shared by all physical partitions, so that thousands of databases need no thread each.
/// A commit spends its time in fsync, so there are more of them than cores.
class WriterPool {
 public:
  explicit WriterPool(std::size_t thread_count);
  /// Runs what is scheduled to its end, then joins.
  ~WriterPool();
  WriterPool(const WriterPool&) = delete;
  WriterPool& operator=(const WriterPool&) = delete;

  /// Thread-safe. The caller makes sure that a source is scheduled at most once at a time.
  void schedule(std::shared_ptr<WriteSource> source);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<WriteSource>> ready_;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace octavo::storage
