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
  REQUIRE(store.create());
  // Many leaves below one root: what opening looks at is sound.
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    for (int i = 1000; i < 2000; ++i) {
      OCTAVO_TRY_VOID(transaction.append(store.tree(0), std::to_string(i), std::string(50, 'v')));
    }
    return {};
  }));
  REQUIRE(store.close_if_idle());
  const auto path = store.options().folder / "data.mdb";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::string image(std::filesystem::file_size(path), '\0');
    REQUIRE(file.read(image.data(), static_cast<std::streamsize>(image.size())));
    const auto page = image.find("1500") / 4096;
    file.seekp(static_cast<std::streamoff>(page * 4096 + 10));  // what kind of page it is
    file.write("\0\0", 2);
  }
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
