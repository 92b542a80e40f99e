#include "query/index/global/global_index.h"

#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/fault_plan.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::FaultPlan;
using octavo::tests::TemporaryFolder;

namespace {

/// A global index on its own: changes are given to it as the feed would.
struct GlobalIndexFixture {
  GlobalIndexFixture() {
    open();
    REQUIRE(index->begin_build());
    REQUIRE(index->end_build(0, 0, 0));
  }

  void open(storage::Sequence last_sequence = 1'000'000) {
    index.reset();
    index = std::make_unique<GlobalIndex>(
        std::make_shared<const IndexDefinition>(),
        GlobalIndex::Options{folder.path() / "index", config::Durability::relaxed, &faults});
    REQUIRE(index->open(last_sequence));
  }
  GlobalIndex::Change change(const std::string& id, const std::string& field_keys) {
    GlobalIndex::Change change;
    change.sequence = ++sequence;
    change.id = id;
    change.present = !field_keys.empty();
    if (change.present) change.key = field_keys + id;
    return change;
  }
  std::uint64_t rows() const {
    const auto transaction = index->read();
    REQUIRE(transaction);
    const std::uint64_t entries = storage::count_rows(*transaction, index->entries());
    CHECK(storage::count_rows(*transaction, index->by_document()) == entries);
    return entries;
  }
  std::uint64_t stored_count() const {
    const auto transaction = index->read();
    REQUIRE(transaction);
    const auto count = index->entry_count(*transaction);
    REQUIRE(count);
    return *count;
  }

  TemporaryFolder folder;
  FaultPlan faults;
  storage::Sequence sequence = 0;
  std::unique_ptr<GlobalIndex> index;
};

}  // namespace

TEST_CASE("a global index knows the number of its entries, whatever changes come") {
  GlobalIndexFixture fixture;
  std::mt19937 random(21);
  std::map<std::string, std::string> model;
  for (int round = 0; round < 40; ++round) {
    std::vector<GlobalIndex::Change> changes;
    const auto start = random() % 30;
    for (unsigned i = 0; i < 10; ++i) {  // the feed has each document once
      const std::string id = "d" + std::to_string((start + 3 * i) % 30);
      const std::string keys = random() % 3 == 0 ? "" : "k" + std::to_string(random() % 4) + ":";
      changes.push_back(fixture.change(id, keys));
      model[id] = keys;
      if (keys.empty()) model.erase(id);
    }
    REQUIRE(fixture.index->apply(changes, fixture.sequence, true));
    CHECK(fixture.index->entry_count() == model.size());
    if (round % 10 == 0) fixture.open();
    CHECK(fixture.index->entry_count() == model.size());
    CHECK(fixture.stored_count() == model.size());
    CHECK(fixture.rows() == model.size());
  }
  const auto since = fixture.index->checkpoint();
  const auto ahead = fixture.index->remove_known({.gone = {"d5"}, .since = since + 1, .purge_count = 1});
  REQUIRE(ahead);
  CHECK_FALSE(*ahead);
  REQUIRE(fixture.index->remove_known({.gone = {"d5", "never"}, .since = since, .purge_count = 1}));
  model.erase("d5");
  CHECK(fixture.index->entry_count() == model.size());
  CHECK(fixture.rows() == model.size());
  CHECK(fixture.index->purge_count() == 1);
  const auto is_gone = [](std::string_view id) -> Expected<bool> { return id < "d2"; };
  const auto watermark = fixture.index->checkpoint() + 10;
  const auto removed = fixture.index->remove_purged(
      {.purge_count = 1, .dropped_through = watermark, .watermark = watermark, .is_gone = is_gone}, 1000);
  REQUIRE(removed);
  CHECK(*removed);
  CHECK(fixture.index->knows_deletions_through() == watermark);
  std::erase_if(model, [](const auto& row) { return row.first < "d2"; });
  CHECK(fixture.index->entry_count() == model.size());
  CHECK(fixture.rows() == model.size());
}

TEST_CASE("an index that became ready after changes were read leaves them out unless it knows the same purges") {
  GlobalIndexFixture fixture;
  REQUIRE(fixture.index->begin_build());
  REQUIRE(fixture.index->end_build(5, 2, 0));
  const auto read_at = [](storage::Sequence from, std::uint64_t purge_count, storage::Sequence dropped_through = 0) {
    return FeedChanges{.documents = {},
                       .from = from,
                       .reached = 9,
                       .complete = true,
                       .alone = false,
                       .dropped_through = dropped_through,
                       .purge_count = purge_count};
  };
  CHECK(fixture.index->can_follow_with(read_at(5, 2)));
  CHECK(fixture.index->can_follow_with(read_at(3, 2)));
  CHECK_FALSE(fixture.index->can_follow_with(read_at(6, 2)));
  CHECK_FALSE(fixture.index->can_follow_with(read_at(5, 1)));  // they may have a document that is purged
  CHECK_FALSE(fixture.index->can_follow_with(read_at(5, 3)));  // the checkpoint would pass the third purge
  CHECK_FALSE(fixture.index->can_follow_with(read_at(5, 2, 6)));
}

TEST_CASE("the entries of a global index of an older version, which stores no number, are counted") {
  GlobalIndexFixture fixture;
  const std::vector changes{fixture.change("a", "1"), fixture.change("b", "2"), fixture.change("c", "3")};
  REQUIRE(fixture.index->apply(changes, fixture.sequence, true));
  const auto meta = fixture.index->store().tree(2);
  REQUIRE(fixture.index->write(0, [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY(const auto state, transaction.get(meta, "state"));
    const std::string older(state->substr(0, state->size() - sizeof(std::uint64_t)));
    return transaction.put(meta, "state", older);
  }));
  fixture.open();
  CHECK(fixture.index->ready());
  CHECK(fixture.index->entry_count() == 3);
  REQUIRE(fixture.index->apply(std::vector{fixture.change("b", ""), fixture.change("d", "4"), fixture.change("e", "5")},
                               fixture.sequence, true));
  CHECK(fixture.index->entry_count() == 4);
  fixture.open();
  CHECK(fixture.index->entry_count() == 4);
  CHECK(fixture.stored_count() == 4);
}

TEST_CASE("changes of a global index that the disk took without confirming are counted once") {
  GlobalIndexFixture fixture;
  const std::vector changes{fixture.change("a", "1"), fixture.change("b", "2")};
  fixture.faults.plan({.code = EIO, .calls = {FaultPlan::Call::commit}, .took_place = true});
  REQUIRE_FALSE(fixture.index->apply(changes, fixture.sequence, true));
  fixture.faults.heal();
  REQUIRE(fixture.index->apply(changes, fixture.sequence, true));
  REQUIRE(fixture.index->apply(std::vector{fixture.change("c", "3")}, fixture.sequence, true));
  CHECK(fixture.index->entry_count() == 3);
  CHECK(fixture.rows() == 3);
}

TEST_CASE("a global index that is built again begins empty, also where that failed before") {
  GlobalIndexFixture fixture;
  const std::vector changes{fixture.change("a", "1"), fixture.change("b", "2")};
  REQUIRE(fixture.index->apply(changes, fixture.sequence, true));
  // It knows more than its database.
  fixture.open(1);
  CHECK_FALSE(fixture.index->ready());
  fixture.faults.plan({.code = ENOSPC, .calls = {FaultPlan::Call::open}});
  CHECK_FALSE(fixture.index->begin_build());
  fixture.faults.heal();
  REQUIRE(fixture.index->begin_build());
  CHECK(fixture.rows() == 0);
  REQUIRE(fixture.index->end_build(1, 0, 0));
  CHECK(fixture.index->entry_count() == 0);
  CHECK(fixture.index->checkpoint() == 1);
  fixture.open(1);
  CHECK(fixture.index->ready());
  CHECK(fixture.rows() == 0);
}
