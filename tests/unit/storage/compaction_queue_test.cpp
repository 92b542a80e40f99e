// The queue of compactions: what runs once, what is shown, and what ends with its owner.
#include "storage/compaction_queue.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "storage/lmdb/store.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

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
  target.is_gone = [] { return false; };
  return target;
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
  const octavo::tests::TemporaryFolder folder;
  const auto owner = std::make_shared<const int>(0);
  Store::Options options;
  options.folder = folder.path() / "store";
  options.trees = {"rows"};
  options.durability = config::Durability::ephemeral;
  Store store(std::move(options));
  REQUIRE(store.create());
  REQUIRE(store.write(4 << 20, [&](WriteTransaction& transaction) -> Expected<void> {
    for (int i = 0; i < 1000; ++i) {
      OCTAVO_TRY_VOID(transaction.append(store.tree(0), std::to_string(1'000'000 + i), std::string(3'000, 'x')));
    }
    return {};
  }));
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    for (int i = 1; i < 1000; ++i) OCTAVO_TRY_VOID(transaction.erase(store.tree(0), std::to_string(1'000'000 + i)));
    return {};
  }));
  const std::uint64_t bytes_before = store.sizes()->file_bytes;
  auto gone = index_of(owner, [](const auto&) -> Expected<void> {
    FAIL_CHECK("it was compacted");
    return {};
  });
  gone.is_gone = [] { return true; };
  CompactionQueue::Target rows;
  rows.owner = owner;
  rows.database = "shop";
  rows.name = "rows";
  rows.store = &store;
  rows.is_gone = [] { return false; };
  CompactionQueue queue;
  REQUIRE(queue.add({gone, rows}));
  const auto until = std::chrono::steady_clock::now() + patiently(std::chrono::seconds{30});
  while (queue.is_compacting(owner.get()) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  CHECK_FALSE(queue.is_compacting(owner.get()));
  CHECK(store.sizes()->file_bytes < bytes_before / 4);
}

}  // namespace octavo::storage
