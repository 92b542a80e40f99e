#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "partitioning/throughput/throughput_budget.h"

namespace octavo::partitioning {

/// Budgets that several databases use together, by a name of their choice. Thread-safe.
class SharedBudgets {
 public:
  /// The first call for a name creates its budget, with `per_second` and one share per 10,000 of it; later calls return
  /// the same budget unchanged.
  std::shared_ptr<ThroughputBudget> budget(std::string_view name, std::uint32_t per_second);
  /// Changes the rate of a budget that exists.
  void set_rate(std::string_view name, std::uint32_t per_second);
  /// The budget is found under another name from now on; that of another one which had it is forgotten.
  void rename(std::string_view name, std::string_view next);

 private:
  std::mutex mutex_;  ///< guards budgets_
  std::map<std::string, std::shared_ptr<ThroughputBudget>, std::less<>> budgets_;
};

}  // namespace octavo::partitioning
