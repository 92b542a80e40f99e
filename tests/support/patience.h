#pragma once

#include <chrono>

namespace octavo::tests {

/// A bound on the time that something may take. Sanitizers make everything many times as slow, and with them it is not
/// the time that is looked at.
constexpr std::chrono::milliseconds patiently(std::chrono::milliseconds usual) {
#if defined(OCTAVO_SANITIZED)
  return 10 * usual;
#else
  return usual;
#endif
}

}  // namespace octavo::tests
