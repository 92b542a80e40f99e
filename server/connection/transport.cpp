#include "server/connection/transport.h"

#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>

namespace octavo::server {

namespace asio = boost::asio;

void Transport::begin_tls(asio::ssl::context& context) {
  tls_ = std::make_unique<TlsStream>(socket_, context);
}

bool Transport::try_send(GatherList& list, std::size_t& sent, Error& error) {
  while (!list.empty()) {
    const auto bytes = socket_.write_some(list.buffers(), error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      error = {};
      return false;
    }
    if (error) return false;
    sent += bytes;
    list.consume(bytes);
  }
  return true;
}

Task<void> Transport::handshake(Error& error) {
  co_await tls_->async_handshake(asio::ssl::stream_base::server, asio::redirect_error(use_task, error));
}

Task<std::size_t> Transport::read_some(std::span<char> into, Error& error) {
  const asio::mutable_buffer buffer(into.data(), into.size());
  if (plain()) co_return co_await socket_.async_read_some(buffer, asio::redirect_error(use_task, error));
  co_return co_await tls_->async_read_some(buffer, asio::redirect_error(use_task, error));
}

Task<void> Transport::wait_readable(Error& error) {
  co_await socket_.async_wait(Socket::wait_read, asio::redirect_error(use_task, error));
}

Task<std::size_t> Transport::write_some(const GatherList& list, Error& error) {
  const auto buffers = list.buffers();
  if (plain()) co_return co_await socket_.async_write_some(buffers, asio::redirect_error(use_task, error));
  // One TLS record is made from one piece anyway.
  const asio::const_buffer first = buffers.front();
  co_return co_await tls_->async_write_some(first, asio::redirect_error(use_task, error));
}

void Transport::start_read(std::span<char> into, std::move_only_function<void(Error, std::size_t)> done) {
  const asio::mutable_buffer buffer(into.data(), into.size());
  if (plain()) {
    socket_.async_read_some(buffer, std::move(done));
  } else {
    tls_->async_read_some(buffer, std::move(done));
  }
}

void Transport::cancel() {
  Error ignored;
  socket_.cancel(ignored);
}

Task<void> Transport::end_sending() {
  Error ignored;
  if (tls_) co_await tls_->async_shutdown(asio::redirect_error(use_task, ignored));
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

void Transport::close() {
  Error ignored;
  socket_.close(ignored);
}

}  // namespace octavo::server
