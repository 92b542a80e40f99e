#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/assert.h"
#include "base/error.h"

namespace octavo::storage {

/// Something with a queue of writes to drain: a physical partition. Two threads never call drain() of one source at the
/// same time.
class WriteSource {
 public:
  virtual ~WriteSource() = default;
  /// Commits one group. True if more is waiting; the source is then scheduled again, behind the others.
  virtual bool drain() noexcept = 0;

 private:
  friend class WriterPool;
  std::shared_ptr<WriteSource> next_in_line_;
};

/// What the commits of all sources have been so far, for statistics.
struct CommitTotals {
  /// Upper bounds of the buckets; one more bucket counts slower commits.
  static constexpr std::array<std::chrono::milliseconds, 10> bounds{
      std::chrono::milliseconds{1},    std::chrono::milliseconds{2},   std::chrono::milliseconds{5},
      std::chrono::milliseconds{10},   std::chrono::milliseconds{25},  std::chrono::milliseconds{50},
      std::chrono::milliseconds{100},  std::chrono::milliseconds{250}, std::chrono::milliseconds{1'000},
      std::chrono::milliseconds{5'000}};

  std::array<std::uint64_t, bounds.size() + 1> by_duration{};
  std::chrono::microseconds duration{0};  ///< of all commits together
  std::uint64_t requests = 0;             ///< that were written, several in one commit
};

/// The threads that commit: a few, shared by all physical partitions, so that thousands of databases need no thread
/// each. As a commit spends its time in fsync, there are more threads than cores.
///
/// Counts what waits in the queues of all sources: requests that are not awaited are bounded by nothing else.
class WriterPool {
 public:
  explicit WriterPool(std::size_t thread_count, std::size_t queued_bytes_max = 512ULL << 20);
  /// Completes all scheduled work, then joins.
  ~WriterPool();
  WriterPool(const WriterPool&) = delete;
  WriterPool& operator=(const WriterPool&) = delete;

  /// Thread-safe. The caller ensures that a source is scheduled at most once at a time. Allocates no memory.
  void schedule(std::shared_ptr<WriteSource> source) noexcept;

  /// Counts a request that is to wait. False, and not counted, if more than the limit waits already: a single request
  /// may be larger than the limit.
  bool admit(std::size_t bytes) noexcept {
    if (queued_bytes_.fetch_add(bytes, std::memory_order_relaxed) <= queued_bytes_max_) return true;
    release(bytes);
    return false;
  }
  void release(std::size_t bytes) noexcept {
    const std::size_t before = queued_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    OCTAVO_ASSERT(bytes <= before);
  }

  /// Bytes of all requests that wait now.
  std::size_t queued_bytes() const { return queued_bytes_.load(std::memory_order_relaxed); }

  /// Counts a commit of `requests` requests. Thread-safe.
  void count_commit(std::size_t requests, std::chrono::steady_clock::duration duration) noexcept;
  CommitTotals commit_totals() const;

  /// Returns when nothing is scheduled or being drained: all writes have been answered.
  void run_out();

  /// Result of the newest commit of any source: nullopt after success, else disk_full or io_failure.
  std::optional<ErrorCode> disk_failure() const {
    const ErrorCode code = disk_failure_.load(std::memory_order_relaxed);
    return code == no_failure ? std::nullopt : std::optional(code);
  }
  /// True if the result is news: it is then worth one line in the log, rather than a thousand per second.
  bool note_commit(const Expected<void>& committed) {
    ErrorCode code = no_failure;
    if (!committed) {
      code = committed.error().code;
      if (code != ErrorCode::disk_full && code != ErrorCode::io_failure) return true;
    }
    // Written only when it changes, so that the threads do not contend for it.
    return disk_failure_.load(std::memory_order_relaxed) != code &&
           disk_failure_.exchange(code, std::memory_order_relaxed) != code;
  }

 private:
  static constexpr auto no_failure = ErrorCode{0xFF};
  const std::size_t queued_bytes_max_;
  std::atomic<std::size_t> queued_bytes_{0};
  std::atomic<ErrorCode> disk_failure_{no_failure};
  std::array<std::atomic<std::uint64_t>, CommitTotals::bounds.size() + 1> commits_by_duration_{};
  std::atomic<std::uint64_t> commit_microseconds_{0};
  std::atomic<std::uint64_t> committed_requests_{0};
  void run();
  void append(std::shared_ptr<WriteSource> source);
  std::shared_ptr<WriteSource> take_first();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::size_t draining_ = 0;
  std::shared_ptr<WriteSource> first_;  ///< first source in the queue, linked by next_in_line_
  WriteSource* last_ = nullptr;
  bool stopping_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace octavo::storage
