// Pages that an index began go on when the index is gone.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "query/sql/run/continuation.h"
#include "query/walk/gone_index.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

partitioning::CreateDatabaseOptions policy_container(std::uint32_t q) {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = q;
  options.definition = R"({"resource":{"indexingPolicy":{"includedPaths":[{"path":"/*"}],)"
                       R"("compositeIndexes":[[{"path":"/few"},{"path":"/n","order":"descending"}]]}}})";
  return options;
}

/// Items `p0:100`, `p1:101`, … with the numbers `n`, `few` (0 to 3) and `same` (7 for two of three).
class PolicyItems : public SqlFixture {
 public:
  explicit PolicyItems(std::uint32_t q = 1, int count = 60) : SqlFixture(policy_container(q)) {
    for (int i = 0; i < count; ++i) {
      put("p" + std::to_string(i % 10) + ":" + std::to_string(100 + i),
          R"({"n":)" + std::to_string(i) + R"(,"few":)" + std::to_string(i % 4) + R"(,"same":)" +
              std::to_string(i % 3 == 0 ? 1 : 7) + "}");
    }
    wait_for_automatic_index();
  }

  /// The results of all pages; after `kept` pages no index is left.
  std::vector<std::string> pages_without_index(std::string_view text, std::uint64_t size, int kept) {
    const auto query = parse_sql(text);
    std::vector<std::string> results;
    std::optional<std::string> continuation;
    int pages = 0;
    do {
      sql::SqlOptions options;
      options.page_items_max = size;
      const auto read = page(query, {}, options, continuation);
      if (!read.error.empty()) return {"error: " + read.error};
      const json::value found = json::parse("[" + read.results + "]");
      for (const auto& row : found.as_array()) results.push_back(json::serialize(row));
      continuation = read.continuation;
      if (++pages != kept) continue;
      by_index = used_index();
      if (!database->set_definition(R"({"resource":{"indexingPolicy":{"indexingMode":"none"}}})")) return {"not set"};
    } while (continuation && pages < 1'000);
    return results;
  }

  /// The rows of a list.
  static std::vector<std::string> rows_of(std::string_view rows) {
    std::vector<std::string> results;
    const json::value found = json::parse(std::string(rows));
    for (const auto& row : found.as_array()) results.push_back(json::serialize(row));
    return results;
  }

  bool by_index = false;  ///< whether the page before the index was gone used it
};

}  // namespace

TEST_CASE("pages go on in the direction in which the index was read, which ORDER BY need not have") {
  PolicyItems items;
  const std::string query = GENERATE(as<std::string>{}, "SELECT VALUE c.n FROM c WHERE c.same = 7 ORDER BY c.same DESC",
                                     "SELECT VALUE c.n FROM c WHERE c.same = 7 ORDER BY c.same",
                                     "SELECT VALUE c.n FROM c WHERE c.n >= 10 ORDER BY c.n DESC");
  const auto expected = PolicyItems::rows_of(items.ask(query));
  CHECK(expected.size() >= 40);
  CHECK(items.pages_without_index(query, 7, 2) == expected);
  CHECK(items.by_index);
}

TEST_CASE("a continuation of an index says how its entries were made, and in which direction it was read") {
  for (const std::string text : {"+bn", "-bn", "+ca.b", "bn", "c7"}) {
    const auto index = query::GoneIndex::from_text(text);
    REQUIRE(index);
    CHECK(index->to_text() == text);
    CHECK(index->down.has_value() == (text[0] == '+' || text[0] == '-'));
  }
  for (const std::string text : {"", "+", "-", "b", "+b", "x", "+xn", "++bn", "ba..b"}) {
    CHECK_FALSE(query::GoneIndex::from_text(text));
  }
}
