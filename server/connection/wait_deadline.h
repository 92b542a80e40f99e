#pragma once

#include <chrono>
#include <cstdint>

namespace octavo::server {

class ThreadState;

/// What a connection waits for, in the order of api::TimeoutKind from `handshake` to `send`.
enum class Wait : std::uint8_t { none, handshake, head, body, idle, send, linger };

/// What a connection waits for and until when, on the clock of its thread, whose tick checks the deadline.
///
/// A transfer is a body or a reply that arrives or leaves in pieces. Each pause is limited by its timeout, and the sum
/// of all pauses by a lowest average rate.
class WaitDeadline {
 public:
  explicit WaitDeadline(const ThreadState& thread) : thread_(thread) {}

  void begin(Wait wait, std::chrono::milliseconds timeout);
  void end() { wait_ = Wait::none; }
  Wait current() const { return wait_; }
  /// Since begin().
  std::chrono::milliseconds waited() const;

  /// Ends the wait if its deadline has passed; `none` if not. Returns what was waited for.
  Wait expire();
  /// Whether the last wait ended by expire().
  bool timed_out() const { return timed_out_; }
  void forget_timeout() { timed_out_ = false; }

  void begin_transfer();
  void add_transferred(std::uint64_t bytes) { transferred_bytes_ += bytes; }
  std::uint64_t transferred_bytes() const { return transferred_bytes_; }
  /// Begins the wait for the next piece of a transfer.
  void begin_piece(Wait wait, std::chrono::milliseconds timeout);
  /// The time since `since_ms` (ThreadState::now_ms) was no pause of the client.
  void excuse_since(std::int64_t since_ms);

 private:
  const ThreadState& thread_;
  std::int64_t begun_ms_ = 0;
  std::int64_t deadline_ms_ = 0;
  std::int64_t transfer_begun_ms_ = 0;
  std::uint64_t transferred_bytes_ = 0;
  Wait wait_ = Wait::none;
  bool timed_out_ = false;
};

}  // namespace octavo::server
