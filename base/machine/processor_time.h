#pragma once

#include <chrono>
#include <ctime>

namespace octavo {

/// Processor time used by this thread, or by the thread that `clock` belongs to. By any other clock, normal work takes
/// long on a busy machine.
inline std::chrono::nanoseconds processor_time(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now{};
  static_cast<void>(::clock_gettime(clock, &now));  // fails only for a clock that does not exist
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace octavo
