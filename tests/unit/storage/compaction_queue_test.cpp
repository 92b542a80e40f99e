// The queue of compactions: what runs once, what is shown, and what ends with its owner.
#include "storage/compaction_queue.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "support/patience.h"
#include "unit/storage/sparse_store.h"

namespace octavo::storage {
namespace {

using octavo::tests::patiently;

/// An index that is not kept in a store.
CompactionQueue::Target index_of(const std::shared_ptr<const int>& owner,
                                 std::function<Expected<void>(const std::function<bool()>&)> compact) {
  CompactionQueue::Target target;
  target.owner = owner;
  target.index = std::make_shared<int>();
  target.database = "shop";
  target.design_document = "_design/texts";
  target.name = "_design/texts/all";
  target.files.compact = std::move(compact);
  target.files.file_bytes = [] { return std::uint64_t{0}; };
  target.files.density = [] { return std::nullopt; };
  target.is_gone = [] { return false; };
  return target;
}

CompactionQueue::Target target_of(const std::shared_ptr<const int>& owner, SparseStore& sparse) {
  CompactionQueue::Target target;
  target.owner = owner;
  target.database = "shop";
  target.name = "rows";
  target.store = &sparse.store();
  target.is_gone = [] { return false; };
  return target;
}

bool empties_soon(const CompactionQueue& queue) {
  const auto until = std::chrono::steady_clock::now() + patiently(std::chrono::seconds{30});
  while (queue.totals().waiting > 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

bool is_set(std::future<void>& future) {
  return future.wait_for(patiently(std::chrono::seconds{30})) == std::future_status::ready;
}

}  // namespace

TEST_CASE("an index without a store is compacted by its own function, once while it waits or runs") {
  const auto owner = std::make_shared<const int>(0);
  std::promise<void> begun;
  std::promise<void> released;
  std::atomic<int> calls{0};
  auto has_begun = begun.get_future();
  auto is_released = released.get_future();
  CompactionQueue queue;
  const auto target = index_of(owner, [&](const auto&) -> Expected<void> {
    ++calls;
    begun.set_value();
    is_released.wait();
    return {};
  });
  REQUIRE(queue.add({target, target}));
  REQUIRE(is_set(has_begun));
  REQUIRE(queue.add({target}));
  const auto running = queue.running();
  REQUIRE(running.has_value());
  CHECK(running->database == "shop");
  CHECK(running->design_document == "_design/texts");
  CHECK_FALSE(running->stage.has_value());
  CHECK(queue.is_compacting(owner.get()));
  CHECK(queue.is_compacting(owner.get(), "_design/texts"));
  CHECK_FALSE(queue.is_compacting(owner.get(), "_design/other"));
  released.set_value();
  queue.stop();
  CHECK(calls == 1);
  CHECK_FALSE(queue.running().has_value());
  CHECK_FALSE(queue.is_compacting(owner.get()));
}

TEST_CASE("a compaction is stopped when its owner is forgotten, and then holds it no longer") {
  const auto owner = std::make_shared<const int>(0);
  std::promise<void> begun;
  auto has_begun = begun.get_future();
  CompactionQueue queue;
  REQUIRE(queue.add({index_of(owner, [&](const std::function<bool()>& stopped) -> Expected<void> {
    begun.set_value();
    while (!stopped()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    return fail(ErrorCode::timeout, "");
  })}));
  REQUIRE(is_set(has_begun));
  queue.forget(owner.get());
  CHECK_FALSE(queue.is_compacting(owner.get()));
  queue.stop();
  CHECK(owner.use_count() == 1);
}

TEST_CASE("an index that is gone is not compacted, and the stores after it are") {
  const auto owner = std::make_shared<const int>(0);
  SparseStore sparse(1000);
  const std::uint64_t bytes_before = sparse.file_bytes();
  auto gone = index_of(owner, [](const auto&) -> Expected<void> {
    FAIL_CHECK("it was compacted");
    return {};
  });
  gone.is_gone = [] { return true; };
  CompactionQueue queue;
  REQUIRE(queue.add({gone, target_of(owner, sparse)}));
  CHECK(empties_soon(queue));
  CHECK_FALSE(queue.is_compacting(owner.get()));
  CHECK(sparse.file_bytes() < bytes_before / 4);
  const auto totals = queue.totals();
  CHECK(totals.completed == 1);
  CHECK(totals.failed == 0);
  CHECK(totals.returned_bytes == bytes_before - sparse.file_bytes());
}

TEST_CASE("a compaction that fails is counted") {
  const auto owner = std::make_shared<const int>(0);
  CompactionQueue queue;
  REQUIRE(queue.add({index_of(owner, [](const auto&) { return fail(ErrorCode::disk_full, "The disk is full."); })}));
  CHECK(empties_soon(queue));
  CHECK(queue.totals().completed == 0);
  CHECK(queue.totals().failed == 1);
}

TEST_CASE("a compaction is as slow as its pace says") {
  const auto owner = std::make_shared<const int>(0);
  SparseStore sparse(1000, 500);
  std::atomic<int> asked{0};
  CompactionQueue queue(CompactionQueue::Pace{.is_busy =
                                                  [&] {
                                                    ++asked;
                                                    return true;
                                                  },
                                              .bytes_per_second = [] { return std::uint64_t{3'000'000}; }});
  const auto begun = std::chrono::steady_clock::now();
  REQUIRE(queue.add({target_of(owner, sparse)}));
  CHECK(empties_soon(queue));
  // 1.5 MB of rows.
  CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds{450});
  CHECK(queue.totals().completed == 1);
  CHECK(asked > 1);
}

TEST_CASE("a store is prepared before it is compacted, which is shown and stopped as the compaction is") {
  const auto owner = std::make_shared<const int>(0);
  SparseStore sparse(10);
  std::promise<void> begun;
  std::promise<void> released;
  auto has_begun = begun.get_future();
  auto is_released = released.get_future();
  std::atomic<bool> was_stopped{false};
  CompactionQueue queue;
  auto target = target_of(owner, sparse);
  target.prepare = [&](StorePreparation& preparation) -> Expected<void> {
    preparation.expect_rows(7);
    preparation.note_rows(3);
    begun.set_value();
    is_released.wait();
    was_stopped = preparation.is_stopped();
    return {};
  };
  REQUIRE(queue.add({target}));
  REQUIRE(is_set(has_begun));
  const auto running = queue.running();
  REQUIRE(running.has_value());
  CHECK(running->is_preparing);
  CHECK_FALSE(running->stage.has_value());
  CHECK(running->rows_done == 3);
  CHECK(running->rows_expected == 7);
  queue.forget(owner.get());
  released.set_value();
  queue.stop();
  CHECK(was_stopped);
  CHECK(queue.totals().completed == 0);
  CHECK(queue.totals().failed == 0);
}

TEST_CASE("a store that could not be prepared is compacted as it is") {
  const auto owner = std::make_shared<const int>(0);
  SparseStore sparse(1000);
  CompactionQueue queue;
  auto target = target_of(owner, sparse);
  target.prepare = [](StorePreparation&) -> Expected<void> { return fail(ErrorCode::corrupted, "a row is damaged"); };
  REQUIRE(queue.add({target}));
  CHECK(empties_soon(queue));
  CHECK(queue.totals().completed == 1);
}

TEST_CASE("a preparation rests while clients write, and not for long once it is stopped") {
  using Clock = StorePreparation::Clock;
  const auto rest_of = [](StorePreparation::Options options) {
    StorePreparation preparation(std::move(options));
    const auto begun = Clock::now();
    preparation.rest(begun - std::chrono::milliseconds{40}, 1 << 20);
    return Clock::now() - begun;
  };
  CHECK(rest_of({.is_busy = [] { return true; }}) >= std::chrono::milliseconds{40});
  CHECK(rest_of({.bytes_per_second = 10 << 20}) >= std::chrono::milliseconds{90});
  CHECK(rest_of({.stopped = [] { return true; }, .bytes_per_second = 1}) < patiently(std::chrono::seconds{5}));
}

}  // namespace octavo::storage
