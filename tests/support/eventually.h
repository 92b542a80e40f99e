#pragma once

#include <chrono>
#include <thread>

namespace octavo::tests {

/// Waits until `holds()`, at most `within`. Returns whether it does. Looks every 5 ms.
template <class Condition>
bool eventually(Condition holds, std::chrono::milliseconds within) {
  const auto until = std::chrono::steady_clock::now() + within;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

}  // namespace octavo::tests
