#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitioning/request_charge.h"

namespace octavo::partitioning {

/// Of one physical partition, in request units per second: Azure Cosmos DB service limits.
inline constexpr std::uint32_t partition_throughput_max = 10'000;

/// Request units per second, divided evenly between shares: the physical partitions of a database or, where several
/// containers share one budget, parts of it. Each share is a token bucket of its own, so a hot partition is refused
/// while the others go on.
///
/// A request begins when its share owes nothing, and is charged when its cost is known: what it spent beyond the budget
/// is a debt that later requests wait for. What is not spent is kept for one second. Thread-safe, without locks.
class ThroughputBudget {
 public:
  using Clock = std::chrono::steady_clock;

  /// No request makes the others wait for longer, whatever it costs.
  static constexpr std::chrono::seconds debt_max{10};

  explicit ThroughputBudget(std::size_t shares) : shares_(shares) {}

  /// Of all shares together; 0: nothing is refused.
  void set_rate(std::uint32_t per_second) { rate_.store(per_second, std::memory_order_relaxed); }
  std::uint32_t rate() const { return rate_.load(std::memory_order_relaxed); }
  std::size_t shares() const { return shares_.size(); }

  /// Until a request may begin; zero: now.
  std::chrono::milliseconds wait(std::size_t share, Clock::time_point now) const;
  void spend(std::size_t share, RequestUnits units, Clock::time_point now);

 private:
  /// When all that was spent is paid for, as time since the clock's epoch.
  struct alignas(64) Share {
    std::atomic<std::int64_t> paid_at_us{INT64_MIN / 2};
  };
  std::atomic<std::uint32_t> rate_{0};
  std::vector<Share> shares_;
};

}  // namespace octavo::partitioning
