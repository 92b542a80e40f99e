#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <simdjson.h>

#include "query/selector/selector.h"

namespace octavo::query {

/// Limits the work for one document: thousands of conditions on each of a million elements would take minutes, and so
/// would thousands of fields that are looked up among a million members. One step is one comparison of a value, about
/// 20 ns. Not thread-safe.
class MatchBudget {
 public:
  /// Unlimited.
  MatchBudget() = default;
  explicit MatchBudget(std::uint64_t steps_max) : steps_left_(steps_max), steps_max_(steps_max) {}

  /// False if the budget is used up: the match must end, and its result is meaningless.
  bool take(std::uint64_t steps = 1) {
    if (steps_left_ < steps) {
      steps_left_ = 0;
      is_exhausted_ = true;
      return false;
    }
    steps_left_ -= steps;
    return true;
  }
  /// Charges the processor time that a regular expression took.
  bool take_time(std::chrono::nanoseconds time) {
    constexpr std::int64_t nanoseconds_per_step = 20;
    return take(static_cast<std::uint64_t>(time.count() / nanoseconds_per_step));
  }
  /// True if the next regular expression must be timed: for the first few, reading the clock is not worth it.
  bool is_regex_timed() { return ++regexes_ > regexes_untimed_max; }

  bool is_exhausted() const { return is_exhausted_; }
  std::uint64_t steps_taken() const { return steps_max_ - steps_left_; }

 private:
  static constexpr std::size_t regexes_untimed_max = 8;
  std::uint64_t steps_left_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t steps_max_ = std::numeric_limits<std::uint64_t>::max();
  std::size_t regexes_ = 0;
  bool is_exhausted_ = false;
};

/// About 400 ms.
inline constexpr std::uint64_t match_steps_per_document_max = 20'000'000;

/// About 10 ms: after these a slice of a query or feed ends, so that others get their turn.
inline constexpr std::uint64_t match_steps_per_slice = 500'000;

/// Selector::matches within a budget. Errors: too_large, with the document's id, once the budget is used up.
Expected<bool> matches_within(const Selector& selector, const SelectorSubject& subject, MatchBudget& budget);

/// True if the selector has conditions whose cost grows with the document: on elements of arrays, regular expressions,
/// or many conditions, each of which passes the members of an object to find its value. Linear in the selector.
bool cost_grows_with_document(const Selector& selector);

}  // namespace octavo::query
