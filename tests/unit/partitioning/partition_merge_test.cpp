// Two physical partitions become one while the database is in use.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

#include "partitioning/keys/partition_key.h"
#include "partitioning/keys/range_parts.h"
#include "partitioning/move_queue.h"
#include "partitioning/partition_move.h"
#include "partitioning/scan.h"
#include "support/dropped_tombstones.h"
#include "support/engine_fixture.h"
#include "support/eventually.h"
#include "support/patience.h"
#include "unit/partitioning/database_content.h"

namespace octavo::partitioning {
namespace {

using namespace octavo::tests::content;
using octavo::tests::EngineFixture;
using octavo::tests::run_task;
using Ids = std::vector<std::size_t>;

Expected<void> move_partitions(const std::shared_ptr<Database>& database, Ids sources) {
  return PartitionMove(database, std::move(sources), [] { return false; }).run();
}

void purge_document(Database& database, const std::string& id, const storage::Revision& revision) {
  std::vector<storage::PurgeRequest> requests;
  requests.push_back({id, {}, {revision}});
  REQUIRE(run_task(database.purge(std::move(requests))).has_value());
}

/// Ids of documents in the first and in the second of two physical partitions.
std::pair<std::vector<std::string>, std::vector<std::string>> ids_by_partition(const Database& database, int count) {
  std::pair<std::vector<std::string>, std::vector<std::string>> ids;
  for (int i = 0; i < count; ++i) {
    const std::string id = key_of(i);
    const bool in_first = database.locate_document(id) == database.partition_ids().front();
    (in_first ? ids.first : ids.second).push_back(id);
  }
  return ids;
}

}  // namespace

TEST_CASE("a merge leaves documents, revisions, sequences and the feed as they were") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2});
  fill(*database, 300);
  const auto first = EngineFixture::put(*database, "key1:twice", R"({"n":1})");
  EngineFixture::put(*database, "key1:twice", R"({"n":2})", first.revision);
  const auto gone = EngineFixture::put(*database, "key2:gone", R"({"n":1})");
  EngineFixture::put(*database, "key2:gone", "{}", gone.revision, true);
  const auto before = documents_of(*database);
  const auto feed = feed_of(*database);
  const auto statistics = database->statistics().value();
  const auto watermark = database->watermark();

  REQUIRE(move_partitions(database, {0, 1}).has_value());

  CHECK(database->partition_ids() == Ids{2});
  const auto& range = database->partition_map().ranges().front();
  CHECK(range.first == 0);
  CHECK(range.last == hash_space_end - 1);
  CHECK(range.ancestors == std::vector<std::uint32_t>{0, 1});
  CHECK(documents_of(*database) == before);
  CHECK(feed_of(*database) == feed);
  CHECK(database->statistics().value().document_count == statistics.document_count);
  CHECK(database->statistics().value().deleted_count == statistics.deleted_count);
  CHECK(database->statistics().value().external_bytes == statistics.external_bytes);
  CHECK(database->watermark() == watermark);
  CHECK(database->snapshot(2).value().counters().value().last_sequence == watermark);
  check_sound(*database);
}

TEST_CASE("conflicts and local documents of both go along with a merge, and purges are added up") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2});
  const auto [low, high] = ids_by_partition(*database, 40);
  for (const std::string& id : {low[0], high[0]}) {
    EngineFixture::put(*database, id, R"({"n":1})");
    std::vector<storage::DocumentWrite> writes(1);
    writes[0].id = id;
    writes[0].replicated = true;
    writes[0].history = {storage::Revision::parse("1-ffffffffffffffffffffffffffffffff").value()};
    writes[0].body = R"({"n":"other"})";
    REQUIRE(run_task(database->write(std::move(writes))).front().has_value());
    REQUIRE(run_task(database->write_local({.id = "_local/" + id, .body = R"({"at":7})"})).has_value());
  }
  for (const std::string& id : {low[1], low[2], high[1]}) {
    purge_document(*database, id, EngineFixture::put(*database, id, "{}").revision);
  }

  REQUIRE(move_partitions(database, {1, 0}).has_value());

  for (const std::string& id : {low[0], high[0]}) {
    const auto snapshot = database->snapshot_for_document(id).value();
    const auto document = snapshot.find(id).value();
    REQUIRE(document.has_value());
    CHECK(document->has_conflicts);
    CHECK(snapshot.find_local("_local/" + id).value()->body == R"({"at":7})");
  }
  CHECK(database->purge_count().value() == 3);
  check_sound(*database);
}

TEST_CASE("a merged partition knows the tombstones that either source has dropped") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2});
  fill(*database, 60);
  const auto [low, high] = ids_by_partition(*database, 40);
  const auto remove_one = [&](const std::string& id) {
    const auto found = database->snapshot_for_document(id).value().find(id).value();
    return EngineFixture::put(*database, id, "{}", found->revision, true).sequence;
  };
  remove_one(low[0]);
  const auto last = remove_one(high[0]);
  CHECK(octavo::tests::drop_tombstones(*database) == 2);

  REQUIRE(move_partitions(database, {0, 1}).has_value());

  CHECK(database->snapshot(2).value().counters().value().dropped_through == last);
  CHECK(database->statistics().value().deleted_count == 0);
  check_sound(*database);
}

TEST_CASE("the versions of both sources are in the merged partition, from when both are complete") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2});
  database->physical_partition(0).set_keeps_versions(true);
  fill(*database, 20);
  const auto since = database->watermark();
  database->physical_partition(1).set_keeps_versions(true);
  for (int i = 20; i < 60; ++i) EngineFixture::put(*database, key_of(i), "{}");

  REQUIRE(move_partitions(database, {0, 1}).has_value());
  database->physical_partition(2).set_keeps_versions(true);

  const auto complete_since = database->snapshot(2).value().versions_since().value();
  CHECK(complete_since > 0);
  CHECK(complete_since <= since);
  VersionScan scan(*database, {.since = since, .partition_key = std::nullopt, .partition_ids = {}});
  std::vector<std::string> ids;
  REQUIRE(scan.run({.rows_max = 1000},
                   [&](const storage::VersionRow& row) {
                     ids.emplace_back(row.id);
                     return Visit::next;
                   })
              .has_value());
  REQUIRE(ids.size() == 40);
  for (int i = 0; i < 40; ++i) CHECK(ids[static_cast<std::size_t>(i)] == key_of(i + 20));
}

TEST_CASE("what is written while partitions are split and merged is all there afterwards, once") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2});
  fill(*database, 1500);
  std::atomic<bool> stop = false;
  std::map<std::string, std::string> written;
  std::atomic<int> failures = 0;
  std::jthread writer([&] {
    for (int i = 0; !stop; ++i) {
      const std::string id = key_of(i % 500) + (i % 3 == 0 ? "-new" + std::to_string(i) : "");
      std::optional<storage::Revision> parent;
      {
        const auto snapshot = database->snapshot_for_document(id).value();
        const auto known = snapshot.find(id).value();
        if (known && !known->deleted) parent = known->revision;
      }
      std::vector<storage::DocumentWrite> writes(1);
      writes[0].id = id;
      writes[0].parent = parent;
      writes[0].body = R"({"i":)" + std::to_string(i) + "}";
      writes[0].deleted = parent && i % 7 == 0;
      written[id] = writes[0].deleted ? "" : writes[0].body;
      if (!run_task(database->write(std::move(writes))).front()) ++failures;
      if (i % 11 == 0) run_task(database->write_local({.id = "_local/" + std::to_string(i % 5), .body = "{}"}));
    }
  });
  std::map<std::string, storage::Sequence> seen;
  FeedScan follower(*database, {});
  const auto follow = [&] {
    return follower.run(ScanBudget{}, [&](const storage::FeedRow& row, const storage::Snapshot&) {
      seen[std::string(row.id)] = row.sequence;
      return Visit::next;
    });
  };
  std::atomic<bool> moving = true;
  std::vector<bool> moved;
  std::jthread mover([&] {
    for (const Ids& sources : {Ids{0, 1}, Ids{2}, Ids{3}, Ids{4, 6}, Ids{5, 7}}) {
      moved.push_back(move_partitions(database, sources).has_value());
    }
    moving = false;
  });
  while (moving) REQUIRE(follow().has_value());
  mover.join();
  stop = true;
  writer.join();
  while (follow().value() == ScanState::more) {
  }

  CHECK(moved == std::vector<bool>(5, true));
  CHECK(failures == 0);
  CHECK(database->partition_ids() == Ids{8});
  const auto now = documents_of(*database);
  for (const auto& [id, body] : written) {
    REQUIRE(now.contains(id));
    CHECK(now.at(id).deleted == body.empty());
    if (!body.empty()) CHECK(now.at(id).body == body);
  }
  CHECK(feed_of(*database).size() == now.size());
  CHECK(seen.size() == now.size());
  check_sound(*database);
}

TEST_CASE("after a restart the database has the merged partition, and no files of its sources") {
  EngineFixture fixture;
  std::map<std::string, Row> before;
  std::filesystem::path folder;
  {
    const auto database = fixture.create("shop", {.partitioned = true, .q = 3});
    fill(*database, 200);
    REQUIRE(move_partitions(database, {1, 2}).has_value());
    before = documents_of(*database);
    folder = database->folder();
    CHECK(std::filesystem::exists(folder / "partition-1"));
  }
  fixture.stop();
  std::filesystem::create_directories(folder / "partition-4");  // of a merge that was cut off
  fixture.start();
  const auto database = fixture.engine().open_database("shop").value();
  CHECK(database->partition_ids() == Ids{0, 3});
  CHECK(database->created_q() == 3);
  CHECK(documents_of(*database) == before);
  for (const char* stray : {"partition-1", "partition-2", "partition-4"}) {
    CHECK_FALSE(std::filesystem::exists(folder / stray));
  }
  // Its id is not given again.
  REQUIRE(move_partitions(database, {0, 3}).has_value());
  CHECK(database->partition_ids() == Ids{4});
  CHECK(database->partition_map().ranges().front().ancestors == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("a merge that is stopped leaves the database as it was, and may run later") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2});
  fill(*database, 100);
  const auto before = documents_of(*database);
  const auto stopped = PartitionMove(database, {0, 1}, [] { return true; }).run();
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::timeout);
  CHECK(database->partition_ids() == Ids{0, 1});
  EngineFixture::put(*database, "key1:after", "{}");
  CHECK_FALSE(std::filesystem::exists(database->folder() / "partition-2"));
  REQUIRE(move_partitions(database, {0, 1}).has_value());
  CHECK(documents_of(*database).size() == before.size() + 1);
  check_sound(*database);
}

TEST_CASE("only neighbours that are small enough together are merged") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true, .q = 3});
  auto& moves = fixture.engine().moves();
  CHECK(moves.add_merge(database, 0, 2).error().reason ==
        "Only neighbours can be merged, and these ranges do not touch.");
  CHECK(moves.add_merge(database, 1, 1).error().code == ErrorCode::bad_request);
  CHECK(moves.add_merge(database, 1, 7).error().code == ErrorCode::bad_request);
  config::Settings settings;
  settings.physical_partition_bytes_max = 1 << 20;
  settings.compression = config::Compression::none;
  EngineFixture tight({}, settings);
  const auto full = tight.create("shop", {.partitioned = true, .q = 2});
  // Much more than 80 % of the limit together, but less than the limit in each.
  for (int i = 0; i < 130; ++i) {
    EngineFixture::put(*full, key_of(i), R"({"t":")" + std::string(8000, 'x') + "\"}");
  }
  const auto refused = tight.engine().moves().add_merge(full, 0, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reason.find("80 %") != std::string::npos);
}

TEST_CASE("of all neighbours those with the least bytes are merged, and their files removed after a while") {
  config::Settings settings;
  settings.split_source_kept_s = std::chrono::seconds{0};
  EngineFixture fixture({}, settings);
  const auto database = fixture.create("shop", {.partitioned = true, .q = 3});
  // Nearly all is in the first one.
  const std::string body = R"({"t":")" + std::string(4000, 'x') + "\"}";
  for (int i = 0, made = 0; made < 100; ++i) {
    if (database->locate_document(key_of(i)) == 0) made += EngineFixture::put(*database, key_of(i), body).sequence > 0;
  }
  const auto pair = MoveQueue::smallest_pair(*database).value();
  CHECK(pair == std::pair<std::size_t, std::size_t>{1, 2});

  auto& moves = fixture.engine().moves();
  const auto number = moves.add_merge(database, pair.first, pair.second).value();
  CHECK(moves.add(database, 1).error().reason == "This physical partition is being merged already.");
  REQUIRE(octavo::tests::eventually([&] { return moves.job(number)->state == MoveQueue::State::completed; },
                                    octavo::tests::patiently(std::chrono::seconds{30})));
  const auto job = *moves.job(number);
  CHECK(job.is_merge());
  CHECK(job.sources.size() == 2);
  REQUIRE(job.targets.size() == 1);
  CHECK(job.targets.front().folder == "partition-3");
  CHECK(octavo::tests::eventually(
      [&] {
        return !std::filesystem::exists(database->folder() / "partition-1") &&
               !std::filesystem::exists(database->folder() / "partition-2");
      },
      octavo::tests::patiently(std::chrono::seconds{30})));
  CHECK(database->snapshot(1).error().code == ErrorCode::partition_split);
}

TEST_CASE("positions of former partitions are known after splits and merges") {
  using storage::PartitionMapEntry;
  storage::DatabaseRecord record;
  record.partition_map = {{0, 49, "partition-0"}, {50, hash_space_end - 1, "partition-1"}};
  const auto map = [&] { return PartitionMap(record.partition_map, {}, record.former); };
  CHECK(created_q(record) == 2);

  replace_ranges(record, {{0, 19, "partition-2", {0}}, {20, 49, "partition-3", {0}}});
  CHECK(record.former.empty());
  CHECK(range_ever(map(), 0) == HashRange{0, 49});
  CHECK(parts_of(map(), 0).partition_ids == Ids{2, 3});
  CHECK_FALSE(parts_of(map(), 0).hold_more);

  replace_ranges(record, {{20, hash_space_end - 1, "partition-4", {0, 1, 3}}});
  CHECK(created_q(record) == 2);
  CHECK(range_ever(map(), 0) == HashRange{0, 49});
  CHECK(range_ever(map(), 1) == HashRange{50, hash_space_end - 1});
  CHECK(range_ever(map(), 3) == HashRange{20, 49});
  CHECK_FALSE(range_ever(map(), 9).has_value());
  const auto part = parts_of(map(), 3);
  CHECK(part.partition_ids == Ids{4});
  CHECK(part.range == HashRange{20, 49});
  CHECK(part.hold_more);
  CHECK(partition_beginning_at(map(), 0) == std::size_t{2});
  CHECK(partition_beginning_at(map(), 50) == std::size_t{1});
  CHECK(partition_beginning_at(map(), 20) == std::size_t{4});
  CHECK_FALSE(partition_beginning_at(map(), 21).has_value());
  CHECK(was_merged(map(), 4));
  CHECK_FALSE(was_merged(map(), 2));
  CHECK(map().generation() == 5);

  replace_ranges(record,
                 {{20, 99, "partition-5", {0, 1, 3, 4}}, {100, hash_space_end - 1, "partition-6", {0, 1, 3, 4}}});
  CHECK(parts_of(map(), 3).partition_ids == Ids{5});
  CHECK(parts_of(map(), 1).partition_ids == Ids{5, 6});
  CHECK(parts_of(map(), 1).hold_more);
  CHECK_FALSE(parts_of(map(), 4).hold_more);
  CHECK(was_merged(map(), 6));
}

}  // namespace octavo::partitioning
