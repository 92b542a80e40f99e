#include "query/json/parsed_document.h"

#include <limits>

#include <catch2/catch.hpp>

#include "query/json/field_path.h"
#include "query/json/normalize.h"

using namespace octavo;
using namespace octavo::query;

TEST_CASE("a parser serves one document after another") {
  DocumentParser parser;
  CHECK(std::int64_t(parser.parse(R"({"a":1})")->at_key("a")) == 1);
  CHECK(std::int64_t(parser.parse(R"({"a":2})")->at_key("a")) == 2);
  const std::string large = R"({"a":")" + std::string(1'000'000, 'x') + R"("})";
  CHECK(std::string_view(parser.parse(large)->at_key("a")).size() == 1'000'000);
  CHECK(std::int64_t(parser.parse(R"({"a":3})")->at_key("a")) == 3);
}

TEST_CASE("numbers beyond 64 bits and beyond double are read as the nearest finite double") {
  DocumentParser parser;
  const auto root = parser.parse(
      R"({"s":"99999999999999999999 1e999","a":123456789012345678901234567890,"b":1e400,"c":-1e400,"d":18446744073709551615,"e":-9223372036854775808,"f":1.5})");
  REQUIRE(root);
  CHECK(std::string_view(root->at_key("s")) == "99999999999999999999 1e999");
  CHECK(double(root->at_key("a")) == 123456789012345678901234567890.0);
  CHECK(double(root->at_key("b")) == std::numeric_limits<double>::max());
  CHECK(double(root->at_key("c")) == -std::numeric_limits<double>::max());
  CHECK(std::uint64_t(root->at_key("d")) == 18446744073709551615ULL);
  CHECK(std::int64_t(root->at_key("e")) == std::numeric_limits<std::int64_t>::min());
  CHECK(double(root->at_key("f")) == 1.5);
}

TEST_CASE("a document nested as deep as the store allows is read") {
  DocumentParser parser;
  CHECK(parser.parse(std::string(json_depth_max, '[') + std::string(json_depth_max, ']')));
  CHECK(parse_json(std::string(json_depth_max, '[') + std::string(json_depth_max, ']')));
}

TEST_CASE("bytes that are not JSON are an error, not a crash") {
  DocumentParser parser;
  CHECK(parser.parse("{\"a\":").error().code == ErrorCode::corrupted);
  CHECK(parser.parse("").error().code == ErrorCode::corrupted);
  CHECK(parse_json("{\"a\":").error().code == ErrorCode::bad_request);
}

namespace {

std::vector<std::string> parts(std::string_view text) {
  const auto path = FieldPath::parse(text);
  std::vector<std::string> names;
  if (!path) return {path.error().reason};
  for (const auto& part : path->parts()) names.push_back(part.name);
  return names;
}

std::string found(std::string_view json, std::string_view path) {
  static DocumentParser parser;
  const auto lookup = find_field(*parser.parse(json), *FieldPath::parse(path));
  if (lookup.outcome == FieldLookup::Outcome::missing) return "missing";
  if (lookup.outcome == FieldLookup::Outcome::bad_path) return "bad path";
  return simdjson::to_string(lookup.value);
}

}  // namespace

TEST_CASE("a path is cut at dots that are not escaped") {
  CHECK(parts("ab") == std::vector<std::string>{"ab"});
  CHECK(parts("a.b.c") == std::vector<std::string>{"a", "b", "c"});
  CHECK(parts("a\\.b") == std::vector<std::string>{"a.b"});
  CHECK(parts("a.b\\.c.d") == std::vector<std::string>{"a", "b.c", "d"});
  CHECK(parts("").empty());
}

TEST_CASE("an empty part of a path is refused") {
  CHECK(parts("a..b") == std::vector<std::string>{"Invalid field name: a..b"});
  CHECK(parts(".a") == std::vector<std::string>{"Invalid field name: .a"});
  CHECK(parts("a.") == std::vector<std::string>{"Invalid field name: a."});
}

TEST_CASE("a path leads through objects, and through arrays by number") {
  CHECK(found(R"({"a":{"b":{"c":1}}})", "a.b.c") == "1");
  CHECK(found(R"({"a":[{"b":7},{"b":8}]})", "a.1.b") == "8");
  CHECK(found(R"({"a":{"1":"member"}})", "a.1") == "\"member\"");
  CHECK(found(R"({"a.b":1})", "a\\.b") == "1");
}

TEST_CASE("a path that ends early tells a missing member from a wrong container") {
  CHECK(found(R"({"a":{}})", "a.b") == "missing");
  CHECK(found(R"({"a":{}})", "a.b.c") == "missing");
  CHECK(found(R"({"a":5})", "a.b") == "bad path");
  CHECK(found(R"({"a":[1]})", "a.1") == "bad path");
  CHECK(found(R"({"a":[1]})", "a.x") == "bad path");
  CHECK(found(R"({"a":null})", "a.b") == "bad path");
}

TEST_CASE("a number means the same in a request as in a document") {
  DocumentParser parser;
  for (const std::string number : {"9012000.000001623092", "0E+0922209", "0e400", "1e400", "-1e400", "4.9e-324",
                                   "1e-400", "2.2250738585072011e-308", "1e23", "-0.0", "179769313486231580793e289",
                                   "0.1000000000000000055511151231257827", "12345678901234567890123"}) {
    INFO(number);
    const auto request = parse_json(number);
    REQUIRE(request);
    CHECK(request->as_double() == double(*parser.parse(number)));
  }
}

TEST_CASE("JSON for people has numbers as they write them") {
  const auto value = parse_json(
      R"({"a":[0.0,61.5,2,-1.5e-7,1e300,123456789012345678901234567890],"\"b":{"c":null,"d":[]},"e":"1E0\n"})",
      LargeIntegers::exact);
  REQUIRE(value);
  CHECK(readable_json(*value) ==
        R"({"a":[0,61.5,2,-1.5e-07,1e+300,123456789012345678901234567890],"\"b":{"c":null,"d":[]},"e":"1E0\n"})");
}

TEST_CASE("the text of a member is empty if there is no such string") {
  const auto object = parse_json(R"({"a":"text","n":1,"o":{"a":"inner"}})")->as_object();
  CHECK(text_member(object, "a") == "text");
  CHECK(text_member(object, "n").empty());
  CHECK(text_member(object, "o").empty());
  CHECK(text_member(object, "none").empty());
}
