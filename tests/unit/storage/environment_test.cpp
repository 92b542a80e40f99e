#include "storage/lmdb/environment.h"

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

Environment::Options options_in(const TemporaryFolder& folder, std::uint64_t map_bytes = 1 << 20) {
  Environment::Options options;
  options.folder = folder.path() / "environment";
  options.trees = {"a", "b"};
  options.durability = config::Durability::ephemeral;
  options.map_bytes_initial = map_bytes;
  options.map_bytes_reserved_max = map_bytes;
  return options;
}

Expected<void> put(Environment& environment, std::string_view key, std::string_view value) {
  return environment.write(
      0, [&](WriteTransaction& transaction) { return transaction.put(environment.tree(0), key, value); });
}

std::string get(Environment& environment, std::string_view key) {
  auto transaction = environment.read();
  REQUIRE(transaction);
  auto value = transaction->get(environment.tree(0), key);
  REQUIRE(value);
  return *value ? std::string(**value) : "(none)";
}

}  // namespace

TEST_CASE("what is written is read back, also after closing and opening") {
  TemporaryFolder folder;
  Environment environment(options_in(folder));
  REQUIRE(environment.create());
  REQUIRE(put(environment, "k", "v"));
  REQUIRE(environment.close_if_idle());
  CHECK_FALSE(environment.is_open());
  CHECK(get(environment, "k") == "v");
}

TEST_CASE("an error from the body leaves nothing behind") {
  TemporaryFolder folder;
  Environment environment(options_in(folder));
  REQUIRE(environment.create());
  const auto result = environment.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(transaction.put(environment.tree(0), "k", "v"));
    return fail(ErrorCode::conflict, "no");
  });
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::conflict);
  CHECK(get(environment, "k") == "(none)");
}

TEST_CASE("the map grows online, far beyond its first size, without an error for anyone") {
  TemporaryFolder folder;
  Environment environment(options_in(folder, 1 << 16));
  REQUIRE(environment.create());
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::thread reader([&] {
    while (!stop) {
      auto transaction = environment.read();
      if (!transaction || !transaction->get(environment.tree(0), "00000")) ++failures;
    }
  });
  const std::string value(4000, 'x');
  for (int i = 0; i < 2000; ++i) {
    const std::string key = std::to_string(100000 + i);
    REQUIRE(put(environment, key, value));
  }
  stop = true;
  reader.join();
  CHECK(failures == 0);
  CHECK(get(environment, "101999") == value);
  CHECK(environment.sizes()->file_bytes > 8'000'000);
}

TEST_CASE("an environment with a reader inside is not closed") {
  TemporaryFolder folder;
  Environment environment(options_in(folder));
  REQUIRE(environment.create());
  auto transaction = environment.read();
  REQUIRE(transaction);
  CHECK_FALSE(environment.close_if_idle());
  CHECK(environment.is_open());
}

TEST_CASE("a snapshot does not see later writes") {
  TemporaryFolder folder;
  Environment environment(options_in(folder));
  REQUIRE(environment.create());
  REQUIRE(put(environment, "k", "old"));
  auto snapshot = environment.read();
  std::thread writer([&] { (void)put(environment, "k", "new"); });
  writer.join();
  CHECK(**snapshot->get(environment.tree(0), "k") == "old");
  CHECK(get(environment, "k") == "new");
}

TEST_CASE("a file that is no environment is refused with its name") {
  TemporaryFolder folder;
  auto options = options_in(folder);
  std::filesystem::create_directories(options.folder);
  std::ofstream(options.folder / "data.mdb") << std::string(100000, 'z');
  Environment environment(options);
  const auto opened = environment.open();
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::corrupted);
  CHECK(opened.error().reason.find(options.folder.string()) != std::string::npos);
}

TEST_CASE("a seek that meets a page it cannot read says so, instead of standing past the end") {
  TemporaryFolder folder;
  Environment environment(options_in(folder));
  REQUIRE(environment.create());
  // Many leaves below one root: what opening looks at is sound.
  REQUIRE(environment.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    for (int i = 1000; i < 2000; ++i) {
      OCTAVO_TRY_VOID(transaction.append(environment.tree(0), std::to_string(i), std::string(50, 'v')));
    }
    return {};
  }));
  REQUIRE(environment.close_if_idle());
  const auto path = environment.options().folder / "data.mdb";
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    std::string image(std::filesystem::file_size(path), '\0');
    REQUIRE(file.read(image.data(), static_cast<std::streamsize>(image.size())));
    const auto page = image.find("1500") / 4096;
    file.seekp(static_cast<std::streamoff>(page * 4096 + 10));  // what kind of page it is
    file.write("\0\0", 2);
  }
  const auto transaction = environment.read();
  REQUIRE(transaction);
  Cursor cursor(*transaction, environment.tree(0));
  REQUIRE(cursor.first());
  try {
    const auto row = cursor.seek("1500");
    FAIL("it is said to be " << (row ? row->key : "past the end"));
  } catch (const ReadFailure& failure) {
    CHECK(failure.error().code == ErrorCode::corrupted);
    CHECK(failure.error().reason.find("environment") != std::string::npos);  // the folder
  }
  // The next one of the same snapshot fails too.
  CHECK_THROWS_AS(cursor.last(), ReadFailure);
}

TEST_CASE("more threads than reader slots read at once") {
  TemporaryFolder folder;
  Environment environment(options_in(folder));
  REQUIRE(environment.create());
  REQUIRE(put(environment, "k", "v"));
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 80; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto one = environment.read();
        auto two = environment.read();
        if (one && two && **two->get(environment.tree(0), "k") == "v") ++good;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(good == 80 * 50);
}
