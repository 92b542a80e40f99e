// Deleted documents have a tree of their own, and pages of rows that are erased or become small are used again.
#include "storage/document/document_rows.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/partition/document_copy.h"
#include "support/format_1.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::move_to_documents;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

/// Documents whose body begins so expired long ago.
class EndsAtOnce final : public TimeToLive {
 public:
  std::optional<std::int64_t> expires_s(const DocumentView& document) const override {
    if (document.body.starts_with("{\"expires\"")) return 1;
    return std::nullopt;
  }
  std::int64_t identity() const override { return 1; }
};

constexpr int round_documents = 2000;
constexpr int rounds = 6;

std::vector<DocumentWrite> one_round(int round, std::string_view member) {
  std::vector<DocumentWrite> writes;
  const std::string body = "{\"" + std::string(member) + "\":\"" + std::string(1000, 'x') + "\"}";
  for (int i = 0; i < round_documents; ++i) {
    writes.push_back(PartitionFixture::make("doc" + std::to_string(100'000 + round * round_documents + i), body));
  }
  return writes;
}

std::uint64_t used_bytes(PartitionFixture& fixture) {
  return fixture.partition().store().sizes().value().used_bytes;
}

std::optional<PartitionTree> tree_of(PartitionFixture& fixture, std::string_view id) {
  const Snapshot snapshot = fixture.snapshot();
  const auto row = find_document_row(snapshot.transaction(), fixture.partition().store(), id).value();
  return row ? std::optional(row->tree) : std::nullopt;
}

std::vector<std::string> listed(PartitionFixture& fixture) {
  std::vector<std::string> ids;
  const Snapshot snapshot = fixture.snapshot();
  auto cursor = snapshot.documents();
  for (auto document = cursor.seek(""); document; document = cursor.next()) ids.emplace_back(document->id);
  return ids;
}

Revision stored_revision(PartitionFixture& fixture, std::string_view id) {
  return fixture.snapshot().find(id).value().value().revision;
}

}  // namespace

TEST_CASE("a deleted document is found, and is not listed") {
  PartitionFixture fixture;
  for (const std::string& id : {std::string("p:a"), "p:" + std::string(3000, 'k')}) {
    const auto first = fixture.put(id, R"({"v":1})");
    const auto deletion = fixture.put(id, R"({"why":"old"})", first->revision, true);
    REQUIRE(deletion);
    CHECK(tree_of(fixture, id) == PartitionTree::tombstones);
    const Snapshot snapshot = fixture.snapshot();
    for (const auto& found : {snapshot.find_record(id).value(), snapshot.find_stored_record(id).value()}) {
      REQUIRE(found);
      CHECK(found->deleted);
      CHECK(found->revision == deletion->revision);
      CHECK(snapshot.open(*found).value().body == R"({"why":"old"})");
    }
  }
  REQUIRE(fixture.put("p:b", "{}"));
  CHECK(listed(fixture) == std::vector<std::string>{"p:b"});
  CHECK(fixture.snapshot().documents_estimate("", std::nullopt, Closeness::rough)->rows == 1);
  CHECK(fixture.snapshot().statistics().value().deleted_count == 2);
  CHECK(fixture.is_sound());
}

TEST_CASE("a document moves between the trees with its winner") {
  PartitionFixture fixture;
  const auto first = fixture.put("p:a", R"({"v":1})");
  REQUIRE(fixture.put("p:a", "{}", first->revision, true));
  const auto again = fixture.put("p:a", R"({"v":2})");
  REQUIRE(again);
  CHECK(again->revision.generation == 3);
  CHECK(tree_of(fixture, "p:a") == PartitionTree::documents);
  REQUIRE(fixture.put("p:a", "{}", again->revision, true));
  // A conflict that lives wins against a deletion, until it is deleted as well.
  REQUIRE(fixture.replicate("p:a", R"({"c":1})", {rev(2, "aaa"), first->revision}));
  CHECK(tree_of(fixture, "p:a") == PartitionTree::documents);
  REQUIRE(fixture.put("p:a", "{}", rev(2, "aaa"), true));
  CHECK(tree_of(fixture, "p:a") == PartitionTree::tombstones);
  CHECK(fixture.is_sound());
}

TEST_CASE("a tombstone that format 1 left among the documents is found, and moves when it is written") {
  PartitionFixture fixture;
  for (const std::string& id : {std::string("p:again"), std::string("p:deleted"), "p:" + std::string(3000, 'k')}) {
    const auto first = fixture.put(id, R"({"v":1})");
    const auto deletion = fixture.put(id, "{}", first->revision, true);
    move_to_documents(fixture, id);
    const Snapshot snapshot = fixture.snapshot();
    CHECK(snapshot.find(id).value().value().deleted);
    const CopyReader reader(fixture.partition().store(), snapshot.transaction());
    const auto copy = reader.document(id).value();
    CHECK(copy.exists);
    CHECK(copy.deleted);
    CHECK(copy.revision == deletion->revision);
  }
  CHECK(fixture.is_sound());
  const auto again = fixture.put("p:again", R"({"v":2})");
  REQUIRE(again);
  CHECK(again->revision.generation == 3);
  CHECK(tree_of(fixture, "p:again") == PartitionTree::documents);
  CHECK_FALSE(fixture.snapshot().find("p:again").value().value().deleted);
  REQUIRE(fixture.put("p:deleted", R"({"twice":true})", stored_revision(fixture, "p:deleted"), true));
  CHECK(tree_of(fixture, "p:deleted") == PartitionTree::tombstones);
  CHECK(fixture.is_sound());
}

TEST_CASE("documents with ascending ids fill their pages") {
  PartitionFixture fixture;
  const std::uint64_t empty_bytes = used_bytes(fixture);
  for (const auto& written : fixture.write(one_round(0, "t"))) REQUIRE(written);
  // Three in a page of 4,096 bytes, and their rows of the feed.
  CHECK(used_bytes(fixture) - empty_bytes < 4096 * round_documents / 3 + 200'000);
}

TEST_CASE("documents that become much smaller give their pages back") {
  PartitionFixture fixture;
  for (const auto& written : fixture.write(one_round(0, "t"))) REQUIRE(written);
  const std::uint64_t full_bytes = used_bytes(fixture);
  std::vector<DocumentWrite> updates;
  for (const auto& write : one_round(0, "t")) {
    updates.push_back(PartitionFixture::make(write.id, "{}", stored_revision(fixture, write.id)));
  }
  for (const auto& updated : fixture.write(std::move(updates))) REQUIRE(updated);
  CHECK(used_bytes(fixture) < full_bytes / 2);
  CHECK(listed(fixture).size() == round_documents);
  CHECK(fixture.is_sound(false));
}

TEST_CASE("rounds of documents that are all deleted again take little space") {
  PartitionFixture fixture;
  const std::uint64_t empty_bytes = used_bytes(fixture);
  std::uint64_t full_bytes = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<DocumentWrite> deletions;
    for (const auto& written : fixture.write(one_round(round, "t"))) REQUIRE(written);
    if (round == 0) full_bytes = used_bytes(fixture) - empty_bytes;
    for (const auto& write : one_round(round, "t")) {
      deletions.push_back(PartitionFixture::make(write.id, "{}", stored_revision(fixture, write.id), true));
    }
    for (const auto& deleted : fixture.write(std::move(deletions))) REQUIRE(deleted);
  }
  CHECK(full_bytes > 2'000'000);
  // 12,000 tombstones with their histories and their rows of the feed; the bodies were 12 MB.
  CHECK(used_bytes(fixture) < 5'000'000);
  CHECK(listed(fixture).empty());
  CHECK(fixture.is_sound(false));
}

TEST_CASE("rounds of documents that all expire take little space") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<EndsAtOnce>());
  for (int round = 0; round < rounds; ++round) {
    for (const auto& written : fixture.write(one_round(round, "expires"))) REQUIRE(written);
    const auto expired = fixture.snapshot().expired_documents(round_documents).value();
    CHECK(expired.whole);
    REQUIRE(expired.documents.size() == round_documents);
    std::vector<DocumentWrite> deletions;
    for (const auto& document : expired.documents) {
      deletions.push_back(PartitionFixture::make(document.id, "{}", document.revision, true));
    }
    for (const auto& deleted : fixture.write(std::move(deletions))) REQUIRE(deleted);
  }
  CHECK(used_bytes(fixture) < 5'000'000);
  CHECK(listed(fixture).empty());
  CHECK(fixture.is_sound(false));
}
