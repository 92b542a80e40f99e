#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "storage/lmdb/pace.h"

namespace octavo::storage {

/// What a store needs before its compaction, in small steps that are stopped and paced as the compaction is
/// (StoreCompaction). One thread works.
class StorePreparation {
 public:
  using Clock = std::chrono::steady_clock;
  /// They mean the same as those of StoreCompaction; all may be empty.
  struct Options {
    std::function<bool()> stopped = {};
    std::function<bool()> is_busy = {};
    std::uint64_t bytes_per_second = 0;
  };

  StorePreparation() : StorePreparation(Options{}) {}
  explicit StorePreparation(Options options);

  bool is_stopped() const { return options_.stopped && options_.stopped(); }
  /// Called after a step that began at `begun` and wrote about `bytes`: while clients write, rests for as long as the
  /// step took, and otherwise only if `bytes_per_second` asks for it.
  void rest(Clock::time_point begun, std::uint64_t bytes);
  void expect_rows(std::uint64_t rows) { rows_expected_.store(rows, std::memory_order_relaxed); }
  void note_rows(std::uint64_t rows_done) { rows_done_.store(rows_done, std::memory_order_relaxed); }

  // Any thread, at any time

  std::uint64_t rows_done() const { return rows_done_.load(std::memory_order_relaxed); }
  std::uint64_t rows_expected() const { return rows_expected_.load(std::memory_order_relaxed); }

 private:
  const Options options_;
  Pace pace_;
  std::atomic<std::uint64_t> rows_done_{0};
  std::atomic<std::uint64_t> rows_expected_{0};
};

}  // namespace octavo::storage
