#include <catch2/catch.hpp>

#include "query/json/parsed_document.h"
#include "query/selector/selector.h"

using namespace octavo;
using namespace octavo::query;
namespace json = boost::json;

namespace {

FieldConstraint constraint(std::string_view selector, std::string_view path) {
  return Selector::parse(*parse_json(selector))->constraint_for(*FieldPath::parse(path));
}

/// Intervals as people write them: `[1,5) missing exact`.
std::string shown(const FieldConstraint& constraint) {
  std::string text;
  for (const Interval& interval : constraint.intervals) {
    if (!text.empty()) text += ' ';
    text += interval.lower_inclusive ? '[' : '(';
    text += interval.lower ? json::serialize(*interval.lower) : "";
    text += "..";
    text += interval.upper ? json::serialize(*interval.upper) : "";
    text += interval.upper_inclusive ? ']' : ')';
  }
  if (constraint.may_be_missing) text += " missing";
  if (constraint.exact) text += " exact";
  return text;
}

bool implies(std::string_view query, std::string_view filter) {
  return Selector::parse(*parse_json(query))->implies(*Selector::parse(*parse_json(filter)));
}

}  // namespace

TEST_CASE("comparisons become intervals") {
  CHECK(shown(constraint(R"({"a":5})", "a")) == "[5..5] exact");
  CHECK(shown(constraint(R"({"a":{"$gt":5}})", "a")) == "(5..] exact");
  CHECK(shown(constraint(R"({"a":{"$lte":5}})", "a")) == "[..5] exact");
  CHECK(shown(constraint(R"({"a":{"$ne":5}})", "a")) == "[..5) (5..] exact");
  CHECK(shown(constraint(R"({"a":{"$exists":true}})", "a")) == "[..] exact");
  CHECK(shown(constraint(R"({"a":{"$exists":false}})", "a")) == " missing exact");
}

TEST_CASE("conjunctions intersect") {
  CHECK(shown(constraint(R"({"a":{"$gte":1,"$lt":5}})", "a")) == "[1..5) exact");
  CHECK(shown(constraint(R"({"a":{"$gte":5,"$lt":5}})", "a")) == " exact");
  CHECK(constraint(R"({"a":{"$gte":5,"$lt":5}})", "a").is_empty());
  CHECK(shown(constraint(R"({"a":{"$gte":1,"$ne":3,"$lte":4}})", "a")) == "[1..3) (3..4] exact");
}

TEST_CASE("a field that is not mentioned is unconstrained") {
  CHECK(shown(constraint(R"({"a":5})", "b")) == "[..] missing exact");
  CHECK(constraint(R"({"a":5})", "b").is_everything());
}

TEST_CASE("disjunctions unite, and merge what touches") {
  CHECK(shown(constraint(R"({"$or":[{"a":3},{"a":1}]})", "a")) == "[1..1] [3..3] exact");
  CHECK(shown(constraint(R"({"$or":[{"a":{"$lt":3}},{"a":{"$gte":3}}]})", "a")) == "[..] exact");
  CHECK(shown(constraint(R"({"$or":[{"a":1},{"a":{"$exists":false}}]})", "a")) == "[1..1] missing exact");
  CHECK(constraint(R"({"$or":[{"a":3},{"a":1}]})", "a").is_points());
}

TEST_CASE("a disjunction over several fields narrows none of them alone, and is not exact") {
  CHECK(shown(constraint(R"({"$or":[{"a":3},{"b":1}]})", "a")) == "[..] missing");
  CHECK(shown(constraint(R"({"$or":[{"a":3,"b":2},{"a":1}]})", "a")) == "[1..1] [3..3]");
}

TEST_CASE("$in gives its values, and arrays, whose elements count") {
  CHECK(shown(constraint(R"({"a":{"$in":["y","x"]}})", "a")) == R"(["x".."x"] ["y".."y"] [[]..{}))");
  CHECK(constraint(R"({"a":{"$in":[]}})", "a").is_empty());
}

TEST_CASE("$beginsWith gives the strings from the prefix on") {
  const auto result = constraint(R"({"a":{"$beginsWith":"ab"}})", "a");
  REQUIRE(result.intervals.size() == 1);
  CHECK(*result.intervals[0].lower == "ab");
  CHECK_FALSE(result.exact);
}

TEST_CASE("other operators give the type they match") {
  CHECK(shown(constraint(R"({"a":{"$type":"number"}})", "a")) == R"((true.."") exact)");
  CHECK(shown(constraint(R"({"a":{"$regex":"x"}})", "a")) == "[\"\"..[])");
  CHECK(shown(constraint(R"({"a":{"$elemMatch":{"$eq":1}}})", "a")) == "[[]..{})");
  CHECK(shown(constraint(R"({"a":{"$not":{"$regex":"x"}}})", "a")) == "[..]");
}

TEST_CASE("_id is constrained in its own order") {
  CHECK(shown(constraint(R"({"_id":{"$gt":null}})", "_id")) == "[..] exact");
  CHECK(constraint(R"({"_id":{"$lt":{}}})", "_id").is_empty());
  CHECK(shown(constraint(R"({"_id":{"$gte":"B","$lt":"a"}})", "_id")) == R"(["B".."a") exact)");
  CHECK(shown(constraint(R"({"_id":{"$beginsWith":"p:"}})", "_id")) == R"(["p:".."p;") exact)");
  CHECK(shown(constraint(R"({"_id":{"$in":["b","a",5]}})", "_id")) == R"(["a".."a"] ["b".."b"] exact)");
  CHECK(shown(constraint(R"({"a":1})", "_id")) == "[..] exact");
}

TEST_CASE("a query implies a filter that repeats one of its conditions") {
  CHECK(implies(R"({"type":"order","total":{"$gt":5}})", R"({"type":"order"})"));
  CHECK_FALSE(implies(R"({"total":{"$gt":5}})", R"({"type":"order"})"));
  CHECK(implies(R"({"a":{"$regex":"x"},"b":1})", R"({"a":{"$regex":"x"}})"));
  CHECK_FALSE(implies(R"({"a":{"$regex":"x"}})", R"({"a":{"$regex":"y"}})"));
  CHECK(implies(R"({"a":1})", "{}"));
  CHECK_FALSE(implies("{}", R"({"a":1})"));
}

TEST_CASE("the id is ordered by its bytes, however its name is spelled") {
  CHECK(implies(R"({"_id":{"$gt":"b"}})", R"({"\\_id":{"$gt":"a"}})"));
  CHECK_FALSE(implies(R"({"_id":{"$gt":"a"}})", R"({"\\_id":{"$gt":"b"}})"));
  // 'Z' comes before 'a' as bytes, and behind it in collation.
  const auto selector = Selector::parse(*parse_json(R"({"\\_id":{"$gt":"Z"}})"));
  DocumentParser parser;
  CHECK(selector->matches(*parser.parse("{}"), "a", "1-0"));
}

TEST_CASE("a query implies a filter that is wider than its condition") {
  CHECK(implies(R"({"a":{"$gt":10}})", R"({"a":{"$gt":5}})"));
  CHECK_FALSE(implies(R"({"a":{"$gt":5}})", R"({"a":{"$gt":10}})"));
  CHECK(implies(R"({"a":7})", R"({"a":{"$gt":5,"$lt":10}})"));
  CHECK(implies(R"({"a":7})", R"({"a":{"$exists":true}})"));
  CHECK(implies(R"({"a":{"$in":[1]}})", R"({"a":{"$exists":true}})"));
  CHECK(implies(R"({"a":"x"})", R"({"a":{"$type":"string"}})"));
  CHECK(implies(R"({"a":"x"})", R"({"a":{"$ne":"y"}})"));
  CHECK_FALSE(implies(R"({"b":1})", R"({"a":{"$ne":"y"}})"));
}

TEST_CASE("a query implies a disjunction when it implies a branch, and what all of its own branches imply") {
  CHECK(implies(R"({"a":1})", R"({"$or":[{"a":1},{"b":1}]})"));
  CHECK(implies(R"({"$or":[{"a":1,"c":1},{"b":1,"c":1}]})", R"({"c":1})"));
  CHECK(implies(R"({"$or":[{"a":1},{"b":1}]})", R"({"$or":[{"b":1},{"a":1}]})"));
  CHECK_FALSE(implies(R"({"$or":[{"a":1},{"b":1}]})", R"({"a":1})"));
}
