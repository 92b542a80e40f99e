#include "base/json_writer.h"

#include <cstdio>

#include <catch2/catch.hpp>

using namespace octavo;

namespace {

// The plain way: byte by byte.
std::string escaped(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const std::string_view short_escapes = "\b\f\n\r\t\"\\";
    const std::size_t found = short_escapes.find(c);
    if (found != std::string_view::npos) {
      out += {'\\', "bfnrt\"\\"[found]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char digits[8];
      std::snprintf(digits, sizeof digits, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += digits;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string written(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

TEST_CASE("a JSON string escapes every byte that needs it, at every position in a word") {
  for (int value = 0; value < 256; ++value) {
    for (std::size_t position = 0; position < 19; ++position) {
      for (const char around : {'a', '!', ' ', '\x7F', '\x80', '\xFF'}) {
        std::string text(19, around);
        text[position] = static_cast<char>(value);
        const std::string expected = escaped(text);
        if (written(text) != expected) FAIL("byte " << value << " at " << position << " beside " << int{around});
      }
    }
  }
}

TEST_CASE("a JSON string escapes bytes that follow each other, and texts of every length") {
  for (std::size_t size = 0; size < 40; ++size) {
    CHECK(written(std::string(size, 'x')) == escaped(std::string(size, 'x')));
    CHECK(written(std::string(size, '"')) == escaped(std::string(size, '"')));
    CHECK(written(std::string(size, '\0')) == escaped(std::string(size, '\0')));
  }
  CHECK(written("a\\\"b\n\x01é€😀\t\"") == escaped("a\\\"b\n\x01é€😀\t\""));
}
