#include "server/body_turns.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "storage/memory_retry.h"

namespace octavo::server {

namespace asio = boost::asio;

Task<void> BodyTurns::wait(std::size_t bytes_left) {
  Waiter waiter;
  waiter.bytes_left = bytes_left;
  const auto store = [this, &waiter](auto handler) {
    waiter.resume = [handler = std::move(handler)]() mutable { std::move(handler)(); };
    waiting_.insert(waiter);
    plan_turn();
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<IoExecutor>&, void()>(store, use_task);
}

// Behind all that is ready now.
void BodyTurns::plan_turn() {
  if (turn_planned_ || waiting_.empty()) return;
  turn_planned_ = true;
  until_memory_suffices([this] {
    asio::post(context_, [this] {
      turn_planned_ = false;
      if (waiting_.empty()) return;
      Waiter& next = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      plan_turn();
      std::exchange(next.resume, nullptr)();  // ends it
    });
  });
}

void BodyTurns::end() {
  // Whoever waits goes with what would have resumed it: at once, or with the context.
  while (!waiting_.empty()) {
    Waiter& waiter = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    std::exchange(waiter.resume, nullptr);
  }
}

}  // namespace octavo::server
