// Queries with an order whose pages end because of what they have cost.
#include <functional>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "partitioning/throughput/request_charge.h"
#include "query/sql/run/continuation.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

double cost_of_page(const sql::SqlStatistics& statistics) {
  return partitioning::charge_of_scan({.partitions = 0,
                                       .keys = statistics.keys_examined,
                                       .documents = statistics.documents_examined,
                                       .document_bytes = statistics.document_bytes});
}

/// Items with a `time`, five of them in each `block`; the last 100 are `late`.
class TimedItems : public SqlFixture {
 public:
  static constexpr int count = 2'000;

  explicit TimedItems(std::uint32_t q = 1) : SqlFixture(indexed_container(q)) {
    for (int i = 0; i < count; ++i) {
      put("p" + std::to_string(i % 10) + ":" + std::to_string(10'000 + i),
          R"({"time":)" + std::to_string(i) + R"(,"block":)" + std::to_string(i / 5) + R"(,"late":)" +
              std::to_string(i >= count - 100 ? 1 : 0) + "}");
    }
    wait_for_automatic_index();
  }

  /// A page that ends soon after it has cost `most`.
  Page limited_page(const sql::SqlQuery::Ptr& query, double most, sql::SqlOptions options,
                    const std::optional<std::string>& continuation) {
    Page page;
    const auto prepared = run_task(sql::prepare_sql(indexes(), query, {}, *shape, continuation));
    if (!prepared) {
      page.error = prepared.error().reason;
      return page;
    }
    last = *prepared;
    options.may_stop = true;
    sql::SqlExecution execution(database, last, options);
    while (true) {
      const auto state = execution.run({16});
      if (!state) {
        page.error = state.error().reason;
        return page;
      }
      if (*state == partitioning::ScanState::done) break;
      if (cost_of_page(execution.statistics()) < most) continue;
      if (!execution.is_resumable()) {
        page.error = "it cannot be ended";
        return page;
      }
      if (execution.stop()) break;
    }
    page.results = execution.output();
    page.continuation = execution.continuation();
    page.statistics = execution.statistics();
    return page;
  }
};

// A limit of 3 RU; pages of at most `size` rows.
void check_limited_pages(TimedItems& items, const sql::SqlQuery::Ptr& query, std::uint64_t size,
                         const std::string& expected) {
  sql::SqlOptions options;
  options.page_items_max = size;
  options.charge_max = 3;
  std::string results;
  std::optional<std::string> continuation;
  int pages = 0;
  do {
    const auto page = items.limited_page(query, options.charge_max, options, continuation);
    REQUIRE(page.error == "");
    // A run of equal rows is read to its end, and a slice has 16 rows.
    CHECK(cost_of_page(page.statistics) < options.charge_max + 5);
    if (!page.results.empty()) results += (results.empty() ? "" : ",\n") + page.results;
    continuation = page.continuation;
    REQUIRE(++pages < 500);
  } while (continuation);
  CHECK(results == expected);
  if (!expected.empty()) CHECK(pages > 3);
}

}  // namespace

TEST_CASE("what a walk has cost on pages that its charge ended counts for its budget") {
  TimedItems items;
  const auto query = parse_sql("SELECT VALUE c.time FROM c WHERE c.late = 1 ORDER BY c.time");
  sql::SqlOptions options;
  options.page_items_max = 20;
  options.charge_max = 1'000;
  std::string results;
  std::optional<std::string> continuation;
  std::uint64_t spent = 0;
  double walked = 0;
  bool has_left = false;
  for (int pages = 0; pages < 200; ++pages) {
    // The walk finds nothing, so its pages are empty.
    const auto page = items.limited_page(query, 1, options, continuation);
    REQUIRE(page.error == "");
    if (!has_left) REQUIRE(items.last->plans.size() == 2);
    const double bound = items.last->sure_plan().most;
    if (!page.results.empty()) results += (results.empty() ? "" : ",\n") + page.results;
    continuation = page.continuation;
    if (!continuation) break;
    const auto next = sql::Continuation::decode(*continuation);
    REQUIRE(next);
    CHECK(sql::Continuation::decode(next->encode()) == next);
    has_left = has_left || page.statistics.left_walk;
    if (has_left) continue;
    CHECK(next->spent > spent);
    spent = next->spent;
    walked += cost_of_page(page.statistics);
    REQUIRE(walked < bound);
  }
  CHECK(has_left);
  CHECK(spent > 0);
  std::string expected;
  for (int i = TimedItems::count - 100; i < TimedItems::count; ++i) {
    expected += (expected.empty() ? "" : ",") + std::to_string(i);
  }
  CHECK(SqlFixture::joined(results) == "[" + expected + "]");
}

TEST_CASE("pages that clients merge may be ended by their charge, between runs of equal rows") {
  TimedItems items(GENERATE(1U, 3U));
  static const NumberedRows numbered([](std::string_view id) { return std::hash<std::string_view>{}(id) % 100'003; });
  items.shape = &numbered;
  items.slice = 1'000;
  const std::string select = "SELECT c._rid, [{\"item\": c.block}] AS orderByItems, c._id AS payload FROM c WHERE ";
  for (const std::string rest :
       {"c.late = 1 ORDER BY c.block", "c.late = 1 ORDER BY c.block DESC", "c.time >= 1700 ORDER BY c.block DESC",
        "c.time >= 1700 ORDER BY c.block OFFSET 3 LIMIT 60", "c.late = 5 ORDER BY c.block"}) {
    const auto query = parse_sql(select + rest);
    const auto whole = items.page(query, {}, {});
    REQUIRE(whole.error == "");
    REQUIRE_FALSE(whole.continuation);
    for (const std::uint64_t size : {std::uint64_t{7}, std::uint64_t{1'000}}) {
      CAPTURE(rest, size);
      check_limited_pages(items, query, size, whole.results);
    }
  }
}

TEST_CASE("a sort that is cheap, but begins in many physical partitions, is not begun for a small charge") {
  TimedItems items(8);
  const auto query = parse_sql("SELECT VALUE c.time FROM c WHERE c.late = 1 ORDER BY c.block, c.time");
  const auto by_one = parse_sql("SELECT VALUE c.time FROM c WHERE c.late = 1 ORDER BY c.time");
  sql::SqlOptions options;
  options.page_items_max = 20;
  options.charge_max = 25;
  // Each partition has a charge before anything is read; together they have more than the limit.
  const auto page = items.limited_page(by_one, 1, options, {});
  CHECK(page.error == "");
  CHECK_FALSE(page.statistics.left_walk);
  REQUIRE(items.last->plans.size() == 2);
  CHECK(items.last->sure_plan().most < options.charge_max / 2);
  CHECK(page.continuation);
  // No index has this order: there is nothing but the sort.
  CHECK(items.limited_page(query, 0.1, options, {}).error == "it cannot be ended");
}
