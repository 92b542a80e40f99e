// Faults of the disk and of LMDB, and how Store recovers from them.
#include <fstream>
#include <new>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "storage/lmdb/store.h"
#include "support/fault_plan.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::FaultPlan;
using octavo::tests::TemporaryFolder;
using Call = StorageCall;

namespace {

/// A store that syncs, with one row, under a plan of faults.
struct FailingStore {
  explicit FailingStore(config::Durability durability = config::Durability::commit) {
    options.folder = folder.path() / "store";
    options.trees = {"a", "b"};
    options.durability = durability;
    options.capacity_bytes_initial = 1 << 20;
    options.capacity_bytes_reserved_max = 1 << 20;
    options.faults = &faults;
    store = std::make_unique<Store>(options);
    REQUIRE(store->create());
    REQUIRE(put("row", "old"));
  }

  Expected<void> put(std::string_view key, std::string_view value) {
    return store->write(0, [&](WriteTransaction& transaction) { return transaction.put(store->tree(0), key, value); });
  }
  /// "(none)" when there is no such row; "error: …" when it cannot be read.
  std::string get(std::string_view key) {
    auto transaction = store->read();
    if (!transaction) return "error: " + transaction.error().reason;
    auto value = transaction->get(store->tree(0), key);
    REQUIRE(value);
    return *value ? std::string(**value) : "(none)";
  }
  void reopen() {
    store.reset();
    store = std::make_unique<Store>(options);
  }

  TemporaryFolder folder;
  FaultPlan faults;
  Store::Options options;
  std::unique_ptr<Store> store;
};

constexpr auto both_durabilities = {config::Durability::commit, config::Durability::relaxed};

}  // namespace

TEST_CASE("a write happens once and whole, at whichever of its puts the map is full") {
  constexpr int row_count = 8;
  FailingStore subject;
  for (std::size_t k = 1; k <= row_count + 2; ++k) {
    CAPTURE(k);
    subject.faults.plan({.code = fault_code::must_grow, .calls = {Call::put, Call::erase}, .from = k});
    int runs = 0;
    const auto written = subject.store->write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      ++runs;
      const auto before = transaction.get(subject.store->tree(1), "count");
      const int count = before && *before ? std::stoi(std::string(**before)) : 0;
      for (int i = 0; i < row_count - 1; ++i) {
        OCTAVO_TRY_VOID(transaction.put(subject.store->tree(0), "k" + std::to_string(i), std::to_string(k)));
      }
      OCTAVO_TRY(const bool erased, transaction.erase(subject.store->tree(0), "k0"));
      CHECK(erased);
      return transaction.put(subject.store->tree(1), "count", std::to_string(count + 1));
    });
    REQUIRE(written);
    const bool struck = subject.faults.fired() == 1;
    CHECK(struck == (k <= row_count + 1));
    CHECK(runs == (struck ? 2 : 1));
    auto transaction = subject.store->read();
    CHECK(**transaction->get(subject.store->tree(1), "count") == std::to_string(k));
    CHECK(**transaction->get(subject.store->tree(0), "k5") == std::to_string(k));
    CHECK_FALSE(*transaction->get(subject.store->tree(0), "k0"));
  }
}

TEST_CASE("a commit that finds the map full is run again in a larger one") {
  FailingStore subject;
  subject.faults.plan({.code = fault_code::must_grow, .calls = {Call::commit}});
  CHECK(subject.put("row", "new"));
  CHECK(subject.faults.fired() == 1);
  CHECK(subject.get("row") == "new");
}

TEST_CASE("on a full disk writes fail, reads continue, and writes succeed when there is space again") {
  for (const auto durability : both_durabilities) {
    FailingStore subject(durability);
    subject.faults.plan({.code = ENOSPC, .calls = {Call::commit, Call::sync}, .lasting = true});
    for (int i = 0; i < 3; ++i) {
      const auto refused = subject.put("row", "new");
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::disk_full);
      CHECK(subject.get("row") == "old");
    }
    subject.faults.heal();
    CHECK(subject.put("row", "new"));
    CHECK(subject.get("row") == "new");
    subject.reopen();
    CHECK(subject.get("row") == "new");
  }
}

TEST_CASE("a store that lacks trees, and cannot get them on a full disk, is read, and is written once there is space") {
  for (const auto durability : both_durabilities) {
    FailingStore subject(durability);
    subject.options.trees = {"a", "b", "new", "newer"};
    subject.faults.plan({.code = ENOSPC, .calls = {Call::commit}, .lasting = true});
    subject.reopen();
    CHECK(subject.get("row") == "old");
    {
      const auto transaction = subject.store->read();
      REQUIRE(transaction);
      for (const std::size_t tree : {2, 3}) {
        CHECK_FALSE(transaction->get(subject.store->tree(tree), "row").value());
        Cursor cursor(*transaction, subject.store->tree(tree));
        CHECK_FALSE(cursor.first());
        CHECK_FALSE(cursor.seek_back("row"));
        CHECK(count_rows(*transaction, subject.store->tree(tree)) == 0);
      }
    }
    const auto write_to_new = [&] {
      return subject.store->write(
          0, [&](WriteTransaction& transaction) { return transaction.put(subject.store->tree(3), "row", "new"); });
    };
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto refused = write_to_new();
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::disk_full);
      CHECK(subject.get("row") == "old");
    }
    subject.faults.heal();
    REQUIRE(write_to_new());
    subject.reopen();
    CHECK(subject.get("row") == "old");
    const auto transaction = subject.store->read();
    REQUIRE(transaction);
    CHECK(transaction->get(subject.store->tree(3), "row").value() == "new");
  }
}

TEST_CASE("a store that lacks trees is not opened if the disk fails otherwise") {
  FailingStore subject;
  subject.options.trees.emplace_back("new");
  subject.faults.plan({.code = EIO, .calls = {Call::commit}, .lasting = true});
  subject.reopen();
  CHECK(subject.get("row").starts_with("error"));
  subject.faults.heal();
  CHECK(subject.get("row") == "old");
}

TEST_CASE("a commit whose sync fails is an error, and the next one first opens and syncs the files again") {
  for (const auto durability : both_durabilities) {
    FailingStore subject(durability);
    subject.faults.plan({.calls = {Call::commit}});
    const auto failed = subject.put("row", "lost");
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == ErrorCode::io_failure);
    CHECK(subject.get("row") == "old");
    const auto opened = subject.faults.made(Call::open);
    const auto synced = subject.faults.made(Call::sync);
    const auto committed = subject.faults.made(Call::commit);
    CHECK(subject.put("row", "new"));
    CHECK(subject.faults.made(Call::open) == opened + 1);
    CHECK(subject.faults.made(Call::sync) > synced);
    CHECK(subject.faults.made(Call::commit) == committed + 2);
    CHECK(subject.get("row") == "new");
    CHECK(subject.put("row", "newer"));
    CHECK(subject.faults.made(Call::open) == opened + 1);
  }
}

TEST_CASE("while a failed commit cannot be settled no write succeeds, and reads see what was acknowledged") {
  for (const bool panics : {false, true}) {
    CAPTURE(panics);
    FailingStore subject;
    subject.faults.plan({.calls = {Call::commit}, .panics = panics});
    REQUIRE_FALSE(subject.put("row", "lost"));
    // Each step of settling fails in turn.
    for (const auto& calls : {std::set<Call>{Call::sync}, std::set<Call>{Call::commit}, std::set<Call>{Call::open}}) {
      subject.faults.plan({.calls = calls, .lasting = true});
      const auto refused = subject.put("row", "lost");
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::io_failure);
      if (!calls.contains(Call::open)) CHECK(subject.get("row") == "old");
      subject.faults.heal();
      CHECK(subject.get("row") == "old");
    }
    CHECK(subject.put("row", "new"));
    CHECK(subject.get("row") == "new");
    subject.reopen();
    CHECK(subject.get("row") == "new");
  }
}

TEST_CASE("a write that the disk took but did not confirm is seen only once it is durable") {
  FailingStore subject;
  subject.faults.plan({.calls = {Call::commit}, .took_place = true, .panics = true});
  const auto failed = subject.put("row", "unconfirmed");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::io_failure);

  subject.faults.plan({.calls = {Call::sync}, .lasting = true});
  CHECK(subject.get("row").starts_with("error: The disk failed"));
  CHECK(subject.get("row").starts_with("error: The disk failed"));
  const auto refused = subject.put("row", "new");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::io_failure);

  subject.faults.heal();
  const auto synced = subject.faults.made(Call::sync);
  CHECK(subject.get("row") == "unconfirmed");
  CHECK(subject.faults.made(Call::sync) == synced + 1);
  CHECK(subject.put("row", "new"));
  CHECK(subject.get("row") == "new");
}

TEST_CASE("a write that the disk took but did not confirm is not run again") {
  for (const int code : {EIO, fault_code::must_reopen}) {
    FailingStore subject;
    int runs = 0;
    subject.faults.plan({.code = code, .calls = {Call::commit}, .took_place = true, .panics = true});
    const auto failed = subject.store->write(0, [&](WriteTransaction& transaction) {
      ++runs;
      return transaction.put(subject.store->tree(0), "row", "unconfirmed");
    });
    CHECK_FALSE(failed);
    CHECK(runs == 1);
  }
}

TEST_CASE("without durability a failed commit is an error all the same") {
  FailingStore subject(config::Durability::ephemeral);
  subject.faults.plan({.calls = {Call::commit}, .panics = true});
  CHECK_FALSE(subject.put("row", "lost"));
  CHECK(subject.get("row") == "old");
  CHECK(subject.put("row", "new"));
  CHECK(subject.get("row") == "new");
}

TEST_CASE("a map that cannot grow fails the write, not the reads") {
  FailingStore subject;
  for (const int code : {ENOMEM, ENOSPC}) {
    subject.faults.plan({.code = code, .calls = {Call::grow}, .lasting = true});
    const std::string large(8 << 20, 'x');
    const auto refused = subject.put("large", large);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == (code == ENOSPC ? ErrorCode::disk_full : ErrorCode::overloaded));
    CHECK(subject.get("row") == "old");
    CHECK(subject.get("large") == "(none)");
    subject.faults.heal();
    CHECK(subject.put("large", large));
    CHECK(subject.get("large") == large);
    REQUIRE(subject.store->write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      OCTAVO_TRY_VOID(transaction.erase(subject.store->tree(0), "large"));
      return {};
    }));
    subject.reopen();
  }
}

// The sanitizers' own maps do not fit under such a limit.
#if !defined(OCTAVO_SANITIZED)
TEST_CASE("a map for which there is no address space fails the write, not the reads") {
  FailingStore subject;
  std::ifstream statistics("/proc/self/statm");
  rlim_t pages = 0;
  statistics >> pages;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit tight{pages * 4096 + (64U << 20), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
  const auto refused = subject.store->write(256U << 20, [](WriteTransaction&) -> Expected<void> { return {}; });
  const std::string read = subject.get("row");
  const auto small = subject.put("row", "new");
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::overloaded);
  CHECK(read == "old");
  CHECK(small);
  CHECK(subject.get("row") == "new");
}
#endif

TEST_CASE("when there is no reader slot or descriptor left, the answer is to try again") {
  FailingStore subject;
  for (const int code : {fault_code::too_many_readers, ENOMEM}) {
    subject.faults.plan({.code = code, .calls = {Call::begin_read}});
    const auto refused = subject.store->read();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::overloaded);
    CHECK(subject.get("row") == "old");
  }
  for (const int code : {EMFILE, ENFILE}) {
    subject.reopen();
    subject.faults.plan({.code = code, .calls = {Call::open}});
    const auto refused = subject.store->read();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::overloaded);
    CHECK(subject.get("row") == "old");
  }
}

TEST_CASE("a thousand readers at once: some are told to try again, and slots come back") {
  FailingStore subject;
  std::vector<ReadTransaction> readers;
  std::size_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    auto reader = subject.store->read();
    if (reader) {
      readers.push_back(std::move(*reader));
    } else {
      CHECK(reader.error().code == ErrorCode::overloaded);
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(readers.size() >= 500);
  CHECK(subject.put("row", "new"));
  readers.clear();
  CHECK(subject.get("row") == "new");
  CHECK(subject.store->close_if_idle());
}

TEST_CASE("a store is created whole or not at all, wherever its creation fails") {
  for (const int code : {ENOSPC, EIO, EMFILE}) {
    for (std::size_t n = 1;; ++n) {
      CAPTURE(code, n);
      TemporaryFolder folder;
      FaultPlan faults;
      Store::Options options;
      options.folder = folder.path() / "store";
      options.trees = {"a"};
      options.faults = &faults;
      Store store(options);
      faults.plan({.code = code, .from = n});
      const auto created = store.create();
      CHECK(created.has_value() == (faults.fired() == 0));
      if (!created) CHECK_FALSE(std::filesystem::exists(options.folder / "data.mdb"));
      if (faults.fired() == 0) {
        CHECK(n > 4);
        break;
      }
      REQUIRE(store.create());
      CHECK(store.read());
    }
  }
}

TEST_CASE("a store that is created again is empty, also after that has failed anywhere") {
  for (std::size_t n = 1;; ++n) {
    CAPTURE(n);
    FailingStore subject;
    std::ofstream(subject.options.folder / "other") << "left by a crash";
    subject.faults.plan({.code = ENOSPC, .from = n});
    const auto created = subject.store->create_again();
    const bool struck = subject.faults.fired() > 0;
    CHECK(created.has_value() == !struck);
    subject.faults.heal();
    if (struck) REQUIRE(subject.store->create_again());
    CHECK(subject.get("row") == "(none)");
    CHECK_FALSE(std::filesystem::exists(subject.options.folder / "other"));
    CHECK(subject.put("row", "new"));
    subject.reopen();
    CHECK(subject.get("row") == "new");
    if (!struck) {
      CHECK(n > 4);
      break;
    }
  }
}

TEST_CASE("a store whose last commit failed is settled when it has been created again") {
  FailingStore subject;
  subject.faults.plan({.code = EIO, .calls = {Call::commit}, .took_place = true});
  REQUIRE_FALSE(subject.put("row", "new"));
  subject.faults.plan({.code = EIO, .calls = {Call::sync}, .lasting = true});
  CHECK_FALSE(subject.put("row", "newer"));
  subject.faults.heal();
  REQUIRE(subject.store->create_again());
  CHECK(subject.get("row") == "(none)");
  CHECK(subject.put("row", "newest"));
  CHECK(subject.get("row") == "newest");
}

TEST_CASE("a store with a reader inside is not created again") {
  FailingStore subject;
  {
    const auto reader = subject.store->read();
    REQUIRE(reader);
    const auto created = subject.store->create_again();
    REQUIRE_FALSE(created);
    CHECK(created.error().code == ErrorCode::overloaded);
  }
  CHECK(subject.get("row") == "old");
  REQUIRE(subject.store->create_again());
  CHECK(subject.get("row") == "(none)");
}

TEST_CASE("an exception anywhere in a write leaves the store as it was") {
  for (std::size_t n = 1;; ++n) {
    CAPTURE(n);
    FailingStore subject;
    subject.faults.plan({.code = FaultPlan::no_memory, .from = n});
    bool thrown = false;
    bool written = false;
    try {
      written = subject.put("row", "new").has_value();
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    CHECK(written != thrown);
    CHECK(thrown == (subject.faults.fired() == 1));
    if (!thrown) {
      CHECK(n > 2);
      break;
    }
    CHECK(subject.get("row") == "old");
    CHECK(subject.put("row", "new"));
    CHECK(subject.get("row") == "new");
    // No thread counts as being inside any more.
    CHECK(subject.store->close_if_idle());
  }
}

TEST_CASE("the lock file has no holes that a full disk could not fill") {
  FailingStore subject;
  struct stat file{};
  REQUIRE(::stat((subject.options.folder / "lock.mdb").c_str(), &file) == 0);
  CHECK(file.st_blocks * 512 >= file.st_size);
}
