#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.h"
#include "server/connection.h"

namespace octavo::server {

/// One listening port. Accepts on one I/O thread and hands each connection to the thread that has the fewest, so that
/// a handful of busy connections spread evenly (SO_REUSEPORT spreads by hash: four connections often share one thread).
///
/// open() and the accessors are for the starting thread; the rest runs on the accepting thread.
class Listener {
 public:
  /// `threads` outlive this.
  Listener(Door door, std::span<const std::unique_ptr<ThreadState>> threads);

  /// Binds and listens. `address` is an IP address; port 0 means any free one. The error says what to do.
  Expected<void> open(const std::string& address, std::uint16_t port);
  std::uint16_t port() const { return port_; }
  std::string address() const { return address_; }
  void start();
  /// Stops accepting. On the accepting thread.
  void close();

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, IoExecutor>;

  void accept();
  void hand_over(Socket socket, ThreadState& thread);
  void on_accept_error(const boost::system::error_code& error);
  ThreadState& choose_thread();

  Door door_;
  std::span<const std::unique_ptr<ThreadState>> threads_;
  Acceptor acceptor_;
  boost::asio::steady_timer retry_timer_;
  std::string address_;
  std::uint16_t port_ = 0;
  std::size_t next_thread_ = 0;
  std::int64_t last_error_logged_ms_ = 0;
};

}  // namespace octavo::server
