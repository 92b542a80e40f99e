#include "query/json/large_integer.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "query/collation/collation.h"
#include "query/collation/sort_key.h"
#include "query/json/parsed_document.h"
#include "query/selector/selector.h"

using namespace octavo;
using namespace octavo::query;
namespace json = boost::json;

namespace {

json::value exact_json(std::string_view text) {
  return *parse_json(text, LargeIntegers::exact);
}

int sign_of(int order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

std::string key_of(const json::value& value) {
  std::string out;
  append_sort_key(out, value);
  return out;
}

bool is_match(std::string_view selector, std::string_view body) {
  DocumentParser parser;
  return Selector::parse(exact_json(selector))->matches(*parser.parse(body), "id", "1-x");
}

// Every neighbour differs; those of one line have one nearest double.
std::vector<std::string> ascending_integers() {
  std::vector<std::string> values;
  values.push_back('-' + std::string(400, '9'));
  values.push_back("-1" + std::string(399, '0'));
  for (const char* value : {"-100000000000000000000001",
                            "-100000000000000000000000",
                            "-99999999999999999999999",
                            "-9223372036854775810",
                            "-9223372036854775809",
                            "-9223372036854775808",
                            "-1",
                            "0",
                            "18446744073709551614",
                            "18446744073709551615",
                            "18446744073709551616",
                            "18446744073709551617",
                            "18446744073709553664",
                            "18446744073709553665",
                            "99999999999999999999999",
                            "100000000000000000000000",
                            "100000000000000000000001",
                            "340282366920938463463374607431768211455",
                            "340282366920938463463374607431768211456",
                            "340282366920938463463374607431768211457"}) {
    values.emplace_back(value);
  }
  values.push_back('9' + std::string(308, '0'));  // beyond the largest double, with as many digits
  values.push_back('9' + std::string(308, '1'));
  values.push_back('1' + std::string(309, '0'));
  values.push_back('1' + std::string(308, '0') + '1');
  values.push_back('1' + std::string(5000, '0'));
  return values;
}

}  // namespace

TEST_CASE("integers beyond 64 bits keep their exact order, as values and as sort keys") {
  const auto values = ascending_integers();
  DocumentParser left_parser, right_parser;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      const int expected = i < k ? -1 : i > k ? 1 : 0;
      const json::value a = exact_json(values[i]);
      const json::value b = exact_json(values[k]);
      INFO(values[i].substr(0, 50) << " and " << values[k].substr(0, 50));
      CHECK(compare(a, b) == expected);
      CHECK(compare(*left_parser.parse(values[i]), b) == expected);
      CHECK(compare(*left_parser.parse(values[i]), *right_parser.parse(values[k])) == expected);
      CHECK(sign_of(key_of(a).compare(key_of(b))) == expected);
      if (i != k) CHECK_FALSE(key_of(b).starts_with(key_of(a)));
      std::string down_a, down_b;
      append_sort_key_descending(down_a, a);
      append_sort_key_descending(down_b, b);
      CHECK(sign_of(down_a.compare(down_b)) == -expected);
      CHECK(sort_key_length(key_of(a) + key_of(b)) == key_of(a).size());
      CHECK(sort_key_length(down_a + down_b, true) == down_a.size());
      CHECK(sort_key_length(key_of(a).substr(0, key_of(a).size() - 1)) == 0);
    }
  }
}

TEST_CASE("both kinds of value have one sort key for an integer beyond 64 bits") {
  DocumentParser parser;
  for (const std::string& value : ascending_integers()) {
    std::string from_element;
    append_sort_key(from_element, *parser.parse(value));
    CHECK(from_element == key_of(exact_json(value)));
  }
}

TEST_CASE("an integer equals the double that has its value, and no other") {
  CHECK(compare(exact_json("18446744073709551616"), exact_json("18446744073709551616.0")) == 0);
  CHECK(key_of(exact_json("1180591620717411303424")) == key_of(exact_json("1.180591620717411303424e21")));
  CHECK(compare(exact_json("100000000000000000000000"), exact_json("1e23")) > 0);
  CHECK(compare(exact_json("99999999999999991611392"), exact_json("1e23")) == 0);
}

TEST_CASE("the digits of a document's large integers are those of its values") {
  DocumentParser parser;
  const auto root = parser.parse(
      R"({"s":"99999999999999999999","a":[1,-9223372036854775809,2.5,1e400],"b":{"c":18446744073709551616},"d":7})");
  REQUIRE(root);
  CHECK(large_integer(root->at_pointer("/a/1").value()) == "-9223372036854775809");
  CHECK(large_integer(root->at_pointer("/b/c").value()) == "18446744073709551616");
  for (const char* other : {"/s", "/a/0", "/a/2", "/a/3", "/d"}) {
    CHECK(large_integer(root->at_pointer(other).value()).empty());
  }
  std::string text;
  append_json(text, *root);
  CHECK(text == R"({"s":"99999999999999999999","a":[1,-9223372036854775809,2.5,1.7976931348623157e+308],)"
                R"("b":{"c":18446744073709551616},"d":7})");
}

TEST_CASE("a parser that rounds has no digits of large integers") {
  DocumentParser parser(LargeIntegers::rounded);
  CHECK(large_integer(*parser.parse("18446744073709551617")).empty());
  CHECK(compare(*parser.parse("18446744073709551617"), json::value(18446744073709551616.0)) == 0);
}

TEST_CASE("the digits of one document are not those of the next") {
  DocumentParser parser;
  CHECK_FALSE(large_integer(*parser.parse("18446744073709551617")).empty());
  CHECK(large_integer(*parser.parse("1e30")).empty());
}

TEST_CASE("values with large integers are written as they were read") {
  const std::string text = R"({"a":[18446744073709551616,"x"],"b":-99999999999999999999})";
  CHECK(serialize_json(exact_json(text)) == text);
  CHECK(json::serialize(*parse_json("18446744073709551616")) == "1.8446744073709552E19");
}

TEST_CASE("only a text with many digits in a row may have a large integer") {
  CHECK(may_have_large_integer("[18446744073709551616]"));
  CHECK(may_have_large_integer("-9223372036854775809"));
  CHECK_FALSE(may_have_large_integer(R"({"a":123456789012345678,"b":"12345678901234567.12345678901234567"})"));
}

TEST_CASE("a large integer is a number for every operator of a selector") {
  const std::string body = R"({"n":18446744073709551617,"l":[18446744073709551616,1]})";
  CHECK(is_match(R"({"n":18446744073709551617})", body));
  CHECK_FALSE(is_match(R"({"n":18446744073709551616})", body));
  CHECK(is_match(R"({"n":{"$gt":18446744073709551616}})", body));
  CHECK_FALSE(is_match(R"({"n":{"$lt":18446744073709551617}})", body));
  CHECK(is_match(R"({"n":{"$lt":"a"}})", body));
  CHECK(is_match(R"({"n":{"$gt":true}})", body));
  CHECK(is_match(R"({"n":{"$in":[1,18446744073709551617]}})", body));
  CHECK_FALSE(is_match(R"({"n":{"$in":[18446744073709551616]}})", body));
  CHECK(is_match(R"({"n":{"$nin":[18446744073709551616]}})", body));
  CHECK(is_match(R"({"n":{"$type":"number"}})", body));
  CHECK(is_match(R"({"l":{"$all":[18446744073709551616]}})", body));
  CHECK_FALSE(is_match(R"({"l":{"$all":[18446744073709551616.0]}})", body));  // an integer is no double there
  CHECK(is_match(R"({"l":{"$elemMatch":{"$lt":18446744073709551617}}})", body));
  CHECK_FALSE(is_match(R"({"l":{"$size":18446744073709551616}})", body));
  CHECK_FALSE(is_match(R"({"n":{"$regex":"184"}})", body));
  CHECK_FALSE(is_match(R"({"n":{"$beginsWith":"184"}})", body));
}

TEST_CASE("strings are compared with large integers as with any number") {
  CHECK(is_match(R"({"s":{"$gt":18446744073709551617}})", R"({"s":"0"})"));
  CHECK_FALSE(is_match(R"({"s":{"$lt":18446744073709551617}})", R"({"s":"0"})"));
  CHECK(is_match(R"({"_id":{"$gt":18446744073709551617}})", "{}"));
  CHECK_FALSE(is_match(R"({"_id":18446744073709551617})", "{}"));
}

TEST_CASE("`$mod` takes integers of any size and the remainder has the sign of the dividend") {
  CHECK(is_match(R"({"n":{"$mod":[2,1]}})", R"({"n":18446744073709551617})"));
  CHECK_FALSE(is_match(R"({"n":{"$mod":[2,0]}})", R"({"n":18446744073709551617})"));
  CHECK(is_match(R"({"n":{"$mod":[10,-7]}})", R"({"n":-100000000000000000000007})"));
  CHECK(is_match(R"({"n":{"$mod":[-10,7]}})", R"({"n":100000000000000000000007})"));
  CHECK(is_match(R"({"n":{"$mod":[100000000000000000000000,7]}})", R"({"n":100000000000000000000007})"));
  CHECK(is_match(R"({"n":{"$mod":[100000000000000000000000,7]}})", R"({"n":7})"));
  CHECK_FALSE(is_match(R"({"n":{"$mod":[2,1]}})", R"({"n":18446744073709551617.0})"));
}

TEST_CASE("selectors refuse large integers where they refuse others") {
  CHECK_FALSE(Selector::parse(exact_json(R"({"n":{"$type":18446744073709551616}})")));
  CHECK_FALSE(Selector::parse(exact_json(R"({"n":{"$regex":18446744073709551616}})")));
  CHECK_FALSE(Selector::parse(exact_json(R"({"n":{"$beginsWith":18446744073709551616}})")));
  CHECK_FALSE(Selector::parse(exact_json(R"({"n":{"$size":-18446744073709551616}})")));
  const auto refused = Selector::parse(exact_json(R"({"n":{"$exists":18446744073709551616}})"));
  CHECK(refused.error().reason == "Bad argument for operator $exists: 18446744073709551616");
}

TEST_CASE("a divisor of `$mod` has at most 1000 digits") {
  const std::string most(divisor_digits_max, '9');
  CHECK(Selector::parse(exact_json(R"({"n":{"$mod":[)" + most + ",1]}}")));
  CHECK_FALSE(Selector::parse(exact_json(R"({"n":{"$mod":[9)" + most + ",1]}}")));
}

TEST_CASE("selectors imply filters by the exact values of large integers") {
  const auto selector = [](std::string_view text) { return *Selector::parse(exact_json(text)); };
  const auto filter = selector(R"({"n":{"$gte":18446744073709551617}})");
  CHECK(selector(R"({"n":18446744073709551617})").implies(filter));
  CHECK_FALSE(selector(R"({"n":18446744073709551616})").implies(filter));
  CHECK(filter.to_json() == selector(serialize_json(filter.to_json())).to_json());
}
