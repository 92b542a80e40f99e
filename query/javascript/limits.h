#pragma once

#include <chrono>
#include <cstddef>

namespace octavo::query::javascript {

/// The limits of one call of a design function. Exceeding one ends the call with function_stopped.
struct Limits {
  /// The limit of the thread's processor time, measured in steps of some milliseconds. Elapsed time has the same limit
  /// for calls that a client waits for: scripts, validations, filters, updates. For others it is ten times this.
  std::chrono::milliseconds call_time{5'000};
  /// JavaScript's memory in one thread, shared by all functions cached there.
  std::size_t heap_bytes = 128ULL << 20;
  std::size_t stack_bytes = 1ULL << 20;    ///< less if the thread's own stack is smaller
  std::size_t output_bytes = 64ULL << 20;  ///< everything that one call emits or returns, as JSON text
  std::size_t log_bytes = 4ULL << 10;      ///< output of `log()` in one call; the rest is cut off

  bool operator==(const Limits&) const = default;
};

/// Sets the limits of the whole process. Called once at the start: threads that already run functions keep their heap
/// and stack.
void set_limits(const Limits& limits);
Limits limits();

}  // namespace octavo::query::javascript
