#include "query/json/plain_strings.h"

#include <string>

#include <catch2/catch.hpp>

using namespace octavo::query;

TEST_CASE("JSON has plain strings when it is printable ASCII without escapes") {
  CHECK(has_plain_strings(""));
  CHECK(has_plain_strings(R"({"a~b":[1,"The quick brown fox jumps over the lazy dog",null]})"));
  for (const char* const other : {"\\n", "\x7f", "\x1f", "\xc3\xa9", "\xe2\x80\x8b", "\xff"}) {
    for (std::size_t size : {0, 1, 7, 15, 16, 17, 31, 32, 33, 100}) {
      for (std::size_t at = 0; at <= size; ++at) {
        CHECK_FALSE(has_plain_strings(std::string(size, 'x').insert(at, other)));
      }
    }
  }
}

TEST_CASE("a text is plain when it is printable ASCII, whatever it would be in JSON") {
  CHECK(is_plain_text(""));
  CHECK(is_plain_text("C:\\a \"quoted\" path of more than sixteen~"));
  for (const char* const other : {"\n", "\x7f", "\x1f", "\xc3\xa9", "\xe2\x80\x8b", "\xff"}) {
    for (std::size_t size : {0, 1, 15, 16, 17, 33}) {
      for (std::size_t at = 0; at <= size; ++at) CHECK_FALSE(is_plain_text(std::string(size, 'x').insert(at, other)));
    }
  }
}
