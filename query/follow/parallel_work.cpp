#include "query/follow/parallel_work.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/assert.h"
#include "base/jobs/run_guarded.h"
#include "base/machine/resources.h"
#include "query/javascript/interruption.h"

namespace octavo::query {

namespace {

// Taken by a thread at once: short enough that all threads finish together, long enough that the mutex costs nothing.
constexpr std::size_t piece_max = 16;
constexpr std::chrono::microseconds piece_time{1'000};

class ParallelWork {
 public:
  ParallelWork(std::size_t count, const std::atomic<bool>& stopping, FunctionRef<Expected<void>(std::size_t)> work,
               FunctionRef<bool()> enough)
      : count_(count), stopping_(stopping), work_(work), enough_(enough), done_(count) {}

  /// Runs one piece; false if no piece is left. The caller's functions live as long as pieces are taken.
  bool take_piece() {
    std::size_t begin = 0;
    std::size_t end = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == count_ || ended_) return false;
      begin = next_;
      end = next_ = std::min(count_, begin + piece_);
      ++running_;
    }
    const auto begun = std::chrono::steady_clock::now();
    auto done = run(begin, end);
    const auto took = std::chrono::steady_clock::now() - begun;
    const std::lock_guard lock(mutex_);
    OCTAVO_ASSERT(running_ > 0);
    --running_;
    piece_ = took < piece_time ? std::min(2 * piece_, piece_max) : std::max<std::size_t>(1, piece_ / 2);
    if (!done || *done < end) {
      ended_ = true;
      done_ = std::min(done_, done ? *done : begin);
    }
    if (!done && !failure_) failure_ = std::move(done).error();
    idle_.notify_all();
    return true;
  }

  Expected<std::size_t> finish() {
    while (take_piece()) continue;
    end();
    const std::lock_guard lock(mutex_);
    if (failure_) return std::unexpected(*failure_);
    OCTAVO_ASSERT(running_ == 0 && next_ <= count_);
    return std::min(done_, next_);
  }

  /// Afterwards the caller's functions are no longer used: a late helper finds nothing to do.
  void end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    idle_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  // Returns how far it got.
  Expected<std::size_t> run(std::size_t begin, std::size_t end) {
    const javascript::StoppableCalls calls(stopping_);
    return run_guarded("work in parallel", [&]() -> Expected<std::size_t> {
      for (std::size_t i = begin; i < end; ++i) {
        if (stopping_.load(std::memory_order_relaxed)) return fail(ErrorCode::timeout, "The work was stopped.");
        if (i > 0 && enough_()) return i;
        OCTAVO_TRY_VOID(work_(i));
      }
      return end;
    });
  }

  const std::size_t count_;
  const std::atomic<bool>& stopping_;
  const FunctionRef<Expected<void>(std::size_t)> work_;
  const FunctionRef<bool()> enough_;
  std::mutex mutex_;  ///< guards all members below
  std::condition_variable idle_;
  std::size_t next_ = 0;
  std::size_t piece_ = 1;
  std::size_t done_;  ///< all numbers below were called, or will be
  bool ended_ = false;
  std::size_t running_ = 0;
  std::optional<Error> failure_;
};

void help(boost::asio::thread_pool& pool, const std::shared_ptr<ParallelWork>& work) {
  boost::asio::post(pool, [&pool, work] {
    if (!work->take_piece()) return;
    try {
      help(pool, work);
    } catch (const std::bad_alloc&) {
      // One helper less: the caller does the rest.
    }
  });
}

/// The caller's functions live only until its frame ends, by return or exception, so helpers must end before that.
class ParallelWorkEnd {
 public:
  explicit ParallelWorkEnd(ParallelWork& work) : work_(work) {}
  ~ParallelWorkEnd() { work_.end(); }
  ParallelWorkEnd(const ParallelWorkEnd&) = delete;
  ParallelWorkEnd& operator=(const ParallelWorkEnd&) = delete;

 private:
  ParallelWork& work_;
};

}  // namespace

Expected<std::size_t> work_in_parallel(boost::asio::thread_pool* pool, std::size_t count,
                                       const std::atomic<bool>& stopping, FunctionRef<Expected<void>(std::size_t)> work,
                                       FunctionRef<bool()> enough) {
  const auto shared = std::make_shared<ParallelWork>(count, stopping, work, enough);
  const std::size_t pieces = (count + piece_max - 1) / piece_max;
  const std::size_t threads = available_resources().processors;
  const ParallelWorkEnd end_first(*shared);
  try {
    for (std::size_t i = 1; pool != nullptr && i < std::min(pieces, threads); ++i) help(*pool, shared);
  } catch (const std::bad_alloc&) {
    // Fewer helpers: the caller does the rest.
  }
  return shared->finish();
}

}  // namespace octavo::query
