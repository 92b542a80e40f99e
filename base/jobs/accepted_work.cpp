#include "base/jobs/accepted_work.h"

#include <deque>
#include <mutex>
#include <optional>

#include "base/completion.h"

namespace octavo {

struct AcceptedWork::State {
  struct Waiting {
    std::uint64_t last;  ///< waits for the pieces up to this number
    Completion<bool> done;
  };

  std::mutex mutex;
  std::uint64_t accepted = 0;
  std::set<std::uint64_t> pieces;  ///< the numbers of those that are not done
  std::deque<Waiting> waiting;     ///< in the order of `last`

  bool is_done(std::uint64_t last) const { return pieces.empty() || *pieces.begin() > last; }

  // Takes the next one that need not wait any more.
  std::optional<Waiting> take_ready() {
    const std::lock_guard lock(mutex);
    if (waiting.empty() || !is_done(waiting.front().last)) return std::nullopt;
    Waiting first = std::move(waiting.front());
    waiting.pop_front();
    return first;
  }
  void end(std::uint64_t number) {
    {
      const std::lock_guard lock(mutex);
      pieces.erase(number);
    }
    while (const auto ready = take_ready()) ready->done(true);
  }
};

AcceptedWork::AcceptedWork() : state_(std::make_shared<State>()) {}

AcceptedWork::Piece::~Piece() {
  if (state_) state_->end(number_);
}

AcceptedWork::Piece AcceptedWork::accept() {
  const std::lock_guard lock(state_->mutex);
  state_->pieces.insert(state_->pieces.end(), state_->accepted + 1);
  return {state_, ++state_->accepted};
}

Task<void> AcceptedWork::wait_for_accepted() {
  const auto state = state_;
  co_await await_completion<bool>([&](const Completion<bool>& done) {
    bool is_done = false;
    {
      const std::lock_guard lock(state->mutex);
      is_done = state->is_done(state->accepted);
      if (!is_done) state->waiting.push_back({state->accepted, done});
    }
    if (is_done) done(true);
  });
}

}  // namespace octavo
