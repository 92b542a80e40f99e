#pragma once

#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace octavo {

/// Runs `action` again and again until it has the memory it needs. For the few small steps that must not be left out,
/// such as answering a request that waits: whatever needs much memory fails meanwhile and gives it back. `action` must
/// be without effect when it throws.
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

/// A copy of what must not be lost, such as the reason of a failure, where nothing may throw.
template <class T>
T copy_when_memory_suffices(const T& value) noexcept {
  std::optional<T> copy;
  until_memory_suffices([&] { copy.emplace(value); });
  return *std::move(copy);
}

}  // namespace octavo
