#include "base/append_pieces.h"

#include <catch2/catch.hpp>

using octavo::append_pieces;

TEST_CASE("pieces follow what is there, at any length and capacity") {
  std::string expected;
  std::string text;
  for (std::size_t length = 0; length < 300; ++length) {
    const std::string piece(length, static_cast<char>('a' + length % 26));
    append_pieces(text, "<", std::string_view(piece), "", std::string_view(), ">");
    expected += '<' + piece + '>';
    REQUIRE(text == expected);
  }
}
