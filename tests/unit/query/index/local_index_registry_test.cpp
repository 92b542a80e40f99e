// What local indexes do when the rows that define them are damaged.
#include "query/index/local/local_index_registry.h"

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "query/index/automatic_index.h"
#include "query/index/local/local_indexes.h"
#include "support/engine_fixture.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;

// Runs `task` in the writer's queue, after everything that is in it.
Expected<void> run_in_queue(storage::PhysicalPartition& partition, storage::PhysicalPartition::IndexTask task) {
  std::promise<Expected<void>> done;
  partition.run_index_task(std::move(task), [&](const Expected<void>& result) { done.set_value(result); });
  return done.get_future().get();
}

Expected<void> wait_for_queue(storage::PhysicalPartition& partition) {
  return run_in_queue(partition, [](storage::WriteTransaction&, storage::Tree) -> Expected<void> { return {}; });
}

// nullopt: erases the row.
Expected<void> set_last_number(storage::PhysicalPartition& partition, const std::optional<std::string>& row) {
  return run_in_queue(partition, [&](storage::WriteTransaction& transaction, storage::Tree tree) -> Expected<void> {
    if (row) return transaction.put(tree, registry::key('N'), *row);
    OCTAVO_TRY_VOID(transaction.erase(tree, registry::key('N')));
    return {};
  });
}

}  // namespace

TEST_CASE("no local index gets a number while the row of the last number is damaged") {
  std::optional<std::string> damaged;
  SECTION("the row is missing") {}
  SECTION("the row is empty") {
    damaged = "";
  }
  SECTION("the row is too short") {
    damaged = std::string("\0\0\1", 3);
  }
  SECTION("the number is that before the index that exists") {
    damaged = std::string("\0\0\0\0", 4);
  }
  SECTION("the number after the last one is 0") {
    damaged = std::string("\xff\xff\xff\xff", 4);
  }

  // Given a local index with number 1
  EngineFixture engine;
  const auto database = engine.create("db", {.partitioned = true, .q = 1});
  EngineFixture::put(*database, "p:1", R"({"n":1})");
  auto& partition = database->physical_partition(0);
  const auto indexes = std::make_shared<LocalIndexes>(partition, nullptr, "db");
  const auto first = automatic_definition(AutomaticIndex::of_everything(StringOrder::bytes));
  const auto second = automatic_definition(AutomaticIndex::of_everything(StringOrder::icu));
  const auto number_of = [&](const IndexDefinitionPtr& definition) {
    return LocalIndexes::find_ready(database->snapshot(0).value(), definition->identity);
  };
  indexes->reconcile({first}, [] {});
  REQUIRE(wait_for_queue(partition));
  REQUIRE(number_of(first) == 1);
  // When the row is damaged, and another index is wanted
  REQUIRE(set_last_number(partition, damaged));
  indexes->reconcile({second}, [] {});
  REQUIRE(wait_for_queue(partition));
  // Then it is not made, and the first one serves queries
  CHECK(number_of(second) == 0);
  CHECK(number_of(first) == 1);
  // When the row is repaired
  REQUIRE(set_last_number(partition, std::string("\0\0\0\1", 4)));
  indexes->resume();
  REQUIRE(wait_for_queue(partition));
  // Then it gets the next number
  CHECK(number_of(second) == 2);
  indexes->shut_down();
}

}  // namespace octavo::query
