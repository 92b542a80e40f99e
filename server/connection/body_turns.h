#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/set.hpp>

#include "base/task.h"

namespace octavo::server {

/// Bytes of large request bodies in the whole process.
struct BodyBytes {
  std::atomic<std::uint64_t> held{0};     ///< in memory beyond the ordinary buffers
  std::atomic<std::uint64_t> in_hand{0};  ///< of these, in complete bodies whose requests are being handled
};

/// Decides which connection of one I/O thread reads the next piece of a large request body. One connection reads at a
/// time, and between two pieces everything else that is ready runs, however many bodies arrive. The body with the least
/// left to read goes first: bodies are completed one after the other and free their memory, instead of all growing
/// until none fits.
///
/// Input that the server cannot process yet stays in the kernel, so that the client notices that it must wait: no
/// connection reads while enough bytes are in hand, and while many bytes are held, only the bodies closest to their end
/// are read. Used by that thread only.
class BodyTurns {
  using Clock = std::chrono::steady_clock;

 public:
  /// So many bytes in hand keep the workers and the disk busy: no body is read until there are fewer.
  static constexpr std::uint64_t in_hand_bytes_max = std::uint64_t{48} << 20;
  /// While more bytes are held, only the first few_bodies bodies are read.
  static constexpr std::uint64_t few_held_bytes = std::uint64_t{256} << 20;
  static constexpr std::size_t few_bodies = 8;
  /// One body is read nevertheless after this time, because requests in hand may take long.
  static constexpr std::chrono::milliseconds hold_max{100};
  /// A body that has received nothing for this long does not hold others back.
  static constexpr std::chrono::milliseconds moving_within{500};

  BodyTurns(boost::asio::io_context& context, const BodyBytes& bytes)
      : context_(context), bytes_(bytes), timer_(context) {}
  BodyTurns(const BodyTurns&) = delete;
  BodyTurns& operator=(const BodyTurns&) = delete;

  /// One large body while it is read.
  class Body {
   public:
    explicit Body(BodyTurns& turns) : turns_(turns) {}
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    /// Waits for the body's turn. `bytes_left`: still to be read.
    Task<void> wait(std::size_t bytes_left);

   private:
    friend class BodyTurns;
    using Hook = boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    BodyTurns& turns_;
    Hook reading_;
    Hook waiting_;
    std::size_t bytes_left_ = 0;
    Clock::time_point last_turn_;
    std::move_only_function<void()> resume_;
  };

  /// Releases the waiting bodies without resuming them. Call after the thread has ended.
  void end();

 private:
  void plan_turn();
  void give_turn();
  bool must_hold_back(Body& next);
  bool few_come_before(const Body& next, Clock::time_point now) const;
  void look_again_later();

  struct HasLess {
    bool operator()(const Body& a, const Body& b) const { return a.bytes_left_ < b.bytes_left_; }
  };
  template <Body::Hook Body::* hook>
  using Bodies =
      boost::intrusive::multiset<Body, boost::intrusive::member_hook<Body, Body::Hook, hook>,
                                 boost::intrusive::compare<HasLess>, boost::intrusive::constant_time_size<false>>;
  boost::asio::io_context& context_;
  const BodyBytes& bytes_;
  Bodies<&Body::reading_> reading_;
  Bodies<&Body::waiting_> waiting_;
  std::optional<boost::asio::steady_timer> timer_;
  std::optional<Clock::time_point> held_back_since_;
  bool turn_planned_ = false;
};

}  // namespace octavo::server
