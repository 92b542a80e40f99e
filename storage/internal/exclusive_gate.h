#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "storage/environment.h"

namespace octavo::storage {

/// Holds the environment alone: no reader is inside while it lives. Waits at most `patience`.
class Environment::ExclusiveGate {
 public:
  ExclusiveGate(Environment& environment, std::optional<std::chrono::milliseconds> patience)
      : environment_(environment), lock_(environment.gate_mutex_) {
    environment_.gate_closed_.store(true, std::memory_order_seq_cst);
    const auto deadline = std::chrono::steady_clock::now() + patience.value_or(std::chrono::milliseconds{0});
    for (std::size_t i = 0; i < kReaderSlots; ++i) {
      while (environment_.slots_[i].active.load(std::memory_order_seq_cst) != 0) {
        if (patience && std::chrono::steady_clock::now() >= deadline) return;
        std::this_thread::yield();
      }
    }
    alone_ = true;
  }
  ~ExclusiveGate() { environment_.gate_closed_.store(false, std::memory_order_seq_cst); }
  bool alone() const { return alone_; }

 private:
  Environment& environment_;
  std::unique_lock<std::mutex> lock_;
  bool alone_ = false;
};

/// One thread's stay inside the environment, in its reader slot: nobody closes or remaps it meanwhile.
class Environment::Stay {
 public:
  explicit Stay(Environment& environment) : environment_(&environment), slot_(environment.enter()) {}
  ~Stay() {
    if (environment_ != nullptr) environment_->leave(slot_);
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  std::size_t slot() const { return slot_; }
  /// The slot, which the caller will leave.
  std::size_t hand_over() {
    environment_ = nullptr;
    return slot_;
  }

 private:
  Environment* environment_;
  std::size_t slot_;
};

}  // namespace octavo::storage
