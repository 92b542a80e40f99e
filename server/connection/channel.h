#pragma once

#include <utility>

#include "server/connection/thread_state.h"
#include "server/connection/transport.h"
#include "server/connection/wait_deadline.h"
#include "server/http/read_buffer.h"

namespace octavo::server {

/// The bytes that come from one client and go to it: what reading requests and sending replies share. Used by one I/O
/// thread.
struct Channel {
  Channel(ThreadState& thread_state, Socket socket)
      : thread(thread_state), transport(std::move(socket)), wait(thread_state) {}

  ThreadState& thread;
  Transport transport;
  WaitDeadline wait;         ///< of the one operation that the connection waits for
  ReadBuffer in;             ///< received and not yet consumed
  bool input_ended = false;  ///< a stream's watch has read end of file: another read would never complete
  bool broken = false;       ///< nothing more can be sent
};

}  // namespace octavo::server
