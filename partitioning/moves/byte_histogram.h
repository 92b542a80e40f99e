#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "partitioning/keys/partition_key.h"

namespace octavo::partitioning {

/// The highest setting of logical_partition_bytes_max. A damaged row may state any number, and sums must not overflow.
inline constexpr std::uint64_t bytes_counted_max = 1ULL << 50;

/// Bytes of documents by position, in coarse buckets.
class ByteHistogram {
 public:
  ByteHistogram(HashPosition first, HashPosition last)
      : first_(first), last_(last), width_((last - first) / bucket_count + 1) {}

  /// Ignores positions outside of the range. The buckets together may be wider than it, and a damaged row may have the
  /// key of another range.
  void add(HashPosition position, std::uint64_t bytes) {
    if (position < first_ || position > last_) return;
    const std::uint64_t counted = std::min(bytes, bytes_counted_max) + 1;
    buckets_[(position - first_) / width_] += counted;
    total_ += counted;
  }
  HashPosition begin_of(std::size_t bucket) const { return first_ + width_ * bucket; }
  std::uint64_t total() const { return total_; }
  HashPosition width() const { return width_; }

  /// The bucket that contains the middle of all bytes, and the number of bytes before it.
  std::pair<std::size_t, std::uint64_t> middle(std::uint64_t before, std::uint64_t half) const {
    std::size_t bucket = 0;
    while (bucket + 1 < bucket_count && before + buckets_[bucket] < half) before += buckets_[bucket++];
    return {bucket, before};
  }
  std::uint64_t in(std::size_t bucket) const { return buckets_[bucket]; }

 private:
  static constexpr std::size_t bucket_count = 4096;
  HashPosition first_;
  HashPosition last_;
  HashPosition width_;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(bucket_count);
};

}  // namespace octavo::partitioning
