#include "query/json/split.h"

#include <catch2/catch.hpp>

#include "base/json_writer.h"
#include "query/json/normalize.h"

using namespace octavo;
using namespace octavo::query;

TEST_CASE("a bulk request is cut into its members and documents") {
  const auto members = split_object(R"( { "docs" : [ {"_id":"a","x":[1,"]"]} , {"b":"}\""} ] , "new_edits":false } )");
  REQUIRE(members);
  REQUIRE(members->size() == 2);
  CHECK((*members)[0].name == "docs");
  CHECK(member_value(*members, "new_edits") == "false");
  CHECK(member_value(*members, "other").empty());
  const auto documents = split_array(member_value(*members, "docs"));
  REQUIRE(documents);
  CHECK(*documents == std::vector<std::string_view>{R"({"_id":"a","x":[1,"]"]})", R"({"b":"}\""})"});
}

TEST_CASE("empty containers have no parts") {
  CHECK(split_object(" {} ")->empty());
  CHECK(split_array("[ ]")->empty());
}

TEST_CASE("member names are decoded and the last of a name stays") {
  const auto members = split_object(R"({"a":1,"b":2,"\u0061":3})");
  REQUIRE(members);
  REQUIRE(members->size() == 2);
  CHECK(member_value(*members, "a") == "3");
}

TEST_CASE("the last of a name stays among many") {
  std::string text = "{";
  for (int i = 0; i < 90; ++i) text += "\"k" + std::to_string(i % 30) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const auto members = split_object(text);
  REQUIRE(members);
  CHECK(members->size() == 30);
  CHECK(member_value(*members, "k7") == "67");
}

TEST_CASE("another type than asked for is named in the error") {
  CHECK(split_object("[1]").error().reason == "Request body must be a JSON object");
  CHECK(split_array("{}").error().reason == "Request body must be a JSON array");
}

TEST_CASE("an empty text is called that") {
  CHECK(split_object("").error().reason == "invalid UTF-8 JSON at byte 0: the text is empty");
}

TEST_CASE("text that cannot be cut is refused") {
  for (const char* text : {"", "{", "{\"a\"", "{\"a\":", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{\"a\":tru}",
                           "{\"a\":01}", "{\"a\":[}", "{\"a\":[}]}", "{\"a\":{]}", "{\"a\":\"x}", "{\"a\":1}}",
                           "{\"a\":[\"\\q\"]}", "{\"a\":1 \"b\":2}", "{\"\xFF\":1}"}) {
    INFO(text);
    const auto result = split_object(text);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("a split is bounded in parts and depth") {
  CHECK(split_array("[1,2,3]", 3));
  CHECK(split_array("[1,2,3]", 2).error().code == ErrorCode::too_large);
  CHECK_FALSE(split_array("[" + std::string(json_depth_max, '[') + std::string(json_depth_max, ']') + "]"));
  CHECK(split_array("[" + std::string(json_depth_max - 1, '[') + std::string(json_depth_max - 1, ']') + "]"));
}

TEST_CASE("a raw string is decoded, anything else is refused") {
  CHECK(decode_json_string(R"("a\nb")") == "a\nb");
  CHECK_FALSE(decode_json_string("12"));
  CHECK_FALSE(decode_json_string("\"a"));
  CHECK_FALSE(decode_json_string("\"a\"b"));
  CHECK_FALSE(decode_json_string(""));
}

TEST_CASE("the writer escapes what JSON asks for and nothing else") {
  std::string out;
  append_json_string(out, std::string_view("a\"\\/\b\f\n\r\t\x01\x1f\0é€😀", 21));
  CHECK(out == R"("a\"\\/\b\f\n\r\t\u0001\u001f\u0000é€😀")");
}

TEST_CASE("the writer places commas between members") {
  std::string out = "{";
  append_json_key(out, "a");
  append_json_number(out, -12);
  append_json_key(out, "b");
  append_json_bool(out, true);
  CHECK(out == R"({"a":-12,"b":true)");
}
