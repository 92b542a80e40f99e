#pragma once

#include <atomic>
#include <cstdint>
#include <lucene++/LuceneHeaders.h>
#include <lucene++/MergeScheduler.h>
#include <mutex>
#include <thread>

namespace octavo::query::search {

/// Merges the segments of one index on its own thread, one merge at a time in the whole process, so that neither
/// writers nor searches wait for a large one. If segments accumulate nevertheless, the writer's thread helps.
///
/// The thread exists only while there is something to merge.
class BackgroundMerges : public Lucene::MergeScheduler {
 public:
  BackgroundMerges() = default;
  ~BackgroundMerges() override;

  void merge(const Lucene::IndexWriterPtr& writer) override;
  /// Ends the thread. Lucene calls it after it has aborted running merges.
  void close() override;
  /// Makes the thread end after its current merge, without waiting for it.
  void give_up();
  /// No merge runs or waits.
  bool idle();
  /// How many merges have ended well.
  std::uint64_t merged() const { return merged_.load(std::memory_order_relaxed); }
  /// A merge ended with an exception unknown to Lucene++. Its writer can no longer write, and closing it would wait for
  /// that merge forever: the writer must be dropped.
  bool failed_for_good() const { return failed_for_good_.load(std::memory_order_relaxed); }

 private:
  void run(const Lucene::IndexWriterPtr& writer);
  bool merge_one(const Lucene::IndexWriterPtr& writer);
  bool try_merge(const Lucene::IndexWriterPtr& writer);

  std::mutex mutex_;
  bool running_ = false;
  bool again_ = false;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> failed_for_good_{false};
  std::atomic<std::uint64_t> merged_{0};
  std::thread thread_;
};

}  // namespace octavo::query::search
