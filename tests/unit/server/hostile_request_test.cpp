#include <random>

#include <catch2/catch.hpp>

#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server::test;

namespace {

int status_of(std::string_view request) {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(request);
  // Whatever followed a refused request must not be taken for another one.
  if (reply.status >= 400 && !client.ended()) return -1;
  return reply.status;
}

}  // namespace

TEST_CASE("Content-Length together with Transfer-Encoding is refused") {
  CHECK(
      status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") ==
      400);
  CHECK(
      status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n") ==
      400);
}

TEST_CASE("contradicting Content-Lengths are refused") {
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nhello") == 400);
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 5\r\n\r\nhello") == 400);
}

TEST_CASE("a Content-Length that is not a plain number is refused") {
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello") == 400);
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello") == 400);
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello") == 400);
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n") == 400);
}

TEST_CASE("transfer codings other than chunked are refused") {
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n") == 501);
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n") == 501);
  CHECK(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n") == 501);
}

TEST_CASE("a repeated Transfer-Encoding is refused") {
  CHECK(
      status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n") ==
      400);
}

TEST_CASE("Transfer-Encoding in HTTP/1.0 is refused") {
  CHECK(status_of("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400);
}

TEST_CASE("folded header lines are refused") {
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\r\nX-Long: one\r\n two\r\n\r\n") == 400);
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\r\nX-Long:\r\n two\r\n\r\n") == 400);
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n") == 400);
}

TEST_CASE("a space before the colon, or in a header name, is refused") {
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello") == 400);
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\r\nX Y: 5\r\n\r\n") == 400);
}

TEST_CASE("a bare carriage return or line feed in the head is refused") {
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\rX: b\r\n\r\n") == 400);
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\nX: b\r\n\r\n") == 400);
  CHECK(status_of("GET /show HTTP/1.1\nHost: a\n\n") == 400);
}

TEST_CASE("a NUL in the head is refused") {
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a" + std::string(1, '\0') + "b\r\n\r\n") == 400);
}

TEST_CASE("HTTP/1.1 needs exactly one Host") {
  CHECK(status_of("GET /show HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of("GET /show HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
}

TEST_CASE("other protocol versions are refused") {
  CHECK(status_of("GET /show HTTP/2.0\r\nHost: a\r\n\r\n") == 505);
  CHECK(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505);
}

TEST_CASE("what is not HTTP at all is refused at once") {
  CHECK(status_of("\x16\x03\x01\x02") == 400);
}

TEST_CASE("a head over the limit is refused") {
  CHECK(status_of(get("/show", "X-Large: " + std::string(70'000, 'a') + "\r\n")) == 431);
}

TEST_CASE("a head over the limit in many small fields is refused") {
  std::string fields;
  for (int i = 0; i < 300; ++i) fields += "X-" + std::to_string(i) + ": y\r\n";
  CHECK(status_of(get("/show", fields)) == 431);
}

TEST_CASE("a request line over the limit is refused") {
  CHECK(status_of(get("/" + std::string(70'000, 'a'))) == 414);
}

TEST_CASE("a smuggled request behind a refused one is never served") {
  TestServer server;
  Client client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" +
              get("/show"));
  CHECK(client.read_reply().status == 400);
  CHECK(client.ended());
  CHECK(server.handler.handled == 0);
}

TEST_CASE("random bytes never stop the server") {
  TestServer server;
  std::mt19937 random(20'240'601);
  const std::string seed =
      "POST /echo?a=%20b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: "
      "100-continue\r\nContent-Encoding: gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (int round = 0; round < 300; ++round) {
    auto bytes = seed;
    const auto changes = random() % 6 + 1;
    for (unsigned i = 0; i < changes; ++i) {
      const auto at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 8);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 20));
      }
    }
    Client client(server.port());
    client.send(bytes);
    client.end_sending();
  }
  Client client(server.port());
  CHECK(client.ask(post("/echo", "alive")).body == "alive");
}
