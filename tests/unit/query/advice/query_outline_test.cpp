#include "query/advice/query_outline.h"

#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "query/mango/find_request.h"
#include "query/mango/find_shape.h"

using namespace octavo;
using namespace octavo::query;
using octavo::query::advice::QueryOutline;

namespace {

QueryOutline outlined(std::string_view body) {
  return outline_of(*parse_find_request(body, "", 25));
}

std::string selector_text(const QueryOutline& outline) {
  return boost::json::serialize(outline.plan->selector.to_json());
}

}  // namespace

TEST_CASE("an outline has the form of a query and none of its values") {
  const auto outline = outlined(R"({"selector":{"name":"secret","age":{"$gt":4711,"$lt":4712},"done":false,
      "tags":{"$in":["secret-1","secret-2"]},"note":{"$regex":"secret"},"at":{"$exists":true}},
      "sort":["age"],"limit":7,"skip":2})");
  const std::string text = selector_text(outline);
  CHECK(text.find("secret") == std::string::npos);
  CHECK(text.find("4711") == std::string::npos);
  CHECK(text.find("false") == std::string::npos);
  CHECK(outline.plan->sort.size() == 1);
  CHECK(outline.matches_needed == 9);
  CHECK(outline.equalities.size() == 2);
}

TEST_CASE("ranges and single values of an outline constrain a field as the query does") {
  const auto outline = outlined(R"({"selector":{"a":5,"b":{"$gte":1,"$lt":9},"c":{"$gt":"x"},"d":{"$in":[1,2,3]}}})");
  const Selector& selector = outline.plan->selector;
  const auto constraint = [&](const char* name) { return selector.constraint_for(*FieldPath::parse(name)); };
  CHECK(constraint("a").is_points());
  REQUIRE(constraint("b").intervals.size() == 1);
  CHECK((constraint("b").intervals[0].lower && constraint("b").intervals[0].upper));
  REQUIRE(constraint("c").intervals.size() == 1);
  CHECK_FALSE(constraint("c").intervals[0].upper);
  CHECK(constraint("d").intervals.size() == 4);  // and arrays
}

TEST_CASE("the sides of an alternative keep different values") {
  const auto outline = outlined(R"({"selector":{"$or":[{"a":1},{"a":2}]}})");
  CHECK(outline.plan->selector.constraint_for(*FieldPath::parse("a")).intervals.size() == 2);
}

TEST_CASE("a query with very many conditions or values has no plan") {
  std::string many = R"({"selector":{"$and":[)";
  for (int i = 0; i < 40; ++i) many += (i == 0 ? "" : ",") + std::string(R"({"f)") + std::to_string(i) + R"(":1})";
  const auto outline = outlined(many + "]}}");
  CHECK_FALSE(outline.plan);
  CHECK(outline.is_left_out);
  std::string listed = R"({"selector":{"a":{"$in":[0)";
  for (int i = 1; i < 200; ++i) listed += "," + std::to_string(i);
  CHECK(outlined(listed + "]}}}").is_left_out);
}

TEST_CASE("outlines beyond the memory of the process are kept without their plans") {
  const auto large = [] {
    auto outline = outlined(R"({"selector":{"a":1}})");
    outline.bytes = advice::outline_bytes_max / 2 + 1;
    return outline;
  };
  {
    const auto first = advice::keep_outline(large());
    CHECK(first->plan);
    const auto second = advice::keep_outline(large());
    CHECK_FALSE(second->plan);
    CHECK(second->is_left_out);
    CHECK(second->equalities.size() == 1);
  }
  CHECK(advice::keep_outline(large())->plan);
}
