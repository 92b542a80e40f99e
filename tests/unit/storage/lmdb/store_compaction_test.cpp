// Compaction and backup of a store beside reads and writes, compared with a model.
#include "storage/lmdb/store_compaction.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/lmdb/store_backup.h"
#include "support/random.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using namespace std::chrono_literals;
using octavo::tests::below;
using octavo::tests::Random;
using octavo::tests::TemporaryFolder;

namespace {

constexpr std::size_t trees_of_model = 3;
using ModelRows = std::array<std::map<std::string, std::string>, trees_of_model>;

/// One change of a row; nullopt erases it.
struct RowChange {
  std::size_t tree = 0;
  std::string key;
  std::optional<std::string> value;
  bool is_undone = false;  ///< made in a nested transaction that is not kept
};

ModelRows rows_of(Store& store) {
  ModelRows rows;
  const auto snapshot = store.read();
  REQUIRE(snapshot);
  for (std::size_t i = 0; i < trees_of_model; ++i) {
    Cursor cursor(*snapshot, store.tree(i));
    for (auto row = cursor.first(); row; row = cursor.next()) rows[i].emplace(row->key, row->value);
  }
  CHECK_FALSE(store.lost_space(*snapshot));
  return rows;
}

std::size_t count_all(Store& store) {
  std::size_t count = 0;
  for (const auto& rows : rows_of(store)) count += rows.size();
  return count;
}

/// A store with three trees, and a model of it.
struct ModelledStore {
  explicit ModelledStore(Random::result_type seed) : random(seed) {
    options.folder = folder.path() / "store";
    options.trees = {"a", "b", "c"};
    options.durability = config::Durability::ephemeral;
    // Small, so that the maps of the store and of the copy grow.
    options.capacity_bytes_initial = options.capacity_bytes_reserved_max = 1 << 18;
    store = std::make_unique<Store>(options);
    REQUIRE(store->create());
  }

  RowChange random_change() {
    RowChange change;
    change.tree = below(random, trees_of_model);
    change.key = "key" + std::to_string(below(random, 300));
    change.is_undone = below(random, 8) == 0;
    if (below(random, 3) == 0) return change;
    const std::size_t bytes = below(random, 20) == 0 ? 9'000 : below(random, 900);
    change.value = std::to_string(random()) + std::string(bytes, 'x');
    return change;
  }

  Expected<void> make(WriteTransaction& transaction, const RowChange& change) const {
    const Tree tree = store->tree(change.tree);
    if (!change.value) {
      OCTAVO_TRY_VOID(transaction.erase(tree, change.key));
      return {};
    }
    return change.value->size() % 2 == 0 ? transaction.put(tree, change.key, *change.value)
                                         : transaction.append(tree, change.key, *change.value);
  }

  /// One transaction of random changes, some of which are undone; now and then all of them.
  void change_rows(std::size_t count) {
    std::vector<RowChange> changes;
    for (std::size_t i = 0; i < count; ++i) changes.push_back(random_change());
    const bool is_aborted = below(random, 8) == 0;
    const auto written = store->write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      for (const RowChange& change : changes) {
        if (!change.is_undone) {
          OCTAVO_TRY_VOID(make(transaction, change));
          continue;
        }
        const auto undone = transaction.nested([&]() -> Expected<bool> {
          if (auto made = make(transaction, change); !made) return std::unexpected(made.error());
          return false;
        });
        OCTAVO_TRY_VOID(undone);
      }
      if (is_aborted) return fail(ErrorCode::conflict, "aborted");
      return {};
    });
    REQUIRE(written.has_value() == !is_aborted);
    if (is_aborted) return;
    for (const RowChange& change : changes) {
      if (change.is_undone) continue;
      if (change.value) {
        rows[change.tree][change.key] = *change.value;
      } else {
        rows[change.tree].erase(change.key);
      }
    }
  }

  bool is_as_modelled() { return rows_of(*store) == rows; }
  bool has_draft() const { return std::filesystem::exists(options.folder / "new"); }

  TemporaryFolder folder;
  Random random;
  Store::Options options;
  std::unique_ptr<Store> store;
  ModelRows rows;
};

Expected<void> compact_store(Store& store, std::function<bool()> stopped = {}) {
  return StoreCompaction(store, {.stopped = std::move(stopped), .slice_bytes = 3'000}).run();
}

/// Backs the store up into the folder "copy" beside it.
Expected<void> back_up(ModelledStore& subject, std::function<bool()> stopped = {}) {
  return StoreBackup(*subject.store, subject.folder.path() / "copy",
                     {.stopped = std::move(stopped), .slice_bytes = 3'000})
      .run();
}

bool is_copy_as_modelled(const ModelledStore& subject) {
  Store::Options options = subject.options;
  options.folder = subject.folder.path() / "copy";
  Store copy(options);
  return rows_of(copy) == subject.rows;
}

std::uint64_t bytes_of_file(Store& store) {
  return Store::file_bytes_in(store.options().folder).value_or(0);
}

}  // namespace

TEST_CASE("a compaction keeps every row, whatever transactions change between its steps") {
  for (Random::result_type seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    ModelledStore subject(seed);
    for (int i = 0; i < 20; ++i) subject.change_rows(40);
    int steps = 0;
    const auto compacted = compact_store(*subject.store, [&] {
      ++steps;
      subject.change_rows(1 + below(subject.random, 6));
      return false;
    });
    REQUIRE(compacted);
    CHECK(steps > 20);
    CHECK(subject.is_as_modelled());
    CHECK_FALSE(subject.has_draft());
    // It is written as before, and can be compacted again and opened again.
    subject.change_rows(20);
    REQUIRE(compact_store(*subject.store));
    CHECK(subject.is_as_modelled());
    subject.store = std::make_unique<Store>(subject.options);
    CHECK(subject.is_as_modelled());
  }
}

TEST_CASE("a compaction beside a thread that writes all the time loses none of its writes") {
  ModelledStore subject(1);
  for (int i = 0; i < 10; ++i) subject.change_rows(40);
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    while (!is_over) subject.change_rows(4);
  });
  std::vector<Expected<void>> results;
  for (int i = 0; i < 5; ++i) results.push_back(compact_store(*subject.store));
  is_over = true;
  writer.join();
  for (const auto& result : results) CHECK(result);
  CHECK(subject.is_as_modelled());
}

TEST_CASE("a compaction returns the space of deleted rows to the file system") {
  ModelledStore subject(1);
  const std::string value(1'000, 'x');
  const auto write_all = [&](bool erases) {
    REQUIRE(subject.store->write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      for (int i = 0; i < 5'000; ++i) {
        const std::string key = std::to_string(100'000 + i);
        OCTAVO_TRY_VOID(transaction.put(subject.store->tree(0), key, erases ? "deleted" : value));
      }
      return {};
    }));
  };
  write_all(false);
  write_all(true);
  const std::uint64_t before = bytes_of_file(*subject.store);
  StoreCompaction compaction(*subject.store, {});
  REQUIRE(compaction.run());
  CHECK(compaction.rows_expected() == 5'000);
  CHECK(compaction.rows_copied() == 5'000);
  CHECK(before > 5'000'000);
  // 27 bytes a row and LMDB's 8 or so, in full pages.
  CHECK(bytes_of_file(*subject.store) < 400'000);
  CHECK(subject.store->sizes()->file_bytes < 400'000);
}

TEST_CASE("a compaction that is stopped at any step leaves the store as it was") {
  bool is_complete = false;
  for (int step = 1; !is_complete; ++step) {
    CAPTURE(step);
    ModelledStore subject(7);
    for (int i = 0; i < 4; ++i) subject.change_rows(20);
    int steps = 0;
    const auto result = compact_store(*subject.store, [&] { return ++steps == step; });
    is_complete = result.has_value();
    if (!is_complete) CHECK(result.error().code == ErrorCode::timeout);
    CHECK(subject.is_as_modelled());
    CHECK_FALSE(subject.has_draft());
    subject.change_rows(5);
    CHECK(subject.is_as_modelled());
    REQUIRE(step < 1'000);
  }
}

TEST_CASE("a store whose compaction a crash ended has its rows when it is opened again, and no draft") {
  ModelledStore subject(3);
  for (int i = 0; i < 6; ++i) subject.change_rows(30);
  int crashes = 0;
  const auto compacted = compact_store(*subject.store, [&] {
    subject.change_rows(2);
    // What a killed process would leave: the files as they are between two calls.
    Store::Options options = subject.options;
    options.folder = subject.folder.path() / ("crash" + std::to_string(crashes++));
    std::filesystem::copy(subject.options.folder, options.folder, std::filesystem::copy_options::recursive);
    Store crashed(options);
    const bool is_complete = rows_of(crashed) == subject.rows;
    CHECK(is_complete);
    CHECK_FALSE(std::filesystem::exists(options.folder / "new"));
    std::filesystem::remove_all(options.folder);
    return false;
  });
  REQUIRE(compacted);
  CHECK(crashes > 10);
  CHECK(subject.is_as_modelled());
}

TEST_CASE("a snapshot that was taken before the file is replaced shows its rows to the end, and delays it") {
  ModelledStore subject(5);
  for (int i = 0; i < 6; ++i) subject.change_rows(30);
  const ModelRows before = subject.rows;
  auto snapshot = std::make_optional(subject.store->read());
  REQUIRE(*snapshot);
  std::atomic<bool> is_over{false};
  Expected<void> result;
  std::thread compacting([&] {
    result = compact_store(*subject.store);
    is_over = true;
  });
  std::this_thread::sleep_for(300ms);
  CHECK_FALSE(is_over.load());
  for (std::size_t i = 0; i < trees_of_model; ++i) {
    for (const auto& [key, value] : before[i]) CHECK(**(*snapshot)->get(subject.store->tree(i), key) == value);
  }
  snapshot.reset();
  compacting.join();
  CHECK(result);
  CHECK(subject.is_as_modelled());
}

TEST_CASE("a compaction gives up when the store is emptied") {
  ModelledStore subject(6);
  for (int i = 0; i < 6; ++i) subject.change_rows(30);
  int steps = 0;
  const auto result = compact_store(*subject.store, [&] {
    if (++steps == 5) REQUIRE(subject.store->create_again());
    return false;
  });
  REQUIRE_FALSE(result);
  CHECK(count_all(*subject.store) == 0);
  REQUIRE(compact_store(*subject.store));
  CHECK(count_all(*subject.store) == 0);
}

TEST_CASE("a backup has every row, whatever transactions change between its steps, and the store stays as it is") {
  for (Random::result_type seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    ModelledStore subject(seed);
    for (int i = 0; i < 20; ++i) subject.change_rows(40);
    int steps = 0;
    REQUIRE(back_up(subject, [&] {
      ++steps;
      subject.change_rows(1 + below(subject.random, 6));
      return false;
    }));
    CHECK(steps > 20);
    CHECK(is_copy_as_modelled(subject));
    CHECK(subject.is_as_modelled());
    // Later writes are not in it.
    const ModelRows before = subject.rows;
    while (subject.rows == before) subject.change_rows(20);
    CHECK_FALSE(is_copy_as_modelled(subject));
  }
}

TEST_CASE("a backup that is stopped at any step leaves no copy, and the store as it was") {
  bool is_complete = false;
  for (int step = 1; !is_complete; ++step) {
    CAPTURE(step);
    ModelledStore subject(7);
    for (int i = 0; i < 4; ++i) subject.change_rows(20);
    int steps = 0;
    const auto result = back_up(subject, [&] { return ++steps == step; });
    is_complete = result.has_value();
    if (!is_complete) CHECK(result.error().code == ErrorCode::timeout);
    CHECK(std::filesystem::exists(subject.folder.path() / "copy") == is_complete);
    subject.change_rows(5);
    CHECK(subject.is_as_modelled());
    REQUIRE(step < 1'000);
  }
}

TEST_CASE("backups and compactions of a store wait for each other, beside a thread that writes all the time") {
  ModelledStore subject(2);
  for (int i = 0; i < 10; ++i) subject.change_rows(40);
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    while (!is_over) subject.change_rows(4);
  });
  std::vector<Expected<void>> compacted;
  std::thread compacting([&] {
    for (int i = 0; i < 3; ++i) compacted.push_back(compact_store(*subject.store));
  });
  std::vector<Expected<void>> backed_up;
  for (int i = 0; i < 3; ++i) backed_up.push_back(back_up(subject));
  compacting.join();
  is_over = true;
  writer.join();
  for (const auto& result : compacted) CHECK(result);
  for (const auto& result : backed_up) CHECK(result);
  CHECK(subject.is_as_modelled());
  REQUIRE(back_up(subject));
  CHECK(is_copy_as_modelled(subject));
}
