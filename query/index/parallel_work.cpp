#include "query/index/parallel_work.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>

#include "storage/read_failure.h"

namespace octavo::query {

namespace {

// Taken by a thread at once: short enough that the threads end together, long enough that the mutex costs nothing.
constexpr std::size_t kPieceMax = 16;

class ParallelWork {
 public:
  ParallelWork(std::size_t count, const std::atomic<bool>& stopping, FunctionRef<Expected<void>(std::size_t)> work)
      : count_(count), stopping_(stopping), work_(work) {}

  /// One piece; false when there is none left to take. `work_` and `stopping_` live as long as pieces are taken.
  bool take_piece() {
    std::size_t begin = 0;
    std::size_t end = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == count_ || failure_) return false;
      begin = next_;
      end = next_ = std::min(count_, begin + kPieceMax);
      ++running_;
    }
    auto done = run(begin, end);
    const std::lock_guard lock(mutex_);
    --running_;
    if (!done && !failure_) failure_ = std::move(done).error();
    idle_.notify_all();
    return true;
  }

  Expected<void> finish() {
    while (take_piece()) continue;
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return running_ == 0; });
    next_ = count_;
    if (failure_) return std::unexpected(*failure_);
    return {};
  }

 private:
  Expected<void> run(std::size_t begin, std::size_t end) {
    try {
      for (std::size_t i = begin; i < end; ++i) {
        if (stopping_.load(std::memory_order_relaxed)) return fail(ErrorCode::timeout, "The work was stopped.");
        OCTAVO_TRY_VOID(work_(i));
      }
      return {};
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    } catch (const storage::ReadFailure& failure) {
      return std::unexpected(failure.error());
    } catch (const std::exception& error) {
      return fail(ErrorCode::internal, error.what());
    }
  }

  const std::size_t count_;
  const std::atomic<bool>& stopping_;
  const FunctionRef<Expected<void>(std::size_t)> work_;
  std::mutex mutex_;  ///< guards all below
  std::condition_variable idle_;
  std::size_t next_ = 0;
  std::size_t running_ = 0;
  std::optional<Error> failure_;
};

void help(boost::asio::thread_pool& pool, const std::shared_ptr<ParallelWork>& work) {
  boost::asio::post(pool, [&pool, work] {
    if (!work->take_piece()) return;
    try {
      help(pool, work);
    } catch (const std::bad_alloc&) {
      // One helper fewer: the caller does what is left.
    }
  });
}

}  // namespace

Expected<void> work_in_parallel(boost::asio::thread_pool& pool, std::size_t count, const std::atomic<bool>& stopping,
                                FunctionRef<Expected<void>(std::size_t)> work) {
  const auto shared = std::make_shared<ParallelWork>(count, stopping, work);
  const std::size_t pieces = (count + kPieceMax - 1) / kPieceMax;
  const std::size_t threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(pieces, threads); ++i) help(pool, shared);
  return shared->finish();
}

}  // namespace octavo::query
