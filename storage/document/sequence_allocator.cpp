#include "storage/document/sequence_allocator.h"

#include <algorithm>

#include "base/assert.h"

namespace octavo::storage {

SequenceAllocator::SequenceAllocator(std::size_t partition_id_end, Sequence last_committed)
    : next_(last_committed + 1),
      in_flight_low_(partition_id_end, 0),
      in_flight_high_(partition_id_end, 0),
      committed_high_(last_committed),
      watermark_(last_committed) {}

void SequenceAllocator::grow(std::size_t partition_id_end) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (partition_id_end <= in_flight_low_.size()) return;
  in_flight_low_.resize(partition_id_end, 0);
  in_flight_high_.resize(partition_id_end, 0);
}

void SequenceAllocator::begin(std::size_t partition_id) {
  std::lock_guard<std::mutex> lock(mutex_);
  OCTAVO_ASSERT(partition_id < in_flight_low_.size());
  OCTAVO_ASSERT(in_flight_low_[partition_id] == 0);  // a partition has one group at a time
  in_flight_low_[partition_id] = next_;
  in_flight_high_[partition_id] = 0;
}

Sequence SequenceAllocator::next(std::size_t partition_id) {
  std::lock_guard<std::mutex> lock(mutex_);
  OCTAVO_ASSERT(partition_id < in_flight_high_.size());
  OCTAVO_ASSERT(in_flight_low_[partition_id] != 0);  // between begin() and end()
  OCTAVO_ASSERT(next_ > in_flight_high_[partition_id]);
  OCTAVO_ASSERT(next_ > committed_high_.load());
  in_flight_high_[partition_id] = next_;
  return next_++;
}

Sequence SequenceAllocator::highest_in_flight(std::size_t partition_id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  OCTAVO_ASSERT(partition_id < in_flight_high_.size());
  return in_flight_high_[partition_id];
}

bool SequenceAllocator::in_flight(std::size_t partition_id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  OCTAVO_ASSERT(partition_id < in_flight_low_.size());
  return in_flight_low_[partition_id] != 0;
}

void SequenceAllocator::end(std::size_t partition_id, bool committed) {
  std::lock_guard<std::mutex> lock(mutex_);
  OCTAVO_ASSERT(partition_id < in_flight_low_.size());
  OCTAVO_ASSERT(in_flight_low_[partition_id] != 0);
  if (committed) committed_high_.store(std::max(committed_high_.load(), in_flight_high_[partition_id]));
  in_flight_low_[partition_id] = 0;
  in_flight_high_[partition_id] = 0;
  // Never above the highest committed one: sequences given up last would be allocated again after a restart, and a
  // follower that believed it was past them would miss the changes that get them.
  Sequence mark = committed_high_.load();
  for (const Sequence low : in_flight_low_) {
    if (low != 0) mark = std::min(mark, low - 1);
  }
  OCTAVO_ASSERT(mark >= watermark_.load());  // what followers have read does not change
  watermark_.store(mark, std::memory_order_release);
}

}  // namespace octavo::storage
