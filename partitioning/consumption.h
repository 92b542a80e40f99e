#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "partitioning/hot_keys.h"
#include "partitioning/throughput_budget.h"
#include "storage/error.h"

namespace octavo::partitioning {

/// What the requests to one database spend, by physical partition, and what they may spend.
///
/// Thread-safe. Spending costs a few plain atomic additions on memory of that physical partition and takes no lock; where
/// no throughput is set, asking for admission is one load. Never throws.
class Consumption {
 public:
  explicit Consumption(std::size_t physical_partitions);
  ~Consumption();

  /// Null: nothing is refused. A budget with fewer shares than there are physical partitions is shared by neighbours.
  void set_budget(std::shared_ptr<ThroughputBudget> budget);
  std::shared_ptr<ThroughputBudget> budget() const;

  bool is_limited() const { return budget_.load(std::memory_order_relaxed) != nullptr; }
  /// Before a request reads or writes in the physical partitions [first, last]. Error: throttled, with the time after
  /// which to try again.
  Expected<void> admit(std::size_t first, std::size_t last) const;
  /// `partition_key`: empty where there is none, or where there are many.
  void spend(std::size_t place, std::string_view partition_key, RequestUnits units) noexcept;

  struct Report {
    RequestUnits total = 0;        ///< since the database was opened
    RequestUnits last_second = 0;  ///< the last whole one
    RequestUnits last_minute = 0;  ///< the last 60 whole seconds
    std::uint64_t refused = 0;     ///< requests, since the database was opened
    std::vector<HotKey> hot_keys;
  };
  Report report(std::size_t place, std::size_t hot_keys_max) const;
  /// Of one partition key, in the last 30 to 60 seconds; 0 when it is not among the hot ones.
  RequestUnits recent_of(std::size_t place, std::string_view partition_key) const;

 private:
  struct Meter;
  Meter* meter(std::size_t place) const noexcept;

  mutable std::vector<std::atomic<Meter*>> meters_;  ///< made when first needed: most databases are never asked anything
  std::atomic<ThroughputBudget*> budget_{nullptr};
  mutable std::mutex mutex_;  ///< guards budgets_
  std::vector<std::shared_ptr<ThroughputBudget>> budgets_;  ///< all that there were: requests may still look at them
};

}  // namespace octavo::partitioning
