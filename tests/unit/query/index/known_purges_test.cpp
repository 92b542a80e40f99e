// An index is told which documents were purged, and looks at all of its own only if they are unknown.
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "query/follow/feed_batch.h"
#include "support/dropped_tombstones.h"
#include "support/engine_fixture.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::run_task;

/// Notes how it is asked to remove purged documents.
class PurgeListener final : public FeedConsumer {
 public:
  explicit PurgeListener(storage::Sequence checkpoint) : checkpoint_(checkpoint) {}
  storage::Sequence checkpoint() const override { return checkpoint_; }
  storage::Sequence complete_through() const override { return checkpoint_; }
  std::uint64_t purge_count() const override { return 0; }
  Expected<std::size_t> apply(const FeedChanges& changes) override { return changes.documents.size(); }
  Expected<bool> remove_known(const KnownPurges& purges) override {
    known = purges;
    return true;
  }
  storage::Sequence knows_deletions_through() const override { return checkpoint_; }
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t) override {
    looked_at_all = true;
    found_gone = gone.is_gone("gone").value();
    return true;
  }

  std::optional<KnownPurges> known;
  bool looked_at_all = false;
  bool found_gone = false;

 private:
  const storage::Sequence checkpoint_;
};

void purge(partitioning::Database& database, const std::string& id) {
  const auto revision = EngineFixture::put(database, id, "{}").revision;
  REQUIRE(run_task(database.purge({{id, {}, {revision}}})));
}

bool catch_up(partitioning::Database& database, FeedConsumer& consumer) {
  const auto watermark = database.watermark();
  return catch_up_with_deletions(database, consumer, database.hidden_deletions().value(), watermark).value();
}

}  // namespace

TEST_CASE("a follower of the feed is told which documents were purged after its checkpoint") {
  EngineFixture fixture;
  const auto database = fixture.create("db", {false, 3});
  for (int i = 0; i < 10; ++i) EngineFixture::put(*database, "kept" + std::to_string(i), "{}");
  purge(*database, "early");
  const auto checkpoint = database->watermark();
  purge(*database, "late");
  purge(*database, "again");
  EngineFixture::put(*database, "again", "{}");  // its new row in the feed says all
  PurgeListener listener(checkpoint);
  REQUIRE(catch_up(*database, listener));
  REQUIRE(listener.known);
  CHECK(listener.known->gone == std::vector<std::string>{"late"});
  CHECK(listener.known->since == checkpoint);
  CHECK(listener.known->purge_count == 3);
  CHECK_FALSE(listener.looked_at_all);
}

TEST_CASE("a follower of the feed looks at all that it contains if it has not read a tombstone that was dropped") {
  EngineFixture fixture;
  const auto database = fixture.create("db", {false, 3});
  EngineFixture::put(*database, "kept", "{}");
  const auto written = EngineFixture::put(*database, "gone", "{}");
  const auto before = database->watermark();
  EngineFixture::put(*database, "gone", "{}", written.revision, true);
  purge(*database, "purged");
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  PurgeListener behind(before);
  REQUIRE(catch_up(*database, behind));
  CHECK(behind.looked_at_all);
  CHECK(behind.found_gone);
  CHECK_FALSE(behind.known);
  PurgeListener present(database->watermark());
  REQUIRE(catch_up(*database, present));
  CHECK_FALSE(present.looked_at_all);
  CHECK(present.known);
}

TEST_CASE("a batch of the feed says which tombstones may be missing in what it has shown") {
  EngineFixture fixture;
  const auto database = fixture.create("db", {false, 3});
  EngineFixture::put(*database, "kept", "{}");
  const auto written = EngineFixture::put(*database, "gone", "{}");
  const auto deletion = EngineFixture::put(*database, "gone", "{}", written.revision, true);
  const auto watermark = database->watermark();
  std::vector<std::string> shown;
  const auto show = [&](std::string_view id, const storage::Snapshot&) -> Expected<bool> {
    shown.emplace_back(id);
    return true;
  };
  CHECK(read_feed_batch(*database, 0, watermark, 100, show).value().dropped_through == 0);
  CHECK(shown == std::vector<std::string>{"kept", "gone"});
  shown.clear();
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  const FeedBatch batch = read_feed_batch(*database, 0, watermark, 100, show).value();
  CHECK(batch.dropped_through == deletion.sequence);
  CHECK(batch.reached == watermark);
  CHECK(shown == std::vector<std::string>{"kept"});
}

}  // namespace octavo::query
