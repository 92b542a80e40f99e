#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace octavo::storage {

/// Position in a database's change feed; the first change is 1.
using Sequence = std::uint64_t;

/// Hands out the sequences of one database to the writers of its physical partitions.
///
/// Sequences are handed out before the commit, so a later one can commit first. The feed stops below the oldest one
/// still in flight; otherwise a follower that read 7 would never see 6. Thread-safe.
class SequenceAllocator {
 public:
  SequenceAllocator(std::size_t partition_id_end, Sequence last_committed);

  /// Makes room for physical partitions with ids below `partition_id_end`; existing ones stay unchanged.
  void grow(std::size_t partition_id_end);
  /// A writer starts a group: from now on the watermark stays below the sequences the group will get.
  void begin(std::size_t partition_id);
  /// Next sequence; only between begin() and end().
  Sequence next(std::size_t partition_id);
  /// The group is durable, or given up (`committed` = false).
  void end(std::size_t partition_id, bool committed);
  /// Highest sequence given to the group in flight; 0: none.
  Sequence highest_in_flight(std::size_t partition_id) const;

  /// Whether a group has begun and not ended.
  bool in_flight(std::size_t partition_id) const;

  /// Calls begin() and end() for one group.
  class Group {
   public:
    Group(SequenceAllocator& sequences, std::size_t partition_id) : sequences_(sequences), partition_id_(partition_id) {
      sequences_.begin(partition_id_);
    }
    ~Group() { sequences_.end(partition_id_, committed_); }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    /// Highest sequence given to the group; 0: none.
    Sequence highest() const { return sequences_.highest_in_flight(partition_id_); }
    void mark_committed() { committed_ = true; }

   private:
    SequenceAllocator& sequences_;
    const std::size_t partition_id_;
    bool committed_ = false;
  };

  /// Every change up to this sequence is committed; none at or below it will appear later.
  Sequence watermark() const { return watermark_.load(std::memory_order_acquire); }
  /// The highest committed sequence. Once a commit has been reported, its sequences are at or below this one, while the
  /// watermark may still be held back by another partition's group.
  Sequence committed() const { return committed_high_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  Sequence next_;
  std::vector<Sequence> in_flight_low_;  ///< by partition id; 0 = nothing in flight
  std::vector<Sequence> in_flight_high_;
  std::atomic<Sequence> committed_high_;
  std::atomic<Sequence> watermark_;
};

}  // namespace octavo::storage
