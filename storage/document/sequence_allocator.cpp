#include "storage/document/sequence_allocator.h"

#include <algorithm>

namespace octavo::storage {

SequenceAllocator::SequenceAllocator(std::size_t partition_count, Sequence last_committed)
    : next_(last_committed + 1),
      in_flight_low_(partition_count, 0),
      in_flight_high_(partition_count, 0),
      committed_high_(last_committed),
      watermark_(last_committed) {}

void SequenceAllocator::grow(std::size_t partition_count) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (partition_count <= in_flight_low_.size()) return;
  in_flight_low_.resize(partition_count, 0);
  in_flight_high_.resize(partition_count, 0);
}

void SequenceAllocator::begin(std::size_t partition) {
  std::lock_guard<std::mutex> lock(mutex_);
  in_flight_low_[partition] = next_;
  in_flight_high_[partition] = 0;
}

Sequence SequenceAllocator::next(std::size_t partition) {
  std::lock_guard<std::mutex> lock(mutex_);
  in_flight_high_[partition] = next_;
  return next_++;
}

Sequence SequenceAllocator::highest_in_flight(std::size_t partition) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return in_flight_high_[partition];
}

bool SequenceAllocator::in_flight(std::size_t partition) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return in_flight_low_[partition] != 0;
}

void SequenceAllocator::end(std::size_t partition, bool committed) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (committed) committed_high_.store(std::max(committed_high_.load(), in_flight_high_[partition]));
  in_flight_low_[partition] = 0;
  in_flight_high_[partition] = 0;
  // Never above the highest committed one: sequences given up last would be allocated again after a restart, and a
  // follower that believed it was past them would miss the changes that get them.
  Sequence mark = committed_high_.load();
  for (const Sequence low : in_flight_low_) {
    if (low != 0) mark = std::min(mark, low - 1);
  }
  watermark_.store(mark, std::memory_order_release);
}

}  // namespace octavo::storage
