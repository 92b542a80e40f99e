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

/// `a` differs from each of this many strings.
json::object all_but(int values) {
  json::array conditions;
  for (int i = 0; i < values; ++i) conditions.push_back(json::object{{"$ne", "value " + std::to_string(10'000 + i)}});
  return {{"a", json::object{{"$and", std::move(conditions)}}}};
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

TEST_CASE("$nin gives the gaps between its values") {
  CHECK(shown(constraint(R"({"a":{"$nin":[3,1,1.0,[2]]}})", "a")) == "[..1) (1..3) (3..]");
  CHECK(shown(constraint(R"({"a":{"$nin":[]}})", "a")) == "[..]");
  CHECK(shown(constraint(R"({"_id":{"$nin":["b","B",5]}})", "_id")) == R"([.."B") ("B".."b") ("b"..] exact)");
}

TEST_CASE("of thousands of conditions on a field only the first make ranges") {
  CHECK(constraint(json::serialize(all_but(150)), "a").exact);
  CHECK(constraint(json::serialize(all_but(150)), "a").intervals.size() == 151);
  const std::string many = json::serialize(all_but(16'000));
  CHECK_FALSE(constraint(many, "a").exact);
  CHECK(constraint(many, "a").requires_exists());
  CHECK(constraint(many, "a").intervals.size() < 1'000);
  // Under one `$or` they are counted together.
  json::array sides;
  for (int i = 0; i < 40; ++i) sides.push_back(all_but(400));
  CHECK_FALSE(constraint(json::serialize(json::object{{"$or", sides}}), "a").exact);
  // A list of values is taken whole, however long it is, and what comes next with it.
  json::array listed;
  for (int i = 0; i < 60'000; ++i) listed.push_back(i);
  const json::object narrowed{{"_id", json::object{{"$in", json::array{"a", "b"}}}},
                              {"a", json::object{{"$in", listed}, {"$lt", 50'000}}}};
  CHECK(constraint(json::serialize(narrowed), "a").intervals.size() == 50'000);
}

TEST_CASE("an array alone in $all may be the field itself, so it asks for no element") {
  const auto paths = [](std::string_view selector) {
    std::string text;
    for (const auto& [array, below] : Selector::parse(*parse_json(selector))->element_paths()) {
      text += array.text() + "[" + below.text() + "] ";
    }
    return text;
  };
  CHECK(paths(R"({"a":{"$all":[[1,2]]}})").empty());
  CHECK(paths(R"({"a":{"$all":[[1,2],[3]]}})") == "a[] ");
  CHECK(paths(R"({"a":{"$all":[1]},"b":{"$elemMatch":{"x":1,"y":2}}})") == "a[] b[x] b[y] ");
  CHECK(paths(R"({"$and":[{"a":{"$all":[[1]]}},{"a":{"$all":[1]}},{"a":{"$all":[2]}}]})") == "a[] ");
  // `_id` is compared by its bytes, which is the order of no index of elements.
  CHECK(paths(R"({"a":{"$elemMatch":{"_id":{"$lt":"a"}}}})").empty());
  const auto both = Selector::parse(*parse_json(R"({"$and":[{"a":{"$all":[[1]]}},{"a":{"$all":[7]}}]})"));
  CHECK(shown(both->constraint_for_elements(*FieldPath::parse("a"), {}, BoundOrder::collation)) == "[7..7]");
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

TEST_CASE("a query implies a filter of several stretches when each of its own lies in one") {
  const auto filter = R"({"$or":[{"a":{"$lt":2}},{"a":{"$gt":4,"$lt":6}},{"a":{"$gte":9}}]})";
  CHECK(implies(R"({"$or":[{"a":1},{"a":5},{"a":9}]})", filter));
  CHECK(implies(R"({"$or":[{"a":{"$gt":9,"$lt":12}},{"a":20}]})", filter));
  CHECK_FALSE(implies(R"({"$or":[{"a":1},{"a":3}]})", filter));
  CHECK_FALSE(implies(R"({"a":{"$gt":4,"$lte":6}})", filter));
  CHECK_FALSE(implies(R"({"$or":[{"a":5},{"a":{"$gt":1,"$lt":5}}]})", filter));
}

TEST_CASE("what a query of thousands of conditions implies is told by the first of them, or by the same condition") {
  json::object query = all_but(16'000);
  query["type"] = "order";
  const auto implied = [&](std::string_view filter) { return implies(json::serialize(query), filter); };
  CHECK(implied(R"({"type":"order"})"));
  CHECK(implied(R"({"a":{"$ne":"value 10000"}})"));
  CHECK(implied(R"({"a":{"$ne":"value 25999"}})"));
  CHECK_FALSE(implied(R"({"a":{"$ne":"another"}})"));
}

TEST_CASE("both of two selectors match what each of them does") {
  const auto all = Selector::both(Selector(), *Selector::parse(*parse_json(R"({"a":1})")));
  CHECK(shown(all.constraint_for(*FieldPath::parse("a"))) == "[1..1] exact");
  const auto two = Selector::both(all, *Selector::parse(*parse_json(R"({"b":2,"a":{"$lt":5}})")));
  CHECK(two.fields_used().size() == 2);
  DocumentParser parser;
  CHECK(two.matches(*parser.parse(R"({"a":1,"b":2})"), "x", "1-0"));
  CHECK_FALSE(two.matches(*parser.parse(R"({"a":1,"b":3})"), "x", "1-0"));
  CHECK_FALSE(two.matches(*parser.parse(R"({"a":2,"b":2})"), "x", "1-0"));
}

TEST_CASE("a query implies a disjunction when it implies a branch, and what all of its own branches imply") {
  CHECK(implies(R"({"a":1})", R"({"$or":[{"a":1},{"b":1}]})"));
  CHECK(implies(R"({"$or":[{"a":1,"c":1},{"b":1,"c":1}]})", R"({"c":1})"));
  CHECK(implies(R"({"$or":[{"a":1},{"b":1}]})", R"({"$or":[{"b":1},{"a":1}]})"));
  CHECK_FALSE(implies(R"({"$or":[{"a":1},{"b":1}]})", R"({"a":1})"));
}
