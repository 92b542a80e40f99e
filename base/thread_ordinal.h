#pragma once

#include <atomic>
#include <cstddef>

namespace octavo {

/// Ordinal of the calling thread, from 0; it stays the same for the life of the thread. Selects a slot of a table that
/// threads share, so that they rarely use the same one.
inline std::size_t thread_ordinal() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t ordinal = next.fetch_add(1, std::memory_order_relaxed);
  return ordinal;
}

}  // namespace octavo
