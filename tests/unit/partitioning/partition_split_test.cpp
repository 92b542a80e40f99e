// One physical partition becomes two while the database is in use.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

#include "partitioning/keys/partition_key.h"
#include "partitioning/move_queue.h"
#include "partitioning/partition_move.h"
#include "partitioning/scan.h"
#include "storage/document/document_record.h"
#include "storage/partition/partition_check.h"
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

bool eventually(const std::function<bool()>& holds) {
  return octavo::tests::eventually(holds, octavo::tests::patiently(std::chrono::seconds{30}));
}

Expected<void> split(const std::shared_ptr<Database>& database, std::size_t partition_id) {
  return PartitionMove(database, {partition_id}, [] { return false; }).run();
}

}  // namespace

TEST_CASE("a split leaves documents, revisions, sequences and the feed as they were") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 300);
  const auto first = EngineFixture::put(*database, "key1:twice", R"({"n":1})");
  EngineFixture::put(*database, "key1:twice", R"({"n":2})", first.revision);
  const auto gone = EngineFixture::put(*database, "key2:gone", R"({"n":1})");
  EngineFixture::put(*database, "key2:gone", "{}", gone.revision, true);
  const auto before = documents_of(*database);
  const auto feed = feed_of(*database);
  const auto statistics = database->statistics().value();
  const auto watermark = database->watermark();

  REQUIRE(split(database, 0).has_value());

  CHECK(database->physical_partition_count() == 2);
  CHECK(database->partition_ids() == std::vector<std::size_t>{1, 2});
  CHECK(documents_of(*database) == before);
  CHECK(feed_of(*database) == feed);
  CHECK(database->statistics().value().document_count == statistics.document_count);
  CHECK(database->statistics().value().deleted_count == statistics.deleted_count);
  CHECK(database->statistics().value().external_bytes == statistics.external_bytes);
  CHECK(database->watermark() == watermark);
  check_sound(*database);
}

TEST_CASE("both parts of a split hold about the same amount") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 400);
  REQUIRE(split(database, 0).has_value());
  for (const std::size_t partition_id : database->partition_ids()) {
    const auto snapshot = database->snapshot(partition_id).value();
    CHECK(snapshot.statistics().value().document_count >= 150);
  }
}

TEST_CASE("conflicts, local documents and purges go along with a split") {
  EngineFixture fixture;
  const auto database = fixture.create("notes");
  const auto one = EngineFixture::put(*database, "a", R"({"n":1})");
  storage::DocumentWrite other;
  other.id = "a";
  other.replicated = true;
  other.history = {storage::Revision::parse("1-ffffffffffffffffffffffffffffffff").value()};
  other.body = R"({"n":"other"})";
  std::vector<storage::DocumentWrite> writes;
  writes.push_back(other);
  REQUIRE(run_task(database->write(std::move(writes))).front().has_value());
  REQUIRE(run_task(database->write_local({.id = "_local/x", .body = R"({"at":7})"})).has_value());
  const auto purged = EngineFixture::put(*database, "b", R"({"n":1})");
  std::vector<storage::PurgeRequest> purge;
  purge.push_back({"b", {}, {purged.revision}});
  REQUIRE(run_task(database->purge(std::move(purge))).has_value());

  REQUIRE(split(database, 0).has_value());

  const auto snapshot = database->snapshot_for_document("a").value();
  const auto document = snapshot.find("a").value();
  REQUIRE(document.has_value());
  CHECK(document->has_conflicts);
  CHECK(snapshot.leaf_body(*document, one.revision).value() == R"({"n":1})");
  CHECK(snapshot.leaf_body(*document, other.history.front()).value() == R"({"n":"other"})");
  const auto local = database->snapshot_for_document("_local/x").value().find_local("_local/x").value();
  REQUIRE(local.has_value());
  CHECK(local->body == R"({"at":7})");
  CHECK(local->edit == 1);
  CHECK(database->purge_count().value() == 1);
  check_sound(*database);
}

TEST_CASE("both parts of a split partition know which tombstones were dropped") {
  EngineFixture fixture;
  const auto database = fixture.create("notes");
  const auto gone = EngineFixture::put(*database, "a", R"({"n":1})");
  const auto deletion = EngineFixture::put(*database, "a", "{}", gone.revision, true);
  EngineFixture::put(*database, "b", R"({"n":1})");
  std::promise<bool> done;
  std::vector<storage::Tombstone> tombstones{{.id = "a", .partition_key = {}, .sequence = deletion.sequence}};
  database->physical_partition(0).drop_tombstones(
      std::move(tombstones), [&](const Expected<void>& dropped) { done.set_value(dropped.has_value()); });
  REQUIRE(done.get_future().get());

  REQUIRE(split(database, 0).has_value());

  for (const std::size_t partition_id : database->partition_ids()) {
    CHECK(database->snapshot(partition_id).value().counters().value().dropped_through == deletion.sequence);
  }
  CHECK(database->statistics().value().deleted_count == 0);
  check_sound(*database);
}

TEST_CASE("tombstones that are dropped after a split has copied them are not in its parts") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 600);  // more than may be left when writes are held back, so that the split looks again
  for (int i = 0; i < 50; ++i) remove(*database, i);
  std::size_t dropped = 0;
  const PartitionMove* running = nullptr;
  const auto drop_once_copied = [&] {
    const bool all_copied = running->expected() > 0 && running->copied() == running->expected();
    if (dropped == 0 && all_copied) dropped = octavo::tests::drop_tombstones(*database);
    return false;
  };
  PartitionMove subject(database, {0}, drop_once_copied);
  running = &subject;

  REQUIRE(subject.run().has_value());

  CHECK(dropped == 50);
  CHECK(database->physical_partition_count() == 2);
  CHECK(database->statistics().value().deleted_count == 0);
  check_sound(*database);
}

TEST_CASE("tombstones that are dropped while a split runs do not come back") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 1500);
  for (int i = 0; i < 400; ++i) remove(*database, i);
  std::atomic<bool> stop = false;
  int removed = 400;
  std::jthread dropper([&] {
    for (; !stop && removed < 1400; ++removed) {
      remove(*database, removed);
      try {
        if (removed % 10 == 0) octavo::tests::drop_tombstones(*database);
      } catch (const std::exception&) {
        // The partition was just split.
      }
    }
  });
  const auto done = split(database, 0);
  stop = true;
  dropper.join();
  REQUIRE(done.has_value());

  CHECK(database->physical_partition_count() == 2);
  while (octavo::tests::drop_tombstones(*database) > 0) {
  }
  const auto statistics = database->statistics().value();
  CHECK(statistics.document_count == static_cast<std::uint64_t>(1500 - removed));
  CHECK(statistics.deleted_count == 0);
  CHECK(documents_of(*database).size() == statistics.document_count);
  check_sound(*database);
}

TEST_CASE("what is written while a split runs is all there afterwards, once") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 2000);
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
      storage::DocumentWrite write;
      write.id = id;
      write.parent = parent;
      write.body = R"({"i":)" + std::to_string(i) + "}";
      write.deleted = parent && i % 7 == 0;
      std::vector<storage::DocumentWrite> writes;
      writes.push_back(write);
      if (!run_task(database->write(std::move(writes))).front()) ++failures;
      written[id] = write.deleted ? "" : write.body;
      if (i % 11 == 0) run_task(database->write_local({.id = "_local/" + std::to_string(i % 5), .body = write.body}));
    }
  });
  REQUIRE(split(database, 0).has_value());
  REQUIRE(split(database, 1).has_value());
  REQUIRE(split(database, 2).has_value());
  stop = true;
  writer.join();

  CHECK(failures == 0);
  CHECK(database->physical_partition_count() == 4);
  const auto now = documents_of(*database);
  for (const auto& [id, body] : written) {
    REQUIRE(now.contains(id));
    CHECK(now.at(id).deleted == body.empty());
    if (!body.empty()) CHECK(now.at(id).body == body);
  }
  CHECK(feed_of(*database).size() == now.size());
  check_sound(*database);
}

TEST_CASE("a follower of the feed misses nothing while partitions are split") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 500);
  std::atomic<bool> stop = false;
  std::jthread writer([&] {
    for (int i = 0; !stop; ++i) {
      EngineFixture::put(*database, "key" + std::to_string(i % 40) + ":w" + std::to_string(i), "{}");
    }
  });
  std::map<std::string, storage::Sequence> seen;
  std::atomic<bool> splitting = true;
  std::atomic<int> splits = 0;
  std::jthread splitter([&] {
    for (const std::size_t partition_id : {0, 1, 2, 3}) splits += split(database, partition_id) ? 1 : 0;
    splitting = false;
  });
  FeedScan follower(*database, {});
  const auto follow = [&] {
    return follower.run(ScanBudget{}, [&](const storage::FeedRow& row, const storage::Snapshot&) {
      seen[std::string(row.id)] = row.sequence;
      return Visit::next;
    });
  };
  while (splitting) REQUIRE(follow().has_value());
  stop = true;
  writer.join();
  while (follow().value() == ScanState::more) {
  }
  CHECK(seen.size() == feed_of(*database).size());
  CHECK(splits == 4);
  CHECK(database->physical_partition_count() == 5);
}

TEST_CASE("a reader of the versions misses none while what it reads is split") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  database->physical_partition(0).set_keeps_versions(true);
  fill(*database, 100);
  const auto current = [&] { return database->partition_ids(); };
  VersionScan scan(*database, {.since = 0, .partition_key = std::nullopt, .partition_ids = current});
  std::vector<std::string> ids;
  const auto read = [&](std::size_t rows_max) {
    return scan.run({.rows_max = rows_max}, [&](const storage::VersionRow& row) {
      ids.emplace_back(row.id);
      return Visit::next;
    });
  };
  REQUIRE(read(30) == ScanState::more);
  REQUIRE(split(database, 0).has_value());
  for (const std::size_t partition_id : database->partition_ids()) {
    database->physical_partition(partition_id).set_keeps_versions(true);
  }
  REQUIRE(read(30) == ScanState::more);
  REQUIRE(split(database, 1).has_value());
  REQUIRE(read(1000) == ScanState::done);
  REQUIRE(ids.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(ids[static_cast<std::size_t>(i)] == key_of(i));
}

TEST_CASE("after a restart the database has the parts, and no files of what was split") {
  EngineFixture fixture;
  std::map<std::string, Row> before;
  std::filesystem::path folder;
  {
    const auto database = fixture.create("shop", {.partitioned = true});
    fill(*database, 200);
    REQUIRE(split(database, 0).has_value());
    before = documents_of(*database);
    folder = database->folder();
    CHECK(std::filesystem::exists(folder / "partition-0"));
  }
  fixture.stop();
  std::filesystem::create_directories(folder / "partition-7");  // of a split that was cut off
  fixture.start();
  const auto database = fixture.engine().open_database("shop").value();
  CHECK(database->partition_ids() == std::vector<std::size_t>{1, 2});
  CHECK(documents_of(*database) == before);
  CHECK_FALSE(std::filesystem::exists(folder / "partition-0"));
  CHECK_FALSE(std::filesystem::exists(folder / "partition-7"));
  const auto last = database->watermark();
  CHECK(EngineFixture::put(*database, "key1:later", "{}").sequence == last + 1);
}

TEST_CASE("what an earlier split left over does not join the parts of the next one") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 100);
  const auto before = documents_of(*database);
  const auto folder = database->folder();
  for (const char* stray : {"partition-1", "partition-2"}) {
    std::filesystem::copy(folder / "partition-0", folder / stray, std::filesystem::copy_options::recursive);
  }
  REQUIRE(split(database, 0).has_value());
  CHECK(database->partition_ids() == std::vector<std::size_t>{1, 2});
  CHECK(documents_of(*database) == before);
  CHECK(feed_of(*database).size() == before.size());
  check_sound(*database);
}

TEST_CASE("a split that is stopped leaves everything as it was") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 100);
  const auto before = documents_of(*database);
  const auto stopped = PartitionMove(database, {0}, [] { return true; }).run();
  REQUIRE_FALSE(stopped.has_value());
  CHECK(database->partition_ids() == std::vector<std::size_t>{0});
  CHECK(documents_of(*database) == before);
  EngineFixture::put(*database, "key1:later", "{}");
  REQUIRE(split(database, 0).has_value());
  CHECK(documents_of(*database).size() == before.size() + 1);
}

TEST_CASE("a physical partition that was split is readable until its files go") {
  config::Settings settings;
  settings.split_source_kept_s = std::chrono::seconds{0};
  EngineFixture fixture({}, settings);
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 100);
  auto& splits = fixture.engine().moves();
  const auto number = splits.add(database, 0);
  REQUIRE(number.has_value());
  CHECK_FALSE(splits.add(database, 5).has_value());
  REQUIRE(eventually([&] { return splits.job(*number)->state == MoveQueue::State::completed; }));
  CHECK(splits.job(*number)->targets.size() == 2);
  CHECK(eventually([&] {
    const auto snapshot = database->snapshot(0);
    return !snapshot && snapshot.error().code == ErrorCode::partition_split;
  }));
  CHECK(eventually([&] { return !std::filesystem::exists(database->folder() / "partition-0"); }));
}

TEST_CASE("a physical partition that has grown too large is split by itself") {
  config::Settings settings;
  settings.physical_partition_bytes_max = 256 << 10;
  settings.compression = config::Compression::none;
  EngineFixture fixture({}, settings);
  const auto database = fixture.create("shop", {.partitioned = true});
  for (int i = 0; i < 100; ++i) {
    EngineFixture::put(*database, key_of(i), R"({"t":")" + std::string(8000, 'x') + "\"}");
  }
  CHECK(eventually([&] { return database->physical_partition_count() >= 2; }));
}

TEST_CASE("a logical partition that fills its physical one alone is left there") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  for (int i = 0; i < 50; ++i) EngineFixture::put(*database, "one:" + std::to_string(i), "{}");
  CHECK(PartitionMove::balanced_cut(*database, 0).value() == std::nullopt);
  EngineFixture::put(*database, "two:1", "{}");
  const auto cut = PartitionMove::balanced_cut(*database, 0).value();
  REQUIRE(cut.has_value());
  REQUIRE(split(database, 0).has_value());
  CHECK(database->locate_partition_key("one") != database->locate_partition_key("two"));
}

TEST_CASE("statistics with sizes that overflow still divide the logical partitions") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  // Both are in the lower half of the range, so a cut in the middle would not separate them.
  const HashPosition middle = database->partition_map().ranges().front().last / 2;
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < 2; ++i) {
    std::string key = "k" + std::to_string(i);
    if (hash_position_of_key(key) < middle) keys.push_back(std::move(key));
  }
  for (const std::string& key : keys) EngineFixture::put(*database, key + ":1", "{}");
  auto& store = database->physical_partition(0).store();
  REQUIRE(store.write(0, [&](storage::WriteTransaction& transaction) -> Expected<void> {
    const auto tree = store.tree(static_cast<std::size_t>(storage::PartitionTree::logical));
    for (const std::string& key : keys) {
      std::string row;
      storage::encode_logical_record(row, key,
                                     {.statistics = {.document_count = 1, .external_bytes = UINT64_MAX}, .newest = {}});
      OCTAVO_TRY_VOID(transaction.put(tree, storage::logical_name(key), row));
    }
    return {};
  }));
  const auto cut = PartitionMove::balanced_cut(*database, 0).value();
  REQUIRE(cut.has_value());
  const auto [low, high] = std::minmax({hash_position_of_key(keys[0]), hash_position_of_key(keys[1])});
  CHECK(low < *cut);
  CHECK(*cut <= high);
}

TEST_CASE("a database grows to as many physical partitions as its throughput needs") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill(*database, 50);
  fixture.engine().moves().grow(database, 5);
  CHECK(eventually([&] { return database->physical_partition_count() == 5; }));
  CHECK(documents_of(*database).size() == 50);
}

}  // namespace octavo::partitioning
