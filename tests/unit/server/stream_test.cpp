#include <catch2/catch.hpp>

#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server::test;
using std::chrono::milliseconds;

TEST_CASE("a stream is sent in chunks, one for each write") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/stream/3/1000"));
  CHECK(reply.header("transfer-encoding") == "chunked");
  CHECK(reply.chunks == std::vector<std::size_t>{1000, 1000, 1000});
  CHECK(reply.complete);
  CHECK(client.ask(post("/echo", "next")).body == "next");
}

TEST_CASE("a stream of large pieces arrives whole") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/stream/50/200000"));
  CHECK(reply.body.size() == 10'000'000);
  CHECK(reply.body.substr(0, 200'000) == reply.body.substr(9'800'000));
  CHECK(reply.complete);
}

TEST_CASE("a body beside a stream comes first") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(get("/prefixed")).body == "head;tail");
}

TEST_CASE("a stream with a declared length is sent without chunks") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/attachment/5000/5000"));
  CHECK(reply.header("content-length") == "5000");
  CHECK(reply.header("transfer-encoding").empty());
  CHECK(reply.body.size() == 5000);
  CHECK(client.ask(post("/echo", "next")).body == "next");
}

TEST_CASE("a stream shorter or longer than declared ends the connection") {
  TestServer server;
  Client client(server.port());
  CHECK_FALSE(client.ask(get("/attachment/5000/100")).complete);
  Client other(server.port());
  CHECK_FALSE(other.ask(get("/attachment/100/5000")).complete);
}

TEST_CASE("an exception in a stream shows as a broken body") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/throw_stream"));
  CHECK(reply.body == "half of it");
  CHECK_FALSE(reply.complete);
  CHECK(client.ended());
}

TEST_CASE("a waiting stream learns that its client has left") {
  TestServer server;
  Client client(server.port());
  client.send(get("/follow"));
  REQUIRE(client.read_until("start"));
  CHECK(server.metrics.snapshot().streams_open == 1);
  client.close();
  CHECK(eventually([&] { return server.handler.followers_ended == 1; }));
  CHECK(eventually([&] { return server.metrics.snapshot().connections_open == 0; }));
  CHECK(server.metrics.snapshot().streams_open == 0);
}

TEST_CASE("a client that has finished sending gets the whole of its stream") {
  TestServer server;
  Client client(server.port());
  client.send(get("/stream/400/100000"));
  client.end_sending();
  std::this_thread::sleep_for(milliseconds{700});  // the watch has seen it, the stream waits for us to read
  const auto reply = client.read_reply();
  CHECK(reply.body.size() == 40'000'000);
  CHECK(reply.complete);
  CHECK(client.ended());
}

TEST_CASE("a waiting stream ends when its client has finished sending") {
  TestServer server;
  Client client(server.port());
  client.send(get("/follow"));
  REQUIRE(client.read_until("start"));
  client.end_sending();
  CHECK(eventually([&] { return server.handler.followers_ended == 1; }));
}

TEST_CASE("a waiting stream that its client ended does not look whole") {
  TestServer server;
  Client client(server.port());
  client.send(get("/follow"));
  REQUIRE(client.read_until("start"));
  client.end_sending();
  const auto reply = client.read_reply();
  CHECK(reply.body == "start");
  CHECK_FALSE(reply.complete);
}

TEST_CASE("after a stream, the server does not wait for a client that has finished sending") {
  for (const std::string& rest :
       {std::string(), std::string("GET /sho"), post("/echo", std::string(80, 'x')).substr(0, 100)}) {
    TestServer server;
    Client client(server.port());
    client.send(get("/follow") + rest);
    REQUIRE(client.read_until("start"));
    client.end_sending();
    CHECK_FALSE(client.read_reply().complete);
    CHECK(client.ended());
  }
}

TEST_CASE("a request sent while a stream runs is answered after it") {
  auto settings = test_settings();
  TestServer server(settings);
  Client client(server.port());
  client.send(get("/stream/400/100000"));
  REQUIRE(client.read_until("octavo"));
  std::this_thread::sleep_for(milliseconds{600});  // the watch has begun, the stream waits for us to read
  client.send(post("/echo", "early"));
  std::this_thread::sleep_for(milliseconds{100});
  CHECK(client.read_reply().body.size() == 40'000'000);
  CHECK(client.read_reply().body == "early");
}

TEST_CASE("a stream waits for a client that reads late, and arrives whole") {
  TestServer server;
  Client client(server.port());
  client.send(get("/stream/300/100000"));
  std::this_thread::sleep_for(milliseconds{300});
  CHECK(server.metrics.snapshot().bytes_sent < 15'000'000);  // what the kernel's buffers took
  const auto reply = client.read_reply();
  CHECK(reply.body.size() == 30'000'000);
  CHECK(reply.complete);
}

TEST_CASE("hundreds of followers are held and let go") {
  TestServer server;
  std::vector<std::unique_ptr<Client>> followers;
  for (int i = 0; i < 300; ++i) {
    followers.push_back(std::make_unique<Client>(server.port()));
    followers.back()->send(get("/follow"));
  }
  CHECK(eventually([&] { return server.handler.followers == 300; }));
  followers.clear();
  CHECK(eventually([&] { return server.handler.followers_ended == 300; }));
}
