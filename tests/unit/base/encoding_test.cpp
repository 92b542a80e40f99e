#include "base/encoding.h"

#include <catch2/catch.hpp>

#include "base/digest.h"

using namespace octavo::crypto;

TEST_CASE("base64 gives the vectors of RFC 4648") {
  CHECK(base64_encode("") == "");
  CHECK(base64_encode("f") == "Zg==");
  CHECK(base64_encode("fo") == "Zm8=");
  CHECK(base64_encode("foo") == "Zm9v");
  CHECK(base64_encode("foob") == "Zm9vYg==");
  CHECK(base64_encode("fooba") == "Zm9vYmE=");
  CHECK(base64_encode("foobar") == "Zm9vYmFy");
}

TEST_CASE("base64 reads what it wrote, for every length and byte") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    CHECK(base64_decode(base64_encode(bytes)) == bytes);
    CHECK(base64url_decode(base64url_encode(bytes)) == bytes);
    CHECK(hex_decode(hex_encode(bytes)) == bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
}

TEST_CASE("base64 is read without its padding") {
  CHECK(base64_decode("Zg") == "f");
  CHECK(base64_decode("Zm8") == "fo");
}

TEST_CASE("base64 with wrong padding is refused") {
  CHECK_FALSE(base64_decode("Zg="));
  CHECK_FALSE(base64_decode("Zm9v="));
  CHECK_FALSE(base64_decode("="));
  CHECK_FALSE(base64_decode("===="));
  CHECK_FALSE(base64_decode("Z==="));
}

TEST_CASE("base64 with a foreign character is refused") {
  CHECK_FALSE(base64_decode("Zm9v\n"));
  CHECK_FALSE(base64_decode("Zm 9v"));
  CHECK_FALSE(base64_decode("Zm-v"));
  CHECK_FALSE(base64url_decode("Zm+v"));
}

TEST_CASE("base64 with spare bits set is refused, so that no value has two spellings") {
  CHECK(base64_decode("Zg") == "f");
  CHECK_FALSE(base64_decode("Zh"));
}

TEST_CASE("base64url uses its own two characters and no padding") {
  CHECK(base64url_encode("\xfb\xff\xfe") == "-__-");
  CHECK(base64url_encode("f") == "Zg");
}

TEST_CASE("hexadecimal is read in either case and refused when odd or foreign") {
  CHECK(hex_decode("00fF") == std::string("\x00\xff", 2));
  CHECK_FALSE(hex_decode("0"));
  CHECK_FALSE(hex_decode("0g"));
}

TEST_CASE("a byte is percent-encoded with two upper-case digits") {
  std::string text = "a";
  append_percent_encoded(text, '/');
  append_percent_encoded(text, '\xef');
  CHECK(text == "a%2F%EF");
}
