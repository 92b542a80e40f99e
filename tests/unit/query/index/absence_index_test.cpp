// ORDER BY has the items without the property, which an absence index finds.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../sql/sql_fixture.h"
#include "query/index/automatic_index.h"
#include "support/rounds.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::indexed_container;
using octavo::tests::parse_sql;
using octavo::tests::run_task;
using octavo::tests::SqlFixture;

namespace {

FieldPath path_of(std::string_view text) {
  return *FieldPath::parse(text);
}

std::string policy_without(const std::string& path) {
  return R"({"indexing_policy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":")" + path + R"("}]}})";
}

/// Every tenth document of `count` has no `n`.
void fill(SqlFixture& fixture, int count, const std::string& partition = "p") {
  for (int i = 0; i < count; ++i) {
    fixture.put(partition + ":" + std::to_string(1000 + i),
                i % 10 == 3 ? R"({"other":1})" : R"({"n":)" + std::to_string(i * 7 % count) + "}");
  }
  fixture.wait_for_automatic_index();
}

boost::json::array rows_in(const std::string& results) {
  return boost::json::parse(results).as_array();
}

std::vector<std::string> ids_in(const std::string& results) {
  std::vector<std::string> ids;
  const auto parsed = boost::json::parse(results);
  for (const auto& id : parsed.as_array()) ids.emplace_back(id.as_string());
  return ids;
}

std::size_t absences_of(SqlFixture& fixture) {
  return (*fixture.indexes().catalog())->absences.size();
}

std::uint64_t keys_read(SqlFixture& fixture, const std::string& query, sql::SqlScope scope = {}) {
  return fixture.page(parse_sql(query), std::move(scope), {}).statistics.keys_examined;
}

sql::SqlOptions pages_of(std::uint64_t items) {
  sql::SqlOptions options;
  options.page_items_max = items;
  return options;
}

}  // namespace

TEST_CASE("an absence index has an entry for each document that lacks its path") {
  const auto index = AutomaticIndex::of_absence(path_of("a.b"));
  const auto entries_in = [&](std::string_view body) {
    DocumentParser parser;
    AutomaticIndex::Entries entries;
    index->entries_of({*parser.parse(body), body, "id", {}}, entries);
    return entries.size();
  };
  CHECK(entries_in(R"({})") == 1);
  CHECK(entries_in(R"({"a":5})") == 1);
  CHECK(entries_in(R"({"a":[{"b":1}]})") == 1);
  CHECK(entries_in(R"({"a":{"c":1}})") == 1);
  CHECK(entries_in(R"({"a":{"b":null}})") == 0);
  CHECK(entries_in(R"({"a":{"b":[]}})") == 0);
  CHECK_FALSE(index->covers(path_of("a.b")));
}

TEST_CASE("an absence index is the same when it is read back from its record") {
  const auto path = *FieldPath::parse(R"(a.b\.c)");
  const auto read = AutomaticIndex::from_json(AutomaticIndex::of_absence(path)->to_json());
  REQUIRE(read);
  CHECK(read->absent_path() == path);
  CHECK(automatic_definition(read)->identity == automatic_definition(AutomaticIndex::of_absence(path))->identity);
  CHECK(AutomaticIndex::from_json({{"absence", 5}}) == nullptr);
  CHECK(AutomaticIndex::from_json({{"absence", ""}}) == nullptr);
}

TEST_CASE("items without the property come first, or last with DESC, and are not looked for among the others") {
  const auto q = GENERATE(1U, 3U);
  SqlFixture fixture(indexed_container(q));
  for (const std::string partition : {"p", "q", "r", "s"}) fill(fixture, 100, partition);
  const std::string descending = GENERATE("", " DESC");
  const auto all = rows_in(fixture.ask("SELECT VALUE [c.n] FROM c ORDER BY c.n" + descending));
  CHECK(fixture.last->presorted);
  REQUIRE(all.size() == 400);
  for (std::size_t i = 0; i < 400; ++i) {
    const bool is_absent = descending.empty() ? i < 40 : i >= 360;
    REQUIRE(all[i].as_array().empty() == is_absent);
  }
  CHECK(keys_read(fixture, "SELECT TOP 5 * FROM c ORDER BY c.n" + descending) == 5);
  CHECK(keys_read(fixture, "SELECT TOP 5 * FROM c ORDER BY c.n" + descending, {.partition_key = "q"}) == 5);
  // The walk continues from the items without the property to the others, or back.
  CHECK(keys_read(fixture, "SELECT * FROM c ORDER BY c.n" + descending + " OFFSET 38 LIMIT 4") <= 43);
  for (const std::uint64_t items : {1, 3, 10, 41}) {
    CHECK(fixture.ask_by_pages("SELECT VALUE [c.n] FROM c ORDER BY c.n" + descending, items) ==
          boost::json::serialize(all));
    CHECK(ids_in(fixture.ask_by_pages("SELECT VALUE c._id FROM c ORDER BY c.n" + descending, items,
                                      {.partition_key = "r"}))
              .size() == 100);
  }
}

TEST_CASE("an order of a small logical partition leaves the items of the others out") {
  SqlFixture fixture(indexed_container(1));
  for (int i = 0; i < 300; ++i) {
    fixture.put("k" + std::to_string(i % 30) + ":" + std::to_string(i),
                i % 4 == 0 ? R"({"m":1})" : R"({"n":)" + std::to_string(i) + "}");
  }
  fixture.wait_for_automatic_index();
  for (const std::string descending : {"", " DESC"}) {
    const auto ids =
        ids_in(fixture.ask("SELECT VALUE c._id FROM c ORDER BY c.n" + descending, {}, {.partition_key = "k7"}));
    CHECK(ids.size() == 10);
    CHECK(std::ranges::all_of(ids, [](const std::string& id) { return id.starts_with("k7:"); }));
  }
}

TEST_CASE("a condition that the property exists is planned without the absence index") {
  SqlFixture fixture(indexed_container(1));
  fill(fixture, 200);
  CHECK(ids_in(fixture.ask("SELECT VALUE c._id FROM c WHERE IS_DEFINED(c.n) ORDER BY c.n")).size() == 180);
  CHECK(ids_in(fixture.ask("SELECT VALUE c._id FROM c WHERE c.n >= 100 ORDER BY c.n DESC")).size() == 90);
  CHECK(fixture.last->presorted);
  CHECK(absences_of(fixture) == 0);
  CHECK(keys_read(fixture, "SELECT TOP 5 * FROM c ORDER BY c.n") == 5);
  CHECK(absences_of(fixture) == 1);
  CHECK(keys_read(fixture, "SELECT TOP 5 * FROM c WHERE c.n > 50 ORDER BY c.n") == 5);
  CHECK_FALSE(fixture.last->plan().branches[0].index->definition->absence);
}

TEST_CASE("an absence index also finds the items that lack its path") {
  SqlFixture fixture(indexed_container(2));
  for (const std::string partition : {"p", "q"}) fill(fixture, 500, partition);
  const std::string lacking = "SELECT VALUE c._id FROM c WHERE NOT IS_DEFINED(c.n)";
  const auto expected = fixture.ask(lacking);
  CHECK(ids_in(expected).size() == 100);
  fixture.ask("SELECT TOP 1 * FROM c ORDER BY c.n");
  const auto found = ids_in(fixture.ask(lacking));
  CHECK(fixture.used_index());
  CHECK(std::ranges::is_permutation(found, ids_in(expected)));
  CHECK(keys_read(fixture, lacking) <= 110);
  CHECK(ids_in(fixture.ask(lacking + " AND c.other = 1")).size() == 100);
  CHECK(ids_in(fixture.ask(lacking + " OR c.n = 7")).size() == 102);
}

TEST_CASE("writes keep an absence index as the documents are, and it survives a restart") {
  SqlFixture fixture(indexed_container(2));
  std::mt19937 random(7);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const auto body_of = [&]() -> std::string {
    if (below(3) == 0) return R"({"m":1})";
    return below(2) == 0 ? R"({"n":)" + std::to_string(below(20)) + "}"
                         : R"({"n":"s)" + std::to_string(below(9)) + "\"}";
  };
  std::map<std::string, std::string> bodies;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 60; ++i) {
      const std::string id = "k" + std::to_string(below(3)) + ":" + std::to_string(below(90));
      bodies[id] = body_of();
      const auto snapshot = *fixture.database->snapshot_for_document(id);
      const auto found = *snapshot.find(id);
      octavo::tests::EngineFixture::put(*fixture.database, id, bodies[id],
                                        found ? std::optional(found->revision) : std::nullopt);
    }
    fixture.wait_for_automatic_index();
    std::size_t absent = 0;
    for (const auto& [id, body] : bodies) absent += body.contains("\"n\"") ? 0 : 1;
    CAPTURE(round);
    const auto all = rows_in(fixture.ask("SELECT VALUE [c.n] FROM c ORDER BY c.n DESC"));
    CHECK(fixture.last->presorted);
    REQUIRE(all.size() == bodies.size());
    for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i].as_array().empty() == (i >= all.size() - absent));
    CHECK(fixture.index_problems() == std::vector<std::string>{});
    if (round % 2 == 1) fixture.restart();
  }
  // An index that came back from the disk is not built again, and serves the first query.
  fixture.restart();
  CHECK(absences_of(fixture) == 1);
}

TEST_CASE("absence indexes are limited in number, and other orders are sorted") {
  SqlFixture fixture(indexed_container(1));
  fill(fixture, 40);
  for (std::size_t i = 0; i < MangoIndexes::absences_max; ++i) {
    CHECK(fixture.indexes().want_absence(path_of("f" + std::to_string(i))));
  }
  CHECK(fixture.indexes().want_absence(path_of("f0")));
  CHECK_FALSE(fixture.indexes().want_absence(path_of("n")));
  CHECK(ids_in(fixture.ask("SELECT VALUE c._id FROM c ORDER BY c.n")).size() == 40);
  CHECK_FALSE(fixture.last->presorted);
}

TEST_CASE("readers cannot have absence indexes of any number of properties that documents lack") {
  SqlFixture fixture(indexed_container(1));
  fill(fixture, 40);
  for (int i = 0; i < 20; ++i) {
    CHECK(ids_in(fixture.ask("SELECT VALUE c._id FROM c ORDER BY c.none" + std::to_string(i))).size() == 40);
  }
  CHECK(absences_of(fixture) == 16);
  // One that most have.
  fixture.ask("SELECT * FROM c ORDER BY c.n");
  CHECK(fixture.last->presorted);
}

TEST_CASE("a policy that excludes a path removes its absence index") {
  SqlFixture fixture(indexed_container(2));
  for (const std::string partition : {"p", "q"}) fill(fixture, 100, partition);
  const auto first = fixture.page(parse_sql("SELECT VALUE c._id FROM c ORDER BY c.n"), {}, pages_of(15));
  CHECK(absences_of(fixture) == 1);
  REQUIRE(fixture.database->set_definition(policy_without("/n/?")));
  fixture.wait_for_automatic_index();
  CHECK(absences_of(fixture) == 0);
  // What the first page has returned is left out; the items without the property are in the order of their ids.
  const auto rest = fixture.page(parse_sql("SELECT VALUE c._id FROM c ORDER BY c.n"), {}, {}, first.continuation);
  REQUIRE(rest.error == "");
  auto ids = ids_in(SqlFixture::joined(first.results));
  for (const std::string& id : ids_in(SqlFixture::joined(rest.results))) ids.push_back(id);
  CHECK(ids.size() == 200);
  std::ranges::sort(ids);
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
  CHECK(fixture.index_problems() == std::vector<std::string>{});
}

TEST_CASE("rows for clients that merge have an empty entry for an item without the property") {
  SqlFixture fixture(indexed_container(1));
  fill(fixture, 50);
  const auto query = parse_sql(
      "SELECT c._rid, [{\"item\": c.n}] AS orderByItems, c._id AS payload FROM c WHERE true ORDER BY c.n DESC");
  std::vector<bool> absent;
  std::optional<std::string> continuation;
  do {
    const auto page = fixture.page(query, {}, pages_of(4), continuation);
    REQUIRE(page.error == "");
    for (const auto& row : rows_in(SqlFixture::joined(page.results))) {
      absent.push_back(row.at("orderByItems").at(0).as_object().empty());
    }
    continuation = page.continuation;
  } while (continuation);
  REQUIRE(absent.size() == 50);
  CHECK(std::ranges::is_sorted(absent));
  CHECK(std::ranges::count(absent, true) == 5);
}

TEST_CASE("pages that began before the absence index was ready continue by it, without a repeated or missing row") {
  const auto q = GENERATE(1U, 3U);
  const std::string query = GENERATE(
      as<std::string>{}, "SELECT VALUE c._id FROM c ORDER BY c.n", "SELECT VALUE c._id FROM c ORDER BY c.n DESC",
      "SELECT VALUE c._id FROM c WHERE c.same = 7 ORDER BY c.n DESC OFFSET 3 LIMIT 380",
      "SELECT VALUE CONCAT(c._id, ToString(t)) FROM c JOIN t IN c.tags ORDER BY c.n",
      "SELECT c._rid, [{\"item\": c.n}] AS orderByItems, c._id AS payload FROM c WHERE true ORDER BY c.n DESC");
  CAPTURE(q, query);
  SqlFixture fixture(indexed_container(q));
  for (int i = 0; i < 400; ++i) {
    const std::string value = i % 10 == 3 ? "" : R"("n":)" + std::to_string(i * 7 % 90) + ",";
    fixture.put("pqrs"[i % 4] + (":" + std::to_string(1000 + i)), "{" + value + R"("same":7,"tags":[1,2]})");
  }
  fixture.wait_for_automatic_index();
  const auto parsed = parse_sql(query);
  std::string results;
  const auto take = [&](std::shared_ptr<const sql::PreparedSql> prepared) {
    sql::SqlExecution execution(fixture.database, std::move(prepared), pages_of(20));
    REQUIRE(execution.run({.rows_max = 1'000'000}) == partitioning::ScanState::done);
    results += (results.empty() ? "" : ",") + execution.output();
    return std::pair(execution.continuation(), execution.statistics().keys_examined);
  };
  // This asks for the index and does not wait for it.
  const auto first = sql::prepare_sql_now(fixture.indexes(), parsed, {}, *fixture.shape);
  REQUIRE(first);
  REQUIRE_FALSE((*first)->presorted);
  auto continuation = take(*first).first;
  for (int pages = 1; continuation && pages < 100; ++pages) {
    const auto next = run_task(sql::prepare_sql(fixture.indexes(), parsed, {}, *fixture.shape, continuation));
    REQUIRE(next);
    CHECK((*next)->presorted);
    const auto [left, keys] = take(*next);
    // Equal rows for clients that merge are read together, and from the beginning on the first page by the index.
    const bool is_merged = query.contains("orderByItems");
    CHECK(keys <= (!is_merged ? 30 : pages == 1 ? 800 : 90));
    continuation = left;
  }
  CHECK_FALSE(continuation);
  const auto all = fixture.page(parsed, {}, {});
  CHECK(fixture.last->presorted);
  CHECK(rows_in(SqlFixture::joined(results)) == rows_in(SqlFixture::joined(all.results)));
}

TEST_CASE("pages by the order of an index that is not ready continue if it never is") {
  const std::string query = GENERATE(as<std::string>{}, "SELECT VALUE c._id FROM c ORDER BY c.n",
                                     "SELECT VALUE c._id FROM c ORDER BY c.n DESC");
  SqlFixture fixture(indexed_container(2));
  for (const std::string partition : {"p", "q"}) fill(fixture, 100, partition);
  const auto parsed = parse_sql(query);
  auto prepared = sql::prepare_sql_now(fixture.indexes(), parsed, {}, *fixture.shape);
  REQUIRE(prepared);
  REQUIRE_FALSE((*prepared)->presorted);
  sql::SqlExecution execution(fixture.database, *prepared, pages_of(15));
  REQUIRE(execution.run({.rows_max = 1'000'000}) == partitioning::ScanState::done);
  std::string results = execution.output();
  REQUIRE(fixture.database->set_definition(policy_without("/n/?")));
  fixture.wait_for_automatic_index();
  auto continuation = execution.continuation();
  for (int pages = 1; continuation && pages < 100; ++pages) {
    const auto page = fixture.page(parsed, {}, pages_of(15), continuation);
    REQUIRE(page.error == "");
    results += "," + page.results;
    continuation = page.continuation;
  }
  const auto ids = ids_in(SqlFixture::joined(results));
  REQUIRE(fixture.database->set_definition(R"({"indexing_policy":{"includedPaths":[{"path":"/*"}]}})"));
  fixture.wait_for_automatic_index();
  CHECK(ids == ids_in(fixture.ask(query)));
  CHECK(fixture.last->presorted);
}

TEST_CASE("an order that the index of a path cannot have is sorted without an absence index") {
  SqlFixture fixture(indexed_container(1));
  fill(fixture, 40);
  const std::string value = GENERATE(as<std::string>{}, "[1]", R"({"a":1})", '"' + std::string(600, 'x') + '"');
  fixture.put("p:9999", R"({"n":)" + value + "}");
  fixture.wait_for_automatic_index();
  CHECK(ids_in(fixture.ask("SELECT VALUE c._id FROM c ORDER BY c.n")).size() == 41);
  CHECK_FALSE(fixture.last->presorted);
  CHECK_FALSE(fixture.indexes().is_making_absence(path_of("n")));
}
