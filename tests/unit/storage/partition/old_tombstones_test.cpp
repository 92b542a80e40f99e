#include "storage/partition/old_tombstones.h"

#include <future>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/unix_time.h"
#include "storage/document/document_record.h"
#include "storage/partition/unfed_changes.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

constexpr std::int64_t end_of_time_s = std::numeric_limits<std::int64_t>::max();

/// A walk over everything.
TombstoneWalk whole_walk() {
  return {.after = 0,
          .through = std::numeric_limits<std::int64_t>::max(),
          .before_s = end_of_time_s,
          .now_s = unix_now_s(),
          .rows_max = 1000,
          .tombstones_max = PhysicalPartition::tombstones_dropped_max};
}

OldTombstones find(PartitionFixture& fixture, const TombstoneWalk& walk = whole_walk()) {
  return find_old_tombstones(fixture.snapshot(), walk).value();
}

std::vector<std::string> ids_of(const OldTombstones& found) {
  std::vector<std::string> ids;
  for (const Tombstone& tombstone : found.tombstones) ids.push_back(tombstone.id);
  return ids;
}

void drop(PartitionFixture& fixture, std::vector<Tombstone> tombstones) {
  for (Tombstone& tombstone : tombstones) {
    const std::size_t colon = tombstone.id.find(':');
    if (colon != std::string::npos) tombstone.partition_key = tombstone.id.substr(0, colon);
  }
  std::promise<Expected<void>> done;
  fixture.partition().drop_tombstones(std::move(tombstones),
                                      [&](Expected<void> result) { done.set_value(std::move(result)); });
  REQUIRE(done.get_future().get());
}

/// Returns the sequence of the deletion.
Sequence put_and_delete(PartitionFixture& fixture, const std::string& id) {
  const auto written = fixture.put(id, R"({"n":1})");
  REQUIRE(written);
  const auto deletion = fixture.put(id, "{}", written->revision, true);
  REQUIRE(deletion);
  return deletion->sequence;
}

/// Changes the time at which the document was deleted, as if the clock had shown it.
void stamp(PartitionFixture& fixture, const std::string& id, std::int64_t time_s) {
  Store& store = fixture.partition().store();
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    const Tree tombstones = store.tree(static_cast<std::size_t>(PartitionTree::tombstones));
    OCTAVO_TRY(const auto stored, transaction.get(tombstones, id));
    const std::string record(stored.value());
    OCTAVO_TRY(DocumentRecord document, decode_document(id, record));
    document.modified_s = time_s;
    std::string changed;
    encode_document(changed, document);
    return transaction.put(tombstones, id, changed);
  }));
}

std::vector<std::string> feed_of(PartitionFixture& fixture, std::string_view partition_key) {
  const Snapshot snapshot = fixture.snapshot();
  auto cursor = snapshot.feed_of(partition_key);
  std::vector<std::string> ids;
  for (auto row = cursor.seek(1); row; row = cursor.next()) ids.emplace_back(row->id);
  return ids;
}

}  // namespace

TEST_CASE("a dropped tombstone leaves no trace but the sequence of its deletion") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:kept", R"({"n":1})"));
  const Sequence first = put_and_delete(fixture, "p:a");
  const Sequence second = put_and_delete(fixture, "q:b");
  CHECK(fixture.snapshot().counters().value().dropped_through == 0);
  const auto found = find(fixture);
  CHECK(ids_of(found) == std::vector<std::string>{"p:a", "q:b"});
  CHECK(found.through == second);
  CHECK(found.end == OldTombstones::End::feed);

  drop(fixture, {found.tombstones.front()});
  CHECK(fixture.snapshot().counters().value().dropped_through == first);
  CHECK_FALSE(fixture.snapshot().find("p:a").value().has_value());
  CHECK(feed_of(fixture, "p") == std::vector<std::string>{"p:kept"});
  CHECK(fixture.snapshot().statistics_of("p").value().deleted_count == 0);
  CHECK(fixture.snapshot().statistics_of("p").value().document_count == 1);
  CHECK(fixture.snapshot().statistics().value().deleted_count == 1);
  CHECK(fixture.is_sound());

  drop(fixture, {found.tombstones.back()});
  const Snapshot snapshot = fixture.snapshot();
  const PartitionCounters counters = snapshot.counters().value();
  CHECK(counters.dropped_through == second);
  CHECK(counters.last_sequence == second);
  CHECK(counters.purge_count == 0);
  CHECK(counters.documents.deleted_count == 0);
  CHECK(counters.documents.document_count == 1);
  CHECK(counters.documents.external_bytes == std::string_view(R"(p:kept{"n":1})").size());
  CHECK(snapshot.last_change("q").value() == 0);
  CHECK(fixture.is_sound());
}

TEST_CASE("what was dropped stays known when the partition is opened again and written to") {
  PartitionFixture fixture;
  const Sequence deletion = put_and_delete(fixture, "a");
  drop(fixture, find(fixture).tombstones);
  fixture.open(deletion);
  CHECK(fixture.snapshot().counters().value().dropped_through == deletion);
  REQUIRE(fixture.put("b", "{}"));
  CHECK(fixture.snapshot().counters().value().dropped_through == deletion);
}

TEST_CASE("a walk for old tombstones reads and finds a limited number of rows") {
  PartitionFixture fixture;
  std::vector<Sequence> deletions;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(fixture.put("live" + std::to_string(i), "{}"));
    deletions.push_back(put_and_delete(fixture, "d" + std::to_string(i)));
  }
  auto walk = whole_walk();
  walk.tombstones_max = 2;
  auto found = find(fixture, walk);
  CHECK(ids_of(found) == std::vector<std::string>{"d0", "d1"});
  CHECK(found.through == deletions[1]);
  CHECK(found.end == OldTombstones::End::budget);
  walk.after = found.through;
  walk.rows_max = 1;
  found = find(fixture, walk);
  CHECK(found.tombstones.empty());
  CHECK(found.through > deletions[1]);
  CHECK(found.end == OldTombstones::End::budget);
  walk.after = found.through;
  walk.rows_max = 1000;
  walk.through = deletions[3] - 1;
  found = find(fixture, walk);
  CHECK(ids_of(found) == std::vector<std::string>{"d2"});
  CHECK(found.end == OldTombstones::End::limit);
}

TEST_CASE("the first tombstone that is too young ends the walk") {
  PartitionFixture fixture;
  const Sequence old = put_and_delete(fixture, "old");
  put_and_delete(fixture, "young");
  put_and_delete(fixture, "behind");
  const std::int64_t now_s = unix_now_s();
  stamp(fixture, "old", now_s - 100);
  stamp(fixture, "behind", now_s - 100);
  auto walk = whole_walk();
  walk.before_s = now_s - 50;
  const auto found = find(fixture, walk);
  CHECK(ids_of(found) == std::vector<std::string>{"old"});
  CHECK(found.through == old);
  CHECK(found.end == OldTombstones::End::young);
  CHECK(found.young_s >= now_s - 50);
}

TEST_CASE("a tombstone that is stamped later than now is as old as a later change") {
  PartitionFixture fixture;
  put_and_delete(fixture, "ahead1");
  put_and_delete(fixture, "ahead2");
  const std::int64_t now_s = unix_now_s();
  for (const std::string id : {"ahead1", "ahead2"}) stamp(fixture, id, now_s + 1'000'000);
  auto walk = whole_walk();
  walk.before_s = now_s - 50;
  CHECK(find(fixture, walk).tombstones.empty());  // nothing tells its age
  put_and_delete(fixture, "later");
  stamp(fixture, "later", now_s - 100);
  CHECK(ids_of(find(fixture, walk)) == std::vector<std::string>{"ahead1", "ahead2", "later"});
  stamp(fixture, "later", now_s - 10);
  CHECK(find(fixture, walk).tombstones.empty());
}

TEST_CASE("a document that was written again is not dropped") {
  PartitionFixture fixture;
  put_and_delete(fixture, "a");
  const auto found = find(fixture);
  REQUIRE(fixture.put("a", R"({"n":2})"));
  drop(fixture, found.tombstones);
  CHECK(fixture.snapshot().find("a").value().has_value());
  CHECK(fixture.snapshot().counters().value().dropped_through == 0);
  CHECK(fixture.is_sound());
}

TEST_CASE("a document that is created again after its tombstone was dropped does not get its former revision") {
  PartitionFixture fixture;
  const auto first = fixture.put("a", R"({"n":1})").value();
  REQUIRE(fixture.put("a", "{}", first.revision, true));
  drop(fixture, find(fixture).tombstones);
  const auto second = fixture.put("a", R"({"n":1})").value();
  CHECK(second.revision.generation == 1);
  CHECK_FALSE(second.revision == first.revision);
  CHECK(second.created);
  CHECK(fixture.is_sound());
}

TEST_CASE("conflicts and long histories go with their tombstone") {
  PartitionFixture fixture;
  REQUIRE(fixture.replicate("a", R"({"v":"a"})", {rev(2, "aaa"), rev(1, "x")}));
  REQUIRE(fixture.replicate("a", R"({"v":"b"})", {rev(2, "bbb"), rev(1, "x")}));
  REQUIRE(fixture.put("a", "{}", rev(2, "aaa"), true));
  CHECK(find(fixture).tombstones.empty());  // the other leaf is the winner
  REQUIRE(fixture.put("a", "{}", rev(2, "bbb"), true));
  auto written = fixture.put("long", "{}");
  for (int edit = 0; edit < 40; ++edit) {
    REQUIRE(written);
    written = fixture.put("long", R"({"v":1})", written->revision);
  }
  REQUIRE(fixture.put("long", "{}", written->revision, true));
  const auto found = find(fixture);
  CHECK(ids_of(found) == std::vector<std::string>{"a", "long"});
  drop(fixture, found.tombstones);
  CHECK(fixture.snapshot().statistics().value().deleted_count == 0);
  CHECK(fixture.is_sound());
}

TEST_CASE("who copies the partition is told what was dropped") {
  PartitionFixture fixture;
  put_and_delete(fixture, "a");
  const auto unfed = std::make_shared<UnfedChanges>();
  fixture.partition().note_unfed(unfed);
  drop(fixture, find(fixture).tombstones);
  CHECK(unfed->take().documents.contains("a"));
}

TEST_CASE("a tombstone below those that were dropped is a problem") {
  PartitionFixture fixture;
  const Sequence deletion = put_and_delete(fixture, "a");
  Store& store = fixture.partition().store();
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    const Tree meta = store.tree(static_cast<std::size_t>(PartitionTree::meta));
    OCTAVO_TRY(const auto record, transaction.get(meta, counters_key));
    OCTAVO_TRY(PartitionCounters counters, decode_counters(*record));
    counters.dropped_through = deletion;
    std::string changed;
    encode_counters(changed, counters);
    return transaction.put(meta, counters_key, changed);
  }));
  const auto report = check_partition(fixture.partition(), true).value();
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems.front() == "feed 2: a tombstone, though those up to 2 were dropped");
}
