// Old versions of documents go in the background, without keeping writes from their turn.
#include "query/database/version_retention.h"

#include <chrono>
#include <future>
#include <limits>
#include <thread>

#include <catch2/catch.hpp>

#include "base/unix_time.h"
#include "support/engine_fixture.h"
#include "support/fault_plan.h"
#include "support/patience.h"
#include "support/temporary_folder.h"
#include "support/version_stamp.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::FaultPlan;
using Call = storage::StorageCall;

/// A database in one physical partition whose log has versions, on an engine that can be made to fail.
struct VersionedDatabase {
  VersionedDatabase() {
    settings.data_dir = folder.path() / "data";
    settings.durability = config::Durability::ephemeral;
    engine = partitioning::Engine::open(settings, {}, &faults).value();
    database = engine->create_database("notes", {}).value();
    keep_versions(true);
    for (int i = 0; i < 10; ++i) put("n" + std::to_string(i));
  }

  void keep_versions(bool keeps) { partition().set_keeps_versions(keeps); }
  void put(std::string id) { EngineFixture::put(*database, std::move(id), "{}"); }
  storage::PhysicalPartition& partition() { return database->physical_partition(0); }
  bool has_versions() const {
    const auto snapshot = database->snapshot(0).value();
    return snapshot.versions().rows().seek(0).has_value();
  }
  /// From now on it is counted how often the partition's writer begins.
  void count_writes() {
    faults.plan(
        {.calls = {Call::begin_write}, .from = std::numeric_limits<std::size_t>::max(), .folder_part = "partition-0"});
  }

  octavo::tests::TemporaryFolder folder;
  FaultPlan faults;
  config::Settings settings;
  std::unique_ptr<partitioning::Engine> engine;
  std::shared_ptr<partitioning::Database> database;
};

template <class Condition>
bool trims_until(Condition holds) {
  const auto until = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds{30});
  while (!holds() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return holds();
}

/// Many times as long as there is between two trims.
constexpr std::chrono::milliseconds many_trims{500};

}  // namespace

TEST_CASE("where the writer is busy one trim of old versions waits for it, not many") {
  VersionedDatabase subject;
  std::promise<void> over;
  subject.partition().run_index_task(
      [gate = over.get_future().share()](storage::WriteTransaction&, storage::Tree) -> Expected<void> {
        gate.wait();
        return {};
      },
      [](const Expected<void>&) {});
  REQUIRE(trims_until([&] { return subject.partition().queued_bytes() == 0; }));
  {
    VersionRetention retention(*subject.database);
    retention.set_seconds(0);
    CHECK(trims_until([&] { return subject.partition().queued_bytes() > 0; }));
    const auto queued = subject.partition().queued_bytes();
    std::this_thread::sleep_for(many_trims);
    CHECK(subject.partition().queued_bytes() == queued);
    over.set_value();
    CHECK(trims_until([&] { return !subject.has_versions(); }));
  }
}

TEST_CASE("versions that cannot be removed because the disk is full are tried again later, not at once") {
  VersionedDatabase subject;
  VersionRetention retention(*subject.database);
  subject.faults.plan({.code = ENOSPC, .calls = {Call::commit}, .lasting = true, .folder_part = "partition-0"});
  retention.set_seconds(0);
  CHECK(trims_until([&] { return subject.faults.fired() > 0; }));
  std::this_thread::sleep_for(many_trims);
  CHECK(subject.faults.fired() <= 3);
  CHECK(subject.has_versions());
  subject.faults.heal();
  CHECK(trims_until([&] { return !subject.has_versions(); }));
}

TEST_CASE("versions from before a gap in their log are not trimmed again and again") {
  VersionedDatabase subject;
  subject.keep_versions(false);
  subject.put("unlogged");
  subject.count_writes();
  {
    VersionRetention retention(*subject.database);
    retention.set_seconds(1'000);
    CHECK(trims_until([&] { return subject.faults.seen() > 0; }));
    std::this_thread::sleep_for(many_trims);
    CHECK(subject.faults.seen() <= 3);
  }
  subject.faults.heal();
  VersionRetention retention(*subject.database);
  retention.set_seconds(0);
  CHECK(trims_until([&] { return !subject.has_versions(); }));
}

TEST_CASE("old versions behind one that a clock stamped too late are trimmed") {
  VersionedDatabase subject;
  const std::int64_t now = unix_now_s();
  REQUIRE(octavo::tests::stamp_version(subject.partition(), 1, now + 315'360'000));
  for (storage::Sequence sequence = 2; sequence <= 10; ++sequence) {
    REQUIRE(octavo::tests::stamp_version(subject.partition(), sequence, now - 10'000));
  }
  VersionRetention retention(*subject.database);
  retention.set_seconds(1'000);
  CHECK(trims_until([&] { return !subject.has_versions(); }));
}

}  // namespace octavo::query
