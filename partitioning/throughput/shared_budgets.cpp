#include "partitioning/throughput/shared_budgets.h"

#include <algorithm>
#include <utility>

#include "base/memory_retry.h"

namespace octavo::partitioning {

std::shared_ptr<ThroughputBudget> SharedBudgets::budget(std::string_view name, std::uint32_t per_second) {
  constexpr std::uint32_t per_share = partition_throughput_max;
  const std::lock_guard lock(mutex_);
  if (const auto known = budgets_.find(name); known != budgets_.end()) return known->second;
  auto made = std::make_shared<ThroughputBudget>(std::max(1U, (per_second + per_share - 1) / per_share));
  made->set_rate(per_second);
  budgets_.emplace(name, made);
  return made;
}

void SharedBudgets::set_rate(std::string_view name, std::uint32_t per_second) {
  const std::lock_guard lock(mutex_);
  const auto known = budgets_.find(name);
  if (known != budgets_.end()) known->second->set_rate(per_second);
}

void SharedBudgets::rename(std::string_view name, std::string_view next) {
  until_memory_suffices([&] {
    std::string key(next);
    const std::lock_guard lock(mutex_);
    if (const auto other = budgets_.find(next); other != budgets_.end()) budgets_.erase(other);
    const auto known = budgets_.find(name);
    if (known == budgets_.end()) return;
    auto node = budgets_.extract(known);
    node.key().swap(key);
    budgets_.insert(std::move(node));
  });
}

}  // namespace octavo::partitioning
