#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <zlib.h>

#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server::test;

namespace {

// window_bits: 31 gzip, 15 zlib, -15 bare deflate.
std::string compress(std::string_view text, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out;
  out.resize(deflateBound(&stream, text.size()) + 64);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string chunked(std::string_view target, std::string_view chunks, std::string_view extra = {}) {
  return "POST " + std::string{target} + " HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n" +
         std::string{extra} + "\r\n" + std::string{chunks};
}

}  // namespace

TEST_CASE("a chunked body is joined, with extensions and trailers left out") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(chunked("/echo", "4;a=b\r\nWiki\r\n5\r\npedia\r\n0\r\nX-Trailer: 1\r\n\r\n")).body == "Wikipedia");
  CHECK(client.ask(post("/echo", "next")).body == "next");
}

TEST_CASE("a chunked body that arrives byte by byte is joined") {
  TestServer server;
  Client client(server.port());
  for (const char c : chunked("/echo", "4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n")) client.send({&c, 1});
  CHECK(client.read_reply().body == "Wikipedia");
}

TEST_CASE("an empty chunked body is an empty body") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(chunked("/echo", "0\r\n\r\n") + post("/echo", "next"));
  CHECK(reply.status == 200);
  CHECK(reply.body.empty());
  CHECK(client.read_reply().body == "next");
}

TEST_CASE("malformed chunks are refused") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(chunked("/echo", "xyz\r\nWiki\r\n")).status == 400);
  CHECK(client.ended());
}

TEST_CASE("an endless chunk extension is refused") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(chunked("/echo", "4;" + std::string(40'000, 'a'))).status == 400);
}

TEST_CASE("a chunked body over the limit is refused while it arrives") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 1000;
  TestServer server(settings);
  Client client(server.port());
  CHECK(client.ask(chunked("/echo", "100000\r\n")).status == 413);
  CHECK(client.ended());
}

TEST_CASE("a chunked body that grows over the limit in small chunks is refused") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 1000;
  TestServer server(settings);
  Client client(server.port());
  std::string chunks;
  for (int i = 0; i < 200; ++i) chunks += "a\r\n0123456789\r\n";
  CHECK(client.ask(chunked("/echo", chunks)).status == 413);
}

TEST_CASE("an announced body over the limit is refused before it is read") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 1000;
  TestServer server(settings);
  Client client(server.port());
  const auto reply = client.ask("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 1001\r\n\r\n");
  CHECK(reply.status == 413);
  CHECK(reply.header("connection") == "close");
  CHECK(server.handler.handled == 0);
}

TEST_CASE("a client that sends its whole oversized body still reads the refusal") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 1000;
  TestServer server(settings);
  Client client(server.port());
  client.send(post("/echo", std::string(8'000'000, 'x')));
  CHECK(client.read_reply().status == 413);
}

TEST_CASE("a body of exactly the limit is served") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 1000;
  TestServer server(settings);
  Client client(server.port());
  CHECK(client.ask(post("/echo", std::string(1000, 'x'))).body.size() == 1000);
}

TEST_CASE("a large body arrives whole and the connection stays open") {
  TestServer server;
  Client client(server.port());
  const std::string large(5'000'000, 'y');
  CHECK(client.ask(post("/echo", large)).body == large);
  CHECK(client.ask(post("/echo", "next")).body == "next");
}

TEST_CASE("a large chunked body arrives whole") {
  TestServer server;
  Client client(server.port());
  std::string chunks;
  for (int i = 0; i < 100; ++i) chunks += "c350\r\n" + std::string(50'000, static_cast<char>('a' + i % 26)) + "\r\n";
  const auto reply = client.ask(chunked("/echo", chunks + "0\r\n\r\n"));
  CHECK(reply.body.size() == 5'000'000);
  CHECK(reply.body.front() == 'a');
  CHECK(reply.body.back() == static_cast<char>('a' + 99 % 26));
}

TEST_CASE("Expect: 100-continue is answered before the body") {
  TestServer server;
  Client client(server.port());
  client.send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.read_reply().status == 100);
  CHECK(client.ask("hello").body == "hello");
}

TEST_CASE("Expect: 100-continue is answered before a chunked body") {
  TestServer server;
  Client client(server.port());
  client.send(chunked("/echo", "", "Expect: 100-continue\r\n"));
  CHECK(client.read_reply().status == 100);
  CHECK(client.ask("5\r\nhello\r\n0\r\n\r\n").body == "hello");
}

TEST_CASE("a body that is refused is not asked for") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 10;
  TestServer server(settings);
  Client client(server.port());
  const auto reply =
      client.ask("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 50\r\nExpect: 100-continue\r\n\r\n");
  CHECK(reply.status == 413);
  CHECK(reply.body == "refused: The request body has 50 bytes; the limit is 10 (http.request_body_bytes_max).");
}

TEST_CASE("other expectations are refused") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(get("/show", "Expect: miracles\r\n")).status == 417);
}

TEST_CASE("a gzip request body is decompressed") {
  TestServer server;
  Client client(server.port());
  const std::string text(100'000, 'z');
  CHECK(client.ask(post("/echo", compress(text, 31), "Content-Encoding: gzip\r\n")).body == text);
}

TEST_CASE("a gzip body of several members is decompressed") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(post("/echo", compress("one", 31) + compress("two", 31), "Content-Encoding: gzip\r\n")).body ==
        "onetwo");
}

TEST_CASE("a chunked gzip request body is decompressed") {
  TestServer server;
  Client client(server.port());
  const auto body = compress("hello hello hello", 31);
  const auto chunks = fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body);
  const auto request = chunked("/echo", chunks, "Content-Encoding: gzip\r\n");
  CHECK(client.ask(request).body == "hello hello hello");
}

TEST_CASE("a deflate request body is decompressed, with and without the zlib wrapper") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(post("/echo", compress("wrapped", 15), "Content-Encoding: deflate\r\n")).body == "wrapped");
  CHECK(client.ask(post("/echo", compress("bare", -15), "Content-Encoding: deflate\r\n")).body == "bare");
}

TEST_CASE("an empty document compressed is an empty body") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(post("/echo", compress("", 31), "Content-Encoding: gzip\r\n"));
  CHECK(reply.status == 200);
  CHECK(reply.body.empty());
}

TEST_CASE("a body that decompresses over the limit is refused") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 100'000;
  TestServer server(settings);
  Client client(server.port());
  const auto bomb = compress(std::string(20'000'000, '\0'), 31);
  REQUIRE(bomb.size() < 100'000);
  CHECK(client.ask(post("/echo", bomb, "Content-Encoding: gzip\r\n")).status == 413);
}

TEST_CASE("a body that decompresses to exactly the limit is served") {
  auto settings = test_settings();
  settings.request_body_bytes_max = 100'000;
  TestServer server(settings);
  Client client(server.port());
  const auto body = compress(std::string(100'000, 'a'), 31);
  CHECK(client.ask(post("/echo", body, "Content-Encoding: gzip\r\n")).body.size() == 100'000);
}

TEST_CASE("a corrupt or truncated compressed body is refused") {
  TestServer server;
  const auto whole = compress(std::string(1000, 'q'), 31);
  Client first(server.port());
  CHECK(first.ask(post("/echo", whole.substr(0, whole.size() - 4), "Content-Encoding: gzip\r\n")).status == 400);
  Client second(server.port());
  CHECK(second.ask(post("/echo", "not gzip at all", "Content-Encoding: gzip\r\n")).status == 400);
}

TEST_CASE("an unknown content coding is refused") {
  TestServer server;
  Client client(server.port());
  CHECK(client.ask(post("/echo", "x", "Content-Encoding: br\r\n")).status == 415);
}
