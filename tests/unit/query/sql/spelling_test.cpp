// What a query means does not depend on how it is written.

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

TEST_CASE("GROUP BY and SELECT may spell an expression differently") {
  SqlOrders orders(6);
  CHECK(orders.ask("SELECT UPPER(c.team) AS t FROM c WHERE c.n < 2 GROUP BY upper(c['team'])") ==
        R"([{"t":"T0"},{"t":"T1"}])");
  CHECK(orders.ask("SELECT c.team FROM c WHERE c.n < 2 GROUP BY c[\"team\"]") == R"([{"team":"t0"},{"team":"t1"}])");
  CHECK(sql_error("SELECT c.Team FROM c GROUP BY c.team").starts_with("SC2102"));
}

TEST_CASE("numbers that are equal are one text, however they were written") {
  SqlFixture db;
  db.put("a", R"({"n":5.0,"o":{"x":[1e0]}})");
  db.put("b", R"({"n":5,"o":{"x":[1]}})");
  CHECK(db.ask("SELECT DISTINCT VALUE TOSTRING(c.n) FROM c") == R"(["5"])");
  CHECK(db.ask("SELECT VALUE COUNT(1) FROM c GROUP BY TOSTRING(c.o)") == "[2]");
}

TEST_CASE("the text of a stored number is that of its value, also in conditions and in what contains it") {
  SqlFixture db;
  db.put("a", R"({"n":5.0})");
  db.put("b", R"({"n":5})");
  db.put("c", R"({"n":-0.0})");
  db.put("d", R"({"n":1e3,"list":[1e3,{"x":0.10000000000000000001}]})");
  db.put("e", R"({"n":0.10000000000000000001})");
  CHECK(db.ask("SELECT VALUE c._id FROM c WHERE TOSTRING(c.n) = '5'") == R"(["a","b"])");
  CHECK(db.ask("SELECT VALUE TOSTRING(c.n) FROM c WHERE c._id > 'b'") == R"(["0","1000","0.1"])");
  CHECK(db.ask("SELECT VALUE TOSTRING(c.list) FROM c") == R"(["[1000,{\"x\":0.1}]"])");
}
