// Faults below the group commit: who is told what, and what the feed shows.
#include <future>

#include <catch2/catch.hpp>

#include "storage/partition/partition_check.h"
#include "support/fault_plan.h"
#include "support/partition_fixture.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::FaultPlan;
using octavo::tests::HeldWriter;
using octavo::tests::PartitionFixture;
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

TEST_CASE("a full disk fails a whole group, once, and the feed goes on where it was") {
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
