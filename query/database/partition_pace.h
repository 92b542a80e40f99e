#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>

namespace octavo::query {

/// In which physical partitions the next piece of a background work may begin. It must not queue behind the piece
/// before, as all writes would wait behind it. Shared with the pieces that are running. Thread-safe.
class PartitionPace {
 public:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds between_pieces{20};
  /// Pause of a partition in which a piece failed, or left nothing for the next one: a full disk stays full for a
  /// while.
  static constexpr Milliseconds rest_time{5'000};

  /// Zero: a piece may begin.
  Milliseconds pause(std::size_t partition_id);
  void begin(std::size_t partition_id);
  void end(std::size_t partition_id, bool goes_on);

 private:
  using Clock = std::chrono::steady_clock;
  struct State {
    bool busy = false;
    Clock::time_point rests_until{};
  };

  std::mutex mutex_;
  std::map<std::size_t, State> states_;
};

}  // namespace octavo::query
