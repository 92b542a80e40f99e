// An index is told which documents were purged, and looks at all of its own only where nobody knows.
#include <optional>

#include <catch2/catch.hpp>

#include "query/follow/feed_batch.h"
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
  Expected<bool> remove_purged(std::uint64_t, std::size_t, FunctionRef<Expected<bool>(std::string_view id)>) override {
    looked_at_all = true;
    return true;
  }

  std::optional<KnownPurges> known;
  bool looked_at_all = false;

 private:
  const storage::Sequence checkpoint_;
};

void purge(partitioning::Database& database, const std::string& id) {
  const auto revision = EngineFixture::put(database, id, "{}").revision;
  REQUIRE(run_task(database.purge({{id, {}, {revision}}})));
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
  REQUIRE(catch_up_with_purges(*database, listener, database->purge_count().value()));
  REQUIRE(listener.known);
  CHECK(listener.known->gone == std::vector<std::string>{"late"});
  CHECK(listener.known->since == checkpoint);
  CHECK(listener.known->purge_count == 3);
  CHECK_FALSE(listener.looked_at_all);
}

}  // namespace octavo::query
