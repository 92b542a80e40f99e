// Compactions of a database's physical partitions beside its use.
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/scan.h"
#include "storage/partition/partition_check.h"
#include "support/engine_fixture.h"
#include "support/patience.h"

namespace octavo::partitioning {
namespace {

using octavo::tests::EngineFixture;

bool happens_soon(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds{30});
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return true;
}

/// Everything that readers can see of the documents, in the order of their ids.
std::vector<std::string> listing_of(Database& database) {
  std::vector<std::string> rows;
  DocumentScan scan(database, {});
  ScanState state = ScanState::more;
  while (state == ScanState::more) {
    state = scan.run(ScanBudget{},
                     [&](const storage::DocumentView& document, const storage::Snapshot&) {
                       std::string row(document.id);
                       row += ' ' + std::to_string(document.sequence) + ' ';
                       document.revision.append_to(row);
                       row += ' ';
                       row += document.body;
                       rows.push_back(std::move(row));
                       return Visit::next;
                     })
                .value();
  }
  return rows;
}

void check_partitions(Database& database) {
  for (const std::size_t partition_id : database.partition_ids()) {
    const auto report = storage::check_partition(database.physical_partition(partition_id), database.partitioned());
    REQUIRE(report.has_value());
    for (const auto& problem : report->problems) FAIL_CHECK(problem);
  }
}

/// Large documents, of which only every tenth is left.
void fill_and_delete(Database& database) {
  for (int i = 0; i < 200; ++i) {
    const std::string id = "key" + std::to_string(i % 7) + ":" + std::to_string(i);
    const auto written = EngineFixture::put(database, id, R"({"t":")" + std::string(3'000, 'x') + "\"}");
    if (i % 10 != 0) EngineFixture::put(database, id, "{}", written.revision, true);
  }
}

}  // namespace

TEST_CASE("the compaction of a database keeps its documents and returns the space of deleted ones") {
  config::Settings settings;
  settings.compression = config::Compression::none;  // of 3,000 equal characters little would be left
  EngineFixture fixture({}, settings);
  const auto database = fixture.create("shop", {.partitioned = true, .q = 2});
  for (int i = 0; i < 100; ++i) {
    const std::string id = "key" + std::to_string(i) + ":1";
    EngineFixture::put(*database, id, R"({"t":")" + std::string(3'000, 'x') + "\"}");
  }
  // Deleted in the end, as otherwise the pages would be used for the next documents.
  for (int i = 0; i < 90; ++i) {
    const std::string id = "key" + std::to_string(i) + ":1";
    storage::Revision revision;
    {
      const auto snapshot = database->snapshot_for_document(id);
      REQUIRE(snapshot);
      const auto found = snapshot->find(id);
      REQUIRE(found);
      REQUIRE(*found);
      revision = (*found)->revision;
    }
    EngineFixture::put(*database, id, "{}", revision, true);
  }
  const auto before = listing_of(*database);
  const std::uint64_t bytes_before = database->file_sizes()->file_bytes;
  REQUIRE(database->compact());
  REQUIRE(database->compact());  // queued already
  CHECK(happens_soon([&] { return !database->is_compacting(); }));
  CHECK_FALSE(fixture.engine().compactions().running().has_value());
  CHECK(listing_of(*database) == before);
  check_partitions(*database);
  CHECK(database->file_sizes()->file_bytes < bytes_before / 2);
  EngineFixture::put(*database, "key1:later", "{}");
  CHECK(listing_of(*database).size() == before.size() + 1);
}

TEST_CASE("compactions beside a split and beside writes lose no document") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  fill_and_delete(*database);
  auto& engine = fixture.engine();
  const auto count = listing_of(*database).size();
  REQUIRE(database->compact());
  const auto number = engine.moves().add(database, 0);
  REQUIRE(number);
  int written = 0;
  const auto is_over = [&] {
    EngineFixture::put(*database, "key3:written" + std::to_string(written++), "{}");
    static_cast<void>(database->compact());
    return engine.moves().job(*number)->state == MoveQueue::State::completed;
  };
  CHECK(happens_soon(is_over));
  REQUIRE(database->compact());
  CHECK(happens_soon([&] { return !database->is_compacting(); }));
  CHECK(database->physical_partition_count() == 2);
  CHECK(listing_of(*database).size() == count + static_cast<std::size_t>(written));
  check_partitions(*database);
}

TEST_CASE("databases that are deleted while their compactions run or wait leave no files") {
  EngineFixture fixture;
  auto& engine = fixture.engine();
  std::vector<std::filesystem::path> folders;
  for (const char* name : {"one", "two", "three"}) {
    const auto database = fixture.create(name, {.partitioned = true, .q = 4});
    fill_and_delete(*database);
    folders.push_back(database->folder());
    REQUIRE(database->compact());
  }
  for (const char* name : {"three", "one", "two"}) REQUIRE(engine.delete_database(name));
  for (const auto& folder : folders) {
    CHECK(happens_soon([&] { return !std::filesystem::exists(folder); }));
  }
}

TEST_CASE("a server that stops during compactions finds all documents at the next start") {
  EngineFixture fixture;
  std::vector<std::string> before;
  {
    const auto database = fixture.create("shop", {.partitioned = true, .q = 4});
    fill_and_delete(*database);
    before = listing_of(*database);
    REQUIRE(database->compact());
  }
  fixture.stop();
  fixture.start();
  const auto database = fixture.engine().open_database("shop");
  REQUIRE(database);
  CHECK(listing_of(**database) == before);
  for (const std::size_t partition_id : (*database)->partition_ids()) {
    const auto& folder = (*database)->physical_partition(partition_id).options().folder;
    CHECK_FALSE(std::filesystem::exists(folder / "new"));
  }
}

}  // namespace octavo::partitioning
