#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "base/assert.h"
#include "storage/lmdb/environment.h"

namespace octavo::storage {

/// How long to sleep between two checks of a wait. Waits are rare and usually end within milliseconds.
inline constexpr std::chrono::microseconds kGatePause{100};

inline std::uint64_t steady_now_ms() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count());
}

/// The error of a thread that could not enter an environment in time.
inline std::unexpected<Error> gate_stays_closed() {
  return fail(ErrorCode::overloaded, "The file is being opened or its map enlarged; try again later.");
}

/// If alone(), holds the environment exclusively: no reader is inside while this lives. Waits at most `patience` for
/// readers to leave, and at most kGatePatience for another exclusive holder.
class Environment::ExclusiveGate {
 public:
  ExclusiveGate(Environment& environment, std::chrono::milliseconds patience)
      : environment_(environment), lock_(environment.gate_mutex_, std::defer_lock) {
    using Clock = std::chrono::steady_clock;
    // Not a timed mutex: ThreadSanitizer does not know every library's timed mutexes.
    for (const auto deadline = Clock::now() + kGatePatience; !lock_.try_lock();) {
      if (Clock::now() >= deadline) return;
      std::this_thread::sleep_for(kGatePause);
    }
    environment_.gate_closed_.store(true, std::memory_order_seq_cst);
    const auto deadline = Clock::now() + patience;
    for (std::size_t i = 0; i < kReaderSlots; ++i) {
      for (int looks = 0; environment_.slots_[i].active.load(std::memory_order_seq_cst) != 0; ++looks) {
        if (Clock::now() >= deadline) return;
        if (looks < kLooksBeforeSleep) {
          std::this_thread::yield();
        } else {
          std::this_thread::sleep_for(kGatePause);
        }
      }
    }
    alone_ = true;
  }
  ~ExclusiveGate() {
    if (lock_.owns_lock()) environment_.gate_closed_.store(false, std::memory_order_seq_cst);
  }
  bool alone() const { return alone_; }

 private:
  static constexpr int kLooksBeforeSleep = 1000;

  Environment& environment_;
  std::unique_lock<std::mutex> lock_;
  bool alone_ = false;
};

/// One thread's stay in the environment, in its reader slot; the environment is not closed or remapped meanwhile. Not
/// inside() if the gate did not open within kGatePatience.
class Environment::Stay {
 public:
  explicit Stay(Environment& environment) : environment_(&environment), slot_(environment.enter()) {}
  ~Stay() {
    if (environment_ != nullptr && slot_) environment_->leave(*slot_);
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
    OCTAVO_ASSERT(environment_ != nullptr && inside());
    environment_ = nullptr;
    return *slot_;
  }

 private:
  Environment* environment_;
  std::optional<std::size_t> slot_;
};

}  // namespace octavo::storage
