#include "base/jobs/turns.h"

#include <optional>

namespace octavo {

Task<Expected<Turns::Turn>> Turns::take(std::string key) {
  {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.try_emplace(key);
    if (line.second) co_return Turn(shared_from_this(), std::move(key));
    if (line.first->second.size() >= waiting_max) {
      co_return fail(ErrorCode::overloaded,
                     "Too many requests wait for their turn at this partition key; try again later.");
    }
  }
  const bool had_to_wait = co_await await_completion<bool>([&](const Waiting& waiting) {
    std::optional<Waiting> runs_now;
    {
      const std::lock_guard lock(mutex_);
      const auto line = lines_.try_emplace(key);
      if (line.second) {
        runs_now = waiting;  // the former holder has left meanwhile
      } else {
        line.first->second.push_back(waiting);
      }
    }
    if (runs_now) (*runs_now)(true);
  });
  static_cast<void>(had_to_wait);
  co_return Turn(shared_from_this(), std::move(key));
}

void Turns::leave(const std::string& key) noexcept {
  std::optional<Waiting> next;
  {
    const std::lock_guard lock(mutex_);
    const auto line = lines_.find(key);
    if (line == lines_.end()) return;
    if (line->second.empty()) {
      lines_.erase(line);
      return;
    }
    next = std::move(line->second.front());
    line->second.pop_front();
  }
  (*next)(true);
}

}  // namespace octavo
