// Queries in the form that clients ask each partition in, to merge the answers: where equal rows come in, what DISTINCT
// tells apart.

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

// Numbers in another order than the ids.
std::uint64_t mixed_number(std::string_view id) {
  return (std::stoull(std::string(id.substr(2))) * 7919) % 1009;
}

partitioning::CreateDatabaseOptions one_partitioned() {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  return options;
}

/// Documents `p:100`, `p:101`, … of which many have the same `a`, and half of these the same `b`.
class MergedRows : public SqlFixture {
 public:
  explicit MergedRows(int count) : SqlFixture(one_partitioned()) {
    shape = &numbered_;
    scope.partition_key = "p";
    for (int i = 0; i < count; ++i) write(i);
  }

  void write(int i) {
    const std::string id = "p:" + std::to_string(100 + i);
    rows_[id] = i % 3;
    const std::string body = R"({"a":)" + std::to_string(i % 3) + R"(,"b":)" + std::to_string(i % 6) + R"(,"t":[1,2]})";
    revisions_[id] = EngineFixture::put(*database, id, body).revision;
  }
  void remove(const std::string& id) {
    EngineFixture::put(*database, id, "{}", revisions_.at(id), true);
    rows_.erase(id);
  }

  /// Ids in the order that a client expects.
  std::vector<std::string> expected(bool descending) const {
    std::vector<std::pair<std::pair<int, std::uint64_t>, std::string>> sorted;
    for (const auto& [id, a] : rows_) sorted.push_back({{a, mixed_number(id)}, id});
    std::ranges::sort(sorted);
    std::vector<std::string> ids;
    for (const auto& row : sorted) ids.push_back(row.second);
    if (descending) std::ranges::reverse(ids);
    return ids;
  }

  template <class Between>
  std::vector<std::string> read(std::string_view text, std::uint64_t items, Between&& between) {
    const auto query = parse_sql(text);
    std::vector<std::string> ids;
    std::optional<std::string> continuation;
    pages = 0;
    do {
      sql::SqlOptions options;
      options.page_items_max = items;
      options.page_bytes_max = page_bytes_max;
      const Page next = page(query, scope, options, continuation);
      if (!next.error.empty()) return {"error: " + next.error};
      const json::value rows = json::parse(joined(next.results));
      for (const auto& row : rows.as_array()) {
        ids.emplace_back(row.at("payload").is_string() ? row.at("payload").as_string()
                                                       : row.at("payload").at("i").as_string());
      }
      ++pages;
      between(ids);
      continuation = next.continuation;
    } while (continuation && pages < 1000);
    return ids;
  }
  std::vector<std::string> read(std::string_view text, std::uint64_t items) {
    return read(text, items, [](const auto&) {});
  }

  sql::SqlScope scope;
  std::size_t page_bytes_max = SIZE_MAX / 4;

 private:
  NumberedRows numbered_{mixed_number};
  std::map<std::string, int> rows_;
  std::map<std::string, storage::Revision> revisions_;
};

std::string merged(std::string_view order, std::string_view where = "c.a >= 0") {
  return std::string("SELECT c._rid, [{\"item\": c.a}] AS orderByItems, c._id AS payload FROM c WHERE ") +
         std::string(where) + " ORDER BY " + std::string(order);
}

void index_by(MergedRows& rows, std::string_view fields) {
  rows.create_index(R"({"index":{"fields":)" + std::string(fields) + R"(},"ddoc":"d","name":"i"})");
  rows.wait_for_indexes();
}

}  // namespace

TEST_CASE("equal rows for clients that merge come in the order of their numbers") {
  MergedRows rows(60);
  const bool by_index = GENERATE(false, true);
  if (by_index) index_by(rows, R"(["a"])");
  for (const std::uint64_t items : {1, 7, 20, 59, 60, 100}) {
    for (const std::size_t slice : {1, 50}) {
      INFO(items << " in slices of " << slice << (by_index ? " by the index" : ""));
      rows.slice = slice;
      CHECK(rows.read(merged("c.a"), items) == rows.expected(false));
      CHECK(rows.last->presorted == by_index);
      CHECK(rows.read(merged("c.a DESC"), items) == rows.expected(true));
    }
  }
}

TEST_CASE("an index with more fields than the order does not decide between equal rows") {
  MergedRows rows(60);
  index_by(rows, R"(["a","b"])");
  CHECK(rows.read(merged("c.a"), 7) == rows.expected(false));
  CHECK(rows.last->presorted);
  CHECK(rows.read(merged("c.a DESC"), 7) == rows.expected(true));
}

TEST_CASE("pages of equal rows that end by their bytes are complete") {
  MergedRows rows(60);
  index_by(rows, R"(["a"])");
  rows.page_bytes_max = GENERATE(1, 100, 700);
  CHECK(rows.read(merged("c.a"), 1000) == rows.expected(false));
  CHECK(rows.pages > 1);
}

TEST_CASE("pages of equal rows lose none where those that were read go") {
  MergedRows rows(60);
  const bool by_index = GENERATE(false, true);
  if (by_index) index_by(rows, R"(["a"])");
  const auto expected = rows.expected(false);
  std::size_t removed = 0;
  const auto seen = rows.read(merged("c.a"), 7, [&](const std::vector<std::string>& ids) {
    for (; removed < ids.size(); ++removed) rows.remove(ids[removed]);
  });
  CHECK(seen == expected);
}

TEST_CASE("a place among equal rows holds for the condition that a client adds, and without the index") {
  MergedRows rows(60);
  index_by(rows, R"(["a"])");
  const auto expected = rows.expected(false);
  sql::SqlOptions options;
  options.page_items_max = 25;
  const auto first = rows.page(parse_sql(merged("c.a", "c.a >= 0 AND true")), rows.scope, options);
  REQUIRE(rows.last->presorted);
  const auto rest = parse_sql(merged("c.a", "c.a >= 0 AND c.a >= 1"));
  const auto ids_of = [](const auto& page) {
    std::vector<std::string> ids;
    const json::value shown = json::parse(SqlFixture::joined(page.results));
    for (const auto& row : shown.as_array()) ids.emplace_back(row.at("payload").as_string());
    return ids;
  };
  const std::vector<std::string> next(expected.begin() + 25, expected.begin() + 50);
  CHECK(ids_of(rows.page(rest, rows.scope, options, first.continuation)) == next);
  const auto sorted = parse_sql(merged("c.a", "c.a >= 0 OR c.a = '' AND true"));
  const auto page = rows.page(sorted, rows.scope, options, first.continuation);
  CHECK(page.error == "");
  CHECK(ids_of(page) == next);
}

TEST_CASE("a place among equal rows holds for a condition that leaves one value, read in the other direction") {
  MergedRows rows(60);
  index_by(rows, R"(["a"])");
  sql::SqlOptions options;
  options.page_items_max = 45;
  const auto first = rows.page(parse_sql(merged("c.a DESC")), rows.scope, options);
  const auto last = rows.page(parse_sql(merged("c.a DESC", "c.a = 0")), rows.scope, options, first.continuation);
  CHECK(last.error == "");
  CHECK(last.statistics.results_returned == 15);
}

TEST_CASE("of many equal rows only those of the page are read") {
  MergedRows rows(600);
  index_by(rows, R"(["a"])");
  sql::SqlOptions options;
  options.page_items_max = 5;
  const auto page = rows.page(parse_sql(merged("c.a")), rows.scope, options);
  CHECK(page.statistics.keys_examined > 200);
  CHECK(page.statistics.documents_examined < 60);
}

TEST_CASE("combinations of one item stay together among equal rows") {
  MergedRows rows(12);
  index_by(rows, R"(["a"])");
  const std::string query =
      "SELECT c._rid, [{\"item\": c.a}] AS orderByItems, {i: c._id, t: t} AS payload FROM c JOIN t IN c.t "
      "WHERE c.a >= 0 ORDER BY c.a";
  std::vector<std::string> twice;
  for (const std::string& id : rows.expected(false)) twice.insert(twice.end(), 2, id);
  for (const std::uint64_t items : {1, 5, 24}) CHECK(rows.read(query, items) == twice);
}

TEST_CASE("a result of a subquery has the number of its item, by which clients continue") {
  MergedRows rows(4);
  const auto numbers = [&](const std::string& from) {
    std::vector<std::string> found;
    const std::string asked =
        rows.ask("SELECT s._rid, [{\"item\": s.a}] AS orderByItems, s AS payload FROM " + from + " ORDER BY s.a", {},
                 rows.scope);
    const json::value shown = json::parse(asked);
    for (const auto& row : shown.as_array()) found.push_back(json::serialize(row.at("_rid")));
    return found;
  };
  const auto expected = numbers("s");
  CHECK(expected.size() == 4);
  CHECK(numbers("(SELECT c.a FROM c) s") == expected);
  CHECK(numbers("(SELECT VALUE t FROM (SELECT c.a FROM c) t) s") == expected);
}

TEST_CASE("DISTINCT for clients that merge tells payloads apart, not items") {
  MergedRows rows(60);
  const std::string rest =
      "c._rid, [{\"item\": c.b}] AS orderByItems, c.a AS payload FROM c WHERE c.a >= 0 ORDER BY c.b";
  const auto payloads = [&](const std::string& query) {
    std::string found;
    const std::string asked = rows.ask(query, {}, rows.scope);
    const json::value shown = json::parse(asked);
    for (const auto& row : shown.as_array()) found += json::serialize(row.at("payload"));
    return found;
  };
  CHECK(payloads("SELECT DISTINCT " + rest) == "012");
  CHECK(payloads("SELECT DISTINCT TOP 2 " + rest) == "01");
  CHECK(payloads("SELECT DISTINCT " + rest + " DESC OFFSET 0 LIMIT 2") == "21");
  CHECK(rows.ask_by_pages("SELECT DISTINCT " + rest, 1, rows.scope) ==
        rows.ask("SELECT DISTINCT " + rest, {}, rows.scope));
}
