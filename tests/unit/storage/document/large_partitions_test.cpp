// The largest logical partitions of a physical partition, kept in bounded memory.
#include "storage/document/large_partitions.h"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "storage/partition/snapshot.h"
#include "support/partition_fixture.h"

namespace octavo::storage {
namespace {

bool has(const LargePartitions& large, const std::string& key) {
  return std::ranges::count(large.keys(), key) == 1;
}

}  // namespace

TEST_CASE("a logical partition is kept once it has a twentieth of its limit") {
  LargePartitions large(1000);
  large.note("small", 49);
  large.note("large", 50);
  large.note("large", 60);
  CHECK(large.keys() == std::vector<std::string>{"large"});
}

TEST_CASE("of many large logical partitions the largest are kept") {
  LargePartitions large(1000);
  for (std::size_t i = 0; i < 3 * LargePartitions::kept_max; ++i) large.note("p" + std::to_string(i), 100 + i);
  CHECK(large.keys().size() == LargePartitions::kept_max);
  CHECK(has(large, "p95"));
  CHECK(has(large, "p64"));
  CHECK_FALSE(has(large, "p63"));
  large.note("p64", 1000);
  large.note("next", 170);
  CHECK(has(large, "p64"));
  CHECK_FALSE(has(large, "p65"));
}

TEST_CASE("writes note the logical partitions that have become large") {
  PhysicalPartition::Options options;
  options.logical_partition_bytes_max = 10'000;
  octavo::tests::PartitionFixture fixture(options);
  REQUIRE(fixture.put("small:a", R"({"v":1})"));
  REQUIRE(fixture.put("large:a", R"({"v":")" + std::string(600, 'x') + "\"}"));
  CHECK(fixture.partition().large_partitions().keys() == std::vector<std::string>{"large"});
}

}  // namespace octavo::storage
