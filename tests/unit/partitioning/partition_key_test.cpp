#include "partitioning/keys/partition_key.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "partitioning/keys/partition_map.h"

using namespace octavo;
using namespace octavo::partitioning;

namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) fmt::format_to(std::back_inserter(text), "{:02X}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

TEST_CASE("effective partition keys are those of the Cosmos SDK's client-side routing") {
  // From hashV2PartitionKey of the npm package @azure/cosmos.
  CHECK(hex(effective_partition_key("")) == "32E9366E637A71B4E710384B2F4970A0");
  CHECK(hex(effective_partition_key("abc")) == "2424691CC38A7EEF2A65ADE404E1F528");
  CHECK(hex(effective_partition_key("order555")) == "1EB9A83DBF29411EAEE094CDE9516184");
  CHECK(hex(effective_partition_key("Home#Kitchen#Small Appliances")) == "3F627442D2B51DA88657D30192799CF0");
  CHECK(hex(effective_partition_key("redmond")) == "22E342F38A486A088463DFF7838A5963");
  CHECK(hex(effective_partition_key("a-rather-long-partition-key-0123456789")) == "21CD926CC15C46DB0F7153060B4208D8");
}

TEST_CASE("all documents of a partition key are at one position, design documents at their own") {
  CHECK(hash_position("order555:item1", true) == hash_position("order555:order", true));
  CHECK(hash_position("order555:item1", true) == hash_position_of_key("order555"));
  CHECK(hash_position("order555:item1", false) != hash_position("order555:order", false));
  CHECK(hash_position("_design/a:b", true) != hash_position("_design/a:c", true));
}

TEST_CASE("a partition key is text that may stand in front of an id") {
  CHECK(check_partition_key("k").has_value());
  CHECK(check_partition_key("\xC3\xA9").has_value());
  for (const std::string_view bad : {"", "_k", "a:b", "k\xF3", "\xFF"}) {
    REQUIRE_FALSE(check_partition_key(bad).has_value());
    CHECK(check_partition_key(bad).error().word == "illegal_partition");
  }
}

TEST_CASE("the partition ids of a map stay the same, whatever the order of their ranges") {
  const PartitionMap map({{0, 9, "partition-5"}, {10, 19, "partition-2"}, {20, 99, "partition-7"}});
  CHECK(map.partition_ids() == std::vector<std::size_t>{5, 2, 7});
  CHECK(map.locate(9) == 5);
  CHECK(map.locate(10) == 2);
  CHECK(map.locate(99) == 7);
  CHECK(map.partition_ids_between(5, 15) == std::vector<std::size_t>{5, 2});
  CHECK(map.partition_ids_between(12, 12) == std::vector<std::size_t>{2});
  REQUIRE(map.range_of(7) != nullptr);
  CHECK(map.range_of(7)->first == 20);
  CHECK(map.range_of(0) == nullptr);
}

TEST_CASE("an even map covers the whole hash space without a gap") {
  for (const std::uint32_t q : {1U, 2U, 3U, 7U, 64U}) {
    const auto entries = PartitionMap::even(q);
    REQUIRE(entries.size() == q);
    CHECK(entries.front().first == 0);
    CHECK(entries.back().last == hash_space_end - 1);
    for (std::size_t i = 1; i < entries.size(); ++i) CHECK(entries[i].first == entries[i - 1].last + 1);
    const PartitionMap map(entries);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      CHECK(map.locate(entries[i].first) == i);
      CHECK(map.locate(entries[i].last) == i);
    }
  }
}

TEST_CASE("document ids follow CouchDB's rules") {
  CHECK(check_document_id("a", false));
  CHECK(check_document_id("_design/a", false));
  CHECK(check_document_id("_local/a", true));
  CHECK(check_document_id("p:k", true));
  CHECK(check_document_id("p:k:more", true));
  CHECK(check_document_id("", false).error().reason == "Document id must not be empty");
  CHECK(check_document_id("_x", false).error().reason == "Only reserved document ids may start with underscore.");
  CHECK(check_document_id("nokey", true).error().reason == "Doc id must be of form partition:id");
  CHECK(check_document_id(":k", true).error().reason == "Partition must not be empty");
  CHECK(check_document_id("p:", true).error().word == "illegal_docid");
  CHECK(check_document_id(std::string(7169, 'x'), false).error().reason == "Document id is too long");
}
