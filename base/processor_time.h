#pragma once

#include <chrono>
#include <ctime>

namespace octavo {

/// How long this thread has been running, or the one that the clock is of. On a busy machine honest work takes long by
/// any other clock.
inline std::chrono::nanoseconds processor_time(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now{};
  static_cast<void>(::clock_gettime(clock, &now));  // fails only for a clock that there is not
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace octavo
