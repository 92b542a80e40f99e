#include "partitioning/throughput/throughput_budget.h"

#include <algorithm>

#include "base/assert.h"

namespace octavo::partitioning {

namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t unspent_kept_us = second_us;

std::int64_t microseconds(ThroughputBudget::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::chrono::milliseconds ThroughputBudget::wait(std::size_t share, Clock::time_point now) const {
  if (rate() == 0) return std::chrono::milliseconds{0};
  OCTAVO_ASSERT(share < shares_.size());
  const std::int64_t left = shares_[share].paid_at_us.load(std::memory_order_relaxed) - microseconds(now);
  return std::chrono::milliseconds{left <= 0 ? 0 : (left + 999) / 1000};
}

void ThroughputBudget::spend(std::size_t share, RequestUnits units, Clock::time_point now) {
  const std::uint32_t per_second = rate();
  if (per_second == 0 || units <= 0) return;
  OCTAVO_ASSERT(share < shares_.size());
  const double share_rate = static_cast<double>(per_second) / static_cast<double>(shares_.size());
  constexpr double debt_max_us = std::chrono::duration<double, std::micro>(debt_max).count();
  const auto cost_us =
      static_cast<std::int64_t>(std::min(units / share_rate * second_us, debt_max_us + unspent_kept_us));
  const std::int64_t now_us = microseconds(now);
  auto& paid_at = shares_[share].paid_at_us;
  std::int64_t before = paid_at.load(std::memory_order_relaxed);
  std::int64_t after = 0;
  do {
    after = std::max(before, now_us - unspent_kept_us) + cost_us;
    after = std::min(after, now_us + static_cast<std::int64_t>(debt_max_us));
  } while (!paid_at.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

}  // namespace octavo::partitioning
