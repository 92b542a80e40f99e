#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "partitioning/throughput/hot_keys.h"
#include "partitioning/throughput/throughput_budget.h"

namespace octavo::partitioning {

/// What the requests to one database spend, by physical partition (by partition id, see PartitionMap), and what they
/// may spend.
///
/// Thread-safe. Spending costs a few plain atomic additions on memory of that physical partition and takes no lock;
/// without a throughput limit, admission costs one load. Never throws.
class Consumption {
 public:
  /// `partition_ids`: those that share the budget, in the order of the hash space. All are below `partition_id_end`.
  Consumption(std::span<const std::size_t> partition_ids, std::size_t partition_id_end);
  ~Consumption();

  /// Called after a split. Partitions that are no longer among `partition_ids` are still metered.
  void set_partition_ids(std::span<const std::size_t> partition_ids, std::size_t partition_id_end);

  /// Null: unlimited. If a budget has fewer shares than there are physical partitions, neighbours share one.
  void set_budget(std::shared_ptr<ThroughputBudget> budget);
  std::shared_ptr<ThroughputBudget> budget() const;

  bool is_limited() const { return budget_.load(std::memory_order_relaxed) != nullptr; }
  /// Called before a request reads or writes in these physical partitions. Error: throttled, with the time after which
  /// to retry.
  Expected<void> admit(std::span<const std::size_t> partition_ids) const;
  Expected<void> admit(std::size_t partition_id) const { return admit(std::span(&partition_id, 1)); }
  /// `partition_key`: empty if the request has no key, or many.
  void spend(std::size_t partition_id, std::string_view partition_key, RequestUnits units) noexcept;
  /// Divides `units` evenly.
  void spend(std::span<const std::size_t> partition_ids, RequestUnits units) noexcept;

  struct Report {
    RequestUnits total = 0;        ///< since the database was opened
    RequestUnits last_second = 0;  ///< in the last complete second
    RequestUnits last_minute = 0;  ///< in the last 60 complete seconds
    std::uint64_t refused = 0;     ///< requests refused since the database was opened
    std::vector<HotKey> hot_keys;
  };
  Report report(std::size_t partition_id, std::size_t hot_keys_max) const;
  /// What one partition key spent in the last 30 to 60 seconds; 0 if it is not among the hot ones.
  HotKey recent_of(std::size_t partition_id, std::string_view partition_key) const;

 private:
  struct Meter;
  /// The meter of one partition id, created when first needed: most databases are never asked for it.
  struct Cell {
    std::atomic<Meter*> meter{nullptr};
    Cell() = default;
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;
    ~Cell();
  };
  struct Layout {
    std::vector<std::shared_ptr<Cell>> cells;  ///< by partition id
    std::vector<std::size_t> order;            ///< by partition id: its index among those that share the budget
    std::size_t sharing = 0;                   ///< number of partitions that share the budget
    std::size_t share(std::size_t partition_id, const ThroughputBudget& budget) const {
      OCTAVO_ASSERT(partition_id < order.size());
      OCTAVO_ASSERT(order[partition_id] < sharing);
      return order[partition_id] * budget.shares() / sharing;
    }
  };
  static Meter* meter(const Layout& layout, std::size_t partition_id) noexcept;
  const Layout& layout() const { return *layout_.load(std::memory_order_acquire); }

  std::atomic<const Layout*> layout_{nullptr};
  std::vector<std::unique_ptr<const Layout>> layouts_;  ///< all layouts there were, as requests may still use them
  std::atomic<ThroughputBudget*> budget_{nullptr};
  mutable std::mutex mutex_;                                ///< guards layouts_ and budgets_
  std::vector<std::shared_ptr<ThroughputBudget>> budgets_;  ///< all budgets there were, as requests may still use them
};

}  // namespace octavo::partitioning
