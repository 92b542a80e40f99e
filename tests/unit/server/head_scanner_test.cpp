#include "server/http/head_scanner.h"

#include <string_view>

#include <catch2/catch.hpp>

using namespace octavo::server;
using Result = HeadScanner::Result;

namespace {

constexpr std::size_t head_bytes_default = 1000;

// The status that `text` is refused with; 0: it is not refused.
int refused_status(std::string_view text, std::size_t head_bytes_max = head_bytes_default) {
  ReadBuffer in;
  in.append(text);
  HeadScanner scanner;
  return scanner.scan(in, head_bytes_max) == Result::refused ? scanner.refusal().status : 0;
}

}  // namespace

TEST_CASE("the end of a head is found wherever its pieces end") {
  constexpr std::string_view text = "GET / HTTP/1.1\r\nHost: h\r\n\r\nthe body";
  constexpr std::size_t head_bytes = text.find("\r\n\r\n") + 4;
  for (std::size_t cut = 0; cut < head_bytes; ++cut) {
    CAPTURE(cut);
    ReadBuffer in;
    HeadScanner scanner;
    in.append(text.substr(0, cut));
    REQUIRE(scanner.scan(in, head_bytes_default) == Result::incomplete);
    REQUIRE(scanner.head_bytes() == 0);
    in.append(text.substr(cut));
    REQUIRE(scanner.scan(in, head_bytes_default) == Result::complete);
    REQUIRE(scanner.head_bytes() == head_bytes);
  }
}

TEST_CASE("empty lines before a request are dropped") {
  ReadBuffer in;
  in.append("\r\n\r\nGET / HTTP/1.1\r\n\r\n");
  HeadScanner scanner;
  CHECK(scanner.scan(in, head_bytes_default) == Result::complete);
  CHECK(in.data() == "GET / HTTP/1.1\r\n\r\n");
  CHECK(scanner.head_bytes() == in.size());
}

TEST_CASE("the head after one that was removed is found") {
  ReadBuffer in;
  in.append("GET /first HTTP/1.1\r\n\r\nGET /second HTTP/1.1\r\n\r\n");
  HeadScanner scanner;
  REQUIRE(scanner.scan(in, head_bytes_default) == Result::complete);
  in.consume(scanner.head_bytes());
  scanner.restart();
  CHECK(scanner.head_bytes() == 0);
  CHECK(scanner.scan(in, head_bytes_default) == Result::complete);
  CHECK(scanner.head_bytes() == in.size());
}

TEST_CASE("input that cannot become a request is refused before the head is complete") {
  CHECK(refused_status("\x16\x03\x01") == 400);
  CHECK(refused_status("GET / HTTP/1.1\nHost: h\n") == 400);
  CHECK(refused_status("GET /a-long-target", 16) == 414);
  CHECK(refused_status("GET / HTTP/1.1\r\nHost: h", 16) == 431);
  CHECK(refused_status("GET / HTTP/1.1\r\nHost: h") == 0);
}
