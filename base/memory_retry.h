#pragma once

#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace octavo {

/// Repeats `action` until it has the memory it needs. For the few small steps that must not be skipped, such as
/// answering a waiting request: larger work fails meanwhile and frees memory. `action` must have no effect if it
/// throws.
template <class Action>
void until_memory_suffices(Action action) {
  while (true) {
    try {
      action();
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }
}

/// Copies `value`, retrying until memory is available. For noexcept code that must still report an error.
template <class T>
T copy_when_memory_suffices(const T& value) noexcept {
  std::optional<T> copy;
  until_memory_suffices([&] { copy.emplace(value); });
  return *std::move(copy);
}

}  // namespace octavo
