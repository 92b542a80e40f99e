#pragma once

#include <cstddef>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/intrusive/set.hpp>

#include "partitioning/task.h"

namespace octavo::server {

/// Who reads the next piece of a large request body, among the connections of one I/O thread: one of them at a time, and
/// between two pieces everything else that is ready, however many bodies arrive. Who has least left goes first: bodies
/// come to their end one after the other, and give their memory back, rather than all of them growing until none fits.
/// That thread's only.
class BodyTurns {
 public:
  explicit BodyTurns(boost::asio::io_context& context) : context_(context) {}
  BodyTurns(const BodyTurns&) = delete;
  BodyTurns& operator=(const BodyTurns&) = delete;

  /// Until it is the turn of a body of which so much is left to read.
  Task<void> wait(std::size_t bytes_left);
  /// Lets go of those who wait, for ever. After the thread has ended.
  void end();

 private:
  struct Waiter : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    std::size_t bytes_left = 0;
    std::move_only_function<void()> resume;
    bool operator<(const Waiter& other) const { return bytes_left < other.bytes_left; }
  };
  void plan_turn();

  boost::asio::io_context& context_;
  boost::intrusive::multiset<Waiter, boost::intrusive::constant_time_size<false>> waiting_;
  bool turn_planned_ = false;
};

}  // namespace octavo::server
