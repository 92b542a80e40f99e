#pragma once

#include <cstddef>
#include <latch>

namespace octavo {

/// What runs on other threads for some elements, one task for each. Its destructor waits for all of it, so the elements
/// must outlive it, and may be used afterwards.
class StartedTasks {
 public:
  /// `start(element, done)` must call `done`, which takes nothing, exactly once and on any thread, unless it throws:
  /// then what was begun is waited for, and the exception is passed on.
  template <class Elements, class Start>
  StartedTasks(Elements& elements, Start start) : missing_(static_cast<std::ptrdiff_t>(elements.size())) {
    std::size_t begun = 0;
    try {
      for (auto& element : elements) {
        start(element, [this] { missing_.count_down(); });
        ++begun;
      }
    } catch (...) {
      missing_.count_down(static_cast<std::ptrdiff_t>(elements.size() - begun));
      wait();
      throw;
    }
  }
  ~StartedTasks() { wait(); }
  StartedTasks(const StartedTasks&) = delete;
  StartedTasks& operator=(const StartedTasks&) = delete;

  void wait() const { missing_.wait(); }

 private:
  std::latch missing_;
};

}  // namespace octavo
