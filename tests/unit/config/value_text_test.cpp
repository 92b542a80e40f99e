#include "config/value_text.h"

#include <random>

#include <catch2/catch.hpp>

using namespace octavo::config;
using namespace std::chrono_literals;

TEST_CASE("a size is a number of bytes with or without a unit") {
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("64KiB") == 65'536);
  CHECK(parse_size("8MB") == 8'000'000);
  CHECK(parse_size("8mib") == 8'388'608);
  CHECK(parse_size("20GiB") == 21'474'836'480);
  CHECK(parse_size("1TB") == 1'000'000'000'000);
  CHECK(parse_size("7B") == 7);
}

TEST_CASE("a size that is malformed or does not fit is refused") {
  CHECK_FALSE(parse_size(""));
  CHECK_FALSE(parse_size("MiB"));
  CHECK_FALSE(parse_size("1.5GiB"));
  CHECK_FALSE(parse_size("-1"));
  CHECK_FALSE(parse_size("1 MiB"));
  CHECK_FALSE(parse_size("1PiB"));
  CHECK_FALSE(parse_size("18446744073709551616"));
  CHECK_FALSE(parse_size("16777216TiB"));
}

TEST_CASE("the largest size that fits is accepted") {
  CHECK(parse_size("18446744073709551615") == 18'446'744'073'709'551'615ULL);
  CHECK(parse_size("16777215TiB") == 16'777'215ULL << 40);
}

TEST_CASE("a duration is milliseconds unless it has a unit") {
  CHECK(parse_duration("1500") == 1500ms);
  CHECK(parse_duration("500ms") == 500ms);
  CHECK(parse_duration("10s") == 10s);
  CHECK(parse_duration("2m") == 2min);
  CHECK(parse_duration("1H") == 1h);
  CHECK(parse_duration("7d") == 168h);
}

TEST_CASE("a duration that is malformed or does not fit is refused") {
  CHECK_FALSE(parse_duration(""));
  CHECK_FALSE(parse_duration("s"));
  CHECK_FALSE(parse_duration("1w"));
  CHECK_FALSE(parse_duration("-5s"));
  CHECK_FALSE(parse_duration("0.5s"));
  CHECK_FALSE(parse_duration("9223372036854775808"));
  CHECK_FALSE(parse_duration("106751991168d"));
}

TEST_CASE("a boolean is written as people and shells write it") {
  CHECK(parse_boolean("true") == true);
  CHECK(parse_boolean("Yes") == true);
  CHECK(parse_boolean("1") == true);
  CHECK(parse_boolean("off") == false);
  CHECK(parse_boolean("FALSE") == false);
  CHECK_FALSE(parse_boolean(""));
  CHECK_FALSE(parse_boolean("2"));
}

TEST_CASE("sizes and durations are printed in the largest unit that divides them") {
  CHECK(format_size(0) == "0");
  CHECK(format_size(1400) == "1400");
  CHECK(format_size(1536) == "1536");
  CHECK(format_size(65'536) == "64KiB");
  CHECK(format_size(20ULL << 30) == "20GiB");
  CHECK(format_duration(0ms) == "0ms");
  CHECK(format_duration(1500ms) == "1500ms");
  CHECK(format_duration(75s) == "75s");
  CHECK(format_duration(600s) == "10m");
  CHECK(format_duration(24h) == "24h");
}

TEST_CASE("a text about something too large names its size, the limit and the setting") {
  CHECK(over_limit(9'000'000, 8ULL << 20, "database.document_bytes_max") ==
        "has 9000000 bytes; the limit is 8MiB (database.document_bytes_max)");
  CHECK(over_limit(std::nullopt, 100'000, "a.b") == "is larger than 100000 (a.b)");
}

TEST_CASE("what is printed reads back as the same value") {
  std::mt19937_64 random(20'240'611);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t size = random() >> (random() % 64);
    const std::uint64_t shifted = size << (random() % 3 * 10);
    REQUIRE(parse_size(format_size(shifted)) == shifted);
    const auto duration = std::chrono::milliseconds(static_cast<std::int64_t>((random() >> 20) / 1000 * 1000));
    REQUIRE(parse_duration(format_duration(duration)) == duration);
  }
}

TEST_CASE("quoting escapes what a TOML basic string cannot hold") {
  CHECK(quote("plain") == "\"plain\"");
  CHECK(quote("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(quote("line\nnext\ttab") == "\"line\\nnext\\u0009tab\"");
  CHECK(quote("grün") == "\"grün\"");
}
