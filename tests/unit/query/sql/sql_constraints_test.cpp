// What indexes can use of WHERE: selectors that match whatever WHERE matches, and properties that equal constants.

#include "query/sql/constraints/sql_constraints.h"

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

sql::SqlConstraints constraints_where(std::string_view where, std::vector<sql::SqlParameter> parameters = {}) {
  const auto query = parse_sql("SELECT VALUE c._id FROM c WHERE " + std::string(where), std::move(parameters));
  return sql::constraints_of(*query, sql::document_rows());
}

json::value selector_where(std::string_view where, std::vector<sql::SqlParameter> parameters = {}) {
  return constraints_where(where, std::move(parameters)).selector.to_json();
}

}  // namespace

TEST_CASE("a comparison with a constant is a condition of the selector, whichever side the constant is on") {
  CHECK(selector_where("c.n = 5") == json::parse(R"({"n":{"$eq":5.0}})"));
  CHECK(selector_where("true = c.o.flag") == json::parse(R"({"o.flag":{"$eq":true}})"));
  const auto above = json::parse(R"({"$and":[{"n":{"$type":"number"}},{"n":{"$gt":-5.0}}]})");
  CHECK(selector_where("c.n > -5") == above);
  CHECK(selector_where("-5 < c.n") == above);
  CHECK(selector_where("c.n > @least", {{"@least", "-5.0"}}) == above);
  CHECK(selector_where("c._id >= 'b'") == json::parse(R"({"_id":{"$gte":"b"}})"));
}

TEST_CASE("of a range of strings the collation keeps the type, and the order of bytes keeps all") {
  const auto constraints = constraints_where("c.s BETWEEN 'b' AND 'd'");
  CHECK(constraints.selector.to_json() ==
        json::parse(R"({"$and":[{"s":{"$type":"string"}},{"s":{"$type":"string"}}]})"));
  CHECK(constraints.ordinal.to_json() == json::parse(R"({"$and":[{"$and":[{"s":{"$type":"string"}},{"s":{"$gte":"b"}}]},
                                {"$and":[{"s":{"$type":"string"}},{"s":{"$lte":"d"}}]}]})"));
}

TEST_CASE("a number that an index distinguishes from equal ones is any number in the selector") {
  CHECK(selector_where("c.n = 9007199254740993") == json::parse(R"({"n":{"$type":"number"}})"));
}

TEST_CASE("lists, patterns and functions of a property are conditions of the selector") {
  CHECK(selector_where("c.n IN (1, 2)") == json::parse(R"({"$and":[{"$or":[{"n":{"$eq":1.0}},{"n":{"$eq":2.0}}]}]})"));
  CHECK(selector_where("c.s LIKE 'ab%c'") == json::parse(R"({"s":{"$beginsWith":"ab"}})"));
  CHECK(selector_where("startswith(c.s, 'ab')") == json::parse(R"({"s":{"$beginsWith":"ab"}})"));
  CHECK(selector_where("CONTAINS(c.s, 'ab')") == json::parse(R"({"s":{"$type":"string"}})"));
  CHECK(selector_where("IS_BOOL(c.b)") == json::parse(R"({"b":{"$type":"boolean"}})"));
  CHECK(selector_where("IS_BOOLEAN(c.b)") == json::parse(R"({"b":{"$type":"boolean"}})"));
  CHECK(selector_where("NOT IS_DEFINED(c.x)") == json::parse(R"({"x":{"$exists":false}})"));
  CHECK(selector_where("ARRAY_CONTAINS(c.l, 'a')") == json::parse(R"({"l":{"$elemMatch":{"":{"$eq":"a"}}}})"));
}

TEST_CASE("a condition on the elements that a join goes through is a condition on some element") {
  const auto query = parse_sql("SELECT VALUE c._id FROM c JOIN t IN c.tags WHERE t.name = 'x'");
  CHECK(sql::constraints_of(*query, sql::document_rows()).selector.to_json() ==
        json::parse(R"({"tags":{"$elemMatch":{"name":{"$eq":"x"}}}})"));
}

TEST_CASE("a condition that no index knows leaves the other conditions of a conjunction, and none of an alternative") {
  CHECK(selector_where("c.n = 1 AND LENGTH(c.s) = 2") == json::parse(R"({"$and":[{"n":{"$eq":1.0}}]})"));
  CHECK(selector_where("c.n = 1 OR LENGTH(c.s) = 2") == json::parse("{}"));
}

TEST_CASE("properties that equal constants are known, and whether WHERE says anything else") {
  const auto fixed = constraints_where("c.a = 1 AND 'z' = c.o.k AND c.b IN ('x', 'y')");
  CHECK(fixed.where_is_fixed);
  REQUIRE(fixed.fixed.size() == 3);
  CHECK(fixed.fixed[1].path == std::vector<std::string>{"o", "k"});
  CHECK(fixed.fixed[2].values.size() == 2);
  const auto more = constraints_where("c.a = 1 AND c.n > 2");
  CHECK_FALSE(more.where_is_fixed);
  CHECK(more.fixed.size() == 1);
}
