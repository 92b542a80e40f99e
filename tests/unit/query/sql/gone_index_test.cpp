// Pages that an index began continue when the index is gone.
#include "query/walk/gone_index.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "query/sql/run/continuation.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

partitioning::CreateDatabaseOptions policy_container(std::uint32_t q) {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = q;
  options.definition = R"({"indexing_policy":{"includedPaths":[{"path":"/*"}],)"
                       R"("compositeIndexes":[[{"path":"/few"},{"path":"/n","order":"descending"}]]}})";
  return options;
}

/// Items `p0:100`, `p1:101`, … with the numbers `n`, `few` (0 to 3) and `same` (7 for two of three).
class PolicyItems : public SqlFixture {
 public:
  explicit PolicyItems(std::uint32_t q = 1, int count = 60) : SqlFixture(policy_container(q)) {
    for (int i = 0; i < count; ++i) {
      put("p" + std::to_string(i % 10) + ":" + std::to_string(100 + i),
          R"({"n":)" + std::to_string(i) + R"(,"few":)" + std::to_string(i % 4) + R"(,"same":)" +
              std::to_string(i % 3 == 0 ? 1 : 7) + R"(,"tags":[1,2,3]})");
    }
    wait_for_automatic_index();
  }

  /// The results of all pages; after `kept` pages no index is left.
  std::vector<std::string> pages_without_index(std::string_view text, std::uint64_t size, int kept) {
    const auto query = parse_sql(text);
    std::vector<std::string> results;
    std::optional<std::string> continuation;
    int read_pages = 0;
    do {
      sql::SqlOptions options;
      options.page_items_max = size;
      const auto read = page(query, {}, options, continuation);
      if (!read.error.empty()) return {"error: " + read.error};
      const json::value found = json::parse("[" + read.results + "]");
      for (const auto& row : found.as_array()) results.push_back(json::serialize(row));
      continuation = read.continuation;
      if (++read_pages != kept) continue;
      by_index = used_index();
      if (!database->set_definition(R"({"indexing_policy":{"indexingMode":"none"}})")) return {"not set"};
    } while (continuation && read_pages < 1'000);
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

TEST_CASE("pages continue in the direction in which the index was read, which ORDER BY need not have") {
  PolicyItems items;
  const std::string query = GENERATE(as<std::string>{}, "SELECT VALUE c.n FROM c WHERE c.same = 7 ORDER BY c.same DESC",
                                     "SELECT VALUE c.n FROM c WHERE c.same = 7 ORDER BY c.same",
                                     "SELECT VALUE c.n FROM c WHERE c.n >= 10 ORDER BY c.n DESC");
  const auto expected = PolicyItems::rows_of(items.ask(query));
  CHECK(expected.size() >= 40);
  CHECK(items.pages_without_index(query, 7, 2) == expected);
  CHECK(items.by_index);
}

TEST_CASE("pages by a composite index continue when it is gone, in its order") {
  PolicyItems items(GENERATE(1U, 3U));
  const std::string query = GENERATE(as<std::string>{}, "SELECT VALUE c.n FROM c ORDER BY c.few, c.n DESC",
                                     "SELECT VALUE c.n FROM c ORDER BY c.few DESC, c.n",
                                     "SELECT VALUE c.n FROM c WHERE c.few = 2 ORDER BY c.few, c.n DESC");
  const auto expected = PolicyItems::rows_of(items.ask(query));
  CHECK(expected.size() >= 15);
  CHECK(items.pages_without_index(query, 4, 2) == expected);
  CHECK(items.by_index);
}

TEST_CASE("pages of a query without an order continue when the index is gone, and return each row once") {
  const std::uint32_t q = GENERATE(1U, 3U);
  const int kept = GENERATE(1, 4, 7);
  const std::string condition =
      GENERATE(as<std::string>{}, "c.same = 7", "c.n >= 12", "c.same = 1 OR c.n < 20 OR c.n = 50");
  PolicyItems items(q);
  const bool with_tags = GENERATE(false, true);
  const std::string query = with_tags ? "SELECT c.n, t FROM c JOIN t IN c.tags WHERE " + condition
                                      : "SELECT VALUE c.n FROM c WHERE " + condition;
  CAPTURE(q, kept, query);
  auto expected = PolicyItems::rows_of(items.ask(query));
  REQUIRE(items.used_index());
  const bool is_union = items.last->plan().branches.size() > 1;
  CHECK(is_union == (condition.find("OR") != std::string::npos));
  std::ranges::sort(expected);
  auto found = items.pages_without_index(query, 4, kept);
  std::ranges::sort(found);
  CHECK(found == expected);
  CHECK(items.by_index);
}

TEST_CASE("pages of SQL by a JSON index continue when it is deleted") {
  SqlFixture db;
  for (int i = 0; i < 60; ++i) {
    const std::string few = std::to_string(i % 4);
    db.put(std::to_string(100 + i), R"({"n":)" + std::to_string(i * 7 % 60) + R"(,"few":)" + few + "}");
  }
  db.create_index(R"({"index":{"fields":["few","n"]},"ddoc":"several","name":"i"})");
  db.create_index(R"({"index":{"fields":[{"n":"desc"}]},"ddoc":"one","name":"i"})");
  db.wait_for_indexes();
  const std::string condition = GENERATE(as<std::string>{}, "c.few = 2 AND c.n > 9", "c.few = 2", "c.n > 30",
                                         "c.n > 30 ORDER BY c.n", "c.n > 10 ORDER BY c.n DESC");
  const auto query = parse_sql("SELECT VALUE c.n FROM c WHERE " + condition);
  CAPTURE(condition);
  std::vector<std::string> results;
  std::optional<std::string> continuation;
  int pages = 0;
  do {
    sql::SqlOptions options;
    options.page_items_max = 3;
    const auto page = db.page(query, {}, options, continuation);
    REQUIRE(page.error == "");
    for (const std::string& row : PolicyItems::rows_of("[" + page.results + "]")) results.push_back(row);
    continuation = page.continuation;
    if (++pages != 2) continue;
    CHECK(db.used_index());
    for (const std::string id : {"_design/several", "_design/one"}) {
      const auto snapshot = db.database->snapshot_for_document(id);
      REQUIRE(snapshot);
      const auto revision = snapshot->find(id).value()->revision;
      EngineFixture::put(*db.database, id, "{}", revision, true);
    }
  } while (continuation && pages < 100);
  auto expected = PolicyItems::rows_of(db.ask("SELECT VALUE c.n FROM c WHERE " + condition));
  if (condition.find("ORDER") == std::string::npos) {
    std::ranges::sort(expected);
    std::ranges::sort(results);
  }
  CHECK(results == expected);
  CHECK(pages > 3);
}

TEST_CASE("a union one side of which is read by ids continues when the index of another side is gone") {
  PolicyItems items;
  const std::string query = "SELECT VALUE c.n FROM c WHERE c._id < 'p1' OR c.same = 1";
  auto expected = PolicyItems::rows_of(items.ask(query));
  std::ranges::sort(expected);
  auto found = items.pages_without_index(query, 2, GENERATE(1, 2, 5));
  std::ranges::sort(found);
  CHECK(found == expected);
}

TEST_CASE("a continuation of an index says how its entries were made, and in which direction it was read") {
  for (const std::string text :
       {"+bn", "-bn", "+ca.b", "bn", "c7", "+p", "@\5+bn", "|\1-ca", "@\7|\2+p", "+B+\1a-\3b.c", "+j-\1a"}) {
    CAPTURE(text);
    const auto index = query::GoneIndex::from_text(text);
    REQUIRE(index);
    CHECK(index->to_text() == text);
    CHECK(index->down.has_value() == (text != "bn" && text != "c7"));
    CHECK(index->is_part() == (text[0] == '@' || text[0] == '|'));
  }
  for (const std::string text : {"", "+", "-", "b", "+b", "x", "+xn", "++bn", "ba..b", "@", "|", "@\5", "+pn", "+B",
                                 "+B+\1a", "+B+\1a-\5b", "+B+\1a*\1b", "+B+\1a-", "+j"}) {
    CAPTURE(text);
    CHECK_FALSE(query::GoneIndex::from_text(text));
  }
}
