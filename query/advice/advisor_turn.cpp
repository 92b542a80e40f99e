#include "query/advice/advisor_turn.h"

#include <atomic>

namespace octavo::query::advice {

namespace {

std::atomic_flag& running() {
  static std::atomic_flag flag;
  return flag;
}

}  // namespace

Expected<AdvisorTurn> AdvisorTurn::take() {
  if (running().test_and_set(std::memory_order_acquire)) {
    return fail(ErrorCode::conflict, "An advisor is running; one runs at a time. Try again later.", "advisor_running");
  }
  return AdvisorTurn();
}

AdvisorTurn::~AdvisorTurn() {
  if (has_it_) running().clear(std::memory_order_release);
}

}  // namespace octavo::query::advice
