// Tombstones go in the background when they are old enough, and no index needs them any more.
#include "query/database/tombstone_retention.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "storage/partition/partition_check.h"
#include "support/engine_fixture.h"
#include "support/eventually.h"
#include "support/patience.h"

namespace octavo::query {
namespace {

using octavo::tests::EngineFixture;

/// Tells the retention of every commit, as DatabaseServices does.
class RetentionExtension final : public partitioning::DatabaseExtension {
 public:
  explicit RetentionExtension(partitioning::Database& database)
      : retention(database, [this] { return followed_through.load(); }) {}
  void design_documents_changed() override {}
  void committed() override { retention.committed(); }
  void shut_down() override { retention.stop(); }

  std::atomic<storage::Sequence> followed_through{std::numeric_limits<storage::Sequence>::max()};
  TombstoneRetention retention;
};

struct RetainingDatabase {
  RetainingDatabase() : database(fixture.create("shop", {.partitioned = true, .q = 2})) {}

  RetentionExtension& extension() { return dynamic_cast<RetentionExtension&>(*database->extension()); }
  /// Returns the sequence of the deletion.
  storage::Sequence put_and_delete(const std::string& id) {
    const auto written = EngineFixture::put(*database, id, "{}");
    return EngineFixture::put(*database, id, "{}", written.revision, true).sequence;
  }
  std::uint64_t tombstones() const { return database->statistics().value().deleted_count; }
  bool eventually(const std::function<bool()>& holds) {
    return octavo::tests::eventually(holds, octavo::tests::patiently(std::chrono::seconds{30}));
  }

  EngineFixture fixture{[](partitioning::Database& opened) { return std::make_unique<RetentionExtension>(opened); }};
  std::shared_ptr<partitioning::Database> database;
};

}  // namespace

TEST_CASE("tombstones are dropped after their retention, those that an index needs later, and none before it is set") {
  RetainingDatabase subject;
  for (int i = 0; i < 20; ++i) subject.put_and_delete("p" + std::to_string(i) + ":gone");
  EngineFixture::put(*subject.database, "p:kept", "{}");
  const auto read_by_all = subject.database->watermark();
  const auto last = subject.put_and_delete("p:last");
  CHECK(subject.tombstones() == 21);
  CHECK_FALSE(subject.database->may_lack_tombstones());

  subject.extension().followed_through = read_by_all;
  subject.extension().retention.set_seconds(1);
  CHECK(subject.database->may_lack_tombstones());
  CHECK(subject.eventually([&] { return subject.tombstones() == 1; }));
  CHECK(subject.database->hidden_deletions().value().dropped_through < last);
  subject.extension().followed_through = std::numeric_limits<storage::Sequence>::max();
  CHECK(subject.eventually([&] { return subject.tombstones() == 0; }));
  CHECK(subject.database->hidden_deletions().value().dropped_through == last);

  // There was nothing left to do: a commit wakes it.
  subject.put_and_delete("q:later");
  CHECK(subject.eventually([&] { return subject.tombstones() == 0; }));
  CHECK(subject.database->statistics().value().document_count == 1);
  for (const std::size_t partition_id : subject.database->partition_ids()) {
    CHECK(storage::check_partition(subject.database->physical_partition(partition_id), true).value().sound());
  }
}

TEST_CASE("tombstones that are younger than their retention stay, and all of them once it is taken back") {
  RetainingDatabase subject;
  subject.put_and_delete("p:a");
  subject.extension().retention.set_seconds(7'200);
  subject.extension().retention.set_seconds(3'600);  // another time: looks at once
  std::this_thread::sleep_for(std::chrono::milliseconds{1'500});
  CHECK(subject.tombstones() == 1);
  subject.extension().retention.set_seconds(0);
  subject.put_and_delete("p:b");
  std::this_thread::sleep_for(std::chrono::milliseconds{1'500});
  CHECK(subject.tombstones() == 2);
}

}  // namespace octavo::query
