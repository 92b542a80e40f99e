#include "query/advice/value_table.h"

#include <cmath>
#include <map>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "base/murmur3.h"

using octavo::murmur3_x64_128;
using octavo::query::advice::ValueTable;

namespace {

void add_to_table(ValueTable& table, const std::string& text, std::uint64_t bytes, std::uint32_t time_s) {
  if (auto* value = table.find_or_add(murmur3_x64_128(text).high, text)) value->add(bytes, time_s);
}

}  // namespace

TEST_CASE("a table of few values has exact statistics of each") {
  ValueTable table;
  for (std::uint32_t i = 0; i < 3'000; ++i) add_to_table(table, std::to_string(i % 1'000), 10, 100 + i);
  CHECK(table.sampled_bits() == 0);
  REQUIRE(table.values().size() == 1'000);
  for (const auto& value : table.values()) {
    const auto number = static_cast<std::uint32_t>(std::stoul(std::string(table.text_of(value))));
    CHECK(value.bytes == 30);
    CHECK(value.documents == 3);
    CHECK(value.first_s == 100 + number);
    CHECK(value.last_s == 2'100 + number);
  }
}

TEST_CASE("a table of very many values has exact statistics of a random part of them") {
  constexpr std::uint32_t values = 400'000;
  ValueTable table;
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < values; ++i) add_to_table(table, std::to_string(i), 1 + i % 7, round);
  }
  REQUIRE(table.sampled_bits() > 0);
  CHECK(table.values().size() <= ValueTable::values_max);
  for (const auto& value : table.values()) {
    const auto number = std::stoul(std::string(table.text_of(value)));
    REQUIRE(value.bytes == 2 * (1 + number % 7));
    REQUIRE(value.documents == 2);
    REQUIRE((value.first_s == 0 && value.last_s == 1));
  }
  const double estimate =
      std::ldexp(static_cast<double>(table.values().size()), static_cast<int>(table.sampled_bits()));
  CHECK(std::abs(estimate / values - 1) < 0.02);
}

TEST_CASE("long values fill a table sooner, and only their beginnings are kept") {
  ValueTable table;
  const std::string tail(1'000, 'x');
  for (int i = 0; i < 20'000; ++i) add_to_table(table, std::to_string(i) + tail, 1, 1);
  CHECK(table.sampled_bits() > 0);
  std::size_t bytes = 0;
  for (const auto& value : table.values()) {
    CHECK(value.is_cut);
    bytes += table.text_of(value).size();
  }
  CHECK(bytes <= ValueTable::text_bytes_max);
}

TEST_CASE("a document without a time says nothing of a value's times") {
  ValueTable table;
  auto* value = table.find_or_add(1, "1");
  value->add(10, std::nullopt);
  CHECK_FALSE(value->has_times());
  value->add(10, 7);
  CHECK(value->has_times());
  CHECK(value->documents == 2);
}
