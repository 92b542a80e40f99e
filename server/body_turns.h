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

/// Bytes of large request bodies, in the whole process.
struct BodyBytes {
  std::atomic<std::uint64_t> held{0};     ///< in memory beyond the ordinary buffers
  std::atomic<std::uint64_t> in_hand{0};  ///< of these, by bodies that are here whole and whose requests are handled
};

/// Who reads the next piece of a large request body, among the connections of one I/O thread: one of them at a time,
/// and between two pieces everything else that is ready, however many bodies arrive. Who has least left goes first:
/// bodies come to their end one after the other, and give their memory back, rather than all of them growing until none
/// fits.
///
/// What the server cannot work on yet is better left with the kernel, where the client sees that it must wait: nobody
/// reads while enough is in hand, and while much is held only those read who come to their end next. That thread's
/// only.
class BodyTurns {
  using Clock = std::chrono::steady_clock;

 public:
  /// So much in hand keeps the workers and the disk busy.
  static constexpr std::uint64_t kInHandBytesMax = std::uint64_t{48} << 20;
  /// Of what is held beyond this, only the first few come nearer to their end.
  static constexpr std::uint64_t kHeldBytesFew = std::uint64_t{256} << 20;
  static constexpr std::size_t kFew = 8;
  /// Once in so long somebody reads all the same: a request may take its time.
  static constexpr std::chrono::milliseconds kHoldMax{100};
  /// A body of which nothing has come for so long holds nobody back.
  static constexpr std::chrono::milliseconds kMovingWithin{500};

  BodyTurns(boost::asio::io_context& context, const BodyBytes& bytes)
      : context_(context), bytes_(bytes), timer_(context) {}
  BodyTurns(const BodyTurns&) = delete;
  BodyTurns& operator=(const BodyTurns&) = delete;

  /// One body, from its first turn to its end.
  class Body {
   public:
    explicit Body(BodyTurns& turns) : turns_(turns) {}
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;
    /// Until it is its turn, with so much left to read.
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

  /// Lets go of those who wait, for ever. After the thread has ended.
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
