#include "query/search/lucene/background_merges.h"

#include <condition_variable>
#include <exception>
#include <lucene++/IndexWriter.h>
#include <lucene++/LuceneException.h>

#include <spdlog/spdlog.h>

#include "query/search/lucene/lucene_text.h"

namespace octavo::query::search {

namespace {

constexpr int32_t segments_max = 40;

/// Lets one index at a time merge. Another index may merge for minutes and must not delay the closing of this one, so
/// the wait ends when `closed` becomes true.
class MergeTurn {
 public:
  explicit MergeTurn(const std::atomic<bool>& closed) {
    std::unique_lock lock(queue().mutex);
    queue().changed.wait(lock, [&] { return !queue().merging || closed; });
    mine_ = !closed;  // NOLINT(cppcoreguidelines-prefer-member-initializer): known only after the wait
    if (mine_) queue().merging = true;
  }
  ~MergeTurn() {
    if (!mine_) return;
    {
      const std::lock_guard lock(queue().mutex);
      queue().merging = false;
    }
    queue().changed.notify_all();
  }
  MergeTurn(const MergeTurn&) = delete;
  MergeTurn& operator=(const MergeTurn&) = delete;

  bool mine() const { return mine_; }

  /// To be called after a `closed` has become true.
  static void look_again() {
    {
      const std::lock_guard lock(queue().mutex);
    }  // a waiting thread either sees `closed` or is already in wait()
    queue().changed.notify_all();
  }

 private:
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    bool merging = false;
  };
  // Never destroyed, because a thread after give_up() may still run at the end of the process.
  static Queue& queue() {
    static auto* const of_the_process = new Queue;
    return *of_the_process;
  }

  bool mine_ = false;
};

}  // namespace

BackgroundMerges::~BackgroundMerges() {
  BackgroundMerges::close();
}

void BackgroundMerges::merge(const Lucene::IndexWriterPtr& writer) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    again_ = true;
    if (!running_) {
      if (thread_.joinable()) thread_.join();  // the thread has left its loop
      thread_ = std::thread([this, writer] { run(writer); });
      running_ = true;
    }
  }
  while (writer->getSegmentCount() > segments_max && merge_one(writer)) {
  }
}

void BackgroundMerges::run(const Lucene::IndexWriterPtr& writer) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!again_ || closed_) {
        running_ = false;
        return;
      }
      again_ = false;
    }
    const MergeTurn turn(closed_);
    while (turn.mine() && merge_one(writer)) {
    }
  }
}

// False: there was nothing to merge, or the merge failed. The segments then stay as they are until the next attempt.
bool BackgroundMerges::merge_one(const Lucene::IndexWriterPtr& writer) {
  try {
    return try_merge(writer);
  } catch (const std::bad_alloc&) {
    // There is not even enough memory for an error message.
    failed_for_good_.store(true, std::memory_order_relaxed);
    return false;
  }
}

bool BackgroundMerges::try_merge(const Lucene::IndexWriterPtr& writer) {
  try {
    const Lucene::OneMergePtr next = writer->getNextMerge();
    if (!next) return false;
    writer->merge(next);
    merged_.fetch_add(1, std::memory_order_relaxed);
    return true;
  } catch (const Lucene::LuceneException& error) {
    // Lucene++ converts std::bad_alloc to an exception without a message, and refuses to write from then on.
    if (error.getType() == Lucene::LuceneException::OutOfMemory || error.getError().empty()) {
      spdlog::warn("memory was short while a search index was merged: it goes back to its last commit");
      failed_for_good_.store(true, std::memory_order_relaxed);
    } else if (error.getType() != Lucene::LuceneException::MergeAborted) {
      spdlog::warn("merging a search index failed, will be tried again: {}", to_utf8(error.getError()));
    }
  } catch (const std::exception& error) {
    spdlog::warn("merging a search index failed, it goes back to its last commit: {}", error.what());
    failed_for_good_.store(true, std::memory_order_relaxed);
  }
  return false;
}

bool BackgroundMerges::idle() {
  const std::lock_guard lock(mutex_);
  return !running_;
}

void BackgroundMerges::give_up() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (thread_.joinable()) thread_.detach();
  }
  MergeTurn::look_again();
}

void BackgroundMerges::close() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    thread = std::move(thread_);
  }
  MergeTurn::look_again();
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

}  // namespace octavo::query::search
