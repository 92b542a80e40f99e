#include "query/walk/plan_indexes.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace octavo::query {

namespace {

constexpr std::chrono::minutes kUpdatePatience{5};

std::vector<std::shared_ptr<GlobalIndex>> global_indexes_of(const Plan& plan) {
  std::vector<std::shared_ptr<GlobalIndex>> indexes;
  for (const Branch& branch : plan.branches) {
    if (branch.index && branch.index->global) indexes.push_back(branch.index->global);
    for (const LeapStream& stream : branch.leaps) {
      if (stream.index.global) indexes.push_back(stream.index.global);
    }
  }
  return indexes;
}

}  // namespace

const IndexView* find_unbuilt(const Plan& plan, std::size_t partition_id) {
  for (const Branch& branch : plan.branches) {
    if (branch.index && !branch.index->ready(partition_id)) return &*branch.index;
  }
  return nullptr;
}

Task<Expected<void>> wait_for_indexes(MangoIndexes& indexes, std::shared_ptr<const Plan> plan) {
  const auto read = global_indexes_of(*plan);
  if (read.empty()) co_return Expected<void>{};
  const auto keep_alive = indexes.database().shared_from_this();
  const auto visible = keep_alive->visible_sequence();
  if (!visible) co_return std::unexpected(visible.error());
  const storage::Sequence now = *visible;
  for (const auto& index : read) {
    auto current = indexes.is_current(*index, now);
    if (!current) co_return std::unexpected(current.error());
    if (*current) continue;
    auto waited = co_await indexes.wait_until_current(index, now, std::chrono::steady_clock::now() + kUpdatePatience);
    if (!waited) co_return waited;
  }
  co_return Expected<void>{};
}

}  // namespace octavo::query
