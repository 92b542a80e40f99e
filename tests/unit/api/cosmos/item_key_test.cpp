#include "api/models/item_key.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

namespace octavo::api::cosmos {
namespace {

ContainerDefinition container(std::string_view key) {
  const std::string text = R"({"id":"c","partitionKey":)" + std::string(key) + "}";
  return ContainerDefinition::from_request(boost::json::parse(text).get_object()).value();
}
const ContainerDefinition& plain() {
  static const auto definition = container(R"({"paths":["/pk"]})");
  return definition;
}
const ContainerDefinition& hierarchical() {
  static const auto definition = container(R"({"paths":["/a","/b/c"],"kind":"MultiHash"})");
  return definition;
}
std::string header_text(std::string_view header, const ContainerDefinition& definition = plain()) {
  const auto key = parse_key(header, definition);
  return key ? key->encode() : "refused";
}
std::string body_text(std::string_view body, const ContainerDefinition& definition = plain()) {
  const auto key = key_of_item(body, definition);
  return key ? key->encode() : "refused";
}

}  // namespace

TEST_CASE("the key of a header and the key of an item are the same key") {
  struct Pair {
    const char* header;
    const char* body;
    const char* text;
  };
  for (const Pair& pair : {Pair{R"(["a"])", R"({"pk":"a"})", "a"}, Pair{R"(["\u00e9"])", R"({"pk":"é"})", "é"},
                           Pair{"[42.0]", R"({"pk":42})", "!42"}, Pair{"[-0]", R"({"pk":0})", "!0"},
                           Pair{"[null]", R"({"pk":null})", "!null"}, Pair{"[{}]", "{}", "!none"},
                           Pair{"[true]", R"({"pk":true})", "!true"}, Pair{R"([""])", R"({"pk":""})", "!\"\""}}) {
    CHECK(header_text(pair.header) == pair.text);
    CHECK(body_text(pair.body) == pair.text);
  }
}

TEST_CASE("what is no key is refused") {
  for (const char* header : {"", "a", "\"a\"", "{}", "[[]]", "[{\"x\":1}]", "[\"a\"", "[\"a\",\"b\"]"}) {
    INFO(header);
    CHECK(header_text(header) == "refused");
  }
}

TEST_CASE("an object or an array in an item is no value of its key") {
  CHECK(body_text(R"({"pk":["a"]})") == "!none");
  CHECK(body_text(R"({"pk":{"a":1}})") == "!none");
}

TEST_CASE("a hierarchical key may be given in part, and is complete with all its values") {
  const auto part = parse_key(R"(["x"])", hierarchical()).value();
  CHECK_FALSE(is_complete(part, hierarchical()));
  const auto whole = parse_key(R"(["x",{}])", hierarchical()).value();
  CHECK(is_complete(whole, hierarchical()));
  CHECK(whole == key_of_item(R"({"a":"x","b":1})", hierarchical()).value());
  CHECK(parse_key("[]", hierarchical()).value().values().empty());
}

TEST_CASE("ids of items have 1 to 1,023 bytes and no characters that paths are made of") {
  CHECK(check_item_id("a b%+"));
  CHECK(check_item_id(std::string(1023, 'x')));
  CHECK_FALSE(check_item_id(std::string(1024, 'x')));
  for (const char* id : {"", "a/b", "a\\b", "a#b"}) CHECK_FALSE(check_item_id(id));
  CHECK(check_item_id("a?b"));
}

TEST_CASE("the longest item fits the longest document id") {
  const partitioning::TypedKey key({std::string(2048, ':')}, false);
  const std::string id(1023, 'x');
  const std::string document = document_id(key, id);
  CHECK(document.size() <= 7168);
  CHECK(item_id_of(document) == id);
}

}  // namespace octavo::api::cosmos
