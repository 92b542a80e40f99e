// Queries without an order read one physical partition after the other.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/throughput/request_charge.h"
#include "query/sql/run/continuation.h"
#include "query/sql/run/query_charge.h"
#include "query/sql/run/sql_estimate.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

class FourRanges : public SqlFixture {
 public:
  static constexpr int count = 60;

  FourRanges() : SqlFixture(four()) {
    for (int i = 0; i < count; ++i) {
      put("p" + std::to_string(i % 20) + ":o" + std::to_string(100 + i), R"({"n":)" + std::to_string(i) + "}");
    }
  }

  /// The pages of a query; their results, sorted, go to `results`.
  std::vector<Page> pages_of(std::string_view text, std::uint64_t size, std::vector<std::string>& results) {
    const auto query = parse_sql(text);
    std::vector<Page> read;
    std::optional<std::string> continuation;
    do {
      sql::SqlOptions options;
      options.page_items_max = size;
      read.push_back(page(query, {}, options, continuation));
      REQUIRE(read.back().error.empty());
      const auto parsed = boost::json::parse("[" + read.back().results + "]");
      for (const auto& result : parsed.as_array()) {
        results.push_back(boost::json::serialize(result));
      }
      continuation = read.back().continuation;
    } while (continuation);
    std::ranges::sort(results);
    return read;
  }

 private:
  static partitioning::CreateDatabaseOptions four() {
    partitioning::CreateDatabaseOptions options;
    options.partitioned = true;
    options.q = 4;
    return options;
  }
};

}  // namespace

TEST_CASE("pages of a query without an order read few physical partitions each, and every item once") {
  FourRanges db;
  const auto query = GENERATE(as<std::string>{}, "SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c WHERE c.n >= 0");
  for (const std::uint64_t size : {1, 3, 7}) {
    std::vector<std::string> results;
    std::size_t ranges = 0;
    const auto pages = db.pages_of(query, size, results);
    for (const auto& page : pages) ranges += page.statistics.ranges_read;
    CHECK(results.size() == FourRanges::count);
    CHECK(std::ranges::adjacent_find(results) == results.end());
    // Each page reads one, and in all pages together each border is passed once.
    CHECK(ranges <= pages.size() + 4);
  }
}

TEST_CASE("one page of everything reads all physical partitions") {
  FourRanges db;
  std::vector<std::string> results;
  const auto pages = db.pages_of("SELECT VALUE c.n FROM c", 1000, results);
  REQUIRE(pages.size() == 1);
  CHECK(pages[0].statistics.ranges_read == 4);
  CHECK(results.size() == FourRanges::count);
}

TEST_CASE("the estimate of a query without an order is for the physical partitions that its first page reads") {
  FourRanges db;
  const auto query = GENERATE(as<std::string>{}, "SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c WHERE c.n >= 0");
  const bool tests = query.ends_with("0");
  for (const std::uint64_t size : {3, 1000}) {
    CAPTURE(query, size);
    sql::SqlOptions options;
    options.page_items_max = size;
    const auto page = db.page(parse_sql(query), {}, options);
    const double charge = partitioning::charge_of_scan(sql::scan_work_of(*db.database, *db.last, page.statistics));
    const auto estimate = sql::estimate_charge(*db.database, *db.last, {}, size);
    REQUIRE(estimate);
    CHECK(estimate->at_most >= estimate->charge);
    CHECK(estimate->at_most + 0.5 >= charge);
    if (size == 3) {
      CHECK(page.statistics.ranges_read == 1);
      CHECK(estimate->charge < 2 * charge);
      // What the documents contain may let the page read all of them.
      CHECK((estimate->at_most > 2 * charge) == tests);
      CHECK(estimate->keys < FourRanges::count);
    } else {
      CHECK(std::abs(estimate->charge - charge) < charge / 4);
      CHECK(estimate->keys == FourRanges::count);
    }
    const auto partition = sql::estimate_charge(*db.database, *db.last, "p1", size);
    REQUIRE(partition);
    CHECK(partition->keys <= 3);
  }
}

TEST_CASE("an order, a group or DISTINCT needs all physical partitions at once") {
  FourRanges db;
  for (const char* query : {"SELECT VALUE c.n FROM c ORDER BY c.n", "SELECT DISTINCT VALUE c.n FROM c",
                            "SELECT c.n, COUNT(1) AS items FROM c GROUP BY c.n"}) {
    std::vector<std::string> results;
    const auto pages = db.pages_of(query, 7, results);
    CHECK(pages[0].statistics.ranges_read == 0);
    CHECK(results.size() == FourRanges::count);
  }
}

TEST_CASE("a continuation names the physical partition in which the query continues") {
  FourRanges db;
  sql::SqlOptions options;
  options.page_items_max = 3;
  const auto page = db.page(parse_sql("SELECT VALUE c.n FROM c"), {}, options);
  const auto continuation = sql::Continuation::decode(page.continuation.value());
  REQUIRE(continuation);
  CHECK(continuation->partition_id_plus_one > 0);
  CHECK(sql::Continuation::decode(continuation->encode()) == continuation);
}

TEST_CASE("a continuation in a physical partition that there never was is refused") {
  FourRanges db;
  sql::SqlOptions options;
  options.page_items_max = 3;
  const auto query = parse_sql("SELECT VALUE c.n FROM c");
  auto continuation = *sql::Continuation::decode(*db.page(query, {}, options).continuation);
  continuation.partition_id_plus_one = 1000;
  CHECK(db.page(query, {}, options, continuation.encode()).error == "The continuation was not issued by this server.");
}
