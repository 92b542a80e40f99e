#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/assert.h"

namespace octavo::server {

/// One holder's part of a shared count of bytes, subtracted when the holder is destroyed. Several threads may share the
/// count; a holder is used by one thread.
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

  /// Raises the part to `bytes`; never lowers it. Returns false, and changes nothing, if the shared count would exceed
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
    OCTAVO_ASSERT(bytes_ <= together_.load(std::memory_order_relaxed));
    if (bytes_ > 0) together_.fetch_sub(std::exchange(bytes_, 0), std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t>& together_;
  std::uint64_t bytes_ = 0;
};

}  // namespace octavo::server
