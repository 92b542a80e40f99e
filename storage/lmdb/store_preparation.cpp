#include "storage/lmdb/store_preparation.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace octavo::storage {
namespace {

constexpr std::chrono::milliseconds rest_max{100};
/// How long a rest may last without a look at whether to stop.
constexpr std::chrono::milliseconds nap{20};

}  // namespace

StorePreparation::StorePreparation(Options options) : options_(std::move(options)) {}

void StorePreparation::rest(Clock::time_point begun, std::uint64_t bytes) {
  const auto now = Clock::now();
  auto until = now;
  if (options_.is_busy && options_.is_busy()) until += std::min<Clock::duration>(now - begun, rest_max);
  bytes_written_ += bytes;
  if (options_.bytes_per_second > 0) {
    constexpr double by_rate_s_max = 1e9;  // stays within the clock's range
    const std::chrono::duration<double> by_rate(
        std::min(by_rate_s_max, static_cast<double>(bytes_written_) / static_cast<double>(options_.bytes_per_second)));
    until = std::max(until, first_ + std::chrono::duration_cast<Clock::duration>(by_rate));
  }
  while (Clock::now() < until && !is_stopped()) {
    std::this_thread::sleep_for(std::min<Clock::duration>(until - Clock::now(), nap));
  }
}

}  // namespace octavo::storage
