#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace octavo::storage {

/// The speed of work in the background that is done in steps: a given number of bytes in a second at most, and half of
/// the time while clients write, because they need the disk and the processor as well. One thread.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  /// 0 bytes per second: as fast as possible.
  explicit Pace(std::uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  /// When the next step may begin, after one that began at `begun` and took `bytes`. `is_busy`: clients write.
  Clock::time_point after_step(Clock::time_point begun, std::uint64_t bytes, bool is_busy) {
    const auto now = Clock::now();
    const auto until = is_busy ? now + std::min<Clock::duration>(now - begun, busy_rest_max) : now;
    bytes_done_ += bytes;
    if (bytes_per_second_ == 0) return until;
    const std::chrono::duration<double> by_rate(
        std::min(by_rate_s_max, static_cast<double>(bytes_done_) / static_cast<double>(bytes_per_second_)));
    return std::max(until, first_ + std::chrono::duration_cast<Clock::duration>(by_rate));
  }

 private:
  static constexpr std::chrono::milliseconds busy_rest_max{100};
  static constexpr double by_rate_s_max = 1e8;  ///< so that its nanoseconds can be counted

  const std::uint64_t bytes_per_second_;
  const Clock::time_point first_ = Clock::now();
  std::uint64_t bytes_done_ = 0;
};

}  // namespace octavo::storage
