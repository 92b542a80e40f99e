#include "storage/logs/version_log.h"

#include <future>
#include <limits>

#include <catch2/catch.hpp>

#include "base/unix_time.h"
#include "storage/partition/partition_check.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"
#include "support/version_stamp.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::stamp_version;

namespace {

struct Version {
  Sequence sequence;
  VersionOperation operation;
  Sequence previous;
  std::string id;
  std::string body;
  bool operator==(const Version&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Version& version) {
  return out << version.sequence << ' ' << static_cast<int>(version.operation) << ' ' << version.previous << ' '
             << version.id << ' ' << version.body;
}

std::vector<Version> versions_of(PartitionFixture& fixture) {
  const auto snapshot = fixture.snapshot();
  auto cursor = snapshot.versions().rows();
  std::vector<Version> found;
  for (auto row = cursor.seek(0); row; row = cursor.next()) {
    found.push_back(
        {row->sequence, row->operation, row->previous_sequence, std::string(row->id), std::string(row->body)});
  }
  return found;
}

bool trim(PartitionFixture& fixture, std::int64_t before_s, std::size_t rows_max) {
  std::promise<Expected<bool>> done;
  fixture.partition().trim_versions(before_s, rows_max, [&](Expected<bool> more) { done.set_value(std::move(more)); });
  return done.get_future().get().value();
}

/// Documents that begin with "expired" expired long ago.
class ExpiredVersions final : public TimeToLive {
 public:
  std::optional<std::int64_t> expires_s(const DocumentView& document) const override {
    if (document.body.starts_with("{\"expired\"")) return 1;
    return std::nullopt;
  }
  std::int64_t identity() const override { return 1; }
};

using enum VersionOperation;

}  // namespace

TEST_CASE("no versions are kept unless they are asked for") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("a", R"({"n":1})"));
  CHECK(versions_of(fixture).empty());
  CHECK(fixture.snapshot().versions_since().value() == 1);
}

TEST_CASE("every version of a document is kept with its transaction, and its deletion with what it was") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  const auto first = fixture.put("p:a", R"({"n":1})").value();
  const auto second = fixture.put("p:a", R"({"n":2})", first.revision).value();
  REQUIRE(fixture.put("p:a", "{}", second.revision, true));
  REQUIRE(fixture.put("p:a", R"({"n":3})"));
  CHECK(versions_of(fixture) == std::vector<Version>{{1, created, 0, "p:a", R"({"n":1})"},
                                                     {2, replaced, 1, "p:a", R"({"n":2})"},
                                                     {3, removed, 2, "p:a", R"({"n":2})"},
                                                     {4, created, 0, "p:a", R"({"n":3})"}});
  CHECK(fixture.snapshot().versions_since().value() == 0);
  CHECK(check_partition(fixture.partition(), true).value().sound());
}

TEST_CASE("a deletion names its own revision and that of what it deleted") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  const auto first = fixture.put("a", R"({"n":1})").value();
  const auto deletion = fixture.put("a", "{}", first.revision, true).value();
  const auto snapshot = fixture.snapshot();
  auto cursor = snapshot.versions().rows();
  const auto row = cursor.seek(2).value();
  CHECK(row.revision == deletion.revision);
  CHECK(row.body_revision == first.revision);
  CHECK(row.body_time_s == first.modified_s);
}

TEST_CASE("what was refused leaves no version") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  REQUIRE(fixture.put("p:a", "{}"));
  CHECK_FALSE(fixture.put("p:a", "{}"));
  const auto batch = fixture.write({PartitionFixture::make("p:b", "{}"), PartitionFixture::make("p:a", "{}")}, true);
  CHECK_FALSE(batch.front());
  CHECK(versions_of(fixture).size() == 1);
}

TEST_CASE("an edit that loses to a conflicting revision is no version, one that wins is") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  const auto winner = fixture.put("a", R"({"n":1})").value();
  const auto second = fixture.put("a", R"({"n":2})", winner.revision).value();
  REQUIRE(fixture.replicate("a", R"({"loses":1})", {Revision::parse("1-00000000000000000000000000000000").value()}));
  CHECK(versions_of(fixture).size() == 2);
  REQUIRE(fixture.replicate("a", R"({"wins":1})",
                            {Revision::parse("3-ffffffffffffffffffffffffffffffff").value(), second.revision}));
  CHECK(versions_of(fixture).back() == Version{4, replaced, 0, "a", R"({"wins":1})"});
  CHECK(check_partition(fixture.partition(), false).value().sound());
}

TEST_CASE("a purged document is a removed one") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  const auto written = fixture.put("a", R"({"n":1})").value();
  std::promise<void> purged;
  fixture.partition().purge({{"a", {}, {written.revision}}}, [&](const auto&) { purged.set_value(); });
  purged.get_future().get();
  CHECK(versions_of(fixture).back() == Version{2, removed, 1, "a", R"({"n":1})"});
  CHECK(check_partition(fixture.partition(), false).value().sound());
}

TEST_CASE("an expiration is marked, whether the document is removed or created again") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  fixture.partition().set_time_to_live(std::make_shared<ExpiredVersions>());
  const auto removed_one = fixture.put("p:a", R"({"expired":1})").value();
  REQUIRE(fixture.put("p:b", R"({"expired":2})"));
  REQUIRE(fixture.put("p:a", "{}", removed_one.revision, true));
  REQUIRE(fixture.put("p:b", R"({"again":1})"));
  CHECK(versions_of(fixture) == std::vector<Version>{{1, created, 0, "p:a", R"({"expired":1})"},
                                                     {2, created, 0, "p:b", R"({"expired":2})"},
                                                     {3, expired, 1, "p:a", R"({"expired":1})"},
                                                     {4, expired, 2, "p:b", R"({"expired":2})"},
                                                     {5, created, 0, "p:b", R"({"again":1})"}});
  fixture.partition().set_time_to_live(nullptr);
  CHECK(check_partition(fixture.partition(), true).value().sound());
}

TEST_CASE("old versions are forgotten, the oldest first, and the log knows from where on it is complete") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  for (int i = 0; i < 5; ++i) REQUIRE(fixture.put("d" + std::to_string(i), "{}"));
  CHECK_FALSE(trim(fixture, 1, 10));
  CHECK(versions_of(fixture).size() == 5);
  constexpr std::int64_t later = std::numeric_limits<std::int64_t>::max();
  CHECK(trim(fixture, later, 2));
  CHECK(versions_of(fixture).size() == 3);
  CHECK(fixture.snapshot().versions_since().value() == 2);
  CHECK(trim(fixture, later, 3));
  CHECK_FALSE(trim(fixture, later, 3));
  CHECK(fixture.snapshot().versions_since().value() == 5);
  REQUIRE(fixture.put("next", "{}"));
  CHECK(fixture.snapshot().versions_since().value() == 5);
  CHECK(versions_of(fixture).size() == 1);
}

TEST_CASE("versions stamped by a clock that was ahead are as old as the ones after them") {
  const std::int64_t now = unix_now_s();
  constexpr std::int64_t ten_years = 315'360'000;
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  for (int i = 0; i < 40; ++i) REQUIRE(fixture.put("d" + std::to_string(i), "{}"));
  for (Sequence sequence = 1; sequence <= 11; ++sequence) {
    REQUIRE(stamp_version(fixture.partition(), sequence, now + ten_years));
  }
  CHECK_FALSE(trim(fixture, now - 500, 100));
  CHECK(versions_of(fixture).size() == 40);
  for (Sequence sequence = 12; sequence <= 30; ++sequence) {
    REQUIRE(stamp_version(fixture.partition(), sequence, now - 1'000 + static_cast<std::int64_t>(sequence)));
  }
  {
    const auto snapshot = fixture.snapshot();
    const VersionLog log = snapshot.versions();
    auto times = log.times(now);
    CHECK(times.of(log.rows().seek(1).value()) == now - 988);
    CHECK(times.of(log.rows().seek(11).value()) == now - 988);
    CHECK(times.of(log.rows().seek(20).value()) == now - 980);
  }
  CHECK(trim(fixture, now - 500, 5));
  CHECK(versions_of(fixture).size() == 35);
  CHECK_FALSE(trim(fixture, now - 500, 100));
  CHECK(versions_of(fixture).size() == 10);
  CHECK(fixture.snapshot().versions_since().value() == 30);
}

TEST_CASE("versions stay if the clock was ahead for all of them, until all versions are to go") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  for (int i = 0; i < 10; ++i) REQUIRE(fixture.put("d" + std::to_string(i), "{}"));
  const std::int64_t later = unix_now_s() + 1'000'000;
  for (Sequence sequence = 1; sequence <= 10; ++sequence) {
    REQUIRE(stamp_version(fixture.partition(), sequence, later));
  }
  CHECK_FALSE(trim(fixture, later - 1, 100));
  CHECK(versions_of(fixture).size() == 10);
  CHECK_FALSE(trim(fixture, std::numeric_limits<std::int64_t>::max(), 100));
  CHECK(versions_of(fixture).empty());
}

TEST_CASE("a log that missed changes says so, and forgets what it had before") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("a", "{}"));
  fixture.partition().set_keeps_versions(true);
  REQUIRE(fixture.put("b", "{}"));
  CHECK(fixture.snapshot().versions_since().value() == 1);
  fixture.partition().set_keeps_versions(false);
  CHECK(fixture.snapshot().versions_since().value() == 1);
  REQUIRE(fixture.put("c", "{}"));
  CHECK(fixture.snapshot().versions_since().value() == 3);
  fixture.partition().set_keeps_versions(true);
  CHECK(fixture.snapshot().versions_since().value() == 3);
  REQUIRE(fixture.put("d", "{}"));
  CHECK(fixture.snapshot().versions_since().value() == 3);
  CHECK_FALSE(trim(fixture, 1, 10));
  CHECK(versions_of(fixture) == std::vector<Version>{{4, created, 0, "d", "{}"}});
}

TEST_CASE("damaged versions are named by the check") {
  PartitionFixture fixture;
  fixture.partition().set_keeps_versions(true);
  REQUIRE(fixture.put("a", R"({"n":1})"));
  std::promise<Expected<void>> done;
  fixture.partition().run_index_task(
      [&](WriteTransaction& transaction, Tree) -> Expected<void> {
        const Tree meta = fixture.partition().store().tree(static_cast<std::size_t>(PartitionTree::meta));
        std::string key = "v";
        key.append(7, '\0');
        key += '\1';
        return transaction.put(meta, key, "nonsense");
      },
      [&](Expected<void> written) { done.set_value(std::move(written)); });
  REQUIRE(done.get_future().get());
  CHECK_FALSE(check_partition(fixture.partition(), false).value().sound());
  CHECK(versions_of(fixture).empty());
}
