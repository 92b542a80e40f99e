// Maps that are too small, and what growing one costs readers and writers.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sys/resource.h>
#include <thread>

#include <catch2/catch.hpp>

#include "storage/lmdb/internal/address_space.h"
#include "storage/lmdb/store.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::storage;
using namespace std::chrono_literals;
using octavo::tests::TemporaryFolder;

namespace {

constexpr std::uint64_t small_map_bytes = 1 << 20;
constexpr std::size_t more_than_small_bytes = 8 << 20;
/// The longest wait of the gate, and some time for a busy machine.
constexpr auto wait_max = 4s;

Store::Options reserving_options(const TemporaryFolder& folder, const char* name) {
  Store::Options options;
  options.folder = folder.path() / name;
  options.trees = {"rows"};
  options.durability = config::Durability::ephemeral;
  options.capacity_bytes_initial = small_map_bytes;
  return options;
}

Store::Options growing_options(const TemporaryFolder& folder, const char* name) {
  auto options = reserving_options(folder, name);
  options.capacity_bytes_reserved_max = small_map_bytes;
  return options;
}

Expected<void> write_so_that_it_grows(Store& store) {
  return store.write(more_than_small_bytes, [](WriteTransaction&) -> Expected<void> { return {}; });
}

std::uint64_t capacity_bytes_of(Store& store) {
  const auto sizes = store.sizes();
  REQUIRE(sizes);
  return sizes->capacity_bytes;
}

}  // namespace

TEST_CASE("two readers that enter two growing stores in opposite order do not block each other forever") {
  TemporaryFolder folder;
  Store one(growing_options(folder, "one"));
  Store two(growing_options(folder, "two"));
  REQUIRE(one.create());
  REQUIRE(two.create());
  std::atomic<int> unexpected{0};
  const auto note = [&](const auto& result) {
    if (!result && result.error().code != ErrorCode::overloaded) ++unexpected;
  };
  const auto read_both = [&](Store& first, Store& second) {
    const auto outer = first.read();
    std::this_thread::sleep_for(300ms);
    note(second.read());
  };
  const auto grow = [&](Store& store) {
    std::this_thread::sleep_for(100ms);
    note(write_so_that_it_grows(store));
  };
  const auto begun = std::chrono::steady_clock::now();
  {
    const std::jthread threads[] = {std::jthread(read_both, std::ref(one), std::ref(two)),
                                    std::jthread(read_both, std::ref(two), std::ref(one)),
                                    std::jthread(grow, std::ref(one)), std::jthread(grow, std::ref(two))};
  }
  CHECK(std::chrono::steady_clock::now() - begun < octavo::tests::patiently(wait_max));
  CHECK(unexpected == 0);
  CHECK(write_so_that_it_grows(one));
  CHECK(write_so_that_it_grows(two));
}

TEST_CASE("a write that must grow the map under a reader who stays is told to try again, and others read on") {
  TemporaryFolder folder;
  Store store(growing_options(folder, "one"));
  REQUIRE(store.create());
  auto reader = store.read();
  REQUIRE(reader);
  std::optional<Expected<void>> written;
  const auto write = [&] { written = write_so_that_it_grows(store); };
  std::thread(write).join();
  REQUIRE_FALSE(*written);
  CHECK(written->error().code == ErrorCode::overloaded);

  SECTION("the next such write does not keep readers waiting again") {
    const auto begun = std::chrono::steady_clock::now();
    std::thread(write).join();
    CHECK_FALSE(*written);
    CHECK(std::chrono::steady_clock::now() - begun < octavo::tests::patiently(500ms));
  }
  SECTION("others still enter") {
    bool read = false;
    std::thread([&] { read = store.read().has_value(); }).join();
    CHECK(read);
  }
  SECTION("the map grows once the reader has left") {
    {
      const ReadTransaction gone = std::move(*reader);
    }
    std::thread(write).join();
    CHECK(*written);
    CHECK(capacity_bytes_of(store) >= more_than_small_bytes);
  }
}

TEST_CASE("a map is reserved so large that it does not grow, and the file stays small") {
  TemporaryFolder folder;
  Store store(reserving_options(folder, "one"));
  REQUIRE(store.create());
  const std::uint64_t reserved = capacity_bytes_of(store);
#if defined(OCTAVO_SANITIZED)
  CHECK(reserved >= 1ULL << 30);
#else
  CHECK(reserved >= 64ULL << 30);
#endif
  const auto reader = store.read();
  REQUIRE(reader);
  std::optional<Expected<void>> written;
  std::thread([&] { written = write_so_that_it_grows(store); }).join();
  CHECK(*written);
  CHECK(capacity_bytes_of(store) == reserved);
  CHECK(std::filesystem::file_size(store.options().folder / "data.mdb") < small_map_bytes);
}

TEST_CASE("all maps together take at most half of the address space, and each gets what it needs") {
  constexpr int map_count = 20'000;
  constexpr std::uint64_t half_bytes = 64ULL << 40;
  std::uint64_t taken = 0;
  std::uint64_t least = half_bytes;
  for (int i = 0; i < map_count; ++i) {
    const std::uint64_t bytes = map_bytes_to_reserve(0, small_map_bytes);
    take_address_space(bytes);
    taken += bytes;
    least = std::min(least, bytes);
  }
  const std::uint64_t of_large_file = map_bytes_to_reserve(half_bytes / 4, half_bytes / 4);
  return_address_space(taken);
  CHECK(least >= small_map_bytes);
  CHECK(taken <= half_bytes + map_count * small_map_bytes);
  CHECK(of_large_file >= half_bytes / 4);
  CHECK(map_bytes_to_reserve(0, small_map_bytes) >= least);
}

// The sanitizers' own maps do not fit under such a limit.
#if !defined(OCTAVO_SANITIZED)
TEST_CASE("where a process may not have much address space, maps begin small and grow") {
  TemporaryFolder folder;
  Store store(reserving_options(folder, "one"));
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit limited{8ULL << 30, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const auto created = store.create();
  const auto small = store.sizes();
  const auto written = write_so_that_it_grows(store);
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE(created);
  REQUIRE(small);
  CHECK(small->capacity_bytes == small_map_bytes);
  CHECK(written);
  CHECK(capacity_bytes_of(store) >= more_than_small_bytes);
}
#endif
