#pragma once

#include <atomic>

namespace octavo::query::javascript {

/// During its lifetime, calls of design functions on this thread end with overloaded once `stopping` is true: the
/// running call within about 20 ms, later calls immediately. For work that is useless after its owner is destroyed. In
/// nested scopes, the innermost counts. `stopping` must outlive the object.
class StoppableCalls {
 public:
  explicit StoppableCalls(const std::atomic<bool>& stopping);
  ~StoppableCalls();
  StoppableCalls(const StoppableCalls&) = delete;
  StoppableCalls& operator=(const StoppableCalls&) = delete;

 private:
  const std::atomic<bool>* const outer_;
};

/// Ends the calls of all threads in the same way from now on, for the shutdown of the process.
void stop_all_calls();

/// Whether calls on this thread must end.
bool calls_are_stopped();

}  // namespace octavo::query::javascript
