#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "server/process/lifecycle.h"
#include "support/patience.h"
#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server::test;
using octavo::tests::patiently;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_CASE("stopping closes idle connections at once") {
  TestServer server;
  Client used(server.port());
  used.ask(get("/show"));
  Client fresh(server.port());
  REQUIRE(eventually([&] { return server.metrics.snapshot().connections_open == 2; }));
  const auto begun = steady_clock::now();
  CHECK(server.server.stop());
  CHECK(steady_clock::now() - begun < patiently(milliseconds{2500}));
  CHECK(used.ended());
  CHECK(fresh.ended());
}

TEST_CASE("stopping lets a running request finish and tells its client to go") {
  auto settings = test_settings();
  settings.shutdown_timeout_ms = milliseconds{20'000};
  TestServer server(settings);
  Client client(server.port());
  client.send(get("/slow/2000"));
  REQUIRE(eventually([&] { return server.handler.handled == 1; }));
  CHECK(server.server.stop());
  const auto reply = client.read_reply();
  CHECK(reply.body == "slow");
  CHECK(reply.header("connection") == "close");
  CHECK(client.ended());
}

TEST_CASE("stopping lets a bounded stream finish") {
  auto settings = test_settings();
  settings.shutdown_timeout_ms = milliseconds{60'000};
  TestServer server(settings);
  Client client(server.port());
  client.send(get("/stream/200/100000"));
  REQUIRE(client.read_until("octavo"));
  std::thread stopping([&] { server.server.stop(); });
  std::this_thread::sleep_for(milliseconds{50});
  const auto reply = client.read_reply();
  stopping.join();
  CHECK(reply.body.size() == 20'000'000);
  CHECK(reply.complete);
}

TEST_CASE("stopping ends followers cleanly") {
  TestServer server;
  Client client(server.port());
  client.send(get("/follow"));
  REQUIRE(client.read_until("start"));
  CHECK(server.server.stop());
  const auto reply = client.read_reply();
  CHECK(reply.body == "start");
  CHECK(reply.complete);
}

TEST_CASE("stopping cuts off what does not finish in time") {
  auto settings = test_settings();
  settings.shutdown_timeout_ms = milliseconds{200};
  TestServer server(settings);
  Client client(server.port());
  client.send(get("/slow/60000"));
  REQUIRE(eventually([&] { return server.handler.handled == 1; }));
  const auto begun = steady_clock::now();
  CHECK_FALSE(server.server.stop());
  CHECK(steady_clock::now() - begun < patiently(milliseconds{5000}));
}

TEST_CASE("a stopped server refuses connections") {
  TestServer server;
  const auto port = server.port();
  server.server.stop();
  Client client(port);
  CHECK_FALSE(client.send(get("/show")));
}

TEST_CASE("a port that is taken is an error that names it") {
  TestServer server;
  octavo::api::HttpMetrics metrics(1);
  const octavo::config::LiveSettings settings(test_settings());
  octavo::server::HttpServer other(settings, metrics, nullptr);
  TestHandler handler;
  const auto result = other.listen({.port = server.port(), .handler = &handler});
  REQUIRE_FALSE(result);
  CHECK(result.error().reason.find(std::to_string(server.port())) != std::string::npos);
}

TEST_CASE("a name is not an address to listen on") {
  octavo::api::HttpMetrics metrics(1);
  const octavo::config::LiveSettings settings(test_settings());
  octavo::server::HttpServer server(settings, metrics, nullptr);
  TestHandler handler;
  CHECK_FALSE(server.listen({.address = "nowhere", .handler = &handler}));
}

TEST_CASE("an orderly end that does not come to its end is cut short, and is no failure") {
  const auto exit_code = [](milliseconds deadline, milliseconds work) {
    const pid_t child = ::fork();
    if (child == 0) {
      {
        const octavo::server::ShutdownDeadline last_resort(deadline);
        std::this_thread::sleep_for(work);
      }
      std::_Exit(7);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  };
  const auto begun = steady_clock::now();
  CHECK(exit_code(milliseconds{50}, milliseconds{20'000}) == 0);
  CHECK(steady_clock::now() - begun < patiently(milliseconds{10'000}));
  CHECK(exit_code(milliseconds{20'000}, milliseconds{50}) == 7);
}
