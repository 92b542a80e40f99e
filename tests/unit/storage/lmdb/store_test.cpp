#include "storage/lmdb/store.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>

#include "base/read_failure.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::TemporaryFolder;

namespace {

Store::Options options_in(const TemporaryFolder& folder, std::uint64_t map_bytes = 1 << 20) {
  Store::Options options;
  options.folder = folder.path() / "store";
  options.trees = {"a", "b"};
  options.durability = config::Durability::ephemeral;
  options.capacity_bytes_initial = map_bytes;
  options.capacity_bytes_reserved_max = map_bytes;
  return options;
}

Expected<void> put(Store& store, std::string_view key, std::string_view value) {
  return store.write(0, [&](WriteTransaction& transaction) { return transaction.put(store.tree(0), key, value); });
}

std::string get(Store& store, std::string_view key) {
  auto transaction = store.read();
  REQUIRE(transaction);
  auto value = transaction->get(store.tree(0), key);
  REQUIRE(value);
  return *value ? std::string(**value) : "(none)";
}

/// Rows "1000" to "1999", in many leaves below one root, so that what opening looks at is sound. Then `bytes` are
/// written from byte `at` of the page that has the row "1500".
void damage_a_leaf(Store& store, std::size_t at, const std::string& bytes) {
  REQUIRE(store.create());
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    for (int i = 1000; i < 2000; ++i) {
      OCTAVO_TRY_VOID(transaction.append(store.tree(0), std::to_string(i), std::string(50, 'v')));
    }
    return {};
  }));
  REQUIRE(store.close_if_idle());
  const auto path = store.options().folder / "data.mdb";
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string image(std::filesystem::file_size(path), '\0');
  REQUIRE(file.read(image.data(), static_cast<std::streamsize>(image.size())));
  const auto page = image.find("1500") / 4096;
  file.seekp(static_cast<std::streamoff>(page * 4096 + at));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("what is written is read back, also after closing and opening") {
  TemporaryFolder folder;
  Store store(options_in(folder));
  REQUIRE(store.create());
  REQUIRE(put(store, "k", "v"));
  REQUIRE(store.close_if_idle());
  CHECK_FALSE(store.is_open());
  CHECK(get(store, "k") == "v");
}

TEST_CASE("rows that become much smaller give their pages back") {
  TemporaryFolder folder;
  Store store(options_in(folder, 16 << 20));
  REQUIRE(store.create());
  constexpr std::size_t old_bytes = 1500;
  const auto write_all = [&](std::size_t value_bytes) {
    REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      for (int i = 1000; i < 1400; ++i) {
        const std::string value(value_bytes, 'v');
        OCTAVO_TRY_VOID(transaction.put_over(store.tree(0), std::to_string(i), value, old_bytes));
      }
      return {};
    }));
  };
  write_all(old_bytes);
  const std::uint64_t large = store.sizes()->used_bytes;
  CHECK(large > 400 * old_bytes);
  write_all(10);
  CHECK(store.sizes()->used_bytes < large / 4);
  CHECK(get(store, "1000") == std::string(10, 'v'));
  CHECK(get(store, "1399") == std::string(10, 'v'));
}

TEST_CASE("an error from the body leaves nothing behind") {
  TemporaryFolder folder;
  Store store(options_in(folder));
  REQUIRE(store.create());
  const auto result = store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(transaction.put(store.tree(0), "k", "v"));
    return fail(ErrorCode::conflict, "no");
  });
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::conflict);
  CHECK(get(store, "k") == "(none)");
}

TEST_CASE("the map grows online, far beyond its first size, without an error for any reader or writer") {
  TemporaryFolder folder;
  Store store(options_in(folder, 1 << 16));
  REQUIRE(store.create());
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::thread reader([&] {
    while (!stop) {
      auto transaction = store.read();
      if (!transaction || !transaction->get(store.tree(0), "00000")) ++failures;
    }
  });
  const std::string value(4000, 'x');
  for (int i = 0; i < 2000; ++i) {
    const std::string key = std::to_string(100000 + i);
    REQUIRE(put(store, key, value));
  }
  stop = true;
  reader.join();
  CHECK(failures == 0);
  CHECK(get(store, "101999") == value);
  CHECK(store.sizes()->file_bytes > 8'000'000);
}

TEST_CASE("a store with a reader inside is not closed") {
  TemporaryFolder folder;
  Store store(options_in(folder));
  REQUIRE(store.create());
  auto transaction = store.read();
  REQUIRE(transaction);
  CHECK_FALSE(store.close_if_idle());
  CHECK(store.is_open());
}

TEST_CASE("a snapshot does not see later writes") {
  TemporaryFolder folder;
  Store store(options_in(folder));
  REQUIRE(store.create());
  REQUIRE(put(store, "k", "old"));
  auto snapshot = store.read();
  std::thread writer([&] { (void)put(store, "k", "new"); });
  writer.join();
  CHECK(**snapshot->get(store.tree(0), "k") == "old");
  CHECK(get(store, "k") == "new");
}

TEST_CASE("a file that is no store is refused with its name") {
  TemporaryFolder folder;
  auto options = options_in(folder);
  std::filesystem::create_directories(options.folder);
  std::ofstream(options.folder / "data.mdb") << std::string(100000, 'z');
  Store store(options);
  const auto opened = store.open();
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::corrupted);
  CHECK(opened.error().reason.find(options.folder.string()) != std::string::npos);
}

TEST_CASE("a seek that meets a page it cannot read says so, instead of standing past the end") {
  TemporaryFolder folder;
  Store store(options_in(folder));
  damage_a_leaf(store, 10, std::string(2, '\0'));  // what kind of page it is
  const auto transaction = store.read();
  REQUIRE(transaction);
  Cursor cursor(*transaction, store.tree(0));
  REQUIRE(cursor.first());
  try {
    const auto row = cursor.seek("1500");
    FAIL("it is said to be " << (row ? row->key : "past the end"));
  } catch (const ReadFailure& failure) {
    CHECK(failure.error().code == ErrorCode::corrupted);
    CHECK(failure.error().reason.find("store") != std::string::npos);  // the folder
  }
  // The next one of the same snapshot fails too.
  CHECK_THROWS_AS(cursor.last(), ReadFailure);
}

TEST_CASE("a walk that meets a page of other bytes says so, instead of returning rows that are not there") {
  TemporaryFolder folder;
  Store store(options_in(folder));
  damage_a_leaf(store, 0, std::string(4096, '\xa5'));  // LMDB takes it for a page of keys that have no bytes
  const auto transaction = store.read();
  REQUIRE(transaction);
  Cursor cursor(*transaction, store.tree(0));
  std::string last;
  const auto walk = [&] {
    for (auto row = cursor.first(); row; row = cursor.next()) last = row->key;
  };
  CHECK_THROWS_AS(walk(), ReadFailure);
  CHECK(last < "1500");
  CHECK(last > "1400");
}

TEST_CASE("more threads than reader slots read at once") {
  TemporaryFolder folder;
  Store store(options_in(folder));
  REQUIRE(store.create());
  REQUIRE(put(store, "k", "v"));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 80; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto one = store.read();
        auto two = store.read();
        if (one && two && **two->get(store.tree(0), "k") == "v") ++good;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(good == 80 * 50);
}
