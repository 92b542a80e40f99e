// Local indexes of a physical partition that is split.
#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include <catch2/catch.hpp>

#include "partitioning/partition_split.h"
#include "query/index/index_check.h"
#include "query/index/index_manager.h"
#include "support/engine_fixture.h"
#include "support/patience.h"

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
  REQUIRE(run_task(check_indexes(database, report)).has_value());
  for (const auto& problem : report.problems) FAIL_CHECK(problem);
}

constexpr std::string_view kIndexOfN =
    R"({"language":"query","options":{"partitioned":true},"views":{"n":{"map":{"fields":{"n":"asc"}},)"
    R"("reduce":"_count","options":{"def":{"fields":["n"]}}}}})";

}  // namespace

TEST_CASE("local and automatic indexes are there after a split, and sound") {
  ActiveTasks tasks;
  EngineFixture fixture(IndexManager::factory(&tasks));
  const auto database = fixture.create("shop", {.partitioned = true, .auto_index = true});
  EngineFixture::put(*database, "_design/by-n", std::string(kIndexOfN));
  for (int i = 0; i < 500; ++i) {
    EngineFixture::put(*database, "key" + std::to_string(i % 40) + ":" + std::to_string(i),
                       R"({"n":)" + std::to_string(i) + "}");
  }
  auto& indexes = *IndexManager::of(*database);
  const auto is_built = [&] {
    const auto catalog = indexes.catalog().value();
    return catalog->automatic && catalog->indexes.size() == 1 && catalog->indexes.front().is_built();
  };
  REQUIRE(becomes_true(is_built));
  const std::function<bool()> never = [] { return false; };

  REQUIRE(partitioning::PartitionSplit(database, 0, never).run().has_value());
  CHECK(is_built());
  check_index_rows(*database);

  // An index that is defined just now has to be built on the new ones, too.
  EngineFixture::put(*database, "_design/by-m", std::string(kIndexOfN));
  REQUIRE(partitioning::PartitionSplit(database, 1, never).run().has_value());
  CHECK(becomes_true([&] {
    const auto catalog = indexes.catalog().value();
    return catalog->indexes.size() == 2 && std::ranges::all_of(catalog->indexes, &IndexView::is_built);
  }));
  check_index_rows(*database);
}

}  // namespace octavo::query
