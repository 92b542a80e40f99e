// Plans of a query without an order take turns: the rows are the same in any pages, and the cost is bounded.
#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "partitioning/partition_move.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

constexpr int tens_of_items = 300;

/// `rank` increases with the number of the item, and `rare` is not 0 only for the first tenth. So the items with both
/// `rare` and a high `rank` stand first in the index of `rank`, and anywhere in that of `rare`.
class UnorderedItems : public SqlFixture {
 public:
  UnorderedItems(std::uint32_t q, bool by_json = false) : SqlFixture(options_of(q, by_json)) {
    if (by_json) {
      for (const std::string field : {"rank", "rare", "few"}) {
        create_index(R"({"index":{"fields":[")" + field + R"("]},"partitioned":false,"ddoc":")" + field +
                     R"(","name":"i"})");
      }
    }
    std::mt19937 random(5);
    for (int i = 0; i < 10 * tens_of_items; ++i) {
      const std::string id = "p" + std::to_string(i * 7 % 11) + ":" + std::to_string(random() % 10'000'000);
      const int rare = i < tens_of_items ? 1 + static_cast<int>(random() % 3) : 0;
      const int few = static_cast<int>(random() % 4);
      put(id, R"({"rank":)" + std::to_string(i) + R"(,"rare":)" + std::to_string(rare) + R"(,"few":)" +
                  std::to_string(few) + R"(,"tags":["a","b","c"]})");
      items_.push_back({id, i, rare, few});
    }
    if (by_json) {
      wait_for_indexes();
    } else {
      wait_for_automatic_index();
    }
  }

  std::multiset<std::string> matching(const std::function<bool(int rank, int rare, int few)>& is_match,
                                      int times) const {
    std::multiset<std::string> ids;
    for (const Item& item : items_) {
      for (int i = 0; i < times && is_match(item.rank, item.rare, item.few); ++i) ids.insert(item.id);
    }
    return ids;
  }

 private:
  struct Item {
    std::string id;
    int rank;
    int rare;
    int few;
  };

  static partitioning::CreateDatabaseOptions options_of(std::uint32_t q, bool by_json) {
    if (!by_json) return indexed_container(q);
    partitioning::CreateDatabaseOptions options;
    options.partitioned = true;
    return options;
  }

  std::vector<Item> items_;
};

struct UnorderedPages {
  std::multiset<std::string> ids;
  std::size_t left = 0;       ///< pages on which plans took turns
  std::size_t continued = 0;  ///< of these, those that a page follows
};

UnorderedPages read_unordered(
    UnorderedItems& items, const std::string& text, std::uint64_t page_items,
    const std::function<void()>& between = [] {}) {
  const auto query = parse_sql(text);
  UnorderedPages read;
  std::optional<std::string> continuation;
  for (int pages = 0; pages < 5'000; ++pages) {
    sql::SqlOptions options;
    options.page_items_max = page_items;
    const auto page = items.page(query, {}, options, continuation);
    REQUIRE(page.error.empty());
    const json::value rows = json::parse("[" + page.results + "]");
    REQUIRE(rows.as_array().size() <= page_items);
    for (const auto& id : rows.as_array()) read.ids.insert(std::string(id.as_string()));
    read.left += page.statistics.left_walk ? 1 : 0;
    read.continued += page.statistics.left_walk && page.continuation ? 1 : 0;
    continuation = page.continuation;
    if (!continuation) return read;
    between();
  }
  FAIL("the pages do not end");
  return read;
}

}  // namespace

TEST_CASE("a query without an order stops with the index that reaches its limit first") {
  UnorderedItems items(1);
  const std::string where = " FROM c WHERE c.rare >= 1 AND c.rank >= " + std::to_string(tens_of_items - 25);
  const auto page = items.page(parse_sql("SELECT TOP 20 VALUE c._id" + where), {}, {});
  REQUIRE(page.statistics.results_returned == 20);
  // A walk by `rare` alone finds one result in twelve entries.
  CHECK(page.statistics.keys_examined < 90);
}

TEST_CASE("plans without an order return each item once, in pages of any size") {
  const int kind = GENERATE(0, 1, 2);
  UnorderedItems items(kind == 1 ? 3 : 1, kind == 2);
  const bool joins = GENERATE(false, true);
  std::size_t left = 0;
  std::size_t continued = 0;
  for (const int first : {tens_of_items - 40, tens_of_items - 25, tens_of_items - 15}) {
    const auto expected =
        items.matching([&](int rank, int rare, int) { return rare >= 1 && rank >= first; }, joins ? 3 : 1);
    const std::string text = std::string("SELECT VALUE c._id FROM c") + (joins ? " JOIN t IN c.tags" : "") +
                             " WHERE c.rare >= 1 AND c.rank >= " + std::to_string(first) + " OFFSET 0 LIMIT " +
                             std::to_string(expected.size() + 5);
    for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{20}, UINT64_MAX}) {
      if (expected.size() / 100 > size) continue;
      items.slice = size == 7 ? 3 : 1'000;
      CAPTURE(kind, joins, first, size);
      const auto read = read_unordered(items, text, size);
      CHECK(read.ids == expected);
      left += read.left;
      continued += read.continued;
    }
  }
  if (joins) return;  // a page of three rows for each item is sooner full
  CHECK(left > 0);
  CHECK(continued > 0);
}

TEST_CASE("plans that take turns continue when their charge has ended a page") {
  UnorderedItems items(GENERATE(1, 3));
  const auto query =
      parse_sql("SELECT VALUE c._id FROM c WHERE c.rare >= 1 AND c.rank >= " + std::to_string(tens_of_items - 25) +
                " OFFSET 0 LIMIT 30");
  std::multiset<std::string> ids;
  std::optional<std::string> continuation;
  std::size_t stopped = 0;
  std::size_t stopped_in_turns = 0;
  std::mt19937 random(3);
  for (int pages = 0; pages < 5'000; ++pages) {
    const auto prepared = *run_task(sql::prepare_sql(items.indexes(), query, {}, *items.shape, continuation));
    sql::SqlOptions options;
    options.page_items_max = 9;
    options.may_stop = true;
    sql::SqlExecution execution(items.database, prepared, options);
    const std::uint64_t keys_max = 20 + random() % 90;
    bool is_stopped = false;
    while (*execution.run({8}) == partitioning::ScanState::more && !is_stopped) {
      if (execution.statistics().keys_examined >= keys_max) is_stopped = execution.stop();
    }
    stopped += is_stopped ? 1 : 0;
    stopped_in_turns += is_stopped && execution.statistics().left_walk ? 1 : 0;
    const json::value rows = json::parse("[" + execution.output() + "]");
    for (const auto& id : rows.as_array()) ids.insert(std::string(id.as_string()));
    continuation = execution.continuation();
    if (!continuation) break;
  }
  CHECK(ids == items.matching([](int rank, int rare, int) { return rare >= 1 && rank >= tens_of_items - 25; }, 1));
  CHECK(stopped > 0);
  CHECK(stopped_in_turns > 0);
}

TEST_CASE("pages by plans that take turns continue across a split") {
  UnorderedItems items(GENERATE(1, 3));
  const std::function<bool()> never = [] { return false; };
  std::size_t pages = 0;
  const auto read =
      read_unordered(items,
                     "SELECT VALUE c._id FROM c WHERE c.rare >= 1 AND c.rank >= " + std::to_string(tens_of_items - 25) +
                         " OFFSET 0 LIMIT 30",
                     7, [&] {
                       if (++pages > 2) return;
                       const std::size_t partition_id = items.database->partition_ids().front();
                       REQUIRE(partitioning::PartitionMove(items.database, {partition_id}, never).run().has_value());
                     });
  CHECK(read.ids == items.matching([](int rank, int rare, int) { return rare >= 1 && rank >= tens_of_items - 25; }, 1));
  CHECK(read.continued > 0);
}

TEST_CASE("a continuation has what other plans have returned") {
  sql::Continuation continuation;
  continuation.kind = sql::Continuation::Kind::automatic;
  continuation.identity = "identity";
  continuation.key = "key";
  continuation.start = "+b";
  continuation.partition_id_plus_one = 3;
  continuation.spent = 250;
  for (const std::string key : {"", "k"}) {
    continuation.left_plans.push_back({"another", key.empty(), key, "-c"});
    CHECK(sql::Continuation::decode(continuation.encode()) == continuation);
  }
  continuation.left_plans.resize(query::Bookmark::left_max + 1);
  CHECK_FALSE(sql::Continuation::decode(continuation.encode()));
}
