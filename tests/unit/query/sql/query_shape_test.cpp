#include "query/sql/syntax/query_shape.h"

#include <string>

#include <catch2/catch.hpp>

#include "query/sql/compile/sql_query.h"
#include "query/sql/constraints/sql_constraints.h"
#include "query/sql/syntax/lexer.h"

using octavo::query::sql::equalities_of;
using octavo::query::sql::SqlQuery;

namespace {

std::string shape_of_sql(std::string_view text) {
  return octavo::query::sql::shape_of(*octavo::query::sql::tokenize(text));
}

std::vector<std::string> equal_paths_of_sql(std::string_view text) {
  std::vector<std::string> paths;
  for (const auto& path : equalities_of(**SqlQuery::parse(text))) paths.push_back(path.text());
  return paths;
}

}  // namespace

TEST_CASE("the shape of an SQL query has no literals and no parameters") {
  const std::string expected = "SELECT * FROM c WHERE c.year = ? AND c.model = ?";
  CHECK(shape_of_sql("SELECT * FROM c WHERE c.year = 2020 AND c.model = 'model-a'") == expected);
  CHECK(shape_of_sql("SELECT * FROM c WHERE c.year = @y AND c.model = \"it's \\\" here\"") == expected);
  CHECK(shape_of_sql("SELECT * FROM c WHERE c.year = 1.5e-3 AND c.model = true") == expected);
}

TEST_CASE("spaces, comments and the case of keywords do not change the shape") {
  const std::string expected = "SELECT * FROM c WHERE c.year = ?";
  CHECK(shape_of_sql("select  *\n\tfrom c -- all of 2020\nwhere c.year=2020") == expected);
  CHECK(shape_of_sql("SELECT * FROM c /* 'x' */ WHERE c . year\xC2\xA0= 2020 ") == expected);
}

TEST_CASE("lists of values have one shape, whatever their length") {
  CHECK(shape_of_sql("SELECT VALUE c.id FROM c WHERE c.a IN (1, 2, 3)") == "SELECT VALUE c.id FROM c WHERE c.a IN (?)");
  CHECK(shape_of_sql("SELECT * FROM c WHERE ARRAY_CONTAINS([\"a\", \"b\"], c.d)") ==
        "SELECT * FROM c WHERE ARRAY_CONTAINS([?], c.d)");
}

TEST_CASE("names of properties stay, also in brackets") {
  CHECK(shape_of_sql("SELECT c[\"first name\"] FROM c WHERE c.a[\"b\"].c > 5") ==
        "SELECT c[\"first name\"] FROM c WHERE c.a[\"b\"].c > ?");
  CHECK(shape_of_sql("SELECT[\"secret\"] FROM c") == "SELECT [?] FROM c");
  CHECK(shape_of_sql("SELECT c.true, c.b2 FROM c") == "SELECT c.true, c.b2 FROM c");
}

TEST_CASE("a parsed query knows its shape") {
  CHECK((*SqlQuery::parse("select value c.n from c where c.a<=5"))->shape() ==
        "SELECT VALUE c.n FROM c WHERE c.a <= ?");
}

TEST_CASE("properties that must equal one constant are found in an SQL query") {
  CHECK(equal_paths_of_sql("SELECT * FROM c WHERE c.year = 2020 AND c.car.id = 'x' AND c.speed > 5") ==
        std::vector<std::string>{"year", "car.id"});
  CHECK(equal_paths_of_sql("SELECT * FROM c WHERE c.id = 'a' AND c.b IN (1, 2)") == std::vector<std::string>{"id"});
  CHECK(equal_paths_of_sql("SELECT * FROM c WHERE c.a = 1 OR c.b = 2").empty());
  CHECK(equal_paths_of_sql("SELECT * FROM c").empty());
}
