#include "storage/partition/physical_partition.h"

#include <map>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "storage/document/document_record.h"
#include "storage/partition/write_successor.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::HeldWriter;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

std::vector<std::string> feed_ids(PartitionFixture& fixture, std::string_view partition_key = {}) {
  std::vector<std::string> ids;
  const Snapshot snapshot = fixture.snapshot();
  auto cursor = snapshot.feed_of(partition_key);
  for (auto row = cursor.seek(1); row; row = cursor.next()) ids.emplace_back(row->id);
  return ids;
}

/// Twelve documents of 1 MiB: a group takes three of them.
std::vector<DocumentWrite> large_request() {
  std::vector<DocumentWrite> writes;
  const std::string body = R"({"t":")" + std::string(1 << 20, 'x') + "\"}";
  for (int i = 0; i < 12; ++i) writes.push_back(PartitionFixture::make("p:" + std::to_string(i), body));
  return writes;
}

/// Takes the documents of a partition that was split, and answers at once.
class ForwardedWrites final : public WriteSuccessor {
 public:
  void write(std::vector<DocumentWrite> writes, WriteOptions, PhysicalPartition::Completion done) override {
    PhysicalPartition::DocumentResults results;
    for (const DocumentWrite& write : writes) {
      if (write.partition_key == "p") ids.push_back(write.id);
      results.emplace_back(WrittenDocument{});
    }
    done(std::move(results));
  }
  void write_local(LocalDocumentWrite, PhysicalPartition::LocalCompletion done) override { done(unexpected_call()); }
  void purge(std::vector<PurgeRequest>, PhysicalPartition::PurgeCompletion done) override { done(unexpected_call()); }
  void run_transaction(PhysicalPartition::TransactionTask, std::string, std::size_t,
                       std::move_only_function<void(Expected<void>)> done) override {
    done(unexpected_call());
  }

  std::vector<std::string> ids;

 private:
  static std::unexpected<Error> unexpected_call() { return fail(ErrorCode::internal, "only documents are forwarded"); }
};

std::string body_of(PartitionFixture& fixture, std::string_view id) {
  const Snapshot snapshot = fixture.snapshot();
  const auto document = snapshot.find(id);
  REQUIRE(document);
  if (!*document) return "(none)";
  return (*document)->deleted ? "(deleted)" : std::string((*document)->body);
}

}  // namespace

TEST_CASE("a document is read back as it was written, with its sequence and revision") {
  PartitionFixture fixture;
  const auto written = fixture.put("a", R"({"n":12345678901234567890})");
  REQUIRE(written);
  const Snapshot snapshot = fixture.snapshot();
  const auto document = *snapshot.find("a");
  REQUIRE(document);
  CHECK(document->body == R"({"n":12345678901234567890})");
  CHECK(document->revision == written->revision);
  CHECK(document->sequence == 1);
  CHECK(document->ancestry.empty());
  CHECK(document->modified_s > 1'600'000'000);
}

TEST_CASE("an edit without the current revision is a conflict and changes nothing") {
  PartitionFixture fixture;
  const auto first = fixture.put("a", R"({"v":1})");
  CHECK(fixture.put("a", R"({"v":2})").error().code == ErrorCode::conflict);
  CHECK(fixture.put("a", R"({"v":2})", rev(1, "other")).error().code == ErrorCode::conflict);
  const auto second = fixture.put("a", R"({"v":2})", first->revision);
  REQUIRE(second);
  CHECK(fixture.put("a", R"({"v":3})", first->revision).error().code == ErrorCode::conflict);
  CHECK(body_of(fixture, "a") == R"({"v":2})");
  CHECK(feed_ids(fixture) == std::vector<std::string>{"a"});
}

TEST_CASE("a revision for a document that does not exist is a conflict") {
  PartitionFixture fixture;
  CHECK(fixture.put("a", "{}", rev(1, "abc")).error().code == ErrorCode::conflict);
  CHECK(body_of(fixture, "a") == "(none)");
}

TEST_CASE("a deleted document can be written again without a revision") {
  PartitionFixture fixture;
  const auto first = fixture.put("a", R"({"v":1})");
  REQUIRE(fixture.put("a", "{}", first->revision, true));
  CHECK(body_of(fixture, "a") == "(deleted)");
  const auto again = fixture.put("a", R"({"v":3})");
  REQUIRE(again);
  CHECK(again->revision.generation == 3);
  CHECK(body_of(fixture, "a") == R"({"v":3})");
}

TEST_CASE("one document's failure does not fail its neighbours in a request") {
  PartitionFixture fixture;
  fixture.put("b", "{}");
  const auto results = fixture.write(
      {PartitionFixture::make("a", "{}"), PartitionFixture::make("b", "{}"), PartitionFixture::make("c", "{}")});
  CHECK(results[0]);
  CHECK(results[1].error().code == ErrorCode::conflict);
  CHECK(results[2]);
}

TEST_CASE("an atomic request with one failed precondition writes nothing and names it") {
  PartitionFixture fixture;
  fixture.put("p:b", "{}");
  const auto results = fixture.write({PartitionFixture::make("p:a", "{}"), PartitionFixture::make("p:b", "{}")}, true);
  CHECK(results[0].error().code == ErrorCode::precondition_failed);
  CHECK(results[1].error().code == ErrorCode::conflict);
  CHECK(body_of(fixture, "p:a") == "(none)");
  CHECK(fixture.snapshot().statistics()->document_count == 1);
}

TEST_CASE("an atomic request with good preconditions writes all") {
  PartitionFixture fixture;
  const auto b = fixture.put("p:b", "{}");
  const auto results = fixture.write(
      {PartitionFixture::make("p:a", "{}"), PartitionFixture::make("p:b", "{}", b->revision, true)}, true);
  REQUIRE(results[0]);
  REQUIRE(results[1]);
  CHECK(body_of(fixture, "p:b") == "(deleted)");
}

TEST_CASE("an atomic request whose revision exists on a replicated branch is a conflict, in the group of the others") {
  PartitionFixture fixture;
  const auto first = fixture.put("p:a", "{}");
  REQUIRE(first);
  const Revision second = next_revision(first->revision, false, R"({"v":2})");
  REQUIRE(fixture.replicate("p:a", R"({"v":2})", {second}));
  const int commits_before = fixture.commits();
  HeldWriter held(fixture.partition());
  auto before = fixture.begin_write({PartitionFixture::make("p:before", "{}")});
  auto batch = fixture.begin_write(
      {PartitionFixture::make("p:b", "{}"), PartitionFixture::make("p:a", R"({"v":2})", first->revision)}, true);
  auto after = fixture.begin_write({PartitionFixture::make("p:after", "{}")});
  held.release();
  const auto results = batch.get();
  REQUIRE(results.size() == 2);
  CHECK(results[0].error().code == ErrorCode::precondition_failed);
  CHECK(results[1].error().code == ErrorCode::conflict);
  CHECK(before.get().front());
  CHECK(after.get().front());
  CHECK(fixture.commits() == commits_before + 1);
  CHECK(body_of(fixture, "p:b") == "(none)");
  CHECK(feed_ids(fixture, "p") == std::vector<std::string>{"p:a", "p:before", "p:after"});
  CHECK(fixture.snapshot().statistics_of("p")->document_count == 3);
}

TEST_CASE("an atomic request that is too large only as a whole is refused, in the group of the others") {
  PhysicalPartition::Options options;
  options.logical_partition_bytes_max = 100;
  PartitionFixture fixture(options);
  const std::string body = R"({"t":")" + std::string(60, 'x') + "\"}";
  const int commits_before = fixture.commits();
  HeldWriter held(fixture.partition());
  auto before = fixture.begin_write({PartitionFixture::make("y:1", "{}")});
  auto batch = fixture.begin_write({PartitionFixture::make("x:1", body), PartitionFixture::make("x:2", body)}, true);
  auto after = fixture.begin_write({PartitionFixture::make("x:3", body)});
  held.release();
  const auto results = batch.get();
  REQUIRE(results.size() == 2);
  CHECK(results[0].error().code == ErrorCode::precondition_failed);
  CHECK(results[1].error().code == ErrorCode::partition_full);
  CHECK(before.get().front());
  CHECK(after.get().front());  // what was undone does not count
  CHECK(fixture.commits() == commits_before + 1);
  CHECK(fixture.snapshot().statistics_of("x")->document_count == 1);
}

TEST_CASE("replicated edits make conflicts, and every leaf keeps its body") {
  PartitionFixture fixture;
  REQUIRE(fixture.replicate("a", R"({"v":"a"})", {rev(2, "aaa"), rev(1, "x")}));
  REQUIRE(fixture.replicate("a", R"({"v":"b"})", {rev(2, "bbb"), rev(1, "x")}));
  REQUIRE(fixture.replicate("a", R"({"v":"0"})", {rev(2, "000"), rev(1, "x")}));
  {
    const Snapshot snapshot = fixture.snapshot();
    const auto document = *snapshot.find("a");
    CHECK(document->revision == rev(2, "bbb"));
    CHECK(document->has_conflicts);
    CHECK(**snapshot.leaf_body(*document, rev(2, "aaa")) == R"({"v":"a"})");
    CHECK(**snapshot.leaf_body(*document, rev(2, "000")) == R"({"v":"0"})");
    CHECK(**snapshot.leaf_body(*document, rev(2, "bbb")) == R"({"v":"b"})");
    CHECK_FALSE(*snapshot.leaf_body(*document, rev(1, "x")));
    CHECK(snapshot.revision_tree(*document)->leaves().size() == 3);
  }
  SECTION("deleting the winner promotes the next leaf") {
    REQUIRE(fixture.put("a", "{}", rev(2, "bbb"), true));
    CHECK(body_of(fixture, "a") == R"({"v":"a"})");
    const Snapshot snapshot = fixture.snapshot();
    CHECK(snapshot.statistics()->document_count == 1);
    CHECK(snapshot.statistics()->deleted_count == 0);
  }
  SECTION("extending a loser keeps the winner's body until it overtakes") {
    REQUIRE(fixture.put("a", R"({"v":"a3"})", rev(2, "aaa")));
    CHECK(body_of(fixture, "a") == R"({"v":"a3"})");
    const Snapshot snapshot = fixture.snapshot();
    const auto document = *snapshot.find("a");
    CHECK(**snapshot.leaf_body(*document, rev(2, "bbb")) == R"({"v":"b"})");
    CHECK_FALSE(*snapshot.leaf_body(*document, rev(2, "aaa")));
  }
  SECTION("a replicated revision that is known changes nothing") {
    const auto known = fixture.replicate("a", R"({"v":"?"})", {rev(2, "aaa"), rev(1, "x")});
    REQUIRE(known);
    CHECK(known->sequence == 0);
    CHECK(feed_ids(fixture) == std::vector<std::string>{"a"});
  }
}

TEST_CASE("the feed holds each document once, at its newest change") {
  PartitionFixture fixture;
  const auto a = fixture.put("a", "{}");
  fixture.put("b", "{}");
  fixture.put("c", "{}");
  fixture.put("a", R"({"v":2})", a->revision);
  CHECK(feed_ids(fixture) == std::vector<std::string>{"b", "c", "a"});
  CHECK(fixture.sequences().watermark() == 4);
}

TEST_CASE("the feed of a logical partition holds its documents only") {
  PartitionFixture fixture;
  fixture.put("x:1", "{}");
  fixture.put("y:1", "{}");
  fixture.put("x:2", "{}");
  fixture.put("xx:1", "{}");
  CHECK(feed_ids(fixture, "x") == std::vector<std::string>{"x:1", "x:2"});
  CHECK(feed_ids(fixture, "missing").empty());
}

TEST_CASE("counters follow writes, deletions and purges, also per logical partition") {
  PartitionFixture fixture;
  const auto one = fixture.put("x:1", R"({"a":1})");
  fixture.put("x:2", "{}");
  fixture.put("y:1", "{}");
  fixture.put("x:1", "{}", one->revision, true);
  const auto all = fixture.snapshot().statistics();
  CHECK(all->document_count == 2);
  CHECK(all->deleted_count == 1);
  const auto x = fixture.snapshot().statistics_of("x");
  CHECK(x->document_count == 1);
  CHECK(x->deleted_count == 1);
  CHECK(x->external_bytes == 2 * (3 + 2));
  CHECK(fixture.snapshot().statistics_of("missing")->document_count == 0);
}

TEST_CASE("a purged document leaves no trace") {
  PartitionFixture fixture;
  const auto one = fixture.put("x:1", "{}");
  std::promise<std::vector<std::vector<Revision>>> done;
  std::vector<PurgeRequest> requests{{"x:1", "x", {one->revision, rev(7, "never")}}};
  fixture.partition().purge(std::move(requests), [&](auto purged) { done.set_value(*purged); });
  const auto purged = done.get_future().get();
  REQUIRE(purged.size() == 1);
  CHECK(purged[0] == std::vector{one->revision});
  CHECK(body_of(fixture, "x:1") == "(none)");
  CHECK(feed_ids(fixture).empty());
  CHECK(feed_ids(fixture, "x").empty());
  CHECK(fixture.snapshot().statistics()->document_count == 0);
  CHECK(*fixture.snapshot().purge_count() == 1);
}

TEST_CASE("purging the winner of a conflict promotes the other leaf") {
  PartitionFixture fixture;
  REQUIRE(fixture.replicate("a", R"({"v":"a"})", {rev(1, "aaa")}));
  REQUIRE(fixture.replicate("a", R"({"v":"b"})", {rev(1, "bbb")}));
  std::promise<void> done;
  std::vector<PurgeRequest> requests{{"a", {}, {rev(1, "bbb")}}};
  fixture.partition().purge(std::move(requests), [&](auto) { done.set_value(); });
  done.get_future().get();
  CHECK(body_of(fixture, "a") == R"({"v":"a"})");
  CHECK_FALSE((*fixture.snapshot().find("a"))->has_conflicts);
}

TEST_CASE("a full logical partition refuses growth but not deletions") {
  PhysicalPartition::Options options;
  options.logical_partition_bytes_max = 100;
  PartitionFixture fixture(options);
  const auto one = fixture.put("x:1", R"({"t":")" + std::string(80, 'x') + "\"}");
  REQUIRE(one);
  CHECK(fixture.put("x:2", R"({"t":")" + std::string(40, 'x') + "\"}").error().code == ErrorCode::partition_full);
  CHECK(fixture.put("y:1", R"({"t":")" + std::string(40, 'x') + "\"}"));
  CHECK(fixture.put("x:1", "{}", one->revision, true));
}

TEST_CASE("the number of kept revisions follows revs_limit") {
  PartitionFixture fixture;
  fixture.partition().set_revs_limit(3);
  std::optional<Revision> parent;
  for (int i = 0; i < 10; ++i) parent = fixture.put("a", "{\"v\":" + std::to_string(i) + "}", parent)->revision;
  const Snapshot snapshot = fixture.snapshot();
  CHECK(snapshot.revision_tree(**snapshot.find("a"))->history(*parent).size() == 3);
}

TEST_CASE("ids of 7,168 bytes are stored, found and walked in order") {
  PartitionFixture fixture;
  const std::string base(7167, 'k');
  for (const char last : {'c', 'a', 'b'}) REQUIRE(fixture.put(base + last, "{}"));
  const Snapshot snapshot = fixture.snapshot();
  auto cursor = snapshot.documents();
  std::string order;
  for (auto document = cursor.seek(""); document; document = cursor.next()) order.push_back(document->id.back());
  CHECK(order == "abc");
  CHECK(*snapshot.find(base + "b"));
  CHECK(feed_ids(fixture).size() == 3);
}

TEST_CASE("local documents count on from the edit they name, and stay out of the feed") {
  PartitionFixture fixture;
  const auto write = [&](LocalDocumentWrite local) {
    std::promise<Expected<std::uint64_t>> done;
    fixture.partition().write_local(std::move(local), [&](auto result) { done.set_value(result); });
    return done.get_future().get();
  };
  CHECK(*write({"_local/x", false, 0, R"({"a":1})"}) == 1);
  CHECK(*write({"_local/x", false, 1, R"({"a":2})"}) == 2);
  CHECK(*write({"_local/x", false, 7, R"({"a":3})"}) == 8);
  CHECK(*write({"_local/x", false, 0, R"({"a":4})"}) == 1);
  CHECK((*fixture.snapshot().find_local("_local/x"))->body == R"({"a":4})");
  CHECK(*write({"_local/x", true, 0, ""}) == 0);
  CHECK_FALSE(*fixture.snapshot().find_local("_local/x"));
  CHECK(*write({"_local/x", true, 0, ""}) == 0);
  CHECK(feed_ids(fixture).empty());
}

TEST_CASE("writes of many threads are grouped: far fewer commits than writes") {
  PartitionFixture fixture;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if (!fixture.put("d" + std::to_string(t) + "-" + std::to_string(i), "{}")) std::abort();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(fixture.snapshot().statistics()->document_count == 800);
  CHECK(fixture.commits() < 800);
  CHECK(feed_ids(fixture).size() == 800);
}

TEST_CASE("a large request is written in parts, and a write that comes after it does not wait for its end") {
  PartitionFixture fixture;
  auto writes = large_request();
  writes.push_back(PartitionFixture::make("p:0", "{}"));
  HeldWriter held(fixture.partition());
  auto request = fixture.begin_write(std::move(writes));
  auto after = fixture.begin_write({PartitionFixture::make("p:after", "{}")});
  held.release();
  const auto results = request.get();
  REQUIRE(results.size() == 13);
  Sequence last = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    REQUIRE(results[i]);
    CHECK(results[i]->sequence > last);
    last = results[i]->sequence;
  }
  CHECK(results[12].error().code == ErrorCode::conflict);  // it sees the first document of its request
  const auto later = after.get().front();
  REQUIRE(later);
  CHECK(later->sequence < last);
  CHECK(fixture.commits() >= 4);
  CHECK(fixture.partition().queued_bytes() == 0);
  CHECK(fixture.snapshot().statistics_of("p")->document_count == 13);
  CHECK(feed_ids(fixture, "p").size() == 13);
}

TEST_CASE("an atomic request is one transaction, however large") {
  PartitionFixture fixture;
  auto writes = large_request();
  writes.push_back(PartitionFixture::make("p:refused", "{}", rev(1, "abc")));
  const auto results = fixture.write(std::move(writes), true);
  REQUIRE(results.size() == 13);
  CHECK(results[0].error().code == ErrorCode::precondition_failed);
  CHECK(results[12].error().code == ErrorCode::conflict);
  CHECK(fixture.snapshot().statistics()->document_count == 0);
}

TEST_CASE("the parts of a large request that are left are forwarded after a split") {
  PartitionFixture fixture;
  const auto successor = std::make_shared<ForwardedWrites>();
  std::promise<Expected<void>> sealed;
  HeldWriter held(fixture.partition());
  auto request = fixture.begin_write(large_request());
  fixture.partition().seal([&](auto result) { sealed.set_value(std::move(result)); });
  held.release();
  REQUIRE(sealed.get_future().get());
  fixture.partition().hand_over(successor);
  const auto results = request.get();
  REQUIRE(results.size() == 12);
  for (const auto& result : results) CHECK(result);
  CHECK(successor->ids == std::vector<std::string>{"p:3", "p:4", "p:5", "p:6", "p:7", "p:8", "p:9", "p:10", "p:11"});
  CHECK(fixture.partition().queued_bytes() == 0);
}

TEST_CASE("a request that cannot be queued is refused, and its room is free again when the others are written") {
  PhysicalPartition::Options options;
  options.queue_bytes_max = 300;
  PartitionFixture fixture(options);
  const auto one = [](std::string id) {
    std::vector<DocumentWrite> writes;
    writes.push_back(PartitionFixture::make(std::move(id), "{}"));
    return writes;
  };
  std::promise<void> done;
  {
    HeldWriter held(fixture.partition());
    auto first = fixture.begin_write(one("a"));
    CHECK(fixture.partition().try_write(one("b"), {}, [&](const auto&) { done.set_value(); }));
    const auto refused = fixture.partition().try_write(one("c"), {}, [](const auto&) { FAIL("it was refused"); });
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::overloaded);
    CHECK(fixture.begin_write(one("d")).get().front().error().code == ErrorCode::overloaded);
    held.release();
    CHECK(first.get().front());
    done.get_future().get();
  }
  CHECK(fixture.partition().queued_bytes() == 0);
  CHECK(fixture.put("c", "{}"));
  CHECK(feed_ids(fixture) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("the writers count what waits in all queues") {
  WriterPool writers(1, 100);
  CHECK(writers.admit(1'000));  // larger than the limit, but alone
  CHECK_FALSE(writers.admit(1));
  writers.release(1'000);
  CHECK(writers.admit(60));
  CHECK(writers.admit(60));
  CHECK_FALSE(writers.admit(1));
  writers.release(60);
  CHECK(writers.admit(1));
}

TEST_CASE("writes after the database was given up fail, they do not hang") {
  PartitionFixture fixture;
  fixture.partition().retire();
  CHECK(fixture.put("a", "{}").error().code == ErrorCode::not_found);
}

TEST_CASE("no partition is created over the files of another") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("a", R"({"v":1})"));
  const auto again = fixture.partition().create();
  REQUIRE_FALSE(again);
  CHECK(again.error().code == ErrorCode::io_failure);
  CHECK(body_of(fixture, "a") == R"({"v":1})");
}

TEST_CASE("an index task that is the first user of a partition opens it") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("a", "{}"));
  fixture.open(1);
  CHECK_FALSE(fixture.partition().store().is_open());
  std::promise<Expected<void>> done;
  fixture.partition().run_index_task(
      [&](WriteTransaction& transaction, Tree tree) -> Expected<void> {
        CHECK(tree.handle == fixture.partition().store().tree(static_cast<std::size_t>(PartitionTree::index)).handle);
        CHECK(tree.handle > 1);
        return transaction.put(tree, "row", "value");
      },
      [&](auto result) { done.set_value(std::move(result)); });
  CHECK(done.get_future().get());
  CHECK(body_of(fixture, "a") == "{}");
}

TEST_CASE("random edits agree with a model of winners, after reopening too") {
  PartitionFixture fixture;
  std::mt19937 random(5);
  struct Known {
    Revision revision;
    std::string body;
    bool deleted;
  };
  std::map<std::string, Known> model;
  for (int step = 0; step < 2000; ++step) {
    const std::string id = "p" + std::to_string(random() % 5) + ":" + std::to_string(random() % 40);
    const std::string body = "{\"v\":" + std::to_string(step) + "}";
    const bool deleted = random() % 4 == 0;
    const auto known = model.find(id);
    const bool live = known != model.end() && !known->second.deleted;
    std::optional<Revision> parent;
    if (live && random() % 8) parent = known->second.revision;
    const auto written = fixture.put(id, deleted ? "{}" : body, parent, deleted);
    REQUIRE(written.has_value() == (!live || parent.has_value()));
    if (written) model[id] = {written->revision, body, deleted};
  }
  fixture.partition().store().close_if_idle();
  const Snapshot snapshot = fixture.snapshot();
  std::uint64_t live = 0;
  for (const auto& [id, known] : model) {
    const auto document = *snapshot.find(id);
    REQUIRE(document);
    REQUIRE(document->revision == known.revision);
    REQUIRE(document->deleted == known.deleted);
    if (!known.deleted) REQUIRE(document->body == known.body);
    live += !known.deleted;
  }
  CHECK(snapshot.statistics()->document_count == live);
  CHECK(snapshot.statistics()->deleted_count == model.size() - live);
  CHECK(feed_ids(fixture).size() == model.size());
}
