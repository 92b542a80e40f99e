#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/http/handler.h"
#include "api/http/metrics.h"
#include "base/error.h"
#include "config/live_settings.h"

namespace octavo::server {

class AccessLog;
class IoThreads;
class Listener;
class ThreadState;
class ServerCertificate;
struct SharedBounds;

/// A port to listen on, and its handler.
struct ListenOptions {
  std::string address = "127.0.0.1";  ///< an IP address
  std::uint16_t port = 0;             ///< 0: any free port
  api::Handler* handler = nullptr;    ///< outlives the server
  /// For HTTPS; null: plain HTTP only. Several ports may share one.
  std::shared_ptr<ServerCertificate> certificate{};
  bool plain_too = false;  ///< with a certificate: plain HTTP is served, too, and not answered 400
};

/// The number of I/O threads for `settings`: io_threads, or one per processor that may be used.
std::size_t io_thread_count(const config::Settings& settings);

/// The HTTP/1.1 server: I/O threads, listeners and their connections.
///
///   api::HttpMetrics metrics(io_thread_count(settings));
///   HttpServer server(live_settings, metrics, nullptr);
///   server.listen({.address = "127.0.0.1", .port = 0, .handler = &handler});
///   server.start();
///   … server.port() …
///   server.stop();
///
/// Used by one thread. Handlers run on the I/O threads, inside their connection's coroutine. After stop() no handler
/// runs, but coroutines that did not finish in time, and the objects they own, are destroyed only with this object. So
/// objects that they use (the engine) must outlive it, and threads that post to the I/O threads must end before it.
class HttpServer {
 public:
  /// `settings`, `metrics` (with io_thread_count shards) and `access_log` (null: none) must outlive this.
  HttpServer(const config::LiveSettings& settings, api::HttpMetrics& metrics, AccessLog* access_log);
  ~HttpServer();  ///< stops if running
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Binds a port; requests wait until start(). Call before start(). Error messages are for the operator.
  Expected<void> listen(const ListenOptions& options);
  /// Starts the I/O threads, which then serve requests.
  void start();
  /// The port of the n-th listen().
  std::uint16_t port(std::size_t listener = 0) const;

  /// Stops gracefully: accepts no new connections, closes idle ones, lets running requests finish and tells streams to
  /// end. Aborts whatever still runs after shutdown_timeout_ms. Returns when all threads have ended; true if everything
  /// finished in time.
  bool stop();

  IoThreads& io_threads() { return *io_threads_; }

 private:
  bool drain();

  const config::LiveSettings& settings_;
  // The order matters: remaining connections are destroyed with the contexts in io_threads_, and use the thread states.
  std::unique_ptr<SharedBounds> bounds_;
  std::vector<std::unique_ptr<ThreadState>> thread_states_;
  std::unique_ptr<IoThreads> io_threads_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  bool running_ = false;
};

}  // namespace octavo::server
