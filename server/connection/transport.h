#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "base/task.h"

namespace octavo::server {

using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, IoExecutor>;

/// A few pieces of memory that are sent together, and the position of the unsent rest.
class GatherList {
 public:
  void add(std::string_view bytes) {
    if (!bytes.empty()) buffers_[count_++] = boost::asio::const_buffer(bytes.data(), bytes.size());
  }
  bool empty() const { return first_ == count_; }
  std::size_t size() const { return boost::asio::buffer_size(buffers()); }
  std::span<const boost::asio::const_buffer> buffers() const { return {buffers_.data() + first_, count_ - first_}; }
  void consume(std::size_t bytes) {
    while (bytes > 0) {
      auto& buffer = buffers_[first_];
      const auto part = std::min(bytes, buffer.size());
      buffer += part;
      bytes -= part;
      if (buffer.size() == 0) ++first_;
    }
  }

 private:
  std::array<boost::asio::const_buffer, 4> buffers_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// A plain or a TLS byte stream. A plain operation should cost no more than the socket's own: callers use socket()
/// directly if plain() is true, and the *_some functions otherwise.
class Transport {
 public:
  using Error = boost::system::error_code;

  /// Plain until begin_tls().
  explicit Transport(Socket socket) : socket_(std::move(socket)) {}
  /// From now on the stream is TLS. Call handshake() next, and before it read no byte but by peeking.
  void begin_tls(boost::asio::ssl::context& context);

  bool plain() const { return tls_ == nullptr; }
  Socket& socket() { return socket_; }

  /// Sends what the kernel accepts at once. False with `error` unset: the rest must wait. Plain only.
  bool try_send(GatherList& list, std::size_t& sent, Error& error);

  Task<void> handshake(Error& error);
  Task<std::size_t> read_some(std::span<char> into, Error& error);
  /// Waits until a read would not have to wait. Plain only.
  Task<void> wait_readable(Error& error);
  Task<std::size_t> write_some(const GatherList& list, Error& error);
  /// Starts a read that calls `done`; no other read may run meanwhile.
  void start_read(std::span<char> into, std::move_only_function<void(Error, std::size_t)> done);

  /// Aborts waiting operations with operation_aborted.
  void cancel();
  /// With TLS, sends close_notify and waits for the peer's. Then closes our direction, so that the peer reads its end.
  Task<void> end_sending();
  void close();

 private:
  using TlsStream = boost::asio::ssl::stream<Socket&>;

  Socket socket_;
  std::unique_ptr<TlsStream> tls_;
};

}  // namespace octavo::server
