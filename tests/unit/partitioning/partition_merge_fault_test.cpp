// A merge that meets a disk which fails, or memory that is short, at any of its calls of the storage.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/partition_move.h"
#include "support/engine_fixture.h"
#include "support/fault_plan.h"
#include "support/temporary_folder.h"
#include "unit/partitioning/database_content.h"

namespace octavo::partitioning {
namespace {

namespace content = octavo::tests::content;
using octavo::tests::EngineFixture;
using octavo::tests::FaultPlan;

struct StorageFault {
  std::string name;
  FaultPlan::Fault fault;
};

std::vector<StorageFault> storage_faults() {
  using At = storage::StorageCall;
  const std::set<At> disk_calls{At::create_folder, At::open, At::put, At::erase, At::commit, At::sync};
  return {
      {"the disk is full", {.code = ENOSPC, .calls = disk_calls, .lasting = true}},
      {"one call finds the disk full", {.code = ENOSPC, .calls = disk_calls}},
      {"the disk fails and stays so", {.code = EIO, .calls = {At::commit, At::sync}, .lasting = true}},
      {"one call fails on the disk", {.code = EIO, .calls = disk_calls}},
      {"the meta page fails", {.code = EIO, .calls = {At::commit}, .panics = true}},
      {"the meta page fails, but is stored", {.code = EIO, .calls = {At::commit}, .took_place = true, .panics = true}},
      {"the map is full", {.code = storage::fault_code::must_grow, .calls = {At::put, At::erase}}},
      {"no reader slot", {.code = storage::fault_code::too_many_readers, .calls = {At::begin_read}}},
      {"no descriptor", {.code = EMFILE, .calls = {At::open}}},
      {"no memory", {.code = FaultPlan::no_memory, .calls = {}}},
  };
}

/// A database of two physical partitions, on storage that can be made to fail.
class FaultyMerge {
 public:
  FaultyMerge() { open(); }

  void open() {
    database_.reset();
    engine_.reset();
    config::Settings settings;
    settings.data_dir = folder_.path() / "data";
    settings.durability = config::Durability::ephemeral;
    engine_ = Engine::open(settings, {}, &faults_).value();
    if (const auto known = engine_->open_database("shop")) {
      database_ = *known;
      return;
    }
    database_ = engine_->create_database("shop", {.partitioned = true, .q = 2}).value();
    content::fill(*database_, 60);
    for (const char* id : {"_local/a", "_local/b"}) {
      REQUIRE(octavo::tests::run_task(database_->write_local({.id = id, .body = "{}"})).has_value());
    }
  }

  /// While the catalog can be neither written nor read, the merge waits for the disk to work again.
  Expected<void> merge() {
    const auto ids = database_->partition_ids();
    return PartitionMove(
               database_, ids, [] { return false; },
               [this] {
                 faults_.heal();
                 return false;
               })
        .run();
  }
  void split() {
    REQUIRE(PartitionMove(database_, {database_->partition_ids().front()}, [] { return false; }).run().has_value());
  }

  FaultPlan& faults() { return faults_; }
  Database& database() { return *database_; }

 private:
  octavo::tests::TemporaryFolder folder_;
  FaultPlan faults_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Database> database_;
};

}  // namespace

TEST_CASE("a merge that fails anywhere leaves the database as it was, or has taken place") {
  FaultyMerge faulty;
  constexpr std::size_t points = 12;
  int n = 0;
  for (const auto& kind : storage_faults()) {
    auto never = kind.fault;
    never.from = 1'000'000;
    faulty.faults().plan(never);
    REQUIRE(faulty.merge().has_value());
    const std::size_t calls = faulty.faults().seen();
    faulty.faults().heal();
    faulty.split();
    CAPTURE(kind.name, calls);
    const std::size_t stride = std::max<std::size_t>(1, calls / points);
    for (std::size_t at = 1; at <= calls; at += stride) {
      CAPTURE(at);
      const auto before = content::documents_of(faulty.database());
      auto fault = kind.fault;
      fault.from = at;
      faulty.faults().plan(fault);
      const auto merged = faulty.merge();
      faulty.faults().heal();
      const std::size_t count = faulty.database().physical_partition_count();
      CHECK(count == (merged ? 1 : 2));
      CHECK(content::documents_of(faulty.database()) == before);
      // Writes of both halves are served.
      ++n;
      for (int key = 0; key < 8; ++key) {
        EngineFixture::put(faulty.database(), content::key_of(key) + "-" + std::to_string(n), "{}");
      }
      content::check_sound(faulty.database());
      if (n % 10 == 0) {
        const auto stored = content::documents_of(faulty.database());
        faulty.open();
        CHECK(faulty.database().physical_partition_count() == count);
        CHECK(content::documents_of(faulty.database()) == stored);
      }
      if (count == 1) faulty.split();
    }
  }
}

TEST_CASE("a merge whose catalog's commit fails although the disk took it has taken place") {
  FaultyMerge faulty;
  faulty.faults().plan(
      {.code = EIO, .calls = {storage::StorageCall::commit}, .took_place = true, .folder_part = "data/catalog"});
  CHECK(faulty.merge().has_value());
  faulty.faults().heal();
  CHECK(faulty.database().physical_partition_count() == 1);
  CHECK(content::documents_of(faulty.database()).size() == 60);
  EngineFixture::put(faulty.database(), "key1:after", "{}");
  faulty.open();
  CHECK(faulty.database().physical_partition_count() == 1);
  CHECK(content::documents_of(faulty.database()).size() == 61);
}

}  // namespace octavo::partitioning
