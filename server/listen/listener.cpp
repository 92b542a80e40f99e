#include "server/listen/listener.h"

#include <new>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/memory_retry.h"

namespace octavo::server {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

/// Delay before accepting again after running out of descriptors or memory.
constexpr std::chrono::milliseconds accept_retry{100};
constexpr std::int64_t error_log_interval_ms = 10'000;

std::string address_text(const Socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return {};
  const auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.to_string();
}

}  // namespace

Listener::Listener(Endpoint endpoint, std::span<const std::unique_ptr<ThreadState>> threads)
    : endpoint_(std::move(endpoint)),
      threads_(threads),
      acceptor_(threads.front()->context()),
      retry_timer_(threads.front()->context()) {}

Expected<void> Listener::open(const std::string& address, std::uint16_t port) {
  boost::system::error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error) {
    return fail(ErrorCode::bad_request,
                fmt::format("\"{}\" is not an IP address to listen on, such as 127.0.0.1, 0.0.0.0 or ::1.", address));
  }
  const tcp::endpoint endpoint(parsed, port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  // `::` accepts IPv4 too, independently of the system's default.
  if (!error && parsed.is_v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(4096, error);
  if (error) {
    return fail(ErrorCode::io_failure,
                fmt::format("Cannot listen on {} port {}: {}. Choose another address or port, or "
                            "stop the program that has it.",
                            address, port, error.message()));
  }
  address_ = address;
  port_ = acceptor_.local_endpoint(error).port();
  return {};
}

void Listener::start() {
  asio::post(threads_.front()->context(), [this] { accept(); });
}

void Listener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  retry_timer_.cancel();
}

void Listener::accept() {
  auto& thread = choose_thread();
  acceptor_.async_accept(thread.context().get_executor(),
                         [this, &thread](const boost::system::error_code& error, Socket socket) {
                           if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
                           if (error) return on_accept_error(error);
                           try {
                             hand_over(std::move(socket), thread);
                             accept();
                           } catch (const std::bad_alloc&) {
                             // This connection is closed unanswered, but accepting must continue.
                             on_accept_error(asio::error::no_memory);
                           }
                         });
}

void Listener::hand_over(Socket socket, ThreadState& thread) {
  auto& bounds = thread.bounds();
  auto admission = Admission::accepted;
  if (bounds.connections.load() >= thread.settings().connections_max) {
    admission = Admission::overloaded;
    // Beyond this limit, connections are closed at once.
    if (bounds.rejected_lingering.load() >= bounds.rejected_lingering_max) {
      threads_.front()->metrics().connections_rejected.add(1);
      return;
    }
  }
  ConnectionSlot slot(thread, admission);
  asio::post(thread.context(), [this, accepted = std::move(socket), held = std::move(slot)]() mutable {
    auto peer = address_text(accepted);
    auto& context = held.thread().context();
    auto connection = std::make_unique<Connection>(std::move(accepted), std::move(peer), std::move(held), endpoint_);
    asio::co_spawn(context, Connection::run(std::move(connection)), asio::detached);
  });
}

void Listener::on_accept_error(const boost::system::error_code& error) {
  const auto now_ms = threads_.front()->now_ms();
  if (now_ms - last_error_logged_ms_ > error_log_interval_ms) {
    last_error_logged_ms_ = now_ms;
    spdlog::error("cannot accept connections on port {}: {}. Raise the limit of open files if this lasts.", port_,
                  error.message());
  }
  until_memory_suffices([this] {
    retry_timer_.expires_after(accept_retry);
    retry_timer_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) until_memory_suffices([this] { accept(); });
    });
  });
}

// The thread with the fewest connections; round-robin among equals.
ThreadState& Listener::choose_thread() {
  next_thread_ = (next_thread_ + 1) % threads_.size();
  auto* best = threads_[next_thread_].get();
  for (std::size_t i = 1; i < threads_.size(); ++i) {
    auto* candidate = threads_[(next_thread_ + i) % threads_.size()].get();
    if (candidate->assigned_connections() < best->assigned_connections()) best = candidate;
  }
  return *best;
}

}  // namespace octavo::server
