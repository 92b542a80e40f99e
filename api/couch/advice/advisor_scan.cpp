#include "api/couch/advice/advisor_scan.h"

#include <algorithm>

#include "partitioning/database.h"

namespace octavo::api::couch {

bool AdvisorPace::has_queued_writes() const {
  return std::ranges::any_of(database_.partition_ids(), [this](std::size_t partition_id) {
    return database_.physical_partition(partition_id).queued_bytes() > 0;
  });
}

Task<void> AdvisorPace::wait(std::uint64_t documents) {
  const std::chrono::duration<double> least(static_cast<double>(documents) / documents_per_second);
  const auto due = begun_ + std::chrono::duration_cast<Clock::duration>(least);
  if (Clock::now() < due) co_await wait_until(due);
  // Not for ever: under writes without a pause the advisor must come to an end, too.
  constexpr std::chrono::milliseconds patience{50};
  constexpr std::chrono::milliseconds look_again{2};
  const auto end = Clock::now() + patience;
  while (has_queued_writes() && Clock::now() < end && !database_.deleted()) {
    co_await wait_until(Clock::now() + look_again);
  }
}

}  // namespace octavo::api::couch
