#include "storage/logs/purge_log.h"

#include <future>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

using Purged = std::optional<std::vector<std::string>>;

void purge(PartitionFixture& fixture, std::string id, std::vector<Revision> revisions) {
  std::promise<bool> done;
  std::vector<PurgeRequest> requests;
  requests.push_back({std::move(id), {}, std::move(revisions)});
  fixture.partition().purge(std::move(requests), [&](const auto& purged) { done.set_value(purged.has_value()); });
  REQUIRE(done.get_future().get());
}

void put_and_purge(PartitionFixture& fixture, const std::string& id) {
  const auto written = fixture.put(id, "{}");
  REQUIRE(written);
  purge(fixture, id, {written->revision});
}

Purged purged_after(PartitionFixture& fixture, Sequence sequence) {
  return fixture.snapshot().purged_after(sequence).value();
}

Sequence last_sequence(PartitionFixture& fixture) {
  return fixture.snapshot().last_sequence().value();
}

// Counts a purge as a program does that does not know the log.
void count_unlogged_purge(PartitionFixture& fixture) {
  std::promise<Expected<void>> done;
  fixture.partition().run_index_task(
      [&](WriteTransaction& transaction, Tree) -> Expected<void> {
        const Tree meta = fixture.partition().store().tree(static_cast<std::size_t>(PartitionTree::meta));
        OCTAVO_TRY(const auto record, transaction.get(meta, counters_key));
        OCTAVO_TRY(PartitionCounters counters, decode_counters(*record));
        ++counters.purge_count;
        std::string changed;
        encode_counters(changed, counters);
        return transaction.put(meta, counters_key, changed);
      },
      [&](Expected<void> result) { done.set_value(std::move(result)); });
  REQUIRE(done.get_future().get());
}

}  // namespace

TEST_CASE("the log of purges names what was purged after a sequence") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("kept", "{}"));
  CHECK(purged_after(fixture, 0) == Purged(std::vector<std::string>{}));
  put_and_purge(fixture, "a");
  const Sequence between = last_sequence(fixture);
  put_and_purge(fixture, "b");
  CHECK(purged_after(fixture, 0) == Purged(std::vector<std::string>{"a", "b"}));
  CHECK(purged_after(fixture, between) == Purged(std::vector<std::string>{"b"}));
  CHECK(purged_after(fixture, last_sequence(fixture)) == Purged(std::vector<std::string>{}));
}

TEST_CASE("a document that keeps a revision has moved in the feed, and is not in the log of purges") {
  PartitionFixture fixture;
  REQUIRE(fixture.replicate("a", R"({"v":"a"})", {rev(1, "aaa")}));
  REQUIRE(fixture.replicate("a", R"({"v":"b"})", {rev(1, "bbb")}));
  purge(fixture, "a", {rev(1, "bbb")});
  CHECK(fixture.snapshot().purge_count().value() == 1);
  CHECK(purged_after(fixture, 0) == Purged(std::vector<std::string>{}));
}

TEST_CASE("a log of purges that missed some begins again") {
  PartitionFixture fixture;
  put_and_purge(fixture, "a");
  count_unlogged_purge(fixture);
  CHECK_FALSE(purged_after(fixture, 0).has_value());
  const Sequence since = last_sequence(fixture);
  CHECK(purged_after(fixture, since) == Purged(std::vector<std::string>{}));
  put_and_purge(fixture, "b");
  CHECK_FALSE(purged_after(fixture, since - 1).has_value());
  CHECK(purged_after(fixture, since) == Purged(std::vector<std::string>{"b"}));
}

TEST_CASE("the log of purges keeps a limited number of documents") {
  PartitionFixture fixture;
  const std::size_t count = purge_log::rows_max + 5;
  std::vector<DocumentWrite> writes;
  for (std::size_t i = 0; i < count; ++i) writes.push_back(PartitionFixture::make("d" + std::to_string(i), "{}"));
  const auto written = fixture.write(std::move(writes));
  std::vector<PurgeRequest> requests;
  for (std::size_t i = 0; i < count; ++i) requests.push_back({"d" + std::to_string(i), {}, {written[i]->revision}});
  std::promise<bool> done;
  fixture.partition().purge(std::move(requests), [&](const auto& purged) { done.set_value(purged.has_value()); });
  REQUIRE(done.get_future().get());
  CHECK_FALSE(purged_after(fixture, 0).has_value());
  const Sequence last = last_sequence(fixture);
  const auto kept = purged_after(fixture, last - purge_log::rows_max);
  REQUIRE(kept);
  CHECK(kept->size() == purge_log::rows_max);
  CHECK(kept->back() == "d" + std::to_string(count - 1));
}
