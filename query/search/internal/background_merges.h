#pragma once

#include <atomic>
#include <lucene++/LuceneHeaders.h>
#include <lucene++/MergeScheduler.h>
#include <mutex>
#include <thread>

namespace octavo::query::search {

/// Merges the segments of one index on a thread of its own, one merge at a time in the whole process, so that neither
/// who writes nor who searches waits for a large one. When segments pile up all the same, the writer's thread helps.
///
/// The thread exists while there is something to merge.
class BackgroundMerges : public Lucene::MergeScheduler {
 public:
  BackgroundMerges() = default;
  ~BackgroundMerges() override;

  void merge(const Lucene::IndexWriterPtr& writer) override;
  /// Ends the thread. Lucene calls it once it has told running merges to give up.
  void close() override;
  /// The thread ends by itself after the merge it is at; nobody waits for it.
  void give_up();
  /// A merge ended with an exception that Lucene++ does not know: its writer writes no more, and waits for that merge
  /// when it is closed, for ever. It has to be dropped.
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
  std::thread thread_;
};

}  // namespace octavo::query::search
