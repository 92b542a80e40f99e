#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "partitioning/hot_keys.h"
#include "partitioning/throughput_budget.h"

namespace octavo::partitioning {

/// What the requests to one database spend, by physical partition (by its place, see PartitionMap), and what they may
/// spend.
///
/// Thread-safe. Spending costs a few plain atomic additions on memory of that physical partition and takes no lock;
/// where no throughput is set, asking for admission is one load. Never throws.
class Consumption {
 public:
  /// `places`: those that share the budget, in the order of the hash space. All places are below `place_end`.
  Consumption(std::span<const std::size_t> places, std::size_t place_end);
  ~Consumption();

  /// After a split. Those that are not among `places` any more go on being metered.
  void set_places(std::span<const std::size_t> places, std::size_t place_end);

  /// Null: nothing is refused. A budget with fewer shares than there are physical partitions is shared by neighbours.
  void set_budget(std::shared_ptr<ThroughputBudget> budget);
  std::shared_ptr<ThroughputBudget> budget() const;

  bool is_limited() const { return budget_.load(std::memory_order_relaxed) != nullptr; }
  /// Before a request reads or writes in these physical partitions. Error: throttled, with the time after which to try
  /// again.
  Expected<void> admit(std::span<const std::size_t> places) const;
  Expected<void> admit(std::size_t place) const { return admit(std::span(&place, 1)); }
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
  /// A place's meter, made when first needed: most databases are never asked anything.
  struct Cell {
    std::atomic<Meter*> meter{nullptr};
    Cell() = default;
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;
    ~Cell();
  };
  struct Layout {
    std::vector<std::shared_ptr<Cell>> cells;  ///< by place
    std::vector<std::size_t> order;            ///< by place: which of those that share the budget
    std::size_t sharing = 0;                   ///< how many they are
    std::size_t share(std::size_t place, const ThroughputBudget& budget) const {
      return order[place] * budget.shares() / sharing;
    }
  };
  static Meter* meter(const Layout& layout, std::size_t place) noexcept;
  const Layout& layout() const { return *layout_.load(std::memory_order_acquire); }

  std::atomic<const Layout*> layout_{nullptr};
  std::vector<std::unique_ptr<const Layout>> layouts_;  ///< all that there were: requests may still look at them
  std::atomic<ThroughputBudget*> budget_{nullptr};
  mutable std::mutex mutex_;                                ///< guards layouts_ and budgets_
  std::vector<std::shared_ptr<ThroughputBudget>> budgets_;  ///< all that there were: requests may still look at them
};

}  // namespace octavo::partitioning
