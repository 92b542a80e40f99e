#include "server/process/access_log.h"

#include <mutex>

#include <catch2/catch.hpp>

#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server;
using namespace octavo::server::test;
using octavo::config::LogFormat;

namespace {

// Collects what an access log writes.
class Lines {
 public:
  AccessLog::Writer writer() {
    return [this](std::string_view lines) {
      const std::scoped_lock lock(mutex_);
      text_ += lines;
    };
  }
  std::string text() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace

TEST_CASE("every request is one line in the access log") {
  Lines lines;
  AccessLog log(LogFormat::text, lines.writer());
  auto settings = test_settings();
  settings.access_log = true;
  TestServer server(settings, &log);
  Client client(server.port());
  client.ask(post("/echo?q=1", "hello", "X-Request-Id: trace-7\r\n"));
  client.ask(get("/stream/2/10"));
  CHECK(eventually([&] { return lines.text().find("stream") != std::string::npos; }));
  CHECK(lines.text().find(" access trace-7 127.0.0.1 ann POST /echo?q=1 200 5 ") != std::string::npos);
  CHECK(lines.text().find(" 127.0.0.1 ann GET /stream/2/10 200 20 ") != std::string::npos);
}

TEST_CASE("refused requests are in the access log") {
  Lines lines;
  AccessLog log(LogFormat::text, lines.writer());
  auto settings = test_settings();
  settings.access_log = true;
  TestServer server(settings, &log);
  Client client(server.port());
  client.ask("nonsense\r\n\r\n");
  CHECK(eventually([&] { return lines.text().find(" - 400 ") != std::string::npos; }));
}

TEST_CASE("the access log can be JSON, with every text escaped") {
  Lines lines;
  {
    AccessLog log(LogFormat::json, lines.writer());
    AccessLog::Buffer buffer(log);
    buffer.add({.request_id = "abc",
                .peer = "::1",
                .user = "an\"n\n",
                .method = "GET",
                .target = "/a\"b",
                .status = 200,
                .bytes = 12,
                .duration = std::chrono::microseconds{34}});
  }
  CHECK(lines.text().find("\"level\":\"info\",\"event\":\"access\",\"request_id\":\"abc\",\"peer\":\"::1\",\"user\":"
                          "\"an\\\"n\\n\",\"method\":\"GET\","
                          "\"target\":\"/a%22b\",\"status\":200,\"bytes\":12,\"duration_us\":34}\n") !=
        std::string::npos);
}

TEST_CASE("secrets in a query do not reach the log") {
  CHECK(loggable_target("/_session?name=ann&password=hunter2&x=1") == "/_session?name=ann&password=***&x=1");
  CHECK(loggable_target("/db?Token=abc") == "/db?Token=***");
  CHECK(loggable_target("/db/doc?key=%22a%22") == "/db/doc?key=%22a%22");
}

TEST_CASE("what is not printable is escaped in the log") {
  CHECK(loggable_target("/caf\xc3\xa9") == "/caf%C3%A9");
}
