#include "query/selector/selector_builder.h"

#include <vector>

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::query;
namespace json = boost::json;

namespace {

FieldPath built_path(std::string_view text) {
  return *FieldPath::parse(text);
}

SelectorNode is_one(std::string_view field) {
  return SelectorBuilder::compare(built_path(field), Operator::equal, 1);
}

}  // namespace

TEST_CASE("a selector that is built is the one that its notation is parsed to") {
  const auto any = SelectorBuilder::any_of({SelectorBuilder::compare(built_path("_id"), Operator::equal, "x"),
                                            SelectorBuilder::compare(built_path("b.c"), Operator::exists, false)});
  const auto element =
      SelectorBuilder::all_of({SelectorBuilder::compare(FieldPath(), Operator::greater, 1), is_one("k")});
  const auto built = SelectorBuilder::build(
      SelectorBuilder::all_of({SelectorBuilder::compare(built_path("a"), Operator::type, "number"),
                               SelectorBuilder::compare(built_path("a"), Operator::greater_equal, 3), any,
                               SelectorBuilder::some_element(built_path("l"), element)}));
  REQUIRE(built);
  const auto parsed = Selector::parse(json::parse(R"({"$and":[{"a":{"$type":"number"}},{"a":{"$gte":3}},
    {"$or":[{"_id":"x"},{"b.c":{"$exists":false}}]},{"l":{"$elemMatch":{"$and":[{"$gt":1},{"k":1}]}}}]})"));
  REQUIRE(parsed);
  CHECK(built->to_json() == parsed->to_json());
  CHECK(built->fields_used() == parsed->fields_used());
  CHECK(built->element_paths() == parsed->element_paths());
  CHECK(built->implies(*parsed));
  CHECK(parsed->implies(*built));
}

TEST_CASE("a field with the name of an operator is a field in a selector that is built") {
  const auto built = SelectorBuilder::build(is_one("$gt"));
  REQUIRE(built);
  CHECK(built->constraint_for(built_path("$gt")).is_points());
}

TEST_CASE("selectors that are built are bounded in depth and conditions") {
  const auto wide = [](std::size_t count) {
    return SelectorBuilder::build(SelectorBuilder::any_of(std::vector<SelectorNode>(count, is_one("a"))));
  };
  CHECK(wide(selector_nodes_max / 2));
  CHECK(wide(selector_nodes_max / 2 + 1).error().reason.starts_with("Selector has over"));
  SelectorNode deep = is_one("a");
  for (int i = 0; i < selector_depth_max; ++i) deep = SelectorBuilder::all_of({deep});
  CHECK(SelectorBuilder::build(deep));
  CHECK(SelectorBuilder::build(SelectorBuilder::all_of({deep})).error().reason.starts_with("Selector is nested over"));
}
