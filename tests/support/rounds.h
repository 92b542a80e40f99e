#pragma once

#include <cstddef>

namespace octavo::tests {

/// With sanitizers, of how many repetitions of a random comparison one is made. What is compared is the release build's
/// matter; sanitizers look at how it is computed, and take ten times as long. Prime, so that as a stride it misses no
/// kind of what repeats.
#if defined(OCTAVO_SANITIZED)
inline constexpr std::size_t one_round_in = 5;
#else
inline constexpr std::size_t one_round_in = 1;
#endif

constexpr std::size_t rounds(std::size_t usual) {
  return usual / one_round_in;
}

}  // namespace octavo::tests
