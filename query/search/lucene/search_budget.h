#pragma once

#include <chrono>
#include <cstdint>
#include <exception>

namespace octavo::query::search {

/// Thrown inside a search whose time is over; never leaves this folder.
class TimeIsOver : public std::exception {
 public:
  const char* what() const noexcept override { return "the time for a search is over"; }
};

/// The time limit of one search. Its loops report their steps; the clock is read only once in many steps.
class SearchBudget {
 public:
  explicit SearchBudget(std::chrono::steady_clock::time_point deadline) : deadline_(deadline) {}

  /// Counts one document or one term. Throws TimeIsOver.
  void step() {
    if (++steps_ % steps_per_look == 0) look();
  }
  /// Counts one test of a term by a pattern, which may take a thousand times as long. Throws TimeIsOver.
  void step_pattern() {
    if (++patterns_ % patterns_per_look == 0) look();
  }
  void look() const {
    if (std::chrono::steady_clock::now() >= deadline_) throw TimeIsOver();
  }

 private:
  static constexpr std::uint64_t steps_per_look = 2048;
  static constexpr std::uint64_t patterns_per_look = 8;
  std::chrono::steady_clock::time_point deadline_;
  std::uint64_t steps_ = 0;
  std::uint64_t patterns_ = 0;
};

}  // namespace octavo::query::search
