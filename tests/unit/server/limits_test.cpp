#include <catch2/catch.hpp>

#include "support/patience.h"
#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server::test;
using octavo::api::TimeoutKind;
using octavo::tests::patiently;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

std::uint64_t timeouts(const TestServer& server, TimeoutKind kind) {
  return server.metrics.snapshot().timeouts[static_cast<std::size_t>(kind)];
}

}  // namespace

TEST_CASE("a head that takes too long is answered 408 and ends the connection") {
  auto settings = test_settings();
  settings.header_timeout_ms = milliseconds{500};
  TestServer server(settings);
  Client client(server.port());
  client.send("GET /show HTTP/1.1\r\nHos");
  CHECK(client.read_reply().status == 408);
  CHECK(client.ended());
  CHECK(timeouts(server, TimeoutKind::head) == 1);
}

TEST_CASE("a head that drips in does not move its deadline") {
  auto settings = test_settings();
  settings.header_timeout_ms = milliseconds{500};
  TestServer server(settings);
  Client client(server.port());
  const auto begun = steady_clock::now();
  client.send("GET /show HTTP/1.1\r\nX: ");
  while (client.send("a") && steady_clock::now() - begun < patiently(milliseconds{3000})) {
    std::this_thread::sleep_for(milliseconds{20});
    if (timeouts(server, TimeoutKind::head) > 0) break;
  }
  CHECK(client.read_reply().status == 408);
  CHECK(steady_clock::now() - begun < patiently(milliseconds{2500}));
}

TEST_CASE("the time for which the server itself stalls is not counted against its clients") {
  auto settings = test_settings();
  settings.header_timeout_ms = milliseconds{2000};
  TestServer server(settings);
  Client slow(server.port());
  slow.send("GET /show HTTP/1.1\r\nHos");
  CHECK(Client(server.port()).ask(get("/block/3000")).status == 200);
  // Sweeps of the deadlines have come by.
  std::this_thread::sleep_for(milliseconds{600});
  slow.send("t: a\r\n\r\n");
  CHECK(slow.read_reply().status == 200);
}

TEST_CASE("a new connection that sends nothing is closed without a reply") {
  auto settings = test_settings();
  settings.header_timeout_ms = milliseconds{100};
  TestServer server(settings);
  Client client(server.port());
  CHECK(client.ended());
}

TEST_CASE("a body without progress is answered 408") {
  auto settings = test_settings();
  settings.body_timeout_ms = milliseconds{100};
  TestServer server(settings);
  Client client(server.port());
  CHECK(client.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf").status == 408);
  CHECK(client.ended());
  CHECK(timeouts(server, TimeoutKind::body) == 1);
}

TEST_CASE("a body that makes progress may take longer than the timeout") {
  auto settings = test_settings();
  settings.body_timeout_ms = milliseconds{1500};
  TestServer server(settings);
  Client client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n");
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(milliseconds{100});
    client.send(std::string(100, 'x'));
  }
  CHECK(client.read_reply().body == std::string(2000, 'x'));
}

TEST_CASE("a body that drips in is answered 408") {
  auto settings = test_settings();
  settings.body_timeout_ms = milliseconds{200};
  for (const std::string head : {"Content-Length: 1000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3e8\r\n"}) {
    TestServer server(settings);
    Client client(server.port());
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\n" + head);
    for (int i = 0; i < 100 && timeouts(server, TimeoutKind::body) == 0; ++i) {
      client.send("x");
      std::this_thread::sleep_for(milliseconds{30});
    }
    CHECK(client.read_reply().status == 408);
    CHECK(client.ended());
  }
}

TEST_CASE("an idle connection is closed without a reply") {
  auto settings = test_settings();
  settings.idle_timeout_ms = milliseconds{100};
  TestServer server(settings);
  Client client(server.port());
  client.ask(get("/show"));
  CHECK(client.ended());
  CHECK(timeouts(server, TimeoutKind::idle) == 1);
}

TEST_CASE("a connection that has given its buffers back while idle still serves") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(post("/echo", "before")).body == "before");
  std::this_thread::sleep_for(milliseconds{2800});
  CHECK(client.ask(post("/echo", "after")).body == "after");
}

TEST_CASE("a client that does not read its reply is given up") {
  auto settings = test_settings();
  settings.send_timeout_ms = milliseconds{150};
  TestServer server(settings);
  Client client(server.port());
  client.shrink_receive_buffer();
  client.send(get("/big/30000000"));
  CHECK(eventually([&] { return timeouts(server, TimeoutKind::send) == 1; }));
  CHECK(eventually([&] { return server.metrics.snapshot().connections_open == 0; }));
}

TEST_CASE("a client that does not read its stream is given up") {
  auto settings = test_settings();
  settings.send_timeout_ms = milliseconds{150};
  TestServer server(settings);
  Client client(server.port());
  client.shrink_receive_buffer();
  client.send(get("/stream/1000/100000"));
  CHECK(eventually([&] { return timeouts(server, TimeoutKind::send) == 1; }));
  CHECK(eventually([&] { return server.metrics.snapshot().connections_open == 0; }));
  CHECK(server.metrics.snapshot().bytes_sent < 50'000'000);
}

TEST_CASE("a connection over the limit is told 503 and closed") {
  auto settings = test_settings();
  settings.connections_max = 2;
  TestServer server(settings);
  Client first(server.port());
  Client second(server.port());
  REQUIRE(first.ask(get("/show")).status == 200);
  REQUIRE(second.ask(get("/show")).status == 200);
  Client third(server.port());
  const auto reply = third.ask(get("/show"));
  CHECK(reply.status == 503);
  CHECK(reply.header("retry-after") == "1");
  CHECK(third.ended());
  CHECK(server.metrics.snapshot().connections_rejected == 1);
}

TEST_CASE("a place that became free is given to the next connection") {
  auto settings = test_settings();
  settings.connections_max = 1;
  TestServer server(settings);
  {
    Client first(server.port());
    REQUIRE(first.ask(get("/show")).status == 200);
  }
  CHECK(eventually([&] {
    Client next(server.port());
    return next.ask(get("/show")).status == 200;
  }));
}

TEST_CASE("a request over the limit in flight is told 503 and its connection stays open") {
  auto settings = test_settings();
  settings.requests_in_flight_max = 1;
  TestServer server(settings);
  Client busy(server.port());
  busy.send(get("/slow/3000"));
  REQUIRE(eventually([&] { return server.metrics.snapshot().requests_in_flight == 1; }));
  Client client(server.port());
  const auto refused = client.ask(get("/show"));
  CHECK(refused.status == 503);
  CHECK(refused.header("retry-after") == "1");
  CHECK(busy.read_reply().body == "slow");
  CHECK(client.ask(post("/echo", "now")).body == "now");
}

TEST_CASE("streams do not count as requests in flight") {
  auto settings = test_settings();
  settings.requests_in_flight_max = 1;
  TestServer server(settings);
  Client follower(server.port());
  follower.send(get("/follow"));
  REQUIRE(follower.read_until("start"));
  Client client(server.port());
  CHECK(client.ask(get("/show")).status == 200);
}

TEST_CASE("hundreds of waits that are over at the same moment all end") {
  auto settings = test_settings();
  settings.header_timeout_ms = milliseconds{2000};
  TestServer server(settings);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send("GET /show HTTP/1.1\r\nHos");
  }
  for (auto& client : clients) CHECK(client->read_reply().status == 408);
  CHECK(timeouts(server, TimeoutKind::head) == 300);
}
