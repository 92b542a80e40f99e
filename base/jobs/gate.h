#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace octavo {

/// Lets work pass unless it is kept closed, and knows whether any is still inside. Thread-safe; nothing blocks.
class Gate {
 public:
  /// Work that is inside. A value that can be moved; it may outlive the gate.
  class Pass {
   public:
    explicit Pass(std::shared_ptr<std::atomic<std::int64_t>> inside) : inside_(std::move(inside)) {}
    ~Pass() { leave(); }
    Pass(Pass&& other) noexcept = default;
    Pass& operator=(Pass&& other) noexcept {
      if (this == &other) return *this;
      leave();
      inside_ = std::move(other.inside_);
      return *this;
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    void leave() {
      if (inside_) inside_->fetch_sub(1, std::memory_order_seq_cst);
      inside_.reset();
    }

    std::shared_ptr<std::atomic<std::int64_t>> inside_;
  };

  /// nullopt: it is closed.
  std::optional<Pass> enter() {
    // In this order: a caller that closes the gate and then finds it empty knows that all that come later see it
    // closed.
    inside_->fetch_add(1, std::memory_order_seq_cst);
    Pass pass(inside_);
    if (closed_.load(std::memory_order_seq_cst) > 0) return std::nullopt;
    return pass;
  }
  void close() { closed_.fetch_add(1, std::memory_order_seq_cst); }
  /// Takes one call of close() back: it stays closed while there are others.
  void open() { closed_.fetch_sub(1, std::memory_order_seq_cst); }
  /// Meaningful while it is closed: then it stays empty.
  bool is_empty() const { return inside_->load(std::memory_order_seq_cst) == 0; }

 private:
  const std::shared_ptr<std::atomic<std::int64_t>> inside_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::atomic<std::int64_t> closed_{0};  ///< calls of close() that were not taken back
};

/// Keeps work outside for its life.
class ClosedGate {
 public:
  explicit ClosedGate(Gate& gate) : gate_(gate) { gate_.close(); }
  ~ClosedGate() { gate_.open(); }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;

 private:
  Gate& gate_;
};

}  // namespace octavo
