// Transactions that are made beside a logical partition and committed if what they read still stands.
#include "partitioning/optimistic_transaction.h"

#include <atomic>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "base/jobs/turns.h"
#include "support/dropped_tombstones.h"
#include "support/engine_fixture.h"

using namespace octavo;
using namespace octavo::partitioning;
using octavo::tests::EngineFixture;
using octavo::tests::run_task;

namespace {

storage::DocumentWrite edit_of(std::string id, std::string body,
                               storage::WriteBase base = storage::WriteBase::any_winner) {
  storage::DocumentWrite write;
  write.id = std::move(id);
  write.body = std::move(body);
  write.base = base;
  return write;
}

std::string body_of(Database& database, std::string_view id) {
  const auto snapshot = database.snapshot_for_document(id);
  const auto document = snapshot->find(id);
  return !*document || (*document)->deleted ? "" : std::string((*document)->body);
}

std::vector<std::string> scanned(OptimisticTransaction& transaction, std::size_t slice = 2) {
  std::vector<std::string> found;
  std::optional<std::string> from;
  for (auto state = ScanState::more; state == ScanState::more;) {
    state = *transaction.scan(from, {slice}, [&](const storage::DocumentView& document) {
      found.push_back(std::string(document.id) + std::string(document.body));
      return found.size() % 3 == 0 ? Visit::pause : Visit::next;
    });
  }
  return found;
}

bool committed(OptimisticTransaction& transaction) {
  const auto done = run_task(transaction.commit());
  REQUIRE(done);
  return *done;
}

}  // namespace

TEST_CASE("an optimistic transaction sees its own edits, and others do after the commit") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 2});
  EngineFixture::put(*database, "p:1", "{\"n\":1}");
  OptimisticTransaction transaction(database, database->target_of_partition_key("p"));
  const auto written = *transaction.apply(edit_of("p:1", "{\"n\":2}"));
  REQUIRE(written);
  CHECK_FALSE(written->created);
  CHECK((*transaction.find("p:1"))->body == "{\"n\":2}");
  CHECK(body_of(*database, "p:1") == "{\"n\":1}");
  REQUIRE(committed(transaction));
  CHECK(body_of(*database, "p:1") == "{\"n\":2}");
  // The revision that was promised is the one that is stored.
  CHECK((*database->snapshot_for_document("p:1")->find("p:1"))->revision == written->revision);
  CHECK(transaction.sequence() > 0);
}

TEST_CASE("an optimistic transaction judges edits as the writer does") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  const auto first = EngineFixture::put(*database, "p:1", "{}");
  OptimisticTransaction transaction(database, database->target_of_partition_key("p"));
  CHECK((*transaction.apply(edit_of("p:1", "{}", storage::WriteBase::parent))).error().code == ErrorCode::conflict);
  CHECK((*transaction.apply(edit_of("p:2", "{}", storage::WriteBase::live_winner))).error().code ==
        ErrorCode::not_found);
  CHECK((*transaction.apply(edit_of("q:1", "{}"))).error().code == ErrorCode::bad_request);
  auto conditional = edit_of("p:1", "{\"a\":1}", storage::WriteBase::live_winner);
  conditional.parent = first.revision;
  REQUIRE(*transaction.apply(conditional));
  CHECK((*transaction.apply(conditional)).error().code == ErrorCode::conflict);  // another revision by now
  auto deletion = edit_of("p:1", "{}", storage::WriteBase::live_winner);
  deletion.deleted = true;
  REQUIRE(*transaction.apply(deletion));
  CHECK((*transaction.apply(deletion)).error().code == ErrorCode::not_found);
  REQUIRE(*transaction.apply(edit_of("p:1", "{\"again\":true}", storage::WriteBase::parent)));
  REQUIRE(committed(transaction));
  CHECK(body_of(*database, "p:1") == "{\"again\":true}");
}

TEST_CASE("a deletion in a transaction leaves the document that was in conflict") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  EngineFixture::put(*database, "p:1", R"({"n":1})");
  storage::DocumentWrite replicated = edit_of("p:1", R"({"n":9})", storage::WriteBase::parent);
  replicated.replicated = true;
  replicated.history = {*storage::Revision::parse("2-99999999999999999999999999999999")};
  std::vector<storage::DocumentWrite> writes{replicated};
  REQUIRE(run_task(database->write(std::move(writes))).front());
  REQUIRE(body_of(*database, "p:1") == R"({"n":9})");

  OptimisticTransaction transaction(database, database->target_of_partition_key("p"));
  auto deletion = edit_of("p:1", "{}", storage::WriteBase::live_winner);
  deletion.deleted = true;
  REQUIRE(*transaction.apply(deletion));
  CHECK((*transaction.find("p:1"))->body == R"({"n":1})");
  CHECK(scanned(transaction) == std::vector<std::string>{R"(p:1{"n":1})"});
  CHECK_FALSE(*transaction.apply(edit_of("p:1", R"({"n":2})", storage::WriteBase::parent)));
  REQUIRE(*transaction.apply(edit_of("p:1", R"({"n":3})", storage::WriteBase::live_winner)));
  REQUIRE(committed(transaction));
  CHECK(body_of(*database, "p:1") == R"({"n":3})");

  OptimisticTransaction last(database, database->target_of_partition_key("p"));
  REQUIRE(*last.apply(deletion));
  CHECK((*last.find("p:1"))->deleted);
  REQUIRE(committed(last));
  CHECK(body_of(*database, "p:1").empty());
}

TEST_CASE("scans of a transaction merge its edits in, in order and slice by slice") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  for (const std::string id : {"p:b", "p:d", "p:f", "q:x"}) EngineFixture::put(*database, id, "{}");
  OptimisticTransaction transaction(database, database->target_of_partition_key("p"));
  CHECK(scanned(transaction) == std::vector<std::string>{"p:b{}", "p:d{}", "p:f{}"});
  for (const std::string id : {"p:a", "p:d", "p:e", "p:g"}) REQUIRE(*transaction.apply(edit_of(id, "{\"n\":1}")));
  auto deletion = edit_of("p:b", "{}", storage::WriteBase::live_winner);
  deletion.deleted = true;
  REQUIRE(*transaction.apply(deletion));
  for (std::size_t slice = 2; slice < 6; ++slice) {
    CHECK(scanned(transaction, slice) ==
          std::vector<std::string>{"p:a{\"n\":1}", "p:d{\"n\":1}", "p:e{\"n\":1}", "p:f{}", "p:g{\"n\":1}"});
  }
  transaction.hide_from_scans("p:d");
  transaction.hide_from_scans("p:g");
  CHECK(scanned(transaction) == std::vector<std::string>{"p:a{\"n\":1}", "p:d{}", "p:e{\"n\":1}", "p:f{}"});
  CHECK((*transaction.find("p:g")).has_value());
  CHECK(transaction.changed("p:g") == nullptr);
}

TEST_CASE("a transaction is not committed when what it read has changed") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  const auto first = EngineFixture::put(*database, "p:1", "{}");
  EngineFixture::put(*database, "p:2", "{}");

  OptimisticTransaction reader(database, database->target_of_partition_key("p"));
  REQUIRE(reader.find("p:1"));
  REQUIRE(*reader.apply(edit_of("p:3", "{}")));
  CHECK(*reader.still_holds());
  EngineFixture::put(*database, "p:2", "{}", (*database->snapshot_for_document("p:2")->find("p:2"))->revision);
  CHECK(*reader.still_holds());  // it never looked at that one
  EngineFixture::put(*database, "p:1", "{\"n\":1}", first.revision);
  CHECK_FALSE(*reader.still_holds());
  CHECK_FALSE(committed(reader));
  CHECK(body_of(*database, "p:3").empty());

  OptimisticTransaction absent(database, database->target_of_partition_key("p"));
  REQUIRE(absent.find("p:4"));
  REQUIRE(*absent.apply(edit_of("p:5", "{}")));
  EngineFixture::put(*database, "p:4", "{}");
  CHECK_FALSE(committed(absent));

  OptimisticTransaction scanner(database, database->target_of_partition_key("p"));
  scanned(scanner);
  REQUIRE(*scanner.apply(edit_of("p:5", "{}")));
  EngineFixture::put(*database, "q:1", "{}");
  CHECK(*scanner.still_holds());  // another partition
  EngineFixture::put(*database, "p:6", "{}");
  CHECK_FALSE(committed(scanner));
  CHECK(body_of(*database, "p:5").empty());

  OptimisticTransaction counter(database, database->target_of_partition_key("p"));
  scanned(counter);
  REQUIRE(*counter.apply(edit_of("p:5", "{}")));
  const auto older = (*database->snapshot_for_document("p:1")->find("p:1"))->revision;
  std::vector<storage::PurgeRequest> purge;
  purge.push_back({"p:1", {}, {older}});
  REQUIRE(run_task(database->purge(std::move(purge))));  // takes a change out of the feed, and adds none
  CHECK_FALSE(committed(counter));
  CHECK(body_of(*database, "p:5").empty());

  OptimisticTransaction twice(database, database->target_of_partition_key("p"));
  REQUIRE(twice.find("p:7"));
  EngineFixture::put(*database, "p:7", "{}");
  REQUIRE(twice.find("p:7"));
  CHECK(twice.is_stale());
}

TEST_CASE("a transaction moves a document to another id, or changes nothing") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  const auto first = EngineFixture::put(*database, "p:1", "{\"n\":1}");
  EngineFixture::put(*database, "p:2", "{\"n\":2}");
  OptimisticTransaction transaction(database, database->target_of_partition_key("p"));
  auto deletion = edit_of("p:1", "{}", storage::WriteBase::live_winner);
  deletion.deleted = true;
  const auto creation_of = [](std::string id) {
    return edit_of(std::move(id), "{\"n\":1}", storage::WriteBase::parent);
  };
  CHECK((*transaction.move(deletion, creation_of("p:2"))).error().code == ErrorCode::conflict);
  auto conditional = deletion;
  conditional.parent = *storage::Revision::parse("1-99999999999999999999999999999999");
  CHECK((*transaction.move(conditional, creation_of("p:3"))).error().code == ErrorCode::conflict);
  CHECK(
      (*transaction.move(deletion, edit_of("p:3", std::string(OptimisticTransaction::bytes_max, 'x')))).error().code ==
      ErrorCode::too_large);
  CHECK_FALSE(transaction.has_writes());
  conditional.parent = first.revision;
  REQUIRE(*transaction.move(conditional, creation_of("p:3")));
  CHECK((*transaction.move(deletion, creation_of("p:4"))).error().code == ErrorCode::not_found);
  REQUIRE(committed(transaction));
  CHECK(body_of(*database, "p:1").empty());
  CHECK(body_of(*database, "p:3") == "{\"n\":1}");
  CHECK(body_of(*database, "p:4").empty());
}

TEST_CASE("a transaction that writes without end is bounded") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  OptimisticTransaction transaction(database, database->target_of_partition_key("p"));
  for (std::size_t i = 0; i < OptimisticTransaction::writes_max; ++i) {
    REQUIRE(*transaction.apply(edit_of("p:" + std::to_string(i), "{}")));
  }
  CHECK(transaction.is_full());
  CHECK((*transaction.apply(edit_of("p:more", "{}"))).error().code == ErrorCode::too_large);
  REQUIRE(committed(transaction));
  CHECK(database->statistics()->document_count == OptimisticTransaction::writes_max);
}

TEST_CASE("repeated attempts lose nothing beside other writers") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  EngineFixture::put(*database, "p:sum", "0");
  constexpr int writes_each = 40;
  std::atomic<int> failed{0};
  const auto add = [&](bool in_turn) {
    for (int i = 0; i < writes_each; ++i) {
      const auto done = run_task(run_optimistically(
          database, database->target_of_partition_key("p"), in_turn,
          [](OptimisticTransaction& transaction) -> Expected<Verdict> {
            OCTAVO_TRY(const auto sum, transaction.find("p:sum"));
            const int next = std::stoi(std::string(sum->body)) + 1;
            OCTAVO_TRY(const auto written, transaction.apply(edit_of("p:sum", std::to_string(next))));
            if (!written) return std::unexpected(written.error());
            return Verdict::commit;
          }));
      if (!done) ++failed;
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.emplace_back(add, true);
    threads.emplace_back(add, true);
    threads.emplace_back(add, true);
    threads.emplace_back(add, false);
  }
  CHECK(std::stoi(body_of(*database, "p:sum")) == 4 * writes_each - failed);
  CHECK(failed < writes_each);
}

TEST_CASE("a verdict to discard, or an error, writes nothing") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  const auto run = [&](Expected<Verdict> verdict) {
    return run_task(run_optimistically(database, database->target_of_partition_key("p"), true,
                                       [&](OptimisticTransaction& transaction) {
                                         REQUIRE(*transaction.apply(edit_of("p:1", "{}")));
                                         return verdict;
                                       }));
  };
  CHECK(run(Verdict::discard)->sequence == 0);
  CHECK(run(fail(ErrorCode::forbidden, "no")).error().reason == "no");
  CHECK(body_of(*database, "p:1").empty());
  CHECK(run(Verdict::commit)->sequence > 0);
  CHECK(body_of(*database, "p:1") == "{}");
}

TEST_CASE("a transaction is told the revisions that its documents get, also where tombstones are dropped meanwhile") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  const auto put_and_delete = [&](const std::string& id) {
    const auto written = EngineFixture::put(*database, id, "{}");
    EngineFixture::put(*database, id, "{}", written.revision, true);
  };
  put_and_delete("p:gone");
  OptimisticTransaction creates(database, database->target_of_partition_key("p"));
  const auto created = *creates.apply(edit_of("p:new", "{}"));
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  REQUIRE(committed(creates));
  CHECK((*database->snapshot_for_document("p:new")->find("p:new"))->revision == created->revision);

  OptimisticTransaction creates_again(database, database->target_of_partition_key("p"));
  const auto again = *creates_again.apply(edit_of("p:gone", "{}"));
  REQUIRE(committed(creates_again));
  CHECK((*database->snapshot_for_document("p:gone")->find("p:gone"))->revision == again->revision);

  put_and_delete("p:dropped");
  OptimisticTransaction follows(database, database->target_of_partition_key("p"));
  REQUIRE(follows.reads_all());
  REQUIRE(*follows.apply(edit_of("p:dropped", "{}")));
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  CHECK_FALSE(committed(follows));  // the parent of its revision is gone
}

TEST_CASE("a transaction that was admitted is not refused at its end") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  const auto budget = std::make_shared<ThroughputBudget>(1);
  budget->set_rate(10);
  database->meter().set_budget(budget);
  const auto writes = [&](OptimisticTransaction& transaction) -> Expected<Verdict> {
    database->meter().spend(database->target_of_partition_key("p"), 1000);  // by others, while this one works
    OCTAVO_TRY(const auto written, transaction.apply(edit_of("p:1", "{}")));
    REQUIRE(written);
    return Verdict::commit;
  };
  REQUIRE(run_task(run_optimistically(database, database->target_of_partition_key("p"), true, writes)));
  CHECK(body_of(*database, "p:1") == "{}");
  const auto refused = run_task(run_optimistically(database, database->target_of_partition_key("p"), true, writes));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::throttled);
}

TEST_CASE("documents that always change in between end an attempt with retry_with") {
  EngineFixture fixture;
  const auto database = fixture.create("d", {true, 1});
  int n = 0;
  const auto done = run_task(run_optimistically(
      database, database->target_of_partition_key("p"), true, [&](OptimisticTransaction& transaction) {
        REQUIRE(transaction.find("p:1"));
        const auto now = database->snapshot_for_document("p:1")->find("p:1");
        EngineFixture::put(*database, "p:1", "{\"n\":" + std::to_string(++n) + "}",
                           *now ? std::optional((*now)->revision) : std::nullopt);
        REQUIRE(*transaction.apply(edit_of("p:2", "{}")));
        return Expected<Verdict>(Verdict::commit);
      }));
  REQUIRE_FALSE(done);
  CHECK(done.error().word == word_retry_with);
  CHECK(n > 1);
  CHECK(n < 100);
}
