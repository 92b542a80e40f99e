#include "base/ascii_case.h"

#include <catch2/catch.hpp>

using namespace octavo;

TEST_CASE("the case of ASCII letters changes, and no other byte") {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool upper = byte >= 'A' && byte <= 'Z';
    const bool lower = byte >= 'a' && byte <= 'z';
    CHECK(to_lower(c) == static_cast<char>(upper ? byte + 32 : byte));
    CHECK(to_upper(c) == static_cast<char>(lower ? byte - 32 : byte));
  }
  CHECK(lower_case("X-Ms-Date: Ä@[`{") == "x-ms-date: Ä@[`{");
  CHECK(upper_case("x-ms-date: ä@[`{") == "X-MS-DATE: ä@[`{");
}

TEST_CASE("names are equal in any case, and in no other way") {
  CHECK(equals_ignoring_case("", ""));
  CHECK(equals_ignoring_case("Content-Type", "content-TYPE"));
  CHECK_FALSE(equals_ignoring_case("Content-Type", "Content-Typo"));
  CHECK_FALSE(equals_ignoring_case("content-type", "xontent-type"));
  CHECK_FALSE(equals_ignoring_case("a", "ab"));
  CHECK_FALSE(equals_ignoring_case("[", "{"));
  CHECK_FALSE(equals_ignoring_case("Ä", "ä"));
}
