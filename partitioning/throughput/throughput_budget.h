#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitioning/throughput/request_charge.h"

namespace octavo::partitioning {

/// Limit of one physical partition, in request units per second: Azure Cosmos DB service limits.
inline constexpr std::uint32_t partition_throughput_max = 10'000;

/// Request units per second, divided evenly between shares: the physical partitions of a database or, if several
/// containers share one budget, parts of it. Each share is a separate token bucket, so a hot partition is throttled
/// while the others are not.
///
/// A request may begin when its share has no debt, and is charged when its cost is known: what it spends beyond the
/// budget is a debt that later requests wait for. Unspent units are kept for one second. Thread-safe, without locks.
class ThroughputBudget {
 public:
  using Clock = std::chrono::steady_clock;

  /// The longest time for which one request, whatever its cost, makes others wait.
  static constexpr std::chrono::seconds debt_max{10};

  explicit ThroughputBudget(std::size_t shares) : shares_(shares) {}

  /// Rate of all shares together; 0: unlimited.
  void set_rate(std::uint32_t per_second) { rate_.store(per_second, std::memory_order_relaxed); }
  std::uint32_t rate() const { return rate_.load(std::memory_order_relaxed); }
  std::size_t shares() const { return shares_.size(); }

  /// Time until a request may begin; zero: now.
  std::chrono::milliseconds wait(std::size_t share, Clock::time_point now) const;
  void spend(std::size_t share, RequestUnits units, Clock::time_point now);

 private:
  /// Time at which everything spent is paid for, since the clock's epoch.
  struct alignas(64) Share {
    std::atomic<std::int64_t> paid_at_us{INT64_MIN / 2};
  };
  std::atomic<std::uint32_t> rate_{0};
  std::vector<Share> shares_;
};

}  // namespace octavo::partitioning
