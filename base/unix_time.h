#pragma once

#include <chrono>
#include <cstdint>

namespace octavo {

/// Seconds since 1970, by the clock that stamps documents.
inline std::int64_t unix_now_s() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace octavo
