// Which files are compacted without being asked, and when they are looked at.
#include "storage/automatic_compaction.h"

#include <chrono>
#include <memory>
#include <thread>

#include <catch2/catch.hpp>

#include "support/patience.h"
#include "unit/storage/sparse_store.h"

namespace octavo::storage {
namespace {

using octavo::tests::patiently;

constexpr int rows_beyond_min = 6'000;  // 24 MB

struct AutomaticFixture {
  std::shared_ptr<const int> owner = std::make_shared<const int>(0);
  CompactionQueue queue;
  bool is_prepared = false;

  CompactionQueue::Target target_of(SparseStore& sparse) {
    CompactionQueue::Target target;
    target.owner = owner;
    target.database = "shop";
    target.name = "rows";
    target.store = &sparse.store();
    target.is_gone = [] { return false; };
    target.prepare = [this](const auto&) -> Expected<void> {
      is_prepared = true;
      return {};
    };
    return target;
  }
  /// After what was queued is done.
  std::uint64_t completed() const {
    const auto until = std::chrono::steady_clock::now() + patiently(std::chrono::seconds{60});
    while (queue.totals().waiting > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return queue.totals().completed;
  }
};

constexpr AutomaticCompaction::Delays no_delays{.between_looks = std::chrono::milliseconds{0},
                                                .rest = std::chrono::milliseconds{0}};

}  // namespace

TEST_CASE("a large file of which most is unused is compacted once, without its preparation") {
  AutomaticFixture fixture;
  SparseStore sparse(rows_beyond_min);
  const std::uint64_t bytes_before = sparse.file_bytes();
  AutomaticCompaction automatic(fixture.queue, no_delays);
  automatic.consider(fixture.target_of(sparse), 50);
  CHECK(automatic.sparse_bytes() > bytes_before / 2);
  CHECK(fixture.completed() == 1);
  CHECK(sparse.file_bytes() < bytes_before / 4);
  CHECK_FALSE(fixture.is_prepared);
  automatic.consider(fixture.target_of(sparse), 50);
  CHECK(fixture.completed() == 1);
}

TEST_CASE("what is small, dense enough, gone or closed is not compacted") {
  AutomaticFixture fixture;
  AutomaticCompaction automatic(fixture.queue, no_delays);
  SECTION("small") {
    SparseStore sparse(1'000);
    automatic.consider(fixture.target_of(sparse), 1);
  }
  SECTION("less than the share is unused") {
    SparseStore sparse(rows_beyond_min, rows_beyond_min / 2);
    automatic.consider(fixture.target_of(sparse), 80);
    CHECK(automatic.sparse_bytes() > 0);
  }
  SECTION("gone") {
    SparseStore sparse(rows_beyond_min);
    auto target = fixture.target_of(sparse);
    target.is_gone = [] { return true; };
    automatic.consider(std::move(target), 1);
  }
  SECTION("closed") {
    SparseStore sparse(rows_beyond_min);
    REQUIRE(sparse.store().close_if_idle());
    automatic.consider(fixture.target_of(sparse), 1);
    CHECK_FALSE(sparse.store().is_open());
  }
  CHECK(fixture.completed() == 0);
}

TEST_CASE("a file is looked at again after changes, and after a rest once it was queued") {
  AutomaticFixture fixture;
  SparseStore sparse(2 * rows_beyond_min, rows_beyond_min);
  SECTION("changed") {
    AutomaticCompaction automatic(fixture.queue, no_delays);
    automatic.consider(fixture.target_of(sparse), 80);
    automatic.consider(fixture.target_of(sparse), 10);  // unchanged
    CHECK(fixture.completed() == 0);
    sparse.erase_rows(1, rows_beyond_min);
    automatic.consider(fixture.target_of(sparse), 80);
    CHECK(fixture.completed() == 1);
  }
  SECTION("it rests") {
    AutomaticCompaction automatic(fixture.queue);
    automatic.consider(fixture.target_of(sparse), 10);
    CHECK(fixture.completed() == 1);
    CHECK(sparse.file_bytes() >= AutomaticCompaction::file_bytes_min);
    sparse.erase_rows(1, rows_beyond_min);
    automatic.consider(fixture.target_of(sparse), 10);
    CHECK(fixture.completed() == 1);
  }
}

TEST_CASE("what belongs to a closed database counts no longer") {
  AutomaticFixture fixture;
  SparseStore sparse(rows_beyond_min, rows_beyond_min / 2);
  AutomaticCompaction automatic(fixture.queue, no_delays);
  automatic.consider(fixture.target_of(sparse), 90);
  CHECK(automatic.sparse_bytes() > 0);
  fixture.owner.reset();
  CHECK(automatic.sparse_bytes() == 0);
}

}  // namespace octavo::storage
