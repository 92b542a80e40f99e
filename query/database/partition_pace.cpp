#include "query/database/partition_pace.h"

#include <algorithm>

namespace octavo::query {

PartitionPace::Milliseconds PartitionPace::pause(std::size_t partition_id) {
  const std::lock_guard lock(mutex_);
  const auto known = states_.find(partition_id);
  if (known == states_.end()) return Milliseconds{0};
  if (known->second.busy) return between_pieces;
  return std::max(Milliseconds{0}, std::chrono::ceil<Milliseconds>(known->second.rests_until - Clock::now()));
}

void PartitionPace::begin(std::size_t partition_id) {
  const std::lock_guard lock(mutex_);
  states_[partition_id].busy = true;
}

void PartitionPace::end(std::size_t partition_id, bool goes_on) {
  const std::lock_guard lock(mutex_);
  states_[partition_id] = {.busy = false, .rests_until = goes_on ? Clock::time_point{} : Clock::now() + rest_time};
}

}  // namespace octavo::query
