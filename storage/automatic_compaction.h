#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "storage/compaction_queue.h"

namespace octavo::storage {

/// Queues the compaction of what has become sparse, without a request for it.
///
/// It looks at open files of 16 MiB or more, and estimates from some pages (Store::density) how much smaller a
/// compaction would make them. Free pages count as well as gaps in pages. Pages that random keys have split are two
/// thirds full, which is not worth a copy: the share at which a file is compacted should be above a third.
///
/// A file that has not changed is not looked at again, and one whose compaction was queued rests, whether that
/// succeeded or not.
class AutomaticCompaction {
 public:
  static constexpr std::uint64_t file_bytes_min = 16ULL << 20;
  struct Delays {
    std::chrono::milliseconds between_looks{10'000};
    std::chrono::milliseconds rest{600'000};  ///< after a compaction was queued
  };

  explicit AutomaticCompaction(CompactionQueue& queue, Delays delays) : queue_(queue), delays_(delays) {}
  explicit AutomaticCompaction(CompactionQueue& queue) : AutomaticCompaction(queue, Delays{}) {}

  /// Queues the compaction of `target` if at least `share_percent` of its file would be returned. Returns without a
  /// look, which takes some milliseconds, if the target is closed, small, unchanged or rests. One thread at a time.
  /// Drops the target's preparation: what clients were promised to find for a time must stay.
  void consider(CompactionQueue::Target target, std::uint32_t share_percent);
  /// About how many bytes compactions would return, of all that was looked at and is still open. Any thread.
  std::uint64_t sparse_bytes() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Look {
    std::weak_ptr<const void> owner;
    std::uint64_t last_transaction = 0;  ///< of a store
    Clock::time_point next{};            ///< no look before this
    std::uint64_t sparse_bytes = 0;
  };
  void forget_closed();

  CompactionQueue& queue_;
  const Delays delays_;
  mutable std::mutex mutex_;                     ///< guards looks_
  std::unordered_map<const void*, Look> looks_;  ///< by CompactionQueue::Target::subject()
  std::size_t looks_at_cleaning_ = 64;           ///< number of looks_ at which those of closed databases are removed
};

}  // namespace octavo::storage
