#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::storage {

/// The keys of the largest logical partitions of a physical partition, which may come near their limit. A report of
/// them must read their sizes: a key that is kept may have become small since, or its write may have failed.
///
/// Thread-safe. For a logical partition that is not large, note() costs one comparison.
class LargePartitions {
 public:
  static constexpr std::size_t kept_max = 32;
  /// A logical partition is large from this part of its limit on: so few are that all of them are kept while the
  /// physical partition has less than 1.6 times the limit.
  static constexpr std::uint64_t large_divisor = 20;

  /// `bytes_max`: the limit of one logical partition.
  explicit LargePartitions(std::uint64_t bytes_max) : large_bytes_(bytes_max / large_divisor) {}

  std::uint64_t large_bytes() const { return large_bytes_; }
  /// Called with its size whenever a logical partition was written. If there are more than `kept_max`, the largest ones
  /// are kept.
  void note(std::string_view partition_key, std::uint64_t bytes) {
    if (bytes >= large_bytes_) keep(partition_key, bytes);
  }
  /// In no order.
  std::vector<std::string> keys() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    keys.reserve(count_);
    for (const Entry& entry : std::span(entries_).first(count_)) keys.push_back(entry.partition_key);
    return keys;
  }
  /// Whether logical partitions that were written in earlier runs have been noted, too.
  bool is_complete() const { return is_complete_.load(std::memory_order_acquire); }
  void set_complete() { is_complete_.store(true, std::memory_order_release); }

 private:
  struct Entry {
    std::string partition_key;
    std::uint64_t bytes = 0;  ///< when it was last noted
  };
  void keep(std::string_view partition_key, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto kept = std::span(entries_).first(count_);
    auto entry = std::ranges::find(kept, partition_key, &Entry::partition_key);
    if (entry == kept.end() && count_ < kept_max) {
      entries_[count_] = {std::string(partition_key), bytes};
      ++count_;
      return;
    }
    if (entry == kept.end()) entry = std::ranges::min_element(kept, {}, &Entry::bytes);
    if (entry->partition_key != partition_key) {
      if (entry->bytes >= bytes) return;
      entry->partition_key = partition_key;
    }
    entry->bytes = bytes;
  }

  const std::uint64_t large_bytes_;
  std::atomic<bool> is_complete_{false};
  mutable std::mutex mutex_;  ///< guards the members below
  std::size_t count_ = 0;
  std::array<Entry, kept_max> entries_;
};

}  // namespace octavo::storage
