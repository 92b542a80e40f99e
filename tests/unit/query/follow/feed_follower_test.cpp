// What a follower gives to its consumer, and in which order.
#include "query/follow/feed_follower.h"

#include <atomic>
#include <chrono>
#include <memory>

#include <catch2/catch.hpp>

#include "support/engine_fixture.h"
#include "support/patience.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::run_task;

/// Looks for purged documents among all of its own, and has begun with that before the last of the purges.
class SlowScanner final : public FeedConsumer {
 public:
  explicit SlowScanner(std::uint64_t purges_at_begin) : purges_at_begin_(purges_at_begin) {}
  storage::Sequence checkpoint() const override { return checkpoint_; }
  storage::Sequence complete_through() const override { return checkpoint_; }
  std::uint64_t purge_count() const override { return purge_count_; }
  storage::Sequence knows_deletions_through() const override { return checkpoint_; }
  Expected<std::size_t> apply(const FeedChanges& changes) override {
    purge_count_when_applied = purge_count_.load();
    purge_count_read = changes.purge_count;
    checkpoint_ = changes.reached;
    return changes.documents.size();
  }
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t) override {
    purge_count_ = scans++ == 0 ? purges_at_begin_ : gone.purge_count;
    return true;
  }

  std::atomic<int> scans{0};
  std::atomic<std::uint64_t> purge_count_when_applied{0};
  std::atomic<std::uint64_t> purge_count_read{0};

 private:
  const std::uint64_t purges_at_begin_;
  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<std::uint64_t> purge_count_{0};
};

}  // namespace

TEST_CASE("the checkpoint of a follower does not pass a purge during the scan for purged documents") {
  EngineFixture fixture;
  const auto database = fixture.create("db", {false, 2});
  EngineFixture::put(*database, "kept", "{}");
  for (const auto* const id : {"first", "second"}) {
    const auto revision = EngineFixture::put(*database, id, "{}").revision;
    REQUIRE(run_task(database->purge({{id, {}, {revision}}})));
  }
  SlowScanner scanner(1);
  partitioning::ChangeNotifier progress;
  BackgroundJobs jobs(database->engine().workers().pool());
  FollowContext context{*database, nullptr, jobs, progress, nullptr};
  const auto follower = std::make_shared<FeedFollower>(context, scanner, FeedFollower::Options{});
  const auto is_current = [&]() -> Expected<bool> { return scanner.checkpoint() >= database->watermark(); };
  const auto deadline = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds(20));
  REQUIRE(run_task(follower->wait(is_current, deadline)));
  CHECK(scanner.scans == 2);
  CHECK(scanner.purge_count_when_applied == 2);
  CHECK(scanner.purge_count_read == 2);
  follower->set_stopping(true);
  jobs.stop();
}

}  // namespace octavo::query
