#pragma once

#include <cstddef>
#include <exception>
#include <latch>

namespace octavo {

/// Starts what ends on other threads, for each element, and blocks until all of it has ended. `start(element, done)`
/// must call `done`, which takes nothing, exactly once and on any thread, unless it throws; then what was begun is
/// waited for, too, and the exception is passed on. So the elements may be used until they are done.
template <class Elements, class Start>
void start_all_and_wait(Elements& elements, Start start) {
  std::latch missing(static_cast<std::ptrdiff_t>(elements.size()));
  std::size_t begun = 0;
  std::exception_ptr thrown;
  try {
    for (auto& element : elements) {
      start(element, [&missing] { missing.count_down(); });
      ++begun;
    }
  } catch (...) {
    thrown = std::current_exception();
    missing.count_down(static_cast<std::ptrdiff_t>(elements.size() - begun));
  }
  missing.wait();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace octavo
