#include "partitioning/keys/typed_key.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/keys/partition_map.h"

namespace octavo::partitioning {
namespace {

using storage::KeyScheme;

std::string hex(std::string_view bytes) {
  constexpr char hex_digits[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : bytes) {
    text += hex_digits[static_cast<unsigned char>(c) >> 4];
    text += hex_digits[c & 15];
  }
  return text;
}

TypedKey single(KeyValue value) {
  return TypedKey({std::move(value)}, false);
}

std::string text_of(KeyValue value) {
  return single(std::move(value)).encode();
}

std::string version2(KeyValue value) {
  return hex(single(std::move(value)).effective(KeyScheme::hash_v2));
}
std::string version1(KeyValue value) {
  return hex(single(std::move(value)).effective(KeyScheme::hash_v1));
}

}  // namespace

TEST_CASE("a typed key is the text of an id's partition") {
  CHECK(text_of(std::string("books")) == "books");
  CHECK(text_of(std::string("a:b%c,d")) == "a%3Ab%25c,d");
  CHECK(text_of(std::string("_x")) == "%5Fx");
  CHECK(text_of(std::string("!x_!")) == "%21x_!");
  CHECK(text_of(std::string()) == "!\"\"");
  CHECK(text_of(42.0) == "!42");
  CHECK(text_of(-1.5) == "!-1.5");
  CHECK(text_of(1e300) == "!1e+300");
  CHECK(text_of(true) == "!true");
  CHECK(text_of(false) == "!false");
  CHECK(text_of(NullValue{}) == "!null");
  CHECK(text_of(MissingValue{}) == "!none");
}

TEST_CASE("the values of a hierarchy are joined by commas") {
  const TypedKey key({std::string("eu,west"), 7.0, MissingValue{}}, true);
  CHECK(key.encode() == "eu%2Cwest,!7,!none");
  CHECK(TypedKey::decode("eu%2Cwest,!7,!none", true).value() == key);
}

TEST_CASE("every key comes back from its text") {
  const std::vector<KeyValue> values{std::string("books"),
                                     std::string(),
                                     std::string("%_!:,"),
                                     std::string("ü\n\x01"),
                                     42.0,
                                     -0.1,
                                     9007199254740993.0,
                                     1e-7,
                                     true,
                                     false,
                                     NullValue{},
                                     MissingValue{}};
  for (const auto& value : values) {
    for (const bool hierarchical : {false, true}) {
      const TypedKey key({value, value}, hierarchical);
      const TypedKey one({value}, hierarchical);
      INFO(one.encode());
      CHECK(TypedKey::decode(one.encode(), hierarchical).value() == one);
      if (hierarchical) CHECK(TypedKey::decode(key.encode(), true).value() == key);
    }
  }
}

TEST_CASE("texts that no key has are refused, so that two texts never name one key") {
  for (const char* text : {"", "a%3ab", "a%3", "a%41b", "!", "!x", "!42.0", "!042", "!+1", "!nan", "!1e999", "_a",
                           "a%2Cb", "!\"a\"", "!NULL"}) {
    INFO(text);
    CHECK_FALSE(TypedKey::decode(text, false));
  }
}

// The values are those of hashPartitionKey in the npm package @azure/cosmos 4.9.3.
TEST_CASE("effective partition keys of version 2 are Azure Cosmos DB's") {
  CHECK(version2(std::string("books")) == "1245B8E8ED5A1CFC67C1ABD78168BCE0");
  CHECK(version2(std::string()) == "32E9366E637A71B4E710384B2F4970A0");
  CHECK(version2(std::string("ümläut")) == "0496F0A53F22FD0DF4CFEDF252249D78");
  CHECK(version2(std::string(150, 'a')) == "319C4E8C8F7247700B7F8E38B72390B6");
  CHECK(version2(42.0) == "08E6D561F6FD951DCC25E7E4EA2884B5");
  CHECK(version2(-1.5) == "151793206780805FF6E1DCAE6C787B6A");
  CHECK(version2(0.0) == "155B95BEDAC4B1E9EC1CDC9BB0DDDE58");
  CHECK(version2(1e300) == "1234CB21048B20039B22F11DBB13CD7B");
  CHECK(version2(true) == "0E711127C5B5A8E4726AC6DD306A3E59");
  CHECK(version2(false) == "2FE1BE91E90A3439635E0E9E37361EF2");
  CHECK(version2(NullValue{}) == "378867E4430E67857ACE5C908374FE16");
  CHECK(version2(MissingValue{}) == "11622DAA78F835834610ABE56EFF5CB5");
}

TEST_CASE("effective partition keys of version 1 are Azure Cosmos DB's") {
  CHECK(version1(std::string("books")) == "05C1D39DBF67C0086370706C7400");
  CHECK(version1(std::string()) == "05C1CF33970FF80800");
  CHECK(version1(std::string("ümläut")) == "05C1D9AB73C5A808C4BD6E6DC4A5767500");
  CHECK(version1(42.0) == "05C1E75FCB273A05C04580");
  CHECK(version1(-1.5) == "05C1E901090F44054008");
  CHECK(version1(0.0) == "05C1BF6DA115600580");
  CHECK(version1(1e300) == "05C1AB5FCFAF8005FE37F30F918103D738");
  CHECK(version1(true) == "05C1D7C5A903D803");
  CHECK(version1(NullValue{}) == "05C1ED45D7475601");
  CHECK(version1(MissingValue{}) == "05C1D529E345DC00");
  // Only the first hundred characters count.
  CHECK(version1(std::string(150, 'a')) == version1(std::string(100, 'a')));
}

TEST_CASE("effective partition keys of a hierarchy are those of its values, one after the other") {
  const TypedKey key({std::string("eu"), 7.0, std::string("x")}, true);
  CHECK(hex(key.effective(KeyScheme::multi_hash)) ==
        "3F97C8ADBAFAA4A183E4E7F7EB9BE36E36ECBAF0D9CC21F10F0938014BB5273911E3F358618BE9AA5BAFF4C7C74F0716");
}

TEST_CASE("a key lives in the range of effective keys that holds its own") {
  for (const KeyScheme scheme : {KeyScheme::hash_v1, KeyScheme::hash_v2, KeyScheme::multi_hash}) {
    const auto ranges = PartitionMap::even(5);
    const PartitionMap map(ranges);
    for (int i = 0; i < 2000; ++i) {
      const TypedKey key({i % 2 == 0 ? KeyValue(double(i)) : KeyValue("key" + std::to_string(i))},
                         scheme == KeyScheme::multi_hash);
      const std::size_t partition_id = map.locate(key.position(scheme));
      const std::string effective = key.effective(scheme);
      CHECK(effective >= effective_bound(ranges[partition_id].first, scheme));
      if (partition_id + 1 < ranges.size()) CHECK(effective < effective_bound(ranges[partition_id + 1].first, scheme));
      CHECK(position_of_bound(effective, scheme) <=
            key.position(scheme) + (scheme == KeyScheme::hash_v1 ? 1ULL << 30 : 0));
      CHECK(hash_position(key.encode() + ":id", true, scheme) == key.position(scheme));
    }
  }
}

TEST_CASE("a plain string lives where the CouchDB API puts it too") {
  CHECK(hash_position("books:1", true, KeyScheme::hash_v2) == hash_position("books:1", true));
}

}  // namespace octavo::partitioning
