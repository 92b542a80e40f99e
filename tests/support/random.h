#pragma once

#include <cstddef>
#include <random>

namespace octavo::tests {

using Random = std::mt19937;

/// 0 to `limit` - 1; the same on every platform.
inline std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

}  // namespace octavo::tests
