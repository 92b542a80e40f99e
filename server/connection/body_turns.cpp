#include "server/connection/body_turns.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "base/memory_retry.h"

namespace octavo::server {

namespace asio = boost::asio;
namespace {

constexpr std::chrono::milliseconds look_again_after{2};
/// Limit of bodies examined to find those with less left to read.
constexpr std::size_t looked_at_max = 64;

}  // namespace

Task<void> BodyTurns::Body::wait(std::size_t bytes_left) {
  const auto store = [this, bytes_left](auto handler) {
    resume_ = [handler = std::move(handler)]() mutable { std::move(handler)(); };
    reading_.unlink();
    bytes_left_ = bytes_left;
    turns_.reading_.insert(*this);
    turns_.waiting_.insert(*this);
    turns_.plan_turn();
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<IoExecutor>&, void()>(store, use_task);
}

// Plans the next turn, after everything that is ready now.
void BodyTurns::plan_turn() {
  if (turn_planned_ || waiting_.empty()) return;
  turn_planned_ = true;
  until_memory_suffices([this] { asio::post(context_, [this] { give_turn(); }); });
}

void BodyTurns::give_turn() {
  turn_planned_ = false;
  if (waiting_.empty()) return;
  Body& next = *waiting_.begin();
  if (must_hold_back(next)) return look_again_later();
  waiting_.erase(waiting_.begin());
  plan_turn();
  std::exchange(next.resume_, nullptr)();  // may destroy it
}

bool BodyTurns::must_hold_back(Body& next) {
  const auto now = Clock::now();
  const bool hold = bytes_.in_hand.load(std::memory_order_relaxed) >= in_hand_bytes_max ||
                    (bytes_.held.load(std::memory_order_relaxed) >= few_held_bytes && few_come_before(next, now));
  if (hold && !held_back_since_) held_back_since_ = now;
  if (hold && now - *held_back_since_ < hold_max) return true;
  held_back_since_.reset();
  next.last_turn_ = now;
  return false;
}

bool BodyTurns::few_come_before(const Body& next, Clock::time_point now) const {
  std::size_t looked_at = 0;
  std::size_t moving = 0;
  for (const Body& body : reading_) {
    if (&body == &next || ++looked_at > looked_at_max) return false;
    if (now - body.last_turn_ <= moving_within && ++moving >= few_bodies) return true;
  }
  return false;
}

// Requests in hand end on other threads: polling is cheaper than a notification by each.
void BodyTurns::look_again_later() {
  turn_planned_ = true;
  until_memory_suffices([this] {
    timer_->expires_after(look_again_after);
    timer_->async_wait([this](const boost::system::error_code& ended) {
      if (!ended) give_turn();
    });
  });
}

void BodyTurns::end() {
  timer_.reset();
  reading_.clear();
  // Destroying the handler destroys the waiting coroutine, now or together with the context.
  while (!waiting_.empty()) {
    Body& body = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    std::exchange(body.resume_, nullptr);
  }
}

}  // namespace octavo::server
