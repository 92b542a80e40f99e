// What a page of a query still takes.
#include "query/sql/run/internal/page_limits.h"

#include <cstdint>

#include <catch2/catch.hpp>

using octavo::query::sql::PageLimits;

namespace {

constexpr std::uint64_t no_limit = UINT64_MAX;
constexpr std::size_t many_bytes = 1'000'000;

}  // namespace

TEST_CASE("a page is full when it has its items, though the query's limit is not reached") {
  PageLimits page(0, 10, 2, many_bytes);

  CHECK_FALSE(page.count(5));
  CHECK(page.count(5));
  CHECK_FALSE(page.is_limit_reached());
  CHECK(page.limit_left() == 8);
}

TEST_CASE("a page is full when its results and their separators have its bytes") {
  PageLimits page(0, no_limit, no_limit, 12);

  CHECK_FALSE(page.count(5));
  CHECK(page.count(5));
}

TEST_CASE("the last row of LIMIT ends the page and the query") {
  PageLimits page(0, 1, 10, many_bytes);

  CHECK(page.count(5));
  CHECK(page.is_limit_reached());
}

TEST_CASE("OFFSET skips no more rows than it has left") {
  PageLimits page(3, 10, 10, many_bytes);

  CHECK(page.skip(2) == 2);
  CHECK(page.skips());
  CHECK(page.skip(2) == 1);
  CHECK_FALSE(page.skips());
}

TEST_CASE("a later page continues with what is left of OFFSET and LIMIT, but has no more than the query's limit") {
  PageLimits page(100, 10, no_limit, many_bytes);

  page.resume(1, 50);

  CHECK(page.skip_left() == 1);
  CHECK(page.limit_left() == 10);
  CHECK(page.rows_left() == 11);
}

TEST_CASE("the rows that are left for a page without limits are a number that does not overflow") {
  const PageLimits page(5, no_limit, no_limit, many_bytes);

  CHECK(page.rows_left() == no_limit);
}

TEST_CASE("the share of the page that is found counts skipped, returned and waiting rows") {
  PageLimits page(2, no_limit, 8, many_bytes);

  page.skip(2);
  page.count(5);
  page.count(5);

  CHECK(page.found(1) == Approx(0.5));
}

TEST_CASE("looking ahead ends after as many keys as the page examined, and a thousand more") {
  PageLimits page(0, 10, 1, many_bytes);
  CHECK_FALSE(page.has_looked_enough(5'000));

  page.look_ahead(300);

  CHECK_FALSE(page.has_looked_enough(1'599));
  CHECK(page.has_looked_enough(1'600));
}
