// Whether the last page of a result says that it is.

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

TEST_CASE("a full page that is the last one has no continuation") {
  SqlOrders orders(20);
  const auto query = GENERATE(as<std::string>{}, "SELECT VALUE c.n FROM c", "SELECT * FROM c WHERE c.n >= 0",
                              "SELECT VALUE c.n FROM c ORDER BY c._id", "SELECT VALUE c.n FROM c ORDER BY c.team",
                              "SELECT VALUE c.n FROM c WHERE c.n < 10 OR c.score >= 0 OR c.n > 9",
                              "SELECT c.n, t FROM c JOIN t IN c.tags WHERE t = 'a'", "SELECT DISTINCT VALUE c.n FROM c",
                              "SELECT c.n FROM c GROUP BY c.n",
                              "SELECT VALUE n FROM n IN (SELECT VALUE [1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0])");
  for (const std::uint64_t items : {1, 5, 20}) {
    INFO(query << " by " << items);
    CHECK(orders.ask_by_pages(query, items) == orders.ask(query));
    CHECK(orders.ask_by_pages(query, items).size() > 20);
    CHECK(orders.pages == 20 / items);
  }
}

TEST_CASE("a full page looks some way ahead for a row that follows, not to the end of everything") {
  SqlOrders orders(1500);
  sql::SqlOptions options;
  options.page_items_max = 5;
  const auto query = parse_sql("SELECT VALUE c.n FROM c WHERE c.n < 5");
  const auto page = orders.page(query, {}, options);
  CHECK(SqlFixture::joined(page.results) == "[0,1,2,3,4]");
  CHECK(page.continuation);
  CHECK(page.statistics.keys_examined < 1200);
  CHECK(orders.ask_by_pages("SELECT VALUE c.n FROM c WHERE c.n < 5", 5) == "[0,1,2,3,4]");
}
