// What an index does when its files are closed, damaged or behind, and when the disk or the memory is full.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "query/search/search_index.h"
#include "support/fault_plan.h"
#include "support/patience.h"
#include "unit/query/search/search_index_fixture.h"

using octavo::tests::patiently;

namespace octavo::query::search {
namespace {

using Ids = std::vector<std::string>;
using Fixture = SearchIndexFixture;

TEST_CASE("an index that is closed and opened again resumes where it was") {
  Fixture shop;
  put_products(shop);
  shop.reopen();
  CHECK(shop.index->checkpoint() == shop.sequence());
  CHECK(shop.index->complete_through() == shop.sequence());
  CHECK(shop.find_sorted("red") == Ids{"mixer", "scales"});
  // Documents that the index has nothing to do with move the checkpoint too, though Lucene has nothing to commit.
  for (int i = 0; i < 10; ++i) shop.put(fmt::format("other{}", i), {});
  shop.apply();
  shop.reopen();
  CHECK(shop.index->checkpoint() == shop.sequence());
  CHECK(shop.find_sorted("red") == Ids{"mixer", "scales"});
}

TEST_CASE("an idle index closes its files and opens them for the next search or change") {
  Fixture shop;
  put_products(shop);
  CHECK(shop.find("red").size() == 2);
  CHECK(shop.index->open_store_count() == 1);
  CHECK(shop.index->close_idle(0) == 0);
  CHECK(shop.index->close_idle(UINT64_MAX) == 1);
  CHECK(shop.index->open_store_count() == 0);
  CHECK(shop.find("red").size() == 2);
  CHECK(shop.index->open_store_count() == 1);
  shop.index->close_idle(UINT64_MAX);
  shop.put("new", {Fixture::text("default", "red")});
  shop.apply();
  CHECK(shop.find("red").size() == 3);
}

TEST_CASE("a compaction removes what deleted documents have left in the files") {
  Fixture shop;
  for (int i = 0; i < 300; ++i) shop.put(fmt::format("d{}", i), {Fixture::text("default", fmt::format("red w{}", i))});
  shop.apply();
  shop.index->close_idle(UINT64_MAX);
  for (int i = 0; i < 280; ++i) shop.remove(fmt::format("d{}", i));
  shop.apply();
  shop.index->close_idle(UINT64_MAX);
  const auto before = shop.index->info();
  REQUIRE(before);
  CHECK(before->deleted_documents == 280);
  CHECK(shop.index->file_bytes() == before->bytes_on_disk);
  REQUIRE(shop.index->compact([] { return false; }));
  const auto after = shop.index->info();
  REQUIRE(after);
  CHECK(after->deleted_documents == 0);
  CHECK(after->documents == 20);
  CHECK(after->bytes_on_disk < before->bytes_on_disk / 2);
  CHECK(shop.run(shop.request("red")).total_rows == 20);
  REQUIRE(shop.index->compact([] { return false; }));  // nothing is left to do
  shop.put("new", {Fixture::text("default", "red")});
  shop.apply();
  shop.reopen();
  CHECK(shop.index->checkpoint() == shop.sequence());
  CHECK(shop.run(shop.request("red")).total_rows == 21);
}

TEST_CASE("the density of an index counts deletions that were not committed yet") {
  Fixture shop;
  for (int i = 0; i < 300; ++i) shop.put(fmt::format("d{}", i), {Fixture::text("default", fmt::format("red w{}", i))});
  shop.apply();
  shop.index->close_idle(UINT64_MAX);
  for (int i = 0; i < 280; ++i) shop.remove(fmt::format("d{}", i));
  shop.apply();
  const auto density = shop.index->density();
  REQUIRE(density);
  CHECK(density->dense_bytes < density->file_bytes / 10);
  CHECK(density->file_bytes == shop.index->file_bytes());
}

TEST_CASE("a damaged index is rebuilt") {
  Fixture shop;
  put_products(shop);
  shop.index->close_idle(UINT64_MAX);
  const auto folder = shop.folder.path() / "search-test" / "lucene";
  SECTION("a file is missing") {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().extension() == ".tis") std::filesystem::remove(file.path());
    }
  }
  SECTION("a file is cut off") {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().extension() == ".tii") std::filesystem::resize_file(file.path(), 3);
    }
  }
  SECTION("the list of segments is nonsense") {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().filename().string().starts_with("segments"))
        std::ofstream(file.path()) << "nonsense, and more of it";
    }
  }
  shop.reopen();
  CHECK(shop.index->checkpoint() == 0);
  put_products(shop);
  CHECK(shop.find("red").size() == 2);
}

// A power loss may leave this: the names of some files are lost, that of the list that names them is not.
TEST_CASE("an older commit that is whole does not hide that the last one is not") {
  Fixture shop;
  REQUIRE(shop.find("nothing").empty());
  shop.index->close_idle(UINT64_MAX);
  const auto folder = shop.folder.path() / "search-test" / "lucene";
  const auto kept = shop.folder.path() / "segments_1";
  std::filesystem::copy_file(folder / "segments_1", kept);
  put_products(shop);
  shop.index->close_idle(UINT64_MAX);
  REQUIRE_FALSE(std::filesystem::exists(folder / "segments_1"));
  std::filesystem::copy_file(kept, folder / "segments_1");
  std::filesystem::remove(folder / "_0.tis");
  shop.reopen();
  CHECK(shop.index->checkpoint() == 0);
  put_products(shop);
  CHECK(shop.find("red").size() == 2);
}

TEST_CASE("an index whose damage shows when it is changed is rebuilt") {
  Fixture shop;
  put_products(shop);
  shop.index->close_idle(UINT64_MAX);
  shop.reopen();
  REQUIRE(shop.index->checkpoint() > 0);
  std::filesystem::remove(shop.folder.path() / "search-test" / "lucene" / "_0.tis");
  shop.remove("kettle");
  const auto applied = shop.try_apply();
  auto request = shop.request("red");
  request.at_least = shop.sequence();
  const auto found = shop.index->search(request);
  CHECK((!applied || !found));
  CHECK(shop.index->checkpoint() == 0);
  put_products(shop);
  CHECK(shop.find("red").size() == 2);
}

// The library makes some of its values when they are first needed, and not for several threads.
TEST_CASE("indexes that are the first of the process can be opened and filled at once") {
  const std::size_t count = 2;
  std::atomic<std::size_t> here = 0;
  std::atomic<std::size_t> found = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      tests::TemporaryFolder folder;
      const auto analyzers = make_analyzers("classic");
      FeedIndexOptions options;
      options.folder = folder.path() / "search-test";
      const auto fields = std::make_shared<std::map<std::string, std::vector<IndexedField>>>();
      (*fields)["one"] = {Fixture::text("default", "red")};
      SearchIndex index("test", *analyzers, std::make_unique<GivenFields>(fields), options);
      FeedDocument document;
      document.id = "one";
      document.present = true;
      document.sequence = 1;
      for (++here; here < count;) continue;
      if (!index.open(0) || !tests::apply_all(index, {&document, 1}, 1)) return;
      SearchRequest request;
      request.query = *parse_query("red");
      request.at_least = 1;
      if (const auto result = index.search(request)) found += result->hits.size();
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(found == count);
}

TEST_CASE("an index that knows more than its database starts again") {
  Fixture shop;
  put_products(shop);
  shop.index->close_idle(UINT64_MAX);
  auto analyzers = make_analyzers("standard");
  FeedIndexOptions options;
  options.folder = shop.folder.path() / "search-test";
  shop.index.reset();
  SearchIndex again("test", *analyzers,
                    std::make_unique<GivenFields>(std::make_shared<std::map<std::string, std::vector<IndexedField>>>()),
                    options);
  REQUIRE(again.open(1));
  CHECK(again.checkpoint() == 0);
}

/// Fails calls that change files while `code` is not 0.
class FailingDisk : public storage::FaultInjector {
 public:
  int before(storage::StorageCall call, const std::filesystem::path&) override {
    return call == storage::StorageCall::put || call == storage::StorageCall::sync ? code.load() : 0;
  }
  std::atomic<int> code{0};
};

TEST_CASE("a full disk is an error, and the index resumes as soon as there is space") {
  FailingDisk disk;
  Fixture shop;
  shop.faults = &disk;
  shop.reopen();
  put_products(shop);
  CHECK(shop.find("red").size() == 2);
  disk.code = ENOSPC;
  shop.put("new", {Fixture::text("default", "red")});
  // The error shows at once or when the search wants what was written.
  const auto applied = shop.try_apply();
  auto request = shop.request("red");
  request.at_least = shop.sequence();
  const auto searched = shop.index->search(request);
  CHECK((!applied || !searched));
  if (!applied) CHECK(applied.error().code == ErrorCode::disk_full);
  disk.code = 0;
  put_products(shop);
  shop.put("new", {Fixture::text("default", "red")});
  shop.apply();
  CHECK(shop.find("red").size() == 3);
}

TEST_CASE("an index that lost changes with its files does not claim to have them") {
  tests::FaultPlan faults;
  Fixture shop;
  shop.faults = &faults;
  shop.reopen();
  put_products(shop);
  shop.apply();
  shop.index->close_idle(UINT64_MAX);
  const auto committed = shop.index->checkpoint();
  REQUIRE(shop.index->complete_through() == committed);
  shop.put("fresh", {Fixture::text("default", "fresh")});
  shop.apply();
  const auto before = shop.index->checkpoint();
  CHECK(shop.run(shop.request("fresh")).total_rows == 1);
  faults.plan({.code = ENOSPC, .lasting = true});
  shop.index->close_idle(UINT64_MAX);
  faults.heal();
  REQUIRE(faults.fired() > 0);
  CHECK(shop.index->checkpoint() == committed);
  CHECK(shop.index->complete_through() < before);
  // What was read from the feed before cannot be put on top of what is left.
  FeedDocument later;
  later.id = "later";
  later.present = true;
  later.sequence = before + 1;
  const auto applied = shop.index->apply({{&later, 1}, before, before + 1, true, false});
  REQUIRE(!applied);
  CHECK(applied.error().code == ErrorCode::overloaded);
  CHECK(shop.index->checkpoint() == committed);
}

// Lucene++ knows no std::bad_alloc: it stays as it was when one passed, and would wait for itself.
TEST_CASE("an index resumes after a shortage of memory anywhere in it") {
  constexpr std::size_t rounds = 25;  // a file each: enough for a merge
  using At = storage::StorageCall;
  std::size_t calls = 0;
  for (std::size_t n = 1, seen = n; n <= seen; n += 7) {
    tests::FaultPlan faults;
    Fixture shop;
    shop.faults = &faults;
    shop.reopen();
    faults.plan({.code = tests::FaultPlan::no_memory, .calls = {At::put, At::sync}, .from = n});
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto put_all = [&] {
        for (std::size_t i = 0; i <= round; ++i) shop.put("d" + std::to_string(i), {Fixture::text("default", "red")});
      };
      shop.put("d" + std::to_string(round), {Fixture::text("default", "red")});
      auto request = shop.request("red");
      // A file for each round; after a loss the feed is read again.
      for (int attempt = 0; attempt < 3; ++attempt) {
        if (shop.try_apply()) {
          request.at_least = shop.index->checkpoint();
          const auto found = shop.index->search(request);
          if (found && found->total_rows == round + 1) break;
          if (!found) CHECK(found.error().code == ErrorCode::overloaded);
        }
        put_all();
      }
    }
    shop.index->close_idle(UINT64_MAX);
    seen = faults.seen();
    calls = std::max(calls, seen);
    faults.heal();
    for (std::size_t i = 0; i < rounds; ++i) {
      shop.put("d" + std::to_string(i), {Fixture::text("default", "blue")});
    }
    shop.apply();
    CHECK(shop.run(shop.request("blue")).total_rows == rounds);
    CHECK(shop.run(shop.request("red")).total_rows == 0);
  }
  CHECK(calls > rounds);
}

}  // namespace
}  // namespace octavo::query::search
