#pragma once

#include <cstddef>
#include <string>

#include "base/task.h"
#include "server/connection/channel.h"
#include "server/connection/transport.h"

namespace octavo::server {

/// Sends a connection's replies in order. They are gathered, so that the replies to pipelined requests leave together,
/// and are sent to a client that reads slowly as fast as it reads.
class ReplyWriter {
 public:
  /// `peer_address` is for the log. Both must outlive this.
  ReplyWriter(Channel& channel, const std::string& peer_address) : channel_(channel), peer_address_(peer_address) {}
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  /// Replies, or heads of replies, not yet sent. What was sent together with a GatherList is removed by its sender.
  std::string& out() { return out_; }
  /// Whether a send waits for the client.
  bool is_writing() const { return writing_; }

  /// Sends out() and empties it. False: the client is gone.
  Task<bool> flush();
  /// True if all of `list` is sent. False: the rest must wait, or (with Channel::broken set) the client is gone.
  bool try_send(GatherList& list);
  /// Sends what the kernel did not accept, because the client reads slowly. The sum of all unsent bytes in the process
  /// is bounded. False: the client is gone.
  Task<bool> send_rest(GatherList list);

  /// Sends as much of out() as the kernel accepts at once, unless a send waits.
  void send_without_waiting();
  /// Frees the memory of out() if it is empty and has a capacity of more than `bytes_max`.
  void shrink(std::size_t bytes_max);
  /// Drops out() and frees its memory.
  void release() { out_ = {}; }

 private:
  Task<bool> send_waiting(GatherList list);

  Channel& channel_;
  const std::string& peer_address_;
  std::string out_;
  bool writing_ = false;
};

}  // namespace octavo::server
