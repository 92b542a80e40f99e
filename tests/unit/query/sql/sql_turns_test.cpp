// A walk in the order of ORDER BY that has cost its budget is left for a sort: the rows are the same in any pages, and
// the cost is bounded.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "partitioning/partition_move.h"
#include "partitioning/throughput/request_charge.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

struct OrderedItem {
  std::string id;
  std::map<std::string, int> fields;
};

// A number that follows from the id, by which clients that merge order equal rows.
std::uint64_t hashed_number(std::string_view id) {
  return std::hash<std::string_view>{}(id) % 100'003;
}

enum class IndexedBy : std::uint8_t { automatic, automatic_in_three, json };

partitioning::CreateDatabaseOptions indexed_options(IndexedBy indexes) {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  if (indexes == IndexedBy::json) return options;
  options.q = indexes == IndexedBy::automatic_in_three ? 3 : 1;
  options.definition = R"({"indexing_policy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[],)"
                       R"("compositeIndexes":[[{"path":"/few"},{"path":"/time"}]]}})";
  return options;
}

/// OrderedItems whose properties say nothing of each other, or all: `group` follows from `zipf`, `early` is not 0 at
/// one end of `time` only, `anti` is high only where `zipf` is rare, `late` is 1 at the far end of `time` only.
class OrderedItems : public SqlFixture {
 public:
  OrderedItems(IndexedBy indexes, std::size_t count)
      : SqlFixture(indexed_options(indexes)), by_json_(indexes == IndexedBy::json) {
    shape = &rows_;
    for (std::size_t i = 0; i < count; ++i) items_.push_back(make(i, count));
    if (by_json_) {
      for (const std::string fields : {"zipf", "few", "time", "anti", "late", "few\",\"time"}) {
        const std::string name = fields.substr(0, fields.find('"')) + std::to_string(fields.size());
        create_index(R"({"index":{"fields":[")" + fields + R"("]},"partitioned":false,"ddoc":")" + name +
                     R"(","name":"i"})");
      }
    }
    for (const OrderedItem& item : items_) write(item);
    if (by_json_) {
      wait_for_indexes();
      return;
    }
    wait_for_automatic_index();
  }

  std::vector<OrderedItem>& items() { return items_; }
  std::mt19937& random() { return random_; }
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

  void write(const OrderedItem& item) {
    json::object body;
    for (const auto& [name, value] : item.fields) body[name] = value;
    body["tags"] = json::array{"a", "b"};
    auto& revision = revisions_[item.id];
    revision = EngineFixture::put(*database, item.id, json::serialize(body), revision).revision;
  }

 private:
  OrderedItem make(std::size_t i, std::size_t count) {
    const double uniform = std::uniform_real_distribution(0.001, 1.0)(random_);
    const int zipf = static_cast<int>(std::min(std::pow(uniform, -1.25), 300.0));
    OrderedItem item;
    item.id = "p" + std::to_string(zipf % 7) + ":" + std::to_string(i);
    item.fields = {{"zipf", zipf},
                   {"group", zipf % 16},
                   {"time", static_cast<int>((i + random_() % 8) / 2)},
                   {"few", below(4)},
                   {"anti", zipf <= 2 ? below(50) : 50 + below(50)},
                   {"early", i < count / 20 ? 1 + below(3) : 0},
                   {"late", i >= count - count / 20 ? 1 : 0}};
    return item;
  }

  bool by_json_;
  NumberedRows rows_{hashed_number};
  std::mt19937 random_{11};
  std::vector<OrderedItem> items_;
  std::map<std::string, std::optional<storage::Revision>> revisions_;
};

/// A query with an order, and what it must return.
struct Asked {
  struct Bounds {
    int first;
    int end;
  };
  std::map<std::string, Bounds> conditions;
  std::string order = "time";
  bool by_two = false;  ///< `few` and `time`, for which there is a composite index
  bool down = false;
  std::optional<std::size_t> offset;
  std::optional<std::size_t> limit;
  bool by_tags = false;  ///< one row for each tag
  bool is_merged = false;

  static Asked random(OrderedItems& items) {
    Asked asked;
    const std::vector<std::string> names{"zipf", "group", "few", "anti", "early", "late", "time"};
    const auto conditions = static_cast<std::size_t>(1 + items.below(3));
    while (asked.conditions.size() < conditions) {
      const std::string& name = names[items.random()() % names.size()];
      const int value = items.items()[items.random()() % items.items().size()].fields.at(name);
      const int kind = items.below(4);
      const bool is_range = kind == 1 || name == "time";
      const int end = kind == 0 && name != "time" ? 1'000'000 : value + 1 + (is_range ? items.below(40) : 0);
      asked.conditions[name] = {value, end};
    }
    asked.order = items.below(4) ? "time" : "anti";
    asked.by_two = items.below(5) == 0;
    asked.down = items.below(2) == 0;
    // A JSON index has the order of numbers only.
    if (items.below(2)) {
      asked.conditions.try_emplace(asked.order, Bounds{0, 1'000'000});
      if (asked.by_two) asked.conditions.try_emplace("few", Bounds{0, 1'000'000});
    }
    if (items.below(3) == 0) {
      asked.limit = static_cast<std::size_t>(1 + items.below(60));
      if (items.below(2)) asked.offset = static_cast<std::size_t>(items.below(30));
    }
    asked.by_tags = items.below(8) == 0;
    asked.is_merged = items.below(3) == 0;
    return asked;
  }

  std::string text() const {
    std::string where;
    for (const auto& [name, bounds] : conditions) {
      if (!where.empty()) where += " AND ";
      if (bounds.end == bounds.first + 1) {
        where += "c." + name + " = " + std::to_string(bounds.first);
        continue;
      }
      where += "c." + name + " >= " + std::to_string(bounds.first);
      if (bounds.end < 1'000'000) where += " AND c." + name + " < " + std::to_string(bounds.end);
    }
    std::string text = "SELECT ";
    if (limit && !offset) text += "TOP " + std::to_string(*limit) + " ";
    const std::string by = by_two ? "c.few * 1000000 + c.time" : "c." + order;
    const std::string payload = "{id: c._id, by: " + by + (by_tags ? ", tag: t" : "") + "}";
    const std::string direction = down ? " DESC" : "";
    if (is_merged) {
      text += "c._rid, [" +
              std::string(by_two ? "{\"item\": c.few}, {\"item\": c.time}" : "{\"item\": c." + order + "}") +
              "] AS orderByItems, " + payload + " AS payload";
    } else {
      text += "VALUE " + payload;
    }
    text += " FROM c";
    if (by_tags) text += " JOIN t IN c.tags";
    text += " WHERE " + where + " ORDER BY ";
    text += by_two ? "c.few" + direction + ", c.time" + direction : "c." + order + direction;
    if (offset) text += " OFFSET " + std::to_string(*offset) + " LIMIT " + std::to_string(*limit);
    return text;
  }

  bool matches(const OrderedItem& item) const {
    return std::ranges::all_of(conditions, [&](const auto& condition) {
      const int value = item.fields.at(condition.first);
      return value >= condition.second.first && value < condition.second.end;
    });
  }

  int value_of(const OrderedItem& item) const {
    return by_two ? item.fields.at("few") * 1'000'000 + item.fields.at("time") : item.fields.at(order);
  }

  std::vector<const OrderedItem*> all(OrderedItems& items) const {
    std::vector<const OrderedItem*> rows;
    for (const OrderedItem& item : items.items()) {
      if (matches(item)) rows.insert(rows.end(), by_tags ? 2 : 1, &item);
    }
    const auto order_of = [&](const OrderedItem* item) {
      return std::pair(value_of(*item), is_merged ? hashed_number(item->id) : 0);
    };
    std::ranges::stable_sort(rows, {}, order_of);
    if (down) std::ranges::reverse(rows);
    return rows;
  }

  std::vector<const OrderedItem*> expected(OrderedItems& items) const {
    auto rows = all(items);
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(offset.value_or(0), rows.size())));
    if (limit && rows.size() > *limit) rows.resize(*limit);
    return rows;
  }
};

struct AskedRow {
  std::string id;
  int by = 0;
  std::string tag;

  auto operator<=>(const AskedRow&) const = default;
};

std::vector<AskedRow> asked_rows(const std::string& results) {
  std::vector<AskedRow> rows;
  const json::value parsed = json::parse("[" + results + "]");
  for (const auto& row : parsed.as_array()) {
    const auto& object = row.as_object();
    const auto& payload = object.contains("payload") ? object.at("payload").as_object() : object;
    const auto* tag = payload.if_contains("tag");
    rows.push_back({std::string(payload.at("id").as_string()), payload.at("by").to_number<int>(),
                    tag ? std::string(tag->as_string()) : ""});
  }
  return rows;
}

struct AskedPages {
  std::vector<AskedRow> rows;
  std::size_t left = 0;  ///< pages whose walk was left
};

/// Reads page by page; `between` is called after each.
template <class Between>
AskedPages read_asked(OrderedItems& items, const Asked& asked, std::uint64_t page_items, Between between) {
  const auto query = parse_sql(asked.text());
  AskedPages read;
  std::optional<std::string> continuation;
  for (std::size_t pages = 0; pages < 5'000; ++pages) {
    sql::SqlOptions options;
    options.page_items_max = page_items;
    const auto page = items.page(query, {}, options, continuation);
    REQUIRE(page.error.empty());
    const auto rows = asked_rows(page.results);
    REQUIRE(rows.size() <= page_items);
    read.rows.insert(read.rows.end(), rows.begin(), rows.end());
    read.left += page.statistics.left_walk ? 1 : 0;
    continuation = page.continuation;
    if (!continuation) return read;
    between();
  }
  FAIL("the pages do not end");
  return read;
}

void check_asked(OrderedItems& items, const Asked& asked, const std::vector<AskedRow>& rows) {
  const auto expected = asked.expected(items);
  REQUIRE(rows.size() == expected.size());
  std::map<std::string, const OrderedItem*> matches;
  for (const OrderedItem* item : asked.all(items)) matches[item->id] = item;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_right = rows[i].by == asked.value_of(*expected[i]) && matches.contains(rows[i].id) &&
                          (!asked.is_merged || rows[i].id == expected[i]->id);
    wrong += is_right ? 0 : 1;
  }
  REQUIRE(wrong == 0);
  const std::set<AskedRow> different(rows.begin(), rows.end());
  CHECK(different.size() == rows.size());
}

double cost_of_run(const sql::SqlStatistics& statistics) {
  return partitioning::charge_of_scan({.partitions = 0,
                                       .keys = statistics.keys_examined,
                                       .documents = statistics.documents_examined,
                                       .document_bytes = statistics.document_bytes});
}

}  // namespace

TEST_CASE("a walk in order that finds nothing gives up in time, and a later page begins where its rows are") {
  const auto indexes = GENERATE(IndexedBy::automatic, IndexedBy::automatic_in_three, IndexedBy::json);
  OrderedItems items(indexes, 6'000);
  Asked asked;
  asked.conditions["late"] = {1, 2};
  asked.conditions["time"] = {0, 1'000'000};
  asked.is_merged = indexes != IndexedBy::json && GENERATE(false, true);
  sql::SqlOptions options;
  options.page_items_max = GENERATE(10, 50);
  items.slice = 1'000;
  const auto query = parse_sql(asked.text());
  items.page(query, {}, options);  // waits for global indexes, whose sizes decide the bound
  const auto first = items.page(query, {}, options);
  REQUIRE(items.last->plans.size() == 2);
  const double bound = items.last->sure_plan().most;
  CHECK(first.statistics.left_walk);
  CHECK(cost_of_run(first.statistics) <= 1.5 * bound + 1);
  CHECK(asked_rows(first.results).size() == options.page_items_max);
  REQUIRE(first.continuation);
  const auto second = items.page(query, {}, options, first.continuation);
  CHECK(cost_of_run(second.statistics) <= 1.5 * bound + 1);
  CHECK(asked_rows(second.results).size() == options.page_items_max);
  CHECK_FALSE(second.statistics.left_walk);
  CHECK(cost_of_run(second.statistics) < bound / 2);
}

TEST_CASE("a query that may be left for a sort returns each row once and in order, in pages of any size") {
  OrderedItems items(GENERATE(IndexedBy::automatic, IndexedBy::automatic_in_three, IndexedBy::json), 2'500);
  std::size_t left = 0;
  std::size_t left_later = 0;
  for (int round = 0; round < 60; ++round) {
    const Asked asked = Asked::random(items);
    const auto wanted = asked.expected(items).size();
    items.slice = std::vector<std::size_t>{1, 7, 1'000}[items.random()() % 3];
    for (const std::uint64_t page : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{100}, UINT64_MAX}) {
      if (wanted / 40 > page) continue;
      CAPTURE(round, page, asked.text());
      const AskedPages read = read_asked(items, asked, page, [] {});
      check_asked(items, asked, read.rows);
      left += read.left;
      left_later += read.left > 0 && read.rows.size() > page ? 1 : 0;
    }
  }
  CHECK(left > 20);
  CHECK(left_later > 5);
}

TEST_CASE("a walk by ids is left for a sort, and resumed on the next page") {
  OrderedItems items(IndexedBy::automatic, 3'000);
  const bool down = GENERATE(false, true);
  std::vector<std::string> expected;
  for (const OrderedItem& item : items.items()) {
    if (item.fields.at("zipf") == (down ? 7 : 6)) expected.push_back(item.id);
  }
  std::ranges::sort(expected);
  if (down) std::ranges::reverse(expected);
  // A range: entries of one value stand in the order of the ids.
  const auto query =
      parse_sql(std::string("SELECT VALUE c._id FROM c WHERE ") +
                (down ? "c.zipf > 6 AND c.zipf < 8 ORDER BY c._id DESC" : "c.zipf > 5 AND c.zipf < 7 ORDER BY c._id"));
  items.slice = GENERATE(3, 1'000);
  for (const std::uint64_t size : {1, 7, 1'000}) {
    std::vector<std::string> ids;
    std::optional<std::string> continuation;
    std::size_t left = 0;
    do {
      sql::SqlOptions options;
      options.page_items_max = size;
      const auto page = items.page(query, {}, options, continuation);
      REQUIRE(page.error.empty());
      left += page.statistics.left_walk ? 1 : 0;
      const json::value found = json::parse("[" + page.results + "]");
      for (const auto& id : found.as_array()) ids.emplace_back(id.as_string());
      continuation = page.continuation;
    } while (continuation);
    CHECK(ids == expected);
    CHECK(left > 0);
  }
}

TEST_CASE("unchanged items come once, while others change between the pages of a query with an order") {
  OrderedItems items(GENERATE(IndexedBy::automatic, IndexedBy::automatic_in_three), 2'000);
  items.slice = 50;
  std::size_t left = 0;
  for (int round = 0; round < 60; ++round) {
    Asked asked = Asked::random(items);
    asked.limit.reset();
    asked.offset.reset();
    asked.by_tags = false;
    std::set<std::string> changed;
    const auto before = asked.all(items);
    if (before.size() > 400) continue;
    std::set<std::string> ids;
    for (const OrderedItem* item : before) ids.insert(item->id);
    const auto change = [&] {
      for (int i = 0; i < 3; ++i) {
        OrderedItem& item = items.items()[items.random()() % items.items().size()];
        item.fields["time"] = items.below(1'000);
        item.fields["anti"] = items.below(100);
        items.write(item);
        changed.insert(item.id);
      }
    };
    CAPTURE(round, asked.text());
    std::map<std::string, int> times;
    const AskedPages read = read_asked(items, asked, 9, change);
    left += read.left;
    for (const AskedRow& row : read.rows) ++times[row.id];
    for (const auto& id : ids) {
      if (!changed.contains(id)) CHECK(times[id] == 1);
    }
  }
  CHECK(left > 5);
}

TEST_CASE("a sort that does not fit into memory leaves the query to the walk") {
  OrderedItems items(IndexedBy::automatic, 1'500);
  items.memory_bytes_max = 1'500;
  std::size_t walks = 0;
  for (int round = 0; round < 60; ++round) {
    Asked asked = Asked::random(items);
    asked.is_merged = false;
    CAPTURE(round, asked.text());
    const auto query = parse_sql(asked.text());
    std::vector<AskedRow> rows;
    std::optional<std::string> continuation;
    bool failed = false;
    do {
      sql::SqlOptions options;
      options.page_items_max = 30;
      options.page_bytes_max = SIZE_MAX / 4;
      const auto page = items.page(query, {}, options, continuation);
      failed = !page.error.empty();
      // What only a sort can answer does not fit.
      if (failed) REQUIRE(items.last->plans.size() == 1);
      const auto found = asked_rows(page.results);
      rows.insert(rows.end(), found.begin(), found.end());
      walks += items.last->plans.size() == 2 && !page.statistics.left_walk ? 1 : 0;
      continuation = page.continuation;
    } while (continuation && !failed);
    if (!failed) check_asked(items, asked, rows);
  }
  CHECK(walks > 20);
}

TEST_CASE("a page with an order may be ended by its charge anywhere, and the next one continues") {
  OrderedItems items(IndexedBy::automatic, 2'500);
  std::size_t stopped = 0;
  std::size_t stopped_sorts = 0;
  for (int round = 0; round < 100; ++round) {
    Asked asked = Asked::random(items);
    asked.is_merged = false;
    asked.by_tags = false;
    CAPTURE(round, asked.text());
    const auto query = parse_sql(asked.text());
    std::vector<AskedRow> rows;
    std::optional<std::string> continuation;
    bool sorts_only = false;
    for (int pages = 0; pages < 5'000; ++pages) {
      const auto prepared = *run_task(sql::prepare_sql(items.indexes(), query, {}, *items.shape, continuation));
      sorts_only = prepared->plans.size() == 1 && !prepared->presorted;
      if (sorts_only) break;
      sql::SqlOptions options;
      options.page_items_max = 20;
      options.may_stop = true;
      options.charge_max = std::vector<double>{2, 8, 30}[items.random()() % 3];
      sql::SqlExecution execution(items.database, prepared, options);
      std::string results;
      bool is_stopped = false;
      while (*execution.run({16}) == partitioning::ScanState::more && !is_stopped) {
        if (cost_of_run(execution.statistics()) < options.charge_max / 3) continue;
        if (!execution.is_resumable()) continue;  // it sorts from the start
        is_stopped = execution.stop();
        stopped += is_stopped ? 1 : 0;
        stopped_sorts += is_stopped && execution.statistics().left_walk ? 1 : 0;
      }
      const auto found = asked_rows(execution.output());
      rows.insert(rows.end(), found.begin(), found.end());
      continuation = execution.continuation();
      if (!continuation) break;
    }
    if (!sorts_only) check_asked(items, asked, rows);
  }
  CHECK(stopped > 50);
  CHECK(stopped_sorts > 0);
}

TEST_CASE("pages of a query that was left for a sort continue across a split") {
  OrderedItems items(IndexedBy::automatic, 2'000);
  const std::function<bool()> never = [] { return false; };
  for (const bool down : {false, true}) {
    Asked asked;
    asked.conditions[down ? "early" : "late"] = {1, 4};
    asked.down = down;
    std::size_t pages = 0;
    const AskedPages read = read_asked(items, asked, 7, [&] {
      if (++pages > 2) return;
      const std::size_t partition_id = items.database->partition_ids().back();
      REQUIRE(partitioning::PartitionMove(items.database, {partition_id}, never).run().has_value());
    });
    check_asked(items, asked, read.rows);
    CHECK(read.left > 0);
  }
}
