#include "storage/lmdb/store_preparation.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace octavo::storage {
namespace {

/// How long a rest may last without a look at whether to stop.
constexpr std::chrono::milliseconds nap{20};

}  // namespace

StorePreparation::StorePreparation(Options options) : options_(std::move(options)), pace_(options_.bytes_per_second) {}

void StorePreparation::rest(Clock::time_point begun, std::uint64_t bytes) {
  const auto until = pace_.after_step(begun, bytes, options_.is_busy && options_.is_busy());
  while (Clock::now() < until && !is_stopped()) {
    std::this_thread::sleep_for(std::min<Clock::duration>(until - Clock::now(), nap));
  }
}

}  // namespace octavo::storage
