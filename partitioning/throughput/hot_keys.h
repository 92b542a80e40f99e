#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/sketch/space_saving.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::partitioning {

/// One of the logical partitions that spend most.
struct HotKey {
  std::string partition_key;
  RequestUnits units = 0;
  RequestUnits error_max = 0;   ///< at most this part of `units` was spent by others
  RequestUnits per_second = 0;  ///< at least: the mean, without `error_max`, over the time in which `units` were spent
};

/// The partition keys that spend most of a physical partition's request units, in bounded memory: a SpaceSaving sketch
/// of the current half minute, and one of the half minute before. Finds every key that spends more than 1/32 of a half
/// minute's units.
///
/// Thread-safe. add() never waits: while another thread holds the object, it drops its sample.
class HotKeys {
 public:
  static constexpr std::size_t keys_max = 32;
  static constexpr std::int64_t window_s = 30;

  void add(std::string_view partition_key, RequestUnits units, std::int64_t now_s);
  /// The keys that spent most in the last 30 to 60 seconds, in descending order.
  std::vector<HotKey> top(std::size_t count_max, std::int64_t now_s) const;

 private:
  struct NoNote {};
  struct Window {
    std::int64_t number = -1;  ///< number of the half minute
    SpaceSaving<NoNote, keys_max> keys;
  };
  mutable std::atomic_flag busy_;  ///< guards the windows
  std::array<Window, 2> windows_;
};

}  // namespace octavo::partitioning
