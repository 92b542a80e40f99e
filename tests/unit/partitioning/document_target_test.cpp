// Targets of documents: located once, and found again after a split.
#include "partitioning/keys/document_target.h"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/optimistic_transaction.h"
#include "partitioning/partition_move.h"
#include "support/engine_fixture.h"
#include "support/patience.h"

using namespace octavo;
using namespace octavo::partitioning;
using octavo::tests::EngineFixture;
using octavo::tests::run_task;

namespace {

// Documents of different partition keys, with which both parts of a split have some.
std::vector<std::string> many_ids() {
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i) ids.push_back("key" + std::to_string(i) + ":a document");
  return ids;
}

void put_each(Database& database, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) EngineFixture::put(database, id, "{}");
}

std::vector<DocumentTarget> targets_of(const Database& database, const std::vector<std::string>& ids) {
  std::vector<DocumentTarget> targets;
  for (const std::string& id : ids) targets.push_back(database.target_of(id));
  return targets;
}

void split_partition(const std::shared_ptr<Database>& database, std::size_t partition_id) {
  REQUIRE(PartitionMove(database, {partition_id}, [] { return false; }).run());
}

storage::DocumentWrite write_of(std::string id, std::string body) {
  storage::DocumentWrite write;
  write.id = std::move(id);
  write.body = std::move(body);
  write.base = storage::WriteBase::any_winner;
  return write;
}

std::string stored_body(const Database& database, const DocumentTarget& target) {
  const auto snapshot = database.snapshot(target).value();
  const auto document = snapshot.find(target.id()).value();
  return document && !document->deleted ? std::string(document->body) : "";
}

// Reads, writes and charges every target; the partitions are found as for a target that is made now.
void check_targets(Database& database, const std::vector<std::string>& ids,
                   const std::vector<DocumentTarget>& targets) {
  std::vector<storage::DocumentWrite> writes;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CAPTURE(ids[i]);
    CHECK(database.locate(targets[i]) == database.locate_document(ids[i]));
    CHECK(stored_body(database, targets[i]) == "{}");
    const std::size_t partition_id = database.locate_document(ids[i]);
    const RequestUnits before = database.meter().report(partition_id, 0).total;
    database.meter().spend(targets[i], 7);
    CHECK(database.meter().report(partition_id, 0).total == Approx(before + 7));
    writes.push_back(write_of(ids[i], R"({"n":1})"));
  }
  const auto results = run_task(database.write(targets, std::move(writes)));
  REQUIRE(results.size() == ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CAPTURE(ids[i]);
    REQUIRE(results[i]);
    CHECK_FALSE(results[i]->created);
    const auto snapshot = database.snapshot_for_document(ids[i]).value();
    CHECK(snapshot.find(ids[i]).value()->revision == results[i]->revision);
    CHECK(stored_body(database, targets[i]) == R"({"n":1})");
  }
}

}  // namespace

TEST_CASE("a target has the partition key and the partition of its document") {
  EngineFixture fixture;
  const bool partitioned = GENERATE(true, false);
  const std::uint32_t q = GENERATE(1U, 4U);
  const auto database = fixture.create("d", {.partitioned = partitioned, .q = q});
  for (const std::string id : {"p:1", "other:2", "_design/d", "_local/x"}) {
    CAPTURE(id, partitioned, q);
    const DocumentTarget target = database->target_of(id);
    CHECK(target.id() == id);
    CHECK(target.partition_key() == partition_key_of(id, partitioned));
    CHECK(database->locate(target) == database->locate_document(id));
  }
}

TEST_CASE("the target of a logical partition is where its documents are") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true, .q = 4});
  const DocumentTarget target = database->target_of_partition_key("p");
  CHECK(target.id().empty());
  CHECK(target.partition_key() == "p");
  CHECK(database->locate(target) == database->locate_partition_key("p"));
  CHECK(database->locate(target) == database->locate_document("p:1"));
}

TEST_CASE("a target that was made before a database's first split is found after it") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true});
  const auto ids = many_ids();
  put_each(*database, ids);
  const auto targets = targets_of(*database, ids);
  split_partition(database, 0);
  check_targets(*database, ids, targets);
}

TEST_CASE("a target that was made before a later split is found after it") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true, .q = 2});
  const auto ids = many_ids();
  put_each(*database, ids);
  const auto targets = targets_of(*database, ids);
  split_partition(database, 0);
  CHECK(database->physical_partition_count() == 3);
  check_targets(*database, ids, targets);
}

TEST_CASE("the target of a document without a partition key is found after a split") {
  EngineFixture fixture;
  const auto database = fixture.create("d");
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i) ids.push_back("document" + std::to_string(i));
  put_each(*database, ids);
  const auto targets = targets_of(*database, ids);
  split_partition(database, 0);
  check_targets(*database, ids, targets);
}

TEST_CASE("requests on targets that were made before a split are refused where throughput is used up") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true});
  const auto ids = many_ids();
  put_each(*database, ids);
  const auto targets = targets_of(*database, ids);
  split_partition(database, 0);
  const auto budget = std::make_shared<ThroughputBudget>(2);
  budget->set_rate(10);
  database->meter().set_budget(budget);
  database->meter().spend(targets.front(), 1000);
  for (const DocumentTarget& target : targets) {
    const bool used_up = database->locate(target) == database->locate(targets.front());
    CHECK(database->meter().admit(target).has_value() != used_up);
  }
}

TEST_CASE("a write asks for the throughput of the physical partitions that it changes, and of no other") {
  // Given two physical partitions that have used up their throughput
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true, .q = 2});
  const auto ids = many_ids();
  const auto targets = targets_of(*database, ids);
  const auto budget = std::make_shared<ThroughputBudget>(2);
  budget->set_rate(10);
  database->meter().set_budget(budget);
  for (const std::size_t partition_id : database->partition_ids()) database->meter().spend(partition_id, {}, 1000);
  const std::size_t own = database->locate(targets.front());
  const std::size_t other = database->partition_ids()[database->partition_ids().front() == own ? 1 : 0];
  const auto refused = [&](std::size_t partition_id) { return database->meter().report(partition_id, 0).refused; };
  // When a document of one of them is written
  std::vector<storage::DocumentWrite> one;
  one.push_back(write_of(ids.front(), "{}"));
  const auto results = run_task(database->write(std::span(targets).first(1), std::move(one)));
  REQUIRE(results.size() == 1);
  REQUIRE_FALSE(results.front());
  CHECK(results.front().error().code == ErrorCode::throttled);
  // Then the other one has refused nothing
  CHECK(refused(own) == 1);
  CHECK(refused(other) == 0);
  // When documents of both are written
  std::vector<storage::DocumentWrite> all;
  for (const std::string& id : ids) all.push_back(write_of(id, "{}"));
  for (const auto& result : run_task(database->write(targets, std::move(all)))) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::throttled);
  }
  // Then each has refused once
  CHECK(refused(own) == 2);
  CHECK(refused(other) == 1);
}

TEST_CASE("a transaction on a target that was made before a split is committed") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true});
  const auto ids = many_ids();
  put_each(*database, ids);
  const auto targets = targets_of(*database, ids);
  split_partition(database, 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto attempt = [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
      OCTAVO_TRY(const auto written, transaction.apply(write_of(ids[i], R"({"n":2})")));
      if (!written) return std::unexpected(written.error());
      return Verdict::commit;
    };
    REQUIRE(run_task(run_optimistically(database, targets[i], false, attempt)));
    CHECK(stored_body(*database, targets[i]) == R"({"n":2})");
  }
}

TEST_CASE("local documents are written to the partition of a target that was made before a split") {
  EngineFixture fixture;
  const auto database = fixture.create("d");
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back("_local/" + std::to_string(i));
  for (int i = 0; i < 40; ++i) EngineFixture::put(*database, "document" + std::to_string(i), "{}");
  const auto targets = targets_of(*database, ids);
  split_partition(database, 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    REQUIRE(run_task(database->write_local(targets[i], {.id = ids[i], .body = R"({"at":1})"})));
    const auto local = database->snapshot_for_document(ids[i]).value().find_local(ids[i]).value();
    CHECK(local.has_value());
  }
}

TEST_CASE("an unacknowledged write is charged to its partition key after the id it was made from is gone") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true, .q = 2});
  {
    const auto id = std::make_unique<std::string>("p:1");
    REQUIRE(database->write_unacknowledged(database->target_of(*id), write_of("p:1", "{}")));
    *id = "changed before the commit";
  }
  const std::size_t partition_id = database->locate_partition_key("p");
  const auto until = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds{30});
  while (database->meter().recent_of(partition_id, "p").units == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  CHECK(database->meter().recent_of(partition_id, "p").units > 0);
}

TEST_CASE("unacknowledged writes are waited for until they are committed, also while their partition is split") {
  EngineFixture fixture;
  const auto database = fixture.create("d");
  for (int i = 0; i < 40; ++i) EngineFixture::put(*database, "before" + std::to_string(i), "{}");
  bool is_split = false;
  std::jthread splitting([&] { is_split = PartitionMove(database, {0}, [] { return false; }).run().has_value(); });
  for (int i = 0; i < 400; ++i) {
    const std::string id = std::to_string(i);
    REQUIRE(database->write_unacknowledged(database->target_of(id), write_of(id, "{}")));
    run_task([](Database& waiting) -> Task<bool> {
      co_await waiting.wait_for_unacknowledged();
      co_return true;
    }(*database));
    REQUIRE(stored_body(*database, database->target_of(id)) == "{}");
  }
  splitting.join();
  CHECK(is_split);
}

TEST_CASE("a target can refer to a copy of its text") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {.partitioned = true, .q = 4});
  std::string id = "p:1";
  const DocumentTarget target = database->target_of(id);
  const std::string copy = id;
  const DocumentTarget other = target.referring_to_id(copy);
  const std::string key = "p";
  const DocumentTarget partition = target.referring_to_key(key);
  id = "?:?";
  CHECK(other.id() == "p:1");
  CHECK(other.partition_key() == "p");
  CHECK(partition.id().empty());
  CHECK(partition.partition_key() == "p");
  CHECK(database->locate(other) == database->locate_document("p:1"));
  CHECK(database->locate(partition) == database->locate_document("p:1"));
}
