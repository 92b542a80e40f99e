#include "server/http/compression.h"

#include <random>

#include <catch2/catch.hpp>
#include <zlib.h>

#include "unit/server/test_client.h"
#include "unit/server/test_server.h"

using namespace octavo::server;
using namespace octavo::server::test;

namespace {

// What a client does: gzip with 31, deflate with 15. Empty when the body is damaged or does not end.
std::string inflate_all(std::string_view body, int window_bits) {
  z_stream stream{};
  inflateInit2(&stream, window_bits);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  std::string out;
  int result = Z_OK;
  while (result == Z_OK) {
    char buffer[65536];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof(buffer);
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer, sizeof(buffer) - stream.avail_out);
  }
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return whole ? out : std::string{};
}

std::string plain(TestServer& server, std::string_view target) {
  Client client(server.port());
  return client.ask(get(target)).body;
}

}  // namespace

TEST_CASE("the coding is chosen by the client's q-values") {
  CHECK(choose_coding("gzip") == ContentCoding::gzip);
  CHECK(choose_coding("deflate") == ContentCoding::deflate);
  CHECK(choose_coding("deflate, gzip") == ContentCoding::gzip);
  CHECK(choose_coding("gzip;q=0.5, deflate;q=0.8") == ContentCoding::deflate);
  CHECK(choose_coding("GZIP ; q=1.000") == ContentCoding::gzip);
  CHECK(choose_coding("gzip;q=0") == ContentCoding::identity);
  CHECK(choose_coding("gzip;q=0, *") == ContentCoding::deflate);
  CHECK(choose_coding("*") == ContentCoding::gzip);
  CHECK(choose_coding("identity, gzip;q=0.5") == ContentCoding::identity);
  CHECK(choose_coding("br, zstd") == ContentCoding::identity);
  CHECK(choose_coding("") == ContentCoding::identity);
  CHECK(choose_coding("gzip;q=abc") == ContentCoding::identity);
  CHECK(choose_coding(";;,,;q=") == ContentCoding::identity);
}

TEST_CASE("text is worth compressing, pictures are not") {
  CHECK(is_compressible("application/json"));
  CHECK(is_compressible("application/json; charset=utf-8"));
  CHECK(is_compressible("text/plain"));
  CHECK(is_compressible("text/event-stream"));
  CHECK(is_compressible("application/vnd.api+json"));
  CHECK_FALSE(is_compressible("image/png"));
  CHECK_FALSE(is_compressible("application/octet-stream"));
  CHECK_FALSE(is_compressible(""));
}

TEST_CASE("pieces compressed independently of each other make one valid body") {
  Deflater deflater;
  std::mt19937 random(7);
  for (const auto coding : {ContentCoding::gzip, ContentCoding::deflate}) {
    std::string expected;
    std::string body;
    CompressedBody compressed(coding);
    CompressedBody other(ContentCoding::gzip);  // interleaved with another connection's
    std::string other_body;
    for (int i = 0; i < 200; ++i) {
      std::string piece(random() % 5000 + 1, 'a');
      for (auto& c : piece) c = static_cast<char>('a' + random() % (i % 26 + 1));
      expected += piece;
      compressed.add(deflater, piece, body);
      other.add(deflater, "the other one;", other_body);
    }
    compressed.end(body);
    CHECK(inflate_all(body, coding == ContentCoding::gzip ? 31 : 15) == expected);
  }
}

TEST_CASE("an empty compressed body is valid") {
  std::string body;
  CompressedBody(ContentCoding::gzip).end(body);
  CHECK_FALSE(body.empty());
  z_stream stream{};
  inflateInit2(&stream, 31);
  char out[8];
  stream.next_in = reinterpret_cast<Bytef*>(body.data());
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out);
  stream.avail_out = sizeof(out);
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(stream.total_out == 0);
  inflateEnd(&stream);
}

TEST_CASE("a reply is compressed for clients that accept it") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/big/20000", "Accept-Encoding: gzip, deflate\r\n"));
  CHECK(reply.header("content-encoding") == "gzip");
  CHECK(reply.header("vary") == "Accept-Encoding");
  CHECK(reply.body.size() < 6000);
  CHECK(inflate_all(reply.body, 31) == plain(server, "/big/20000"));
}

TEST_CASE("a reply is compressed as deflate when only that is accepted") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/big/20000", "Accept-Encoding: deflate\r\n"));
  CHECK(reply.header("content-encoding") == "deflate");
  CHECK(inflate_all(reply.body, 15) == plain(server, "/big/20000"));
}

TEST_CASE("a large reply is compressed slice by slice") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/big/3000000", "Accept-Encoding: gzip\r\n"));
  CHECK(reply.header("transfer-encoding") == "chunked");
  CHECK(reply.complete);
  CHECK(inflate_all(reply.body, 31) == plain(server, "/big/3000000"));
}

TEST_CASE("compressing takes turns by what it takes in, however little comes out of it") {
  TestServer server;
  Client client(server.port());
  constexpr int size = 2'000'000;
  CHECK(client.ask(get("/turns/" + std::to_string(size), "Accept-Encoding: gzip\r\n")).body.size() < size / 4);
  CHECK(server.handler.turns >= size / 65'536);
}

TEST_CASE("a reply says that it varies even when it is not compressed") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/big/20000"));
  CHECK(reply.header("content-encoding").empty());
  CHECK(reply.header("vary") == "Accept-Encoding");
}

TEST_CASE("small replies, pictures and what is coded already are not compressed") {
  TestServer server;
  Client client(server.port());
  const std::string accept = "Accept-Encoding: gzip\r\n";
  CHECK(client.ask(get("/big/500", accept)).header("content-encoding").empty());
  CHECK(client.ask(get("/type/9000/image/png", accept)).header("content-encoding").empty());
  CHECK(client.ask(get("/coded/9000", accept)).header("content-encoding") == "br");
}

TEST_CASE("a stream is compressed so that each write can be read at once") {
  TestServer server;
  Client client(server.port());
  client.send(get("/follow", "Accept-Encoding: gzip\r\n"));
  REQUIRE(client.read_until("\x1f\x8b"));
  const auto at = client.received().find("\x1f\x8b");
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  const auto piece = client.received().substr(at);
  z_stream stream{};
  inflateInit2(&stream, 31);
  char out[64];
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  stream.avail_in = static_cast<uInt>(piece.size());
  stream.next_out = reinterpret_cast<Bytef*>(out);
  stream.avail_out = sizeof(out);
  inflate(&stream, Z_SYNC_FLUSH);
  CHECK(std::string(out, stream.total_out) == "start");
  inflateEnd(&stream);
}

TEST_CASE("a compressed stream is valid to its end") {
  TestServer server;
  Client client(server.port());
  const auto reply = client.ask(get("/stream/20/30000", "Accept-Encoding: gzip\r\n"));
  CHECK(reply.header("content-encoding") == "gzip");
  CHECK(inflate_all(reply.body, 31) == plain(server, "/stream/20/30000"));
}

TEST_CASE("HEAD is answered with the length of the plain body") {
  TestServer server;
  Client client(server.port());
  client.send("HEAD /big/20000 HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
  CHECK(client.read_reply(true).header("content-length") == "20000");
}
