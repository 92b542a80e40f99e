// Faults below the group commit: who is told what, and what the feed shows.
#include <future>
#include <limits>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/unix_time.h"
#include "storage/lmdb/store_preparation.h"
#include "storage/partition/old_tombstones.h"
#include "storage/partition/partition_check.h"
#include "support/fault_plan.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::FaultPlan;
using octavo::tests::HeldWriter;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;
using Call = StorageCall;

namespace {

struct FailingPartition {
  FailingPartition() : fixture({.folder = {}, .faults = &faults}) {}

  std::vector<std::string> feed() {
    const Sequence watermark = fixture.sequences().watermark();
    const auto snapshot = fixture.snapshot();
    auto cursor = snapshot.feed();
    std::vector<std::string> ids;
    for (auto row = cursor.seek(1); row && row->sequence <= watermark; row = cursor.next()) ids.emplace_back(row->id);
    return ids;
  }
  void check_files() {
    const auto report = check_partition(fixture.partition(), true);
    REQUIRE(report);
    CAPTURE(report->problems);
    CHECK(report->problem_count == 0);
  }
  std::string body(std::string_view id) {
    const auto snapshot = fixture.snapshot();
    const auto found = snapshot.find(id);
    REQUIRE(found);
    return *found ? std::string((*found)->body) : "(none)";
  }

  /// Several requests in one group: they wait in the queue behind a write that this holds up.
  std::vector<Expected<WrittenDocument>> write_together(std::vector<DocumentWrite> writes) {
    HeldWriter held(fixture.partition());
    std::vector<std::future<std::vector<Expected<WrittenDocument>>>> waiting;
    for (DocumentWrite& write : writes) {
      std::vector<DocumentWrite> one;
      one.push_back(std::move(write));
      waiting.push_back(fixture.begin_write(std::move(one)));
    }
    if (before_group) before_group();
    held.release();
    std::vector<Expected<WrittenDocument>> results;
    for (auto& one : waiting) results.push_back(one.get().front());
    return results;
  }
  std::function<void()> before_group;

  FaultPlan faults;
  PartitionFixture fixture;
};

/// A copy of a filled partition, whose calls fail.
struct FailingCopy {
  explicit FailingCopy(const PartitionFixture& source) : fixture({.folder = {}, .faults = &faults}, source) {}

  FaultPlan faults;
  PartitionFixture fixture;
};

/// One way in which a storage call of the background fails, and what it is told.
struct BackgroundFault {
  FaultPlan::Fault fault;
  std::optional<ErrorCode> code;  ///< nullopt: it need not notice
};

std::vector<BackgroundFault> background_faults() {
  return {
      {{.code = EIO}, ErrorCode::io_failure},
      {{.code = ENOSPC}, ErrorCode::disk_full},
      {{.code = FaultPlan::no_memory}, ErrorCode::overloaded},
      {{.code = EIO, .calls = {Call::commit}, .panics = true}, ErrorCode::io_failure},
      {{.code = EIO, .calls = {Call::commit}, .took_place = true, .panics = true}, ErrorCode::io_failure},
      {{.code = fault_code::must_grow, .calls = {Call::put, Call::erase, Call::commit}}, std::nullopt},
  };
}

/// What readers of the feed see, a line for each change, and the counters.
std::vector<std::string> feed_state(PartitionFixture& fixture) {
  std::vector<std::string> lines;
  const Snapshot snapshot = fixture.snapshot();
  auto feed = snapshot.feed();
  for (auto row = feed.seek(1); row; row = feed.next()) {
    const std::string id(row->id);
    const auto document = snapshot.find(id).value();
    lines.push_back(
        fmt::format("{} {} {} {}", row->sequence, id, row->revision.to_string(), document ? document->body : "(none)"));
  }
  for (const auto* key : {"p", "q"}) {
    const DocumentStatistics statistics = snapshot.statistics_of(key).value();
    lines.push_back(fmt::format("{}: {} {}", key, statistics.document_count, statistics.deleted_count));
  }
  lines.push_back(fmt::format("dropped through {}", snapshot.counters().value().dropped_through));
  return lines;
}

void reopen(PartitionFixture& fixture) {
  const Sequence last = fixture.snapshot().last_sequence().value();  // the snapshot ends before the partition does
  fixture.open(last);
}

/// Tombstones of all kinds: of a long history, of conflicts, of a long id, of a whole logical partition.
void fill_with_tombstones(PartitionFixture& fixture) {
  REQUIRE(fixture.put("p:lives", R"({"v":1})"));
  auto edited = fixture.put("p:edited", "{}");
  for (int edit = 0; edit < 40; ++edit) edited = fixture.put("p:edited", "{}", edited->revision);
  REQUIRE(fixture.put("p:edited", "{}", edited->revision, true));
  for (const auto* hash : {"aaa", "bbb"}) {
    REQUIRE(fixture.replicate("p:forked", R"({"last":true})", {rev(2, hash), rev(1, "x")}, true));
  }
  for (const std::string& id : {"p:" + std::string(600, 'k'), std::string("q:1"), std::string("q:2")}) {
    const auto written = fixture.put(id, "{}");
    REQUIRE(written);
    REQUIRE(fixture.put(id, "{}", written->revision, true));
  }
}

std::vector<Tombstone> all_tombstones(PartitionFixture& fixture) {
  auto tombstones = find_old_tombstones(fixture.snapshot(), {.after = 0,
                                                             .through = fixture.sequences().watermark(),
                                                             .before_s = std::numeric_limits<std::int64_t>::max(),
                                                             .now_s = unix_now_s(),
                                                             .rows_max = 1000,
                                                             .tombstones_max = 1000})
                        .value()
                        .tombstones;
  for (Tombstone& tombstone : tombstones) tombstone.partition_key = tombstone.id.substr(0, 1);
  return tombstones;
}

Expected<void> drop_all_tombstones(PartitionFixture& fixture, std::vector<Tombstone> tombstones) {
  std::promise<Expected<void>> done;
  fixture.partition().drop_tombstones(std::move(tombstones), [&](auto result) { done.set_value(std::move(result)); });
  return done.get_future().get();
}

}  // namespace

TEST_CASE("wherever the map is full, an edit is made once and the feed agrees with it") {
  for (std::size_t n = 1;; ++n) {
    CAPTURE(n);
    FailingPartition subject;
    const auto first = subject.fixture.put("p:a", R"({"v":1})");
    REQUIRE(first);
    subject.faults.plan({.code = fault_code::must_grow, .calls = {Call::put, Call::erase, Call::commit}, .from = n});
    const auto results = subject.fixture.write({
        PartitionFixture::make("p:a", R"({"v":2})", first->revision),
        PartitionFixture::make("p:b", R"({"v":1})"),
        PartitionFixture::make("p:b", R"({"v":2})"),
    });
    REQUIRE(results.size() == 3);
    REQUIRE(results[0]);
    CHECK(results[0]->revision.generation == 2);
    REQUIRE(results[1]);
    REQUIRE_FALSE(results[2]);
    CHECK(results[2].error().code == ErrorCode::conflict);
    CHECK(subject.feed() == std::vector<std::string>{"p:a", "p:b"});
    CHECK(results[1]->sequence == subject.fixture.sequences().watermark());
    CHECK(subject.body("p:a") == R"({"v":2})");
    subject.check_files();
    if (subject.faults.fired() == 0) {
      CHECK(n > 8);
      break;
    }
  }
}

TEST_CASE("a full disk fails a whole group, once, and the feed continues where it was") {
  FailingPartition subject;
  REQUIRE(subject.fixture.put("p:a", "{}"));
  subject.before_group = [&] { subject.faults.plan({.code = ENOSPC, .calls = {Call::commit}, .lasting = true}); };
  std::vector<DocumentWrite> writes;
  for (int i = 0; i < 5; ++i) writes.push_back(PartitionFixture::make("p:" + std::to_string(i), "{}"));
  for (const auto& result : subject.write_together(std::move(writes))) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::disk_full);
  }
  CHECK(subject.faults.fired() == 1);
  CHECK(subject.feed() == std::vector<std::string>{"p:a"});
  CHECK(subject.fixture.commits() == 1);
  subject.faults.heal();
  REQUIRE(subject.fixture.put("p:0", "{}"));
  CHECK(subject.feed() == std::vector<std::string>{"p:a", "p:0"});
  subject.check_files();
}

TEST_CASE("a group whose sync failed is neither acknowledged nor run again") {
  for (const bool panics : {false, true}) {
    FailingPartition subject;
    REQUIRE(subject.fixture.put("p:a", "{}"));
    subject.before_group = [&] { subject.faults.plan({.calls = {Call::commit}, .panics = panics}); };
    std::vector<DocumentWrite> writes;
    for (int i = 0; i < 5; ++i) writes.push_back(PartitionFixture::make("p:" + std::to_string(i), "{}"));
    for (const auto& result : subject.write_together(std::move(writes))) {
      REQUIRE_FALSE(result);
      CHECK(result.error().code == ErrorCode::io_failure);
    }
    CHECK(subject.feed() == std::vector<std::string>{"p:a"});
    REQUIRE(subject.fixture.put("p:0", "{}"));
    CHECK(subject.feed() == std::vector<std::string>{"p:a", "p:0"});
    subject.check_files();
  }
}

TEST_CASE("what the disk took without confirming is an error to its writer, and in the feed") {
  FailingPartition subject;
  REQUIRE(subject.fixture.put("p:a", "{}"));
  subject.before_group = [&] { subject.faults.plan({.calls = {Call::commit}, .took_place = true, .panics = true}); };
  std::vector<DocumentWrite> writes;
  writes.push_back(PartitionFixture::make("p:b", "{}"));
  writes.push_back(PartitionFixture::make("p:c", "{}"));
  for (const auto& result : subject.write_together(std::move(writes))) {
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::io_failure);
  }
  CHECK(subject.feed() == std::vector<std::string>{"p:a", "p:b", "p:c"});
  CHECK(subject.fixture.commits() == 2);
  const auto again = subject.fixture.put("p:b", R"({"other":1})");
  REQUIRE_FALSE(again);
  CHECK(again.error().code == ErrorCode::conflict);
  subject.check_files();
}

TEST_CASE("a lack of memory that one request meets is not its neighbours'") {
  FailingPartition subject;
  subject.before_group = [&] { subject.faults.plan({.code = FaultPlan::no_memory, .calls = {Call::put}}); };
  std::vector<DocumentWrite> writes;
  for (int i = 0; i < 3; ++i) writes.push_back(PartitionFixture::make("p:" + std::to_string(i), "{}"));
  for (const auto& result : subject.write_together(std::move(writes))) CHECK(result);
  subject.check_files();
}

TEST_CASE("every request is answered when every storage call fails") {
  for (const int code : {ENOSPC, EIO, ENOMEM, EMFILE, FaultPlan::no_memory}) {
    CAPTURE(code);
    FailingPartition subject;
    REQUIRE(subject.fixture.put("p:a", "{}"));
    subject.before_group = [&] { subject.faults.plan({.code = code, .lasting = true}); };
    std::vector<DocumentWrite> writes;
    for (int i = 0; i < 5; ++i) writes.push_back(PartitionFixture::make("p:" + std::to_string(i), "{}"));
    for (const auto& result : subject.write_together(std::move(writes))) CHECK_FALSE(result);
    subject.faults.heal();
    CHECK(subject.feed() == std::vector<std::string>{"p:a"});
    CHECK(subject.fixture.put("p:0", "{}"));
    CHECK(subject.feed() == std::vector<std::string>{"p:a", "p:0"});
    subject.check_files();
  }
}

TEST_CASE("local documents, purges and index tasks are answered whichever call fails, and succeed afterwards") {
  for (const int code : {ENOSPC, EIO, FaultPlan::no_memory}) {
    for (std::size_t n = 1; n < 40; ++n) {
      CAPTURE(code, n);
      FailingPartition subject;
      const auto written = subject.fixture.put("p:a", "{}");
      REQUIRE(written);
      subject.faults.plan({.code = code, .from = n});
      const auto local = [&] {
        std::promise<Expected<std::uint64_t>> done;
        LocalDocumentWrite write;
        write.id = "_local/x";
        write.body = "{}";
        subject.fixture.partition().write_local(std::move(write),
                                                [&](auto result) { done.set_value(std::move(result)); });
        return done.get_future().get();
      };
      const auto purge = [&] {
        std::promise<Expected<std::vector<std::vector<Revision>>>> done;
        subject.fixture.partition().purge({PurgeRequest{"p:a", "p", {written->revision}}},
                                          [&](auto result) { done.set_value(std::move(result)); });
        return done.get_future().get();
      };
      const auto index_task = [&] {
        std::promise<Expected<void>> done;
        subject.fixture.partition().run_index_task(
            [](WriteTransaction& transaction, Tree tree) { return transaction.put(tree, "k", "v"); },
            [&](auto result) { done.set_value(std::move(result)); });
        return done.get_future().get();
      };
      int failures = 0;
      if (!local()) ++failures;
      if (!purge()) ++failures;
      if (!index_task()) ++failures;
      CHECK(failures == static_cast<int>(subject.faults.fired()));
      subject.faults.heal();
      CHECK(local());
      CHECK(purge());
      CHECK(index_task());
      subject.check_files();
      if (failures == 0) {
        CHECK(n > 9);
        break;
      }
    }
  }
}

TEST_CASE("tombstones are dropped all or not at all, whichever call fails, and afterwards all of them are") {
  PartitionFixture source;
  fill_with_tombstones(source);
  const auto tombstones = all_tombstones(source);
  REQUIRE(tombstones.size() == 5);
  const auto with_tombstones = feed_state(source);
  std::vector<std::string> without_tombstones;
  for (const BackgroundFault& kind : background_faults()) {
    for (std::size_t n = 1;; ++n) {
      CAPTURE(kind.fault.code, kind.fault.took_place, kind.fault.panics, n);
      FailingCopy subject(source);
      FaultPlan::Fault fault = kind.fault;
      fault.from = n;
      subject.faults.plan(fault);
      const auto dropped = drop_all_tombstones(subject.fixture, tombstones);
      const bool has_failed = subject.faults.fired() > 0;
      subject.faults.heal();
      if (!has_failed && without_tombstones.empty()) {
        without_tombstones = feed_state(subject.fixture);
        CHECK(without_tombstones.size() == with_tombstones.size() - 5);
      }
      CHECK(dropped.has_value() == (!has_failed || !kind.code));
      if (!dropped) {
        CHECK(dropped.error().code == kind.code);
        if (!fault.took_place) CHECK(feed_state(subject.fixture) == with_tombstones);
        CHECK(subject.fixture.is_sound());
        CHECK(drop_all_tombstones(subject.fixture, tombstones));
      }
      for (int opened = 0; opened < 2; ++opened) {
        if (!without_tombstones.empty()) CHECK(feed_state(subject.fixture) == without_tombstones);
        CHECK(all_tombstones(subject.fixture).empty());
        CHECK(subject.fixture.is_sound());
        reopen(subject.fixture);
      }
      if (!has_failed) {
        CHECK(n > (fault.calls == std::set{Call::commit} ? 1 : 15));
        break;
      }
    }
  }
}

TEST_CASE("replaced revisions that cannot be removed stay readable, whichever call fails, and are removed afterwards") {
  PartitionFixture source;
  const ReplacedLimits limits{.kept_s = 3600, .share_percent = 100};
  source.partition().set_replaced_limits(limits);
  const auto first = source.put("p:a", R"({"v":0})");
  REQUIRE(first);
  auto last = *first;
  for (int edit = 1; edit <= 130; ++edit) {  // each is a row, and a group removes 100
    last = source.put("p:a", fmt::format(R"({{"v":{}}})", edit), last.revision).value();
  }
  const auto kept = [](PartitionFixture& fixture) {
    const Snapshot snapshot = fixture.snapshot();
    const auto record = snapshot.find_record("p:a").value().value();
    return replaced_log::revisions_of(snapshot.transaction(), fixture.tree(PartitionTree::replaced), record).value();
  };
  const auto state = feed_state(source);
  REQUIRE(kept(source).size() == 130);
  for (const BackgroundFault& kind : background_faults()) {
    for (std::size_t n = 1;; n += n % 20 < 8 ? 1 : 6) {  // most calls erase one row after the other
      CAPTURE(kind.fault.code, kind.fault.took_place, kind.fault.panics, n);
      FailingCopy subject(source);
      FaultPlan::Fault fault = kind.fault;
      fault.from = n;
      subject.faults.plan(fault);
      const StorePreparation preparation;
      const auto dropped = subject.fixture.partition().drop_replaced(preparation);
      const bool has_failed = subject.faults.fired() > 0;
      subject.faults.heal();
      CHECK(dropped.has_value() == (!has_failed || !kind.code));
      if (!dropped) {
        CHECK(dropped.error().code == kind.code);
        const auto left = kept(subject.fixture);
        CHECK((left.size() == 130 || left.size() == 30 || (fault.took_place && left.empty())));
        if (!left.empty()) CHECK(left.back().generation == 130);
        CHECK(feed_state(subject.fixture) == state);
        CHECK(subject.fixture.is_sound());
        CHECK(subject.fixture.partition().drop_replaced(preparation));
      }
      for (int opened = 0; opened < 2; ++opened) {
        CHECK(kept(subject.fixture).empty());
        CHECK(feed_state(subject.fixture) == state);
        CHECK(subject.fixture.is_sound());
        reopen(subject.fixture);
      }
      // And it is filled again.
      subject.fixture.partition().set_replaced_limits(limits);
      REQUIRE(subject.fixture.put("p:a", "{}", last.revision));
      CHECK(kept(subject.fixture).size() == 1);
      if (!has_failed) {
        CHECK(n > (fault.calls == std::set{Call::commit} ? 2 : 130));
        break;
      }
    }
  }
}
