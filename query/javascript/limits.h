#pragma once

#include <chrono>
#include <cstddef>

namespace octavo::query::javascript {

/// What one call of a design function may use. Exceeding one ends the call with function_failed, word resource_limit.
struct Limits {
  /// Of the thread's processor time, measured in steps of some milliseconds. By the clock the same for scripts,
  /// validations and update functions, as a client waits for these; ten times as long for the others.
  std::chrono::milliseconds call_time{5'000};
  /// JavaScript's memory in one thread, of all functions that it keeps.
  std::size_t heap_bytes = 128ULL << 20;
  std::size_t stack_bytes = 1ULL << 20;    ///< less where a thread's own stack is smaller
  std::size_t output_bytes = 64ULL << 20;  ///< all that one call emits or returns, as JSON text
  std::size_t log_bytes = 4ULL << 10;      ///< of `log()` in one call; the rest is cut off

  bool operator==(const Limits&) const = default;
};

/// For the whole process. Called once at the start; threads that run functions already keep their heap and stack.
void set_limits(const Limits& limits);
Limits limits();

}  // namespace octavo::query::javascript
