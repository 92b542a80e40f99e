// Local indexes of physical partitions that are split and merged.
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/partition_move.h"
#include "query/database/database_services.h"
#include "query/database/index_check.h"
#include "support/engine_fixture.h"
#include "support/patience.h"
#include "unit/query/definition_reader.h"
#include "unit/query/sql/sql_fixture.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::run_task;

bool becomes_true(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds{30});
  while (!holds() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  return holds();
}

void check_index_rows(partitioning::Database& database) {
  storage::CheckReport report;
  REQUIRE(run_task(check_indexes(*services_of(database), report)).has_value());
  for (const auto& problem : report.problems) FAIL_CHECK(problem);
}

/// The results of a query, in the middle of which a physical partition is split, or two are merged.
template <class Execution>
std::string results_across_move(Execution&& execution, const std::shared_ptr<partitioning::Database>& database,
                                std::vector<std::size_t> partition_ids) {
  std::string results;
  bool moved = false;
  while (true) {
    const auto state = execution.run({20});
    if (!state) return state.error().reason;
    results += execution.output();
    execution.output().clear();
    if (*state == partitioning::ScanState::done) return moved ? results : "nothing was moved";
    if (!std::exchange(moved, true)) {
      const auto done = partitioning::PartitionMove(database, partition_ids, [] { return false; }).run();
      if (!done) return done.error().reason;
    }
  }
}

/// The numbers at `n`, in order.
std::vector<std::int64_t> numbers_in(const std::string& results) {
  std::vector<std::int64_t> numbers;
  boost::system::error_code error;
  const auto rows = boost::json::parse("[" + results + "]", error);
  if (error) throw std::runtime_error(results);
  for (const auto& row : rows.as_array()) numbers.push_back((row.is_object() ? row.at("n") : row).as_int64());
  std::ranges::sort(numbers);
  return numbers;
}

constexpr std::string_view index_of_n =
    R"({"language":"query","options":{"partitioned":true},"views":{"n":{"map":{"fields":{"n":"asc"}},)"
    R"("reduce":"_count","options":{"def":{"fields":["n"]}}}}})";

}  // namespace

TEST_CASE("local and automatic indexes are there after a split, and sound") {
  ActiveTasks tasks;
  EngineFixture fixture(DatabaseServices::factory(&tasks, octavo::tests::read_definition));
  const auto database = fixture.create("shop", {.partitioned = true, .auto_index = true});
  EngineFixture::put(*database, "_design/by-n", std::string(index_of_n));
  for (int i = 0; i < 500; ++i) {
    EngineFixture::put(*database, "key" + std::to_string(i % 40) + ":" + std::to_string(i),
                       R"({"n":)" + std::to_string(i) + "}");
  }
  auto& indexes = services_of(*database)->indexes();
  const auto is_built = [&] {
    const auto catalog = indexes.catalog().value();
    return catalog->automatic && catalog->indexes.size() == 1 && catalog->indexes.front().is_built();
  };
  REQUIRE(becomes_true(is_built));
  const std::function<bool()> never = [] { return false; };

  REQUIRE(partitioning::PartitionMove(database, {0}, never).run().has_value());
  CHECK(is_built());
  check_index_rows(*database);

  // An index that is defined just now has to be built on the new ones, too.
  EngineFixture::put(*database, "_design/by-m", std::string(index_of_n));
  REQUIRE(partitioning::PartitionMove(database, {1}, never).run().has_value());
  CHECK(becomes_true([&] {
    const auto catalog = indexes.catalog().value();
    return catalog->indexes.size() == 2 && std::ranges::all_of(catalog->indexes, &IndexView::is_built);
  }));
  check_index_rows(*database);
}

TEST_CASE("beside an automatic index a local one has the document that makes its logical partition large") {
  EngineFixture fixture(DatabaseServices::factory(nullptr, octavo::tests::read_definition));
  const auto database = fixture.create("shop", {.partitioned = true, .auto_index = true});
  EngineFixture::put(*database, "_design/by-n", std::string(index_of_n));
  REQUIRE(becomes_true([&] {
    const auto catalog = services_of(*database)->indexes().catalog().value();
    return catalog->automatic && catalog->indexes.size() == 1 && catalog->indexes.front().is_built();
  }));
  for (int i = 0; i < 100; ++i) {
    EngineFixture::put(*database, "key:" + std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
  }
  check_index_rows(*database);
}

TEST_CASE("a query that began before a split continues by its local or automatic index") {
  octavo::tests::SqlFixture fixture(partitioning::CreateDatabaseOptions{.partitioned = true, .auto_index = true});
  fixture.put("_design/by-n", index_of_n);
  std::vector<std::int64_t> all;
  std::vector<std::int64_t> of_one;
  for (int i = 0; i < 500; ++i) {
    fixture.put("key" + std::to_string(i % 5) + ":" + std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
    all.push_back(i);
    if (i % 5 == 1) of_one.push_back(i);
  }
  fixture.wait_for_indexes();
  REQUIRE(becomes_true([&] { return fixture.indexes().automatic_progress_percent() == 100; }));
  const auto& database = fixture.database;
  const std::string request = R"({"selector":{"n":{"$gte":0}},"limit":1000})";
  const auto prepare = [&](const std::string& key) {
    return *run_task(prepare_find(fixture.indexes(), request, key, false));
  };
  const auto is_automatic = [](const Plan& plan) { return plan.branches[0].index->definition->automatic != nullptr; };
  const std::size_t sort_bytes_max = fixture.engine.settings().sort_bytes_max;

  const auto by_local = prepare("key1");
  REQUIRE_FALSE(is_automatic(by_local->plans[0]));
  CHECK(numbers_in(results_across_move(FindExecution(database, by_local, "key1", sort_bytes_max), database,
                                       {database->locate_partition_key("key1")})) == of_one);

  const auto by_automatic = prepare({});
  REQUIRE(is_automatic(by_automatic->plans[0]));
  CHECK(numbers_in(results_across_move(FindExecution(database, by_automatic, {}, sort_bytes_max), database,
                                       {database->locate_partition_key("key1")})) == all);

  const auto query = octavo::tests::parse_sql("SELECT VALUE c.n FROM c WHERE c.n >= 0");
  const auto by_sql = *run_task(sql::prepare_sql(fixture.indexes(), query, {}, sql::document_rows()));
  REQUIRE(is_automatic(by_sql->plan()));
  CHECK(numbers_in(results_across_move(sql::SqlExecution(database, by_sql, {}), database,
                                       {database->locate_partition_key("key2")})) == all);
}

TEST_CASE("the automatic index serves queries of the whole database when its first physical partition is no more") {
  octavo::tests::SqlFixture fixture(partitioning::CreateDatabaseOptions{.partitioned = true, .auto_index = true});
  for (int i = 0; i < 300; ++i) {
    fixture.put("key" + std::to_string(i % 20) + ":" + std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
  }
  const auto is_built = [&] { return fixture.indexes().automatic_progress_percent() == 100; };
  REQUIRE(becomes_true(is_built));
  REQUIRE(partitioning::PartitionMove(fixture.database, {0}, [] { return false; }).run().has_value());
  fixture.restart();
  REQUIRE(becomes_true(is_built));
  const auto reply = fixture.find(R"({"selector":{"n":{"$lt":50}},"limit":100,"execution_stats":true})");
  CHECK(octavo::tests::ids_of(reply).size() == 50);
  CHECK(reply.at("execution_stats").at("total_keys_examined") == 50);
  CHECK(fixture.ask("SELECT VALUE c.n FROM c WHERE c.n = 7") == "[7]");
  CHECK(fixture.used_index());
}

TEST_CASE("local and automatic indexes are there after a merge, and sound") {
  EngineFixture fixture(DatabaseServices::factory(nullptr, octavo::tests::read_definition));
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2, .auto_index = true});
  EngineFixture::put(*database, "_design/by-n", std::string(index_of_n));
  const auto put_one = [&](int i) {
    EngineFixture::put(*database, "key" + std::to_string(i % 40) + ":" + std::to_string(i),
                       R"({"n":)" + std::to_string(i) + "}");
  };
  for (int i = 0; i < 500; ++i) put_one(i);
  const auto is_built = [&] {
    const auto catalog = services_of(*database)->indexes().catalog().value();
    return catalog->automatic && catalog->indexes.size() == 1 && catalog->indexes.front().is_built();
  };
  REQUIRE(becomes_true(is_built));

  REQUIRE(partitioning::PartitionMove(database, {0, 1}, [] { return false; }).run().has_value());
  CHECK(database->partition_ids() == std::vector<std::size_t>{2});
  CHECK(is_built());
  for (int i = 500; i < 550; ++i) put_one(i);
  check_index_rows(*database);
}

TEST_CASE("a query that began before a merge continues by its local or automatic index") {
  octavo::tests::SqlFixture fixture(
      partitioning::CreateDatabaseOptions{.partitioned = true, .q = 4, .auto_index = true});
  fixture.put("_design/by-n", index_of_n);
  std::vector<std::int64_t> all;
  for (int i = 0; i < 500; ++i) {
    fixture.put("key" + std::to_string(i % 25) + ":" + std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
    all.push_back(i);
  }
  fixture.wait_for_indexes();
  REQUIRE(becomes_true([&] { return fixture.indexes().automatic_progress_percent() == 100; }));
  const auto& database = fixture.database;
  const auto by_automatic =
      *run_task(prepare_find(fixture.indexes(), R"({"selector":{"n":{"$gte":0}},"limit":1000})", {}, false));
  CHECK(numbers_in(results_across_move(
            FindExecution(database, by_automatic, {}, fixture.engine.settings().sort_bytes_max), database, {0, 1})) ==
        all);

  // It reads one physical partition after the other: the merge meets it in the first of both.
  const auto in_turn = octavo::tests::parse_sql("SELECT VALUE c.n FROM c WHERE c.n >= 0");
  const auto by_sql = *run_task(sql::prepare_sql(fixture.indexes(), in_turn, {}, sql::document_rows()));
  const auto first = database->partition_ids()[0];
  const auto second = database->partition_ids()[1];
  CHECK(numbers_in(results_across_move(sql::SqlExecution(database, by_sql, {}), database, {first, second})) == all);
}

}  // namespace octavo::query
