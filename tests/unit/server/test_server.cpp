#include "unit/server/test_server.h"

#include <memory>
#include <stdexcept>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace octavo::server::test {
namespace {

namespace asio = boost::asio;
using api::BodySink;
using api::Reply;

std::string text_of_size(std::size_t size) {
  std::string text;
  while (text.size() < size) text += "{\"name\":\"octavo\",\"leaf\":" + std::to_string(text.size()) + "}\n";
  text.resize(size);
  return text;
}

std::string show(const api::Request& request) {
  std::string text{to_string(request.method)};
  text += " ";
  for (const auto& segment : request.segments) text += segment + "|";
  text += " ";
  for (const auto& [name, value] : request.query) text += name + "=" + value + "&";
  text += " ";
  text += request.body;
  return text;
}

Task<void> write_pieces(BodySink& sink, std::size_t count, std::size_t size) {
  const std::string piece = text_of_size(size);
  for (std::size_t i = 0; i < count; ++i) {
    const bool sent = co_await sink.write(piece);
    if (!sent) co_return;
  }
}

Task<void> write_one(BodySink& sink, std::string text) {
  co_await sink.write(text);
}

// Posts itself again and again, so it runs once whenever the thread turns to others.
void count_turns(const IoExecutor& executor, std::shared_ptr<bool> done, std::atomic<int>& turns) {
  asio::post(executor, [=, &turns] {
    if (*done) return;
    ++turns;
    count_turns(executor, done, turns);
  });
}

Task<void> write_with_turns(BodySink& sink, TestHandler& handler, std::size_t size) {
  const auto done = std::make_shared<bool>(false);
  count_turns(co_await asio::this_coro::executor, done, handler.turns);
  co_await sink.write(text_of_size(size));
  *done = true;
}

Task<void> write_and_throw(BodySink& sink) {
  co_await sink.write("half of it");
  throw std::runtime_error("in the middle");
}

Task<void> follow(BodySink& sink, TestHandler& handler) {
  ++handler.followers;
  auto timer = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor);
  timer->expires_after(std::chrono::hours{1});
  co_await sink.write("start");
  sink.on_closed([timer] { timer->cancel(); });
  while (!sink.closed()) {
    boost::system::error_code ignored;
    co_await timer->async_wait(asio::redirect_error(use_task, ignored));
  }
  ++handler.followers_ended;
}

Task<void> sleep(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(use_task);
}

}  // namespace

Task<Reply> TestHandler::handle(api::Request& request) {
  ++handled;
  const auto segment = [&](std::size_t i) { return i < request.segments.size() ? request.segments[i] : std::string{}; };
  const auto number = [&](std::size_t i) { return std::stoul(segment(i)); };
  const auto kind = segment(0);
  Reply reply;
  if (kind == "echo") {
    reply.body = request.body;
  } else if (kind == "show") {
    reply.body = show(request);
  } else if (kind == "id") {
    reply.body = request.request_id;
  } else if (kind == "big") {
    reply.body = text_of_size(number(1));
  } else if (kind == "type") {
    reply.body = text_of_size(number(1));
    reply.content_type = segment(2) == "image" ? "image/png" : "text/plain; charset=utf-8";
  } else if (kind == "coded") {
    reply.body = text_of_size(number(1));
    reply.headers.emplace_back("Content-Encoding", "br");
  } else if (kind == "stream") {
    reply.stream = [count = number(1), size = number(2)](BodySink& sink) { return write_pieces(sink, count, size); };
  } else if (kind == "turns") {
    reply.stream = [this, size = number(1)](BodySink& sink) { return write_with_turns(sink, *this, size); };
  } else if (kind == "prefixed") {
    reply.body = "head;";
    reply.stream = [](BodySink& sink) { return write_one(sink, "tail"); };
  } else if (kind == "attachment") {
    reply.headers.emplace_back("Content-Length", segment(1));
    reply.stream = [size = number(2)](BodySink& sink) { return write_pieces(sink, 1, size); };
  } else if (kind == "follow") {
    reply.stream = [this](BodySink& sink) { return follow(sink, *this); };
  } else if (kind == "slow") {
    co_await sleep(std::chrono::milliseconds{number(1)});
    reply.body = "slow";
  } else if (kind == "block") {
    std::this_thread::sleep_for(std::chrono::milliseconds{number(1)});
  } else if (kind == "status") {
    reply.status = static_cast<int>(number(1));
  } else if (kind == "close") {
    reply.close = true;
  } else if (kind == "throw") {
    throw std::runtime_error("on purpose");
  } else if (kind == "throw_stream") {
    reply.stream = [](BodySink& sink) { return write_and_throw(sink); };
  } else if (kind == "bad_header") {
    reply.headers.emplace_back("X-Split", "a\r\nSet-Cookie: stolen=1");
  } else if (kind == "own_headers") {
    reply.headers.emplace_back("ETag", "\"1-a\"");
    reply.headers.emplace_back("Content-Length", "9999");
    reply.headers.emplace_back("Date", "never");
    reply.body = "own";
  } else if (kind == "length_only") {
    reply.headers.emplace_back("Content-Length", "1234");
  } else {
    reply.status = 404;
  }
  reply.log_user = "ann";
  co_return reply;
}

Reply TestHandler::protocol_error(int status, std::string_view reason) const {
  Reply reply;
  reply.status = status;
  reply.body = "refused: ";
  reply.body += reason;
  return reply;
}

config::Settings test_settings() {
  config::Settings settings;
  settings.io_threads = 1;
  settings.access_log = false;
  settings.shutdown_timeout_ms = std::chrono::milliseconds{3000};
  return settings;
}

TestServer::TestServer(config::Settings wanted, AccessLog* access_log)
    : TestServer(std::move(wanted), ListenOptions{}, access_log) {}

TestServer::TestServer(config::Settings wanted, const ListenOptions& options, AccessLog* access_log)
    : settings(std::move(wanted)), metrics(io_thread_count(settings.now())), server(settings, metrics, access_log) {
  auto listen = options;
  listen.handler = &handler;
  if (const auto listening = server.listen(listen); !listening) throw std::runtime_error(listening.error().reason);
  server.start();
}

}  // namespace octavo::server::test
