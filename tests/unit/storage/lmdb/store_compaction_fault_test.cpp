// Compaction of a store on a disk that fails, or is full.
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "storage/lmdb/store_compaction.h"
#include "support/fault_plan.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::FaultPlan;
using octavo::tests::TemporaryFolder;
using Call = StorageCall;

namespace {

/// A store that syncs, and is written while it is compacted, under a plan of faults.
struct CompactedStore {
  explicit CompactedStore(config::Durability durability = config::Durability::commit) {
    options.folder = folder.path() / "store";
    options.trees = {"a", "b"};
    options.durability = durability;
    options.capacity_bytes_initial = 1 << 20;
    options.capacity_bytes_reserved_max = 1 << 20;
    options.faults = &faults;
    store = std::make_unique<Store>(options);
    REQUIRE(store->create());
    REQUIRE(store->write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      for (int i = 0; i < rows_kept; ++i) {
        OCTAVO_TRY_VOID(transaction.put(store->tree(1), std::to_string(i), std::string(500, 'x')));
      }
      return transaction.put(store->tree(0), "written", "0");
    }));
  }

  Expected<void> put_next() {
    const std::string value = std::to_string(++tried);
    auto written = store->write(0, [&](WriteTransaction& transaction) {  //
      return transaction.put(store->tree(0), "written", value);
    });
    if (written) acknowledged = tried;
    return written;
  }

  Expected<void> compact() {
    const auto write = [this] {
      static_cast<void>(put_next());
      return false;
    };
    return StoreCompaction(*store, {.stopped = write, .slice_bytes = 2'000}).run();
  }

  /// All rows are there, and the one that is written has its last acknowledged value, or one that failed since.
  void check_rows() {
    const auto snapshot = store->read();
    REQUIRE(snapshot);
    const auto value = snapshot->get(store->tree(0), "written");
    REQUIRE(value);
    REQUIRE(*value);
    const int written = std::stoi(std::string(**value));
    CHECK(written >= acknowledged);
    CHECK(written <= tried);
    CHECK(count_rows(*snapshot, store->tree(0)) == 1);
    CHECK(static_cast<int>(count_rows(*snapshot, store->tree(1))) == rows_kept);
    CHECK_FALSE(store->lost_space(*snapshot));
  }
  bool draft_exists() const { return std::filesystem::exists(options.folder / "new"); }
  void open_again() { store = std::make_unique<Store>(options); }

  static constexpr int rows_kept = 5;
  TemporaryFolder folder;
  FaultPlan faults;
  Store::Options options;
  std::unique_ptr<Store> store;
  int tried = 0;
  int acknowledged = 0;
};

/// As FaultPlan::Fault.
struct FailingCommit {
  int code;
  bool took_place = false;
  bool panics = false;
};

}  // namespace

TEST_CASE("a compaction during which any one call fails loses no write, and the next one succeeds") {
  struct Case {
    int code;
    bool took_place = false;
    bool panics = false;
  };
  for (const auto& [code, took_place, panics] : {Case{EIO}, Case{ENOSPC}, Case{FaultPlan::no_memory}, Case{EIO, true},
                                                 Case{EIO, true, true}, Case{EIO, false, true}}) {
    std::set<Call> calls;  // all
    if (took_place || panics) calls = {Call::commit};
    for (std::size_t k = 1;; ++k) {
      CAPTURE(code, took_place, panics, k);
      CompactedStore subject;
      subject.faults.plan({.code = code, .calls = calls, .from = k, .took_place = took_place, .panics = panics});
      static_cast<void>(subject.compact());
      const bool has_failed = subject.faults.fired() > 0;
      subject.faults.heal();
      subject.check_rows();
      CHECK_FALSE(subject.draft_exists());
      CHECK(subject.put_next());
      subject.open_again();
      subject.check_rows();
      if (has_failed && k % 8 != 0) continue;
      CHECK(subject.compact());
      subject.check_rows();
      CHECK(subject.acknowledged == subject.tried);
      if (!has_failed) break;
      REQUIRE(k < 2'000);
    }
  }
}

TEST_CASE("a store whose last write has failed on the disk is compacted, also if no other write follows") {
  for (const auto& [code, took_place, panics] :
       {FailingCommit{ENOSPC}, FailingCommit{EIO}, FailingCommit{EIO, true}, FailingCommit{EIO, false, true}}) {
    CAPTURE(code, took_place, panics);
    CompactedStore subject;
    subject.faults.plan({.code = code, .calls = {Call::commit}, .took_place = took_place, .panics = panics});
    CHECK_FALSE(subject.put_next());
    subject.faults.heal();
    CHECK(StoreCompaction(*subject.store, {}).run());
    subject.check_rows();
    subject.open_again();
    subject.check_rows();
  }
}

TEST_CASE("a compaction whose copy finds the map full continues in a larger one") {
  // The first commit creates the trees, in an empty map.
  for (std::size_t k = 2;; ++k) {
    CAPTURE(k);
    CompactedStore subject;
    subject.faults.plan({.code = fault_code::must_grow,
                         .calls = {Call::put, Call::erase, Call::commit},
                         .from = k,
                         .folder_part = "store/new"});
    REQUIRE(subject.compact());
    subject.check_rows();
    if (subject.faults.fired() == 0) break;
    REQUIRE(k < 2'000);
  }
}

TEST_CASE("a compaction on a full disk fails, leaves no draft, and the store is written as before") {
  CompactedStore subject;
  subject.faults.plan({.code = ENOSPC, .calls = {Call::commit}, .lasting = true, .folder_part = "store/new"});
  const auto result = subject.compact();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::disk_full);
  CHECK_FALSE(subject.draft_exists());
  CHECK(subject.put_next());
  subject.check_rows();
}

TEST_CASE("while the name of a compacted file is not on the disk no write succeeds, and reads continue") {
  for (const auto durability : {config::Durability::commit, config::Durability::relaxed}) {
    // The last sync of a compaction is that of the folder.
    std::size_t syncs = 0;
    {
      CompactedStore counted(durability);
      const std::size_t before = counted.faults.made(Call::sync);
      REQUIRE(counted.compact());
      syncs = counted.faults.made(Call::sync) - before;
    }
    CompactedStore subject(durability);
    subject.faults.plan({.calls = {Call::sync}, .from = syncs, .lasting = true});
    const std::size_t renames = subject.faults.made(Call::rename);
    const auto result = subject.compact();
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::io_failure);
    CHECK(subject.faults.made(Call::rename) == renames + 2);
    for (int i = 0; i < 3; ++i) {
      const auto refused = subject.put_next();
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::io_failure);
      CHECK_FALSE(subject.store->sync());
      subject.check_rows();
    }
    subject.faults.heal();
    CHECK(subject.put_next());
    CHECK(subject.store->sync());
    subject.check_rows();
    subject.open_again();
    subject.check_rows();
  }
}

TEST_CASE("a compacted file that cannot be named leaves the old one in use") {
  for (const std::size_t from : {std::size_t{1}, std::size_t{2}}) {  // of the lock file, of the rows
    CAPTURE(from);
    CompactedStore subject;
    subject.faults.plan({.calls = {Call::rename}, .from = from});
    const auto result = subject.compact();
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::io_failure);
    CHECK_FALSE(subject.draft_exists());
    subject.check_rows();
    CHECK(subject.put_next());
    CHECK(subject.compact());
    subject.check_rows();
  }
}
