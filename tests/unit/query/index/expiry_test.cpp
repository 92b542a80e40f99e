// Documents that expire: their removal, waited for and in the background.
#include "query/database/expiry.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "partitioning/partition_move.h"
#include "query/database/database_services.h"
#include "storage/partition/partition_check.h"
#include "support/engine_fixture.h"
#include "support/patience.h"
#include "unit/query/definition_reader.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::run_task;
using std::chrono::seconds;

constexpr std::string_view end_unless_they_say = R"({"ttl":1})";
constexpr std::string_view end_if_they_say = R"({"ttl":-1})";

void sleep_beyond_the_end() {
  std::this_thread::sleep_for(std::chrono::milliseconds{2'050});
}

Expected<void> wait_until_deleted(partitioning::Database& database) {
  const auto deadline = std::chrono::steady_clock::now() + octavo::tests::patiently(seconds{30});
  return run_task(services_of(database)->wait_for_expirations(deadline));
}

storage::DocumentStatistics statistics(partitioning::Database& database) {
  storage::DocumentStatistics sum;
  for (const std::size_t partition_id : database.partition_ids()) {
    const auto snapshot = database.snapshot(partition_id);
    REQUIRE(snapshot);
    const auto one = snapshot->statistics().value();
    sum.document_count += one.document_count;
    sum.deleted_count += one.deleted_count;
  }
  return sum;
}

bool knows_all_ends(partitioning::Database& database) {
  for (const std::size_t partition_id : database.partition_ids()) {
    const auto snapshot = database.snapshot(partition_id);
    REQUIRE(snapshot);
    if (!snapshot->expired_documents(1).value().whole) return false;
  }
  return true;
}

void check_rows(partitioning::Database& database, std::int64_t default_s) {
  const auto rule = time_to_live(default_s);
  for (const std::size_t partition_id : database.partition_ids()) {
    auto& partition = database.physical_partition(partition_id);
    partition.set_time_to_live(nullptr);
    const auto report = storage::check_partition(partition, database.partitioned(), rule.get()).value();
    for (const auto& problem : report.problems) FAIL_CHECK(problem);
  }
}

}  // namespace

TEST_CASE("a caller that waits finds no document that had expired by then") {
  ActiveTasks tasks;
  EngineFixture fixture(DatabaseServices::factory(&tasks, octavo::tests::read_definition));
  const auto database = fixture.create("notes", {.q = 2, .definition = std::string(end_if_they_say)});
  for (int i = 0; i < 100; ++i) {
    EngineFixture::put(*database, "n" + std::to_string(i), i % 2 == 0 ? R"({"ttl":1})" : R"({"ttl":1000})");
  }
  REQUIRE(wait_until_deleted(*database));
  sleep_beyond_the_end();
  REQUIRE(wait_until_deleted(*database));
  CHECK(statistics(*database).document_count == 50);
  CHECK(statistics(*database).deleted_count == 50);
  check_rows(*database, -1);
}

TEST_CASE("documents from before their database had a time to live are found, too") {
  ActiveTasks tasks;
  EngineFixture fixture(DatabaseServices::factory(&tasks, octavo::tests::read_definition));
  const auto database = fixture.create("notes", {});
  for (int i = 0; i < 50; ++i) EngineFixture::put(*database, "n" + std::to_string(i), "{}");
  EngineFixture::put(*database, "stays", R"({"ttl":-1})");
  REQUIRE(database->set_definition(std::string(end_unless_they_say)));
  sleep_beyond_the_end();
  REQUIRE(wait_until_deleted(*database));
  CHECK(statistics(*database).document_count == 1);
  check_rows(*database, 1);
}

TEST_CASE("expired documents are deleted in the background, without a request") {
  ActiveTasks tasks;
  EngineFixture fixture(DatabaseServices::factory(&tasks, octavo::tests::read_definition));
  const auto database = fixture.create("notes", {.definition = std::string(end_unless_they_say)});
  for (int i = 0; i < 1'200; ++i) EngineFixture::put(*database, "n" + std::to_string(i), "{}");
  const auto until = std::chrono::steady_clock::now() + octavo::tests::patiently(seconds{30});
  while (statistics(*database).document_count > 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
  CHECK(statistics(*database).document_count == 0);
}

TEST_CASE("without documents that expire, requests do not wait") {
  ActiveTasks tasks;
  EngineFixture fixture(DatabaseServices::factory(&tasks, octavo::tests::read_definition));
  const auto database = fixture.create("notes", {});
  EngineFixture::put(*database, "a", R"({"ttl":1})");
  CHECK(run_task(services_of(*database)->wait_for_expirations(std::chrono::steady_clock::now())));
  REQUIRE(database->set_definition(std::string(end_unless_they_say)));
  REQUIRE(database->set_definition(""));
  CHECK(run_task(services_of(*database)->wait_for_expirations(std::chrono::steady_clock::now())));
  CHECK(statistics(*database).document_count == 1);
}

TEST_CASE("the parts of a partition that was split know when their documents expire") {
  ActiveTasks tasks;
  EngineFixture fixture(DatabaseServices::factory(&tasks, octavo::tests::read_definition));
  const auto database = fixture.create("notes", {.partitioned = true, .definition = std::string(end_if_they_say)});
  for (int i = 0; i < 200; ++i) {
    EngineFixture::put(*database, "key" + std::to_string(i % 20) + ":" + std::to_string(i),
                       i % 2 == 0 ? R"({"ttl":1000})" : "{}");
  }
  const std::function<bool()> never = [] { return false; };
  REQUIRE(partitioning::PartitionMove(database, {0}, never).run().has_value());
  REQUIRE(database->partition_ids().size() == 2);
  CHECK(knows_all_ends(*database));
  check_rows(*database, -1);
}

}  // namespace octavo::query
