#include "query/javascript/interruption.h"

namespace octavo::query::javascript {

namespace {

thread_local const std::atomic<bool>* stopping_here = nullptr;
std::atomic<bool> stopping_everywhere{false};

}  // namespace

StoppableCalls::StoppableCalls(const std::atomic<bool>& stopping) : outer_(stopping_here) {
  stopping_here = &stopping;
}

StoppableCalls::~StoppableCalls() {
  stopping_here = outer_;
}

void stop_all_calls() {
  stopping_everywhere.store(true, std::memory_order_relaxed);
}

bool calls_are_stopped() {
  return stopping_everywhere.load(std::memory_order_relaxed) ||
         (stopping_here != nullptr && stopping_here->load(std::memory_order_relaxed));
}

}  // namespace octavo::query::javascript
