#pragma once

#include <atomic>

namespace octavo::query::javascript {

/// While it lives, calls of design functions on this thread end once `stopping` is true: the running one within some
/// 20 ms, those that follow at once, with overloaded. For work that nobody needs any more when its owner goes. Of
/// nested scopes the innermost counts. `stopping` outlives it.
class StoppableCalls {
 public:
  explicit StoppableCalls(const std::atomic<bool>& stopping);
  ~StoppableCalls();
  StoppableCalls(const StoppableCalls&) = delete;
  StoppableCalls& operator=(const StoppableCalls&) = delete;

 private:
  const std::atomic<bool>* const outer_;
};

/// From now on the calls of all threads end so: the process goes.
void stop_all_calls();

/// Whether a call on this thread has to end.
bool calls_are_stopped();

}  // namespace octavo::query::javascript
