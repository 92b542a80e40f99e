// Queries over the results of a subquery over all items.

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

TEST_CASE("FROM takes the distinct results of a subquery over all items") {
  SqlOrders orders(20);
  CHECK(orders.ask("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.team FROM c)") == "[5]");
  CHECK(
      orders.ask("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.score FROM c WHERE c.n < 8) AS s WHERE s > 1") ==
      "[5]");
  CHECK(orders.ask("SELECT VALUE t FROM (SELECT DISTINCT VALUE c.team FROM c) AS t") ==
        R"(["t0","t1","t2","t3","t4"])");
  CHECK(orders.ask("SELECT VALUE t FROM (SELECT DISTINCT VALUE c.team FROM c) AS t ORDER BY t DESC") ==
        R"(["t4","t3","t2","t1","t0"])");
  CHECK(orders.ask("SELECT x, COUNT(1) AS n FROM (SELECT DISTINCT VALUE c.tags FROM c) AS s JOIN x IN s GROUP BY x") ==
        R"([{"x":"0","n":1},{"x":"1","n":1},{"x":"a","n":2},{"x":"é","n":2}])");
  const std::string tags = "SELECT VALUE [s[1], x] FROM (SELECT DISTINCT VALUE c.tags FROM c) AS s JOIN x IN s";
  for (const std::uint64_t items : {1, 2, 5}) CHECK(orders.ask_by_pages(tags, items) == orders.ask(tags));
  CHECK(sql_error("SELECT VALUE x FROM (SELECT VALUE y FROM (SELECT DISTINCT VALUE c.a FROM c) AS y) AS x")
            .starts_with("SC3002"));
}

TEST_CASE("FROM takes subqueries over all items within each other") {
  SqlOrders orders(4);
  CHECK(orders.ask(
            "SELECT VALUE r1.n FROM (SELECT VALUE r0 FROM (SELECT VALUE c FROM c WHERE c.n > 0) AS r0 WHERE r0.n < 3) "
            "AS r1") == "[1,2]");
  CHECK(orders.ask("SELECT VALUE SUM(x) FROM (SELECT VALUE y.n FROM (SELECT c.n FROM c) AS y) AS x") == "[6]");
}
