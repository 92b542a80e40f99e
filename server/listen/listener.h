#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.h"
#include "server/connection/connection.h"

namespace octavo::server {

/// One listening port. Accepts on one I/O thread and passes each connection to the thread with the fewest, so that a
/// few busy connections are distributed evenly (SO_REUSEPORT distributes by hash: four often share one thread).
///
/// The starting thread calls open() and the accessors; the rest runs on the accepting thread.
class Listener {
 public:
  /// `threads` must outlive this.
  Listener(Endpoint endpoint, std::span<const std::unique_ptr<ThreadState>> threads);

  /// Binds and listens. `address` is an IP address; port 0 means any free port. The error says what to do.
  Expected<void> open(const std::string& address, std::uint16_t port);
  std::uint16_t port() const { return port_; }
  std::string address() const { return address_; }
  void start();
  /// Stops accepting. Call on the accepting thread.
  void close();

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, IoExecutor>;

  void accept();
  void hand_over(Socket socket, ThreadState& thread);
  void on_accept_error(const boost::system::error_code& error);
  ThreadState& choose_thread();

  Endpoint endpoint_;
  std::span<const std::unique_ptr<ThreadState>> threads_;
  Acceptor acceptor_;
  boost::asio::steady_timer retry_timer_;
  std::string address_;
  std::uint16_t port_ = 0;
  std::size_t next_thread_ = 0;
  std::int64_t last_error_logged_ms_ = 0;
};

}  // namespace octavo::server
