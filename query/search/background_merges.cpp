#include "query/search/internal/background_merges.h"

#include <chrono>
#include <exception>

#include <spdlog/spdlog.h>

#include <lucene++/IndexWriter.h>
#include <lucene++/LuceneException.h>

#include "query/search/internal/lucene_text.h"

namespace octavo::query::search {

namespace {

constexpr int32_t kSegmentsMax = 40;

constexpr std::chrono::milliseconds kTurnLook{20};

std::timed_mutex& merging() {
  static std::timed_mutex one_at_a_time;
  return one_at_a_time;
}

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
      if (thread_.joinable()) thread_.join();  // it has left its loop
      thread_ = std::thread([this, writer] { run(writer); });
      running_ = true;
    }
  }
  while (writer->getSegmentCount() > kSegmentsMax && merge_one(writer)) {
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
    std::unique_lock turn(merging(), std::defer_lock);
    // Another index may merge for minutes: who closes this one must not wait for that.
    while (!turn.try_lock_for(kTurnLook)) {
      const std::lock_guard lock(mutex_);
      if (!closed_) continue;
      running_ = false;
      return;
    }
    while (merge_one(writer)) {
    }
  }
}

// False: there was nothing to merge, or it failed; the segments stay as they are until they are looked at again.
bool BackgroundMerges::merge_one(const Lucene::IndexWriterPtr& writer) {
  try {
    const Lucene::OneMergePtr next = writer->getNextMerge();
    if (!next) return false;
    writer->merge(next);
    return true;
  } catch (const Lucene::LuceneException& error) {
    // Lucene++ makes it of a std::bad_alloc, without words, and refuses to write from then on.
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

void BackgroundMerges::give_up() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (thread_.joinable()) thread_.detach();
}

void BackgroundMerges::close() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    thread = std::move(thread_);
  }
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

}  // namespace octavo::query::search
