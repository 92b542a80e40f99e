// Queries with an order whose pages end because of what they have cost.
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "partitioning/throughput/request_charge.h"
#include "query/sql/run/continuation.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

partitioning::CreateDatabaseOptions limited_container(std::uint32_t q) {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = q;
  options.definition = R"({"resource":{"indexingPolicy":{"includedPaths":[{"path":"/*"}]}}})";
  return options;
}

double cost_of_page(const sql::SqlStatistics& statistics) {
  return partitioning::charge_of_scan({.partitions = 0,
                                       .keys = statistics.keys_examined,
                                       .documents = statistics.documents_examined,
                                       .document_bytes = statistics.document_bytes});
}

/// Items with a `time`; the last 100 of them are `late`.
class TimedItems : public SqlFixture {
 public:
  static constexpr int count = 2'000;

  explicit TimedItems(std::uint32_t q = 1) : SqlFixture(limited_container(q)) {
    for (int i = 0; i < count; ++i) {
      put("p" + std::to_string(i % 10) + ":" + std::to_string(10'000 + i),
          R"({"time":)" + std::to_string(i) + R"(,"late":)" + std::to_string(i >= count - 100 ? 1 : 0) + "}");
    }
    wait_for_automatic_index();
  }

  /// A page that ends soon after it has cost `most`.
  Page limited_page(const sql::SqlQuery::Ptr& query, double most, sql::SqlOptions options,
                    const std::optional<std::string>& continuation) {
    Page page;
    const auto prepared = run_task(sql::prepare_sql(database, query, {}, *shape, continuation));
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
