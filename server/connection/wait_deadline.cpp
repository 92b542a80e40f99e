#include "server/connection/wait_deadline.h"

#include <algorithm>
#include <utility>

#include "server/connection/thread_state.h"

namespace octavo::server {

namespace {

/// A client whose average rate is lower is disconnected. A pause as long as the timeout is always allowed.
constexpr std::uint64_t transfer_bytes_per_s_min = 500;

}  // namespace

void WaitDeadline::begin(Wait wait, std::chrono::milliseconds timeout) {
  wait_ = wait;
  timed_out_ = false;
  begun_ms_ = thread_.now_ms();
  deadline_ms_ = thread_.deadline_ms(timeout);
}

std::chrono::milliseconds WaitDeadline::waited() const {
  return std::chrono::milliseconds(thread_.now_ms() - begun_ms_);
}

Wait WaitDeadline::expire() {
  if (wait_ == Wait::none || thread_.now_ms() < deadline_ms_) return Wait::none;
  timed_out_ = true;
  return std::exchange(wait_, Wait::none);
}

void WaitDeadline::begin_transfer() {
  transfer_begun_ms_ = thread_.now_ms();
  transferred_bytes_ = 0;
}

void WaitDeadline::begin_piece(Wait wait, std::chrono::milliseconds timeout) {
  begin(wait, timeout);
  const auto slowest_ms = transferred_bytes_ * 1000 / transfer_bytes_per_s_min;
  const auto latest_ms = transfer_begun_ms_ + static_cast<std::int64_t>(slowest_ms) + deadline_ms_ - thread_.now_ms();
  deadline_ms_ = std::min(deadline_ms_, latest_ms);
}

void WaitDeadline::excuse_since(std::int64_t since_ms) {
  transfer_begun_ms_ += thread_.now_ms() - since_ms;
}

}  // namespace octavo::server
