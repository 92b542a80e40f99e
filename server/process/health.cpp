#include "server/process/health.h"

#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <boost/url/parse.hpp>
#include <fmt/format.h>

#include "base/task.h"

namespace octavo::server {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Socket = asio::basic_stream_socket<tcp, IoExecutor>;

constexpr std::size_t reply_head_bytes_max = 64 * 1024;

struct Question {
  std::string host;
  std::string port;
  std::string request;
  bool tls = false;
};

Expected<Question> parse_url(const std::string& url) {
  const auto parsed = boost::urls::parse_uri(url);
  if (!parsed || (parsed->scheme() != "http" && parsed->scheme() != "https") || parsed->host().empty()) {
    return fail(ErrorCode::bad_request, fmt::format("\"{}\" is not a URL such as http://127.0.0.1:5984/_up.", url));
  }
  Question question;
  question.tls = parsed->scheme() == "https";
  question.host = parsed->host_address();
  question.port = question.tls ? "443" : "80";
  if (parsed->has_port()) question.port = parsed->port();
  std::string target{parsed->encoded_target()};
  if (target.empty()) target = "/";
  question.request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: octavo-health\r\nConnection: close\r\n\r\n", target,
                  std::string{parsed->encoded_host_and_port()});
  return question;
}

template <class Stream>
Task<std::string> exchange(Stream& stream, const Question& question) {
  co_await asio::async_write(stream, asio::buffer(question.request), use_task);
  std::string head;
  co_await asio::async_read_until(stream, asio::dynamic_buffer(head, reply_head_bytes_max), "\r\n", use_task);
  co_return head.substr(0, head.find("\r\n"));
}

Task<std::string> ask(const Question& question) {
  const IoExecutor executor = co_await asio::this_coro::executor;
  asio::ip::basic_resolver<tcp, IoExecutor> resolver(executor);
  const auto endpoints = co_await resolver.async_resolve(question.host, question.port, use_task);
  Socket socket(executor);
  co_await asio::async_connect(socket, endpoints, use_task);
  if (!question.tls) co_return co_await exchange(socket, question);
  asio::ssl::context context(asio::ssl::context::tls_client);
  asio::ssl::stream<Socket&> stream(socket, context);
  co_await stream.async_handshake(asio::ssl::stream_base::client, use_task);
  co_return co_await exchange(stream, question);
}

}  // namespace

Expected<void> check_health(const std::string& url, std::chrono::milliseconds timeout) {
  OCTAVO_TRY(const Question question, parse_url(url));
  std::optional<std::string> status_line;
  std::exception_ptr failure;
  asio::io_context context{1};
  asio::co_spawn(context, ask(question), [&](const std::exception_ptr& error, std::string line) {
    failure = error;
    if (!error) status_line = std::move(line);
  });
  context.run_for(timeout);
  if (failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
      // Without where in the program it happened, which what() contains.
      return fail(ErrorCode::io_failure, fmt::format("No answer from {}: {}.", url, error.code().message()));
    } catch (const std::exception& error) {
      return fail(ErrorCode::io_failure, fmt::format("No answer from {}: {}.", url, error.what()));
    }
  }
  if (!status_line) {
    return fail(ErrorCode::timeout, fmt::format("No answer from {} within {} ms.", url, timeout.count()));
  }
  if (!status_line->starts_with("HTTP/1.1 200 ")) {
    return fail(ErrorCode::io_failure, fmt::format("{} answered \"{}\".", url, *status_line));
  }
  return {};
}

int run_health(const std::string& url, std::chrono::milliseconds timeout) {
  const auto health = check_health(url, timeout);
  if (health) return 0;
  fmt::print(stderr, "{}\n", reason_of(health.error()));
  return 1;
}

}  // namespace octavo::server
