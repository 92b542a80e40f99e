#include "query/executor/plan_indexes.h"

#include <algorithm>
#include <chrono>

namespace octavo::query {

namespace {

constexpr std::chrono::minutes kUpdatePatience{5};

bool is_global(const Branch& branch) {
  return branch.index && branch.index->global;
}

}  // namespace

const IndexView* find_unbuilt(const Plan& plan, std::size_t place) {
  for (const Branch& branch : plan.branches) {
    if (branch.index && !branch.index->ready(place)) return &*branch.index;
  }
  return nullptr;
}

Task<Expected<void>> wait_for_indexes(std::shared_ptr<partitioning::Database> database,
                                      std::shared_ptr<const Plan> plan) {
  if (std::ranges::none_of(plan->branches, is_global)) co_return Expected<void>{};
  IndexManager* manager = IndexManager::of(*database);
  const auto visible = database->visible_sequence();
  if (!visible) co_return std::unexpected(visible.error());
  const storage::Sequence now = *visible;
  for (const Branch& branch : plan->branches) {
    if (!is_global(branch)) continue;
    auto current = manager->is_current(*branch.index->global, now);
    if (!current) co_return std::unexpected(current.error());
    if (*current) continue;
    auto waited = co_await manager->wait_until_current(branch.index->global, now,
                                                       std::chrono::steady_clock::now() + kUpdatePatience);
    if (!waited) co_return waited;
  }
  co_return Expected<void>{};
}

}  // namespace octavo::query
