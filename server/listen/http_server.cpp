#include "server/listen/http_server.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include <boost/asio/post.hpp>

#include "base/machine/resources.h"
#include "server/connection/thread_state.h"
#include "server/listen/io_threads.h"
#include "server/listen/listener.h"
#include "server/process/access_log.h"

namespace octavo::server {

namespace asio = boost::asio;

std::size_t io_thread_count(const config::Settings& settings) {
  if (settings.io_threads > 0) return settings.io_threads;
  return available_resources().processors;
}

HttpServer::HttpServer(const config::LiveSettings& settings, api::HttpMetrics& metrics, AccessLog* access_log)
    : settings_(settings),
      bounds_(std::make_unique<SharedBounds>()),
      io_threads_(std::make_unique<IoThreads>(io_thread_count(settings.now()))) {
  for (std::size_t i = 0; i < io_threads_->size(); ++i) {
    thread_states_.push_back(
        std::make_unique<ThreadState>(i, io_threads_->context(i), settings, metrics, *bounds_, access_log));
  }
}

HttpServer::~HttpServer() {
  stop();
  for (auto& state : thread_states_) state->end();
}

Expected<void> HttpServer::listen(const ListenOptions& options) {
  Endpoint endpoint{.handler = *options.handler, .certificate = options.certificate, .plain_too = options.plain_too};
  auto listener = std::make_unique<Listener>(std::move(endpoint), thread_states_);
  OCTAVO_TRY_VOID(listener->open(options.address, options.port));
  listeners_.push_back(std::move(listener));
  return {};
}

void HttpServer::start() {
  running_ = true;
  for (auto& state : thread_states_) state->start();
  for (auto& listener : listeners_) listener->start();
  io_threads_->start();
}

std::uint16_t HttpServer::port(std::size_t listener) const {
  return listeners_.at(listener)->port();
}

bool HttpServer::stop() {
  if (!running_) return true;
  running_ = false;
  const bool in_time = drain();
  io_threads_->stop();
  return in_time;
}

bool HttpServer::drain() {
  std::promise<void> closed;
  asio::post(io_threads_->context(0), [this, &closed] {
    for (auto& listener : listeners_) listener->close();
    closed.set_value();
  });
  closed.get_future().wait();
  for (auto& state : thread_states_) asio::post(state->context(), [&one = *state] { one.begin_drain(); });
  const auto deadline = std::chrono::steady_clock::now() + settings_.now().shutdown_timeout_ms;
  const auto all_gone = [this] {
    return std::ranges::all_of(thread_states_, [](const auto& state) { return state->assigned_connections() == 0; });
  };
  while (!all_gone()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

}  // namespace octavo::server
