#include "base/token.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/fnv.h"

using namespace octavo;

TEST_CASE("a token gives back the bytes that were sealed") {
  for (const std::string& bytes :
       {std::string(), std::string("a"), std::string("\0\xFF\n", 3), std::string(1000, 'x')}) {
    CHECK(open_token(seal_token(bytes)) == bytes);
  }
}

TEST_CASE("a token that was cut, extended or changed is not opened") {
  const std::string token = seal_token("position 17");
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    CHECK_FALSE(open_token(changed));
    CHECK_FALSE(open_token(token.substr(0, i)));
  }
  CHECK_FALSE(open_token(token + "A"));
  CHECK_FALSE(open_token(token + "!"));
}

TEST_CASE("FNV-1a gives the values of its reference") {
  CHECK(fnv1a_32("") == 0x811c9dc5U);
  CHECK(fnv1a_32("foobar") == 0xbf9cf968U);
  CHECK(fnv1a_64("foobar") == 0x85944171f73967e8ULL);
  CHECK(fnv1a_64("bar", fnv1a_64("foo")) == fnv1a_64("foobar"));
}
