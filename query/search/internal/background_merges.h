#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include <lucene++/LuceneHeaders.h>
#include <lucene++/MergeScheduler.h>

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

 private:
  void run(const Lucene::IndexWriterPtr& writer);
  static bool merge_one(const Lucene::IndexWriterPtr& writer);

  std::mutex mutex_;
  bool running_ = false;
  bool again_ = false;
  std::atomic<bool> closed_ = false;
  std::thread thread_;
};

}  // namespace octavo::query::search
