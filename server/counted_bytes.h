#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

namespace octavo::server {

/// What one holder has of a count of bytes that others share; given back when it goes. The count may be of several
/// threads, the holder is one's.
class CountedBytes {
 public:
  explicit CountedBytes(std::atomic<std::uint64_t>& together) : together_(together) {}
  CountedBytes(std::atomic<std::uint64_t>& together, std::uint64_t bytes) : CountedBytes(together) {
    grow_to(bytes, std::numeric_limits<std::uint64_t>::max());
  }
  ~CountedBytes() { release(); }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;

  std::uint64_t bytes() const { return bytes_; }

  /// Does nothing for fewer than it has. False, and nothing is changed: all together would have more than
  /// `together_max`.
  bool grow_to(std::uint64_t bytes, std::uint64_t together_max) {
    if (bytes <= bytes_) return true;
    const std::uint64_t more = bytes - bytes_;
    if (together_.fetch_add(more, std::memory_order_relaxed) + more > together_max) {
      together_.fetch_sub(more, std::memory_order_relaxed);
      return false;
    }
    bytes_ = bytes;
    return true;
  }

  void release() {
    if (bytes_ > 0) together_.fetch_sub(std::exchange(bytes_, 0), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t>& together_;
  std::uint64_t bytes_ = 0;
};

}  // namespace octavo::server
