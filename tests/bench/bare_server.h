#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace octavo::bench {

/// The limit for reads: a Beast coroutine server that answers every request with the same bytes. It runs in a child
/// process, as the measured server does, with `threads` threads that each have their own io_context and acceptor.
///
/// Forks: construct it while this process has one thread. The destructor kills and reaps the child.
class BareServer {
 public:
  BareServer(std::string body, int status, unsigned threads);
  ~BareServer();
  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;

  std::uint16_t port() const { return port_; }

 private:
  pid_t child_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace octavo::bench
