// Equality with constants told from the stored text, and what only evaluation can tell.

#include "query/sql/constraints/exact_matches.h"

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

std::vector<sql::ExactMatch> texts_for(std::vector<sql::FixedProperty> fixed) {
  return sql::exact_matches_of(fixed, sql::document_rows());
}

}  // namespace

TEST_CASE("a document with the constants as they are stored is known to match") {
  const auto texts =
      texts_for({{{"kind"}, {"a \"b\""}}, {{"o", "n"}, {5.0}}, {{"flag"}, {true}}, {{"none"}, {nullptr}}});
  REQUIRE(texts.size() == 4);
  CHECK(sql::has_exact_matches(R"({"flag":true,"kind":"a \"b\"","o":{"m":1,"n":5},"none":null})", texts));
  CHECK_FALSE(sql::has_exact_matches(R"({"flag":true,"kind":"a \"b\"","o":{"m":5,"n":6},"none":null})", texts));
  CHECK_FALSE(sql::has_exact_matches(R"({"flag":true,"kind":"a \"b\"","n":5,"none":null})", texts));
}

TEST_CASE("what has several spellings, or stands elsewhere than in the body, is left to evaluation") {
  CHECK(texts_for({{{"kind"}, {"a"}}, {{"n"}, {0.5}}}).empty());
  CHECK(texts_for({{{"n"}, {1e20}}}).empty());
  CHECK(texts_for({{{"kind"}, {"a", "b"}}}).empty());
  CHECK(texts_for({{{"_id"}, {"a"}}}).empty());
  CHECK(texts_for({{{"id"}, {"a"}}}).empty());
  CHECK(texts_for({}).empty());
}

TEST_CASE("a query finds equal values in every spelling, and no others") {
  SqlFixture db;
  for (const char* value : {"5", "5.0", "5e0", "\"5\"", "[5]", "{\"v\":5}", "null", "-5", "55"}) {
    db.put("d" + std::string(value).substr(0, 3), std::string("{\"v\":") + value + ",\"w\":{\"v\":6}}");
  }
  db.put("s1", "{\"v\":\"\\u0065\\u0301\"}");
  db.put("s2", "{\"v\":\"é\"}");
  db.put("s3", "{\"v\":\"\\u00e9\"}");
  db.put("later", R"({"w":5,"u":{"v":"é"}})");
  CHECK(db.ask("SELECT VALUE c._id FROM c WHERE c.v = 5") == R"(["d5","d5.0","d5e0"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c WHERE c.v = 'é'") == R"(["s2","s3"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c WHERE c.w.v = 6 AND c.v = null") == R"(["dnul"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c JOIN x IN c.v WHERE c.w.v = 6") == R"(["d[5]"])");
}
