#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "base/assert.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// How long to sleep between two checks of a wait. Waits are rare and usually end within milliseconds.
inline constexpr std::chrono::microseconds gate_pause{100};

inline std::uint64_t steady_now_ms() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count());
}

/// The error of a thread that could not enter a store in time.
inline std::unexpected<Error> gate_stays_closed() {
  return fail(ErrorCode::overloaded, "The file is being opened or its map enlarged; try again later.");
}

/// If alone(), holds the store exclusively: no reader is inside while this lives. Waits at most `patience` for
/// readers to leave, and at most gate_patience for another exclusive holder.
class Store::ExclusiveGate {
 public:
  ExclusiveGate(Store& store, std::chrono::milliseconds patience)
      : store_(store), lock_(store.gate_mutex_, std::defer_lock) {
    using Clock = std::chrono::steady_clock;
    // Not a timed mutex: ThreadSanitizer does not know every library's timed mutexes.
    for (const auto deadline = Clock::now() + gate_patience; !lock_.try_lock();) {
      if (Clock::now() >= deadline) return;
      std::this_thread::sleep_for(gate_pause);
    }
    store_.gate_closed_.store(true, std::memory_order_seq_cst);
    const auto deadline = Clock::now() + patience;
    for (std::size_t i = 0; i < reader_slots; ++i) {
      for (int looks = 0; store_.slots_[i].active.load(std::memory_order_seq_cst) != 0; ++looks) {
        if (Clock::now() >= deadline) return;
        if (looks < looks_before_sleep) {
          std::this_thread::yield();
        } else {
          std::this_thread::sleep_for(gate_pause);
        }
      }
    }
    alone_ = true;
  }
  ~ExclusiveGate() {
    if (lock_.owns_lock()) store_.gate_closed_.store(false, std::memory_order_seq_cst);
  }
  bool alone() const { return alone_; }

 private:
  static constexpr int looks_before_sleep = 1000;

  Store& store_;
  std::unique_lock<std::mutex> lock_;
  bool alone_ = false;
};

/// One thread's stay in the store, in its reader slot; the store is not closed or remapped meanwhile. Not
/// inside() if the gate did not open within gate_patience.
class Store::Stay {
 public:
  explicit Stay(Store& store) : store_(&store), slot_(store.enter()) {}
  ~Stay() {
    if (store_ != nullptr && slot_) store_->leave(*slot_);
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  bool inside() const { return slot_.has_value(); }
  std::size_t slot() const {
    OCTAVO_ASSERT(inside());
    return *slot_;
  }
  /// Returns the slot, which the caller must then leave.
  std::size_t hand_over() {
    OCTAVO_ASSERT(store_ != nullptr && inside());
    store_ = nullptr;
    return *slot_;
  }

 private:
  Store* store_;
  std::optional<std::size_t> slot_;
};

}  // namespace octavo::storage
