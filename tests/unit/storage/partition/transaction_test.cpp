// Edits on top of the winner, transactions of a partition, and unique keys.
#include <catch2/catch.hpp>

#include "storage/partition/partition_transaction.h"
#include "storage/partition/unique_keys.h"
#include "support/partition_fixture.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;

namespace {

DocumentWrite onto(WriteBase base, std::string id, std::string body, std::optional<Revision> parent = {}) {
  auto write = PartitionFixture::make(std::move(id), std::move(body), parent);
  write.base = base;
  write.partition_key = {};
  return write;
}

Expected<void> transact(PartitionFixture& fixture, PhysicalPartition::TransactionTask task) {
  std::promise<Expected<void>> done;
  fixture.partition().run_transaction(std::move(task), {}, 1000,
                                      [&](Expected<void> result) { done.set_value(std::move(result)); });
  return done.get_future().get();
}

Expected<EditOutcome> apply(PartitionTransaction& transaction, DocumentWrite write) {
  write.partition_key = std::string_view(write.id).substr(0, write.id.find(':'));
  return transaction.apply(write);
}

std::optional<std::string> body_after(PartitionFixture& fixture, std::string_view id) {
  const auto snapshot = fixture.snapshot();
  const auto document = snapshot.find(id).value();
  if (!document || document->deleted) return std::nullopt;
  return std::string(document->body);
}

/// The body as a whole is unique.
class UniqueBodies final : public UniqueKeys {
 public:
  std::vector<std::string> digests(std::string_view body) const override {
    std::string digest(body);
    digest.resize(16, ' ');
    return {digest};
  }
};

}  // namespace

TEST_CASE("an edit on top of the live winner needs one, and the revision it names") {
  PartitionFixture fixture;
  CHECK(fixture.write({onto(WriteBase::live_winner, "p:a", "{}")}).front().error().code == ErrorCode::not_found);
  const auto first = fixture.put("p:a", R"({"n":1})").value();
  const auto second = fixture.write({onto(WriteBase::live_winner, "p:a", R"({"n":2})")}).front().value();
  CHECK(second.revision.generation == 2);
  CHECK_FALSE(second.created);
  CHECK(fixture.write({onto(WriteBase::live_winner, "p:a", R"({"n":3})", first.revision)}).front().error().code ==
        ErrorCode::conflict);
  CHECK(fixture.write({onto(WriteBase::live_winner, "p:a", R"({"n":3})", second.revision)}).front());
  CHECK(body_after(fixture, "p:a") == R"({"n":3})");
}

TEST_CASE("an edit on top of any winner creates, replaces, and revives") {
  PartitionFixture fixture;
  CHECK(fixture.write({onto(WriteBase::any_winner, "p:a", R"({"n":1})")}).front().value().created);
  CHECK_FALSE(fixture.write({onto(WriteBase::any_winner, "p:a", R"({"n":2})")}).front().value().created);
  auto deletion = onto(WriteBase::live_winner, "p:a", "{}");
  deletion.deleted = true;
  REQUIRE(fixture.write({deletion}).front());
  const auto revived = fixture.write({onto(WriteBase::any_winner, "p:a", R"({"n":3})")}).front().value();
  CHECK(revived.created);
  CHECK(revived.revision.generation == 4);
  CHECK(fixture.write({onto(WriteBase::any_winner, "p:none", "{}", revived.revision)}).front().error().code ==
        ErrorCode::conflict);
}

TEST_CASE("a transaction sees its own edits, and keeps them all") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:a", R"({"n":1})"));
  REQUIRE(transact(fixture, [](PartitionTransaction& transaction) -> Expected<bool> {
    OCTAVO_TRY(const auto written, apply(transaction, onto(WriteBase::live_winner, "p:a", R"({"n":2})")));
    if (!written) return false;
    OCTAVO_TRY(const auto seen, transaction.find("p:a"));
    OCTAVO_TRY(const auto again, apply(transaction, onto(WriteBase::live_winner, "p:a", R"({"n":3})", seen->revision)));
    OCTAVO_TRY(const auto other, apply(transaction, onto(WriteBase::parent, "p:b", "{}")));
    return again && other;
  }));
  CHECK(body_after(fixture, "p:a") == R"({"n":3})");
  CHECK(body_after(fixture, "p:b") == "{}");
  CHECK(fixture.snapshot().statistics_of("p").value().document_count == 2);
  CHECK(fixture.is_sound());
}

TEST_CASE("a refused transaction leaves nothing behind, and the feed continues") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:a", R"({"n":1})"));
  REQUIRE(transact(fixture, [](PartitionTransaction& transaction) -> Expected<bool> {
    OCTAVO_TRY_VOID(apply(transaction, onto(WriteBase::live_winner, "p:a", R"({"n":2})")));
    OCTAVO_TRY_VOID(apply(transaction, onto(WriteBase::parent, "q:b", "{}")));
    return false;
  }));
  CHECK(body_after(fixture, "p:a") == R"({"n":1})");
  CHECK_FALSE(body_after(fixture, "q:b"));
  CHECK(fixture.snapshot().statistics().value().document_count == 1);
  const auto next = fixture.put("p:c", "{}").value();
  CHECK(fixture.sequences().watermark() >= next.sequence);
  CHECK(fixture.is_sound());
}

TEST_CASE("a transaction that ends with an error is undone, and harms no neighbour") {
  PartitionFixture fixture;
  const auto failed = transact(fixture, [](PartitionTransaction& transaction) -> Expected<bool> {
    OCTAVO_TRY_VOID(apply(transaction, onto(WriteBase::parent, "p:a", "{}")));
    return fail(ErrorCode::corrupted, "a bad day");
  });
  CHECK(failed.error().code == ErrorCode::corrupted);
  CHECK_FALSE(body_after(fixture, "p:a"));
  CHECK(fixture.put("p:b", "{}"));
  CHECK(fixture.is_sound());
}

TEST_CASE("a large transaction runs again when the map is full, and counts once") {
  PhysicalPartition::Options options;
  options.capacity_bytes_initial = 1 << 20;
  options.compression = config::Compression::none;
  PartitionFixture fixture(options);
  const std::string body = R"({"text":")" + std::string(50'000, 'x') + R"("})";
  REQUIRE(transact(fixture, [&](PartitionTransaction& transaction) -> Expected<bool> {
    for (int i = 0; i < 100; ++i) {
      OCTAVO_TRY(const auto written, apply(transaction, onto(WriteBase::any_winner, "p:" + std::to_string(i), body)));
      if (!written) return false;
    }
    return true;
  }));
  CHECK(fixture.snapshot().statistics_of("p").value().document_count == 100);
  CHECK(fixture.is_sound());
}

TEST_CASE("a unique key has one owner in a logical partition") {
  PartitionFixture fixture;
  fixture.partition().set_unique_keys(std::make_shared<UniqueBodies>());
  const auto a = fixture.put("p:a", "{1}").value();
  const auto refused = fixture.put("p:b", "{1}");
  CHECK(refused.error().code == ErrorCode::unique_key_violated);
  CHECK(fixture.put("q:b", "{1}"));
  CHECK(fixture.put("p:a", "{1}", a.revision));  // its own value again
  CHECK(fixture.put("p:b", "{2}"));
  CHECK(fixture.is_sound());
}

TEST_CASE("a unique value is free again when its owner changes or goes") {
  PartitionFixture fixture;
  fixture.partition().set_unique_keys(std::make_shared<UniqueBodies>());
  const auto a = fixture.put("p:a", "{1}").value();
  const auto moved = fixture.put("p:a", "{2}", a.revision).value();
  CHECK(fixture.put("p:b", "{1}"));
  REQUIRE(fixture.put("p:a", "{}", moved.revision, true));
  CHECK(fixture.put("p:c", "{2}"));
  CHECK(fixture.is_sound());
}

TEST_CASE("of equal values in one request the first one wins") {
  PartitionFixture fixture;
  fixture.partition().set_unique_keys(std::make_shared<UniqueBodies>());
  const auto results = fixture.write({PartitionFixture::make("p:a", "{1}"), PartitionFixture::make("p:b", "{1}")});
  CHECK(results[0]);
  CHECK_FALSE(results[1]);
}
