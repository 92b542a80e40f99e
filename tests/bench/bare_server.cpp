#include "bench/bare_server.h"

#include <memory>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

namespace octavo::bench {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

asio::awaitable<void> serve_connection(tcp::socket socket, const std::string& body, int status) {
  boost::system::error_code error;
  socket.set_option(tcp::no_delay(true), error);
  boost::beast::flat_buffer buffer;
  auto completion = asio::redirect_error(asio::use_awaitable, error);
  for (;;) {
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, completion);
    if (error) co_return;
    http::response<http::string_body> response(static_cast<http::status>(status), request.version());
    response.set(http::field::server, "bare");
    response.set(http::field::content_type, "application/json");
    response.body() = body;
    response.prepare_payload();
    co_await http::async_write(socket, response, completion);
    if (error) co_return;
  }
}

asio::awaitable<void> accept_connections(tcp::acceptor acceptor, const std::string& body, int status) {
  boost::system::error_code error;
  auto completion = asio::redirect_error(asio::use_awaitable, error);
  for (;;) {
    auto socket = co_await acceptor.async_accept(completion);
    if (error) continue;
    const auto executor = acceptor.get_executor();
    asio::co_spawn(executor, serve_connection(std::move(socket), body, status), asio::detached);
  }
}

using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

tcp::acceptor listen(asio::io_context& context, std::uint16_t port) {
  tcp::acceptor acceptor(context, tcp::v4());
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  acceptor.set_option(ReusePort(true));
  acceptor.bind(tcp::endpoint(asio::ip::address_v4::loopback(), port));
  acceptor.listen();
  return acceptor;
}

[[noreturn]] void run_child(int report, const std::string& body, int status, unsigned threads) {
  // The child goes when the benchmark goes, however it goes.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<std::unique_ptr<asio::io_context>> contexts;
  std::uint16_t port = 0;
  for (unsigned i = 0; i < threads; ++i) {
    contexts.push_back(std::make_unique<asio::io_context>(1));
    auto acceptor = listen(*contexts.back(), port);
    port = acceptor.local_endpoint().port();
    asio::co_spawn(*contexts.back(), accept_connections(std::move(acceptor), body, status), asio::detached);
  }
  if (::write(report, &port, sizeof port) != sizeof port) ::_exit(1);
  std::vector<std::jthread> workers;
  for (auto& context : contexts) workers.emplace_back([&context] { context->run(); });
  workers.clear();
  ::_exit(0);
}

}  // namespace

BareServer::BareServer(std::string body, int status, unsigned threads) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) throw std::runtime_error("pipe failed");
  child_ = ::fork();
  if (child_ < 0) throw std::runtime_error("fork failed");
  if (child_ == 0) {
    ::close(pipe_ends[0]);
    run_child(pipe_ends[1], body, status, threads);
  }
  ::close(pipe_ends[1]);
  const auto count = ::read(pipe_ends[0], &port_, sizeof port_);
  ::close(pipe_ends[0]);
  if (count != sizeof port_) throw std::runtime_error("the bare server did not start");
}

BareServer::~BareServer() {
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

}  // namespace octavo::bench
