#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "api/http/handler.h"
#include "api/http/metrics.h"
#include "server/listen/http_server.h"
#include "server/process/access_log.h"
#include "support/eventually.h"

namespace octavo::server::test {

/// What the tests serve. By the first path segment:
///   echo                 the request body
///   show                 method, segments joined by `|`, query as name=value joined by `&`, body
///   big/<n>              n bytes of compressible text
///   type/<n>/<a>/<b>     n bytes as content type a/b
///   stream/<n>/<size>    a stream of n pieces
///   turns/<size>         a stream of one piece of that size; `turns` counts what else the thread did meanwhile
///   prefixed             a body "head;" and then a stream of "tail"
///   attachment/<n>/<m>   a stream announced as n bytes, of m bytes
///   follow               a stream of "start" that lasts until the client has left
///   slow/<ms>            answers after that time
///   block/<ms>           answers after that time, and keeps the I/O thread until then
///   status/<n>           that status
///   close                a reply that ends the connection
///   throw, throw_stream, bad_header, own_headers, length_only
class TestHandler final : public api::Handler {
 public:
  Task<api::Reply> handle(api::Request& request) override;
  api::Reply protocol_error(int status, std::string_view reason) const override;

  std::atomic<int> followers{0};
  std::atomic<int> followers_ended{0};
  std::atomic<int> handled{0};
  std::atomic<int> turns{0};
};

/// Settings for tests: one I/O thread, no access log, timeouts long enough not to matter.
config::Settings test_settings();

/// A running server on a free port.
class TestServer {
 public:
  explicit TestServer(config::Settings wanted = test_settings(), AccessLog* access_log = nullptr);
  TestServer(config::Settings wanted, const ListenOptions& options, AccessLog* access_log = nullptr);

  std::uint16_t port() const { return server.port(); }

  TestHandler handler;
  config::LiveSettings settings;
  api::HttpMetrics metrics;
  HttpServer server;
};

/// Waits for `condition`, in vain for half a minute.
template <class Condition>
bool eventually(Condition condition) {
  return octavo::tests::eventually(condition, std::chrono::seconds{30});
}

}  // namespace octavo::server::test
