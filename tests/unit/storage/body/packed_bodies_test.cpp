// Documents whose bodies a physical partition has packed: every reader gets their JSON.
#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "base/read_failure.h"
#include "storage/document/document_rows.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/partition_check.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

/// A body of 2 KB that differs by `mark`, and can be packed.
std::string large_body(std::string_view mark) {
  return R"({"mark":")" + std::string(mark) + R"(","text":")" + std::string(2'000, 'x') + R"("})";
}

DocumentRecord record_in(const Snapshot& snapshot, std::string_view id) {
  return snapshot.find_stored_record(id).value().value();
}

/// Changes the last byte of what the record, or the row of the leaf, has.
void damage_last_byte(PartitionFixture& fixture, PartitionTree name, std::string_view key) {
  Store& store = fixture.partition().store();
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    const Tree tree = store.tree(static_cast<std::size_t>(name));
    OCTAVO_TRY(const auto stored, long_key::get(transaction, tree, key));
    if (!stored) return fail(ErrorCode::not_found, "there is no such row");
    std::string value(*stored);
    value.back() = static_cast<char>(value.back() ^ 1);
    return long_key::put(transaction, tree, key, value);
  }));
}

std::vector<std::string> problems_of(PartitionFixture& fixture) {
  return check_partition(fixture.partition(), true).value().problems;
}

bool names(const std::vector<std::string>& problems, std::string_view text) {
  return std::ranges::any_of(problems,
                             [&](const std::string& problem) { return problem.find(text) != std::string::npos; });
}

/// Documents with the mark "expired" expired long ago.
class MarkedExpired final : public TimeToLive {
 public:
  std::optional<std::int64_t> expires_s(const DocumentView& document) const override {
    if (!document.body.starts_with('{')) throw std::logic_error("not a JSON object");
    return document.body.find(R"("mark":"expired")") == std::string_view::npos ? std::nullopt
                                                                               : std::optional<std::int64_t>(1);
  }
  std::int64_t identity() const override { return 9; }
};

}  // namespace

TEST_CASE("a large body is stored packed, and read as it was written") {
  PartitionFixture fixture;
  const std::string body = large_body("a");
  const auto written = fixture.put("p:a", body).value();
  CHECK(written.revision == next_revision(std::nullopt, false, body));
  const Snapshot snapshot = fixture.snapshot();
  const DocumentRecord record = record_in(snapshot, "p:a");
  CHECK(record.body.is_packed());
  CHECK(record.body.bytes().size() < 200);
  CHECK(snapshot.find("p:a").value()->body == body);
  CHECK(snapshot.open(record).value().body == body);
  // Sizes are those of the JSON.
  CHECK(snapshot.statistics().value().external_bytes == 3 + body.size());
  CHECK(snapshot.statistics_of("p").value().external_bytes == 3 + body.size());
  CHECK(fixture.is_sound());
}

TEST_CASE("bodies found in one snapshot stay there together") {
  PartitionFixture fixture;
  for (int i = 0; i < 20; ++i) REQUIRE(fixture.put("p:" + std::to_string(i), large_body(std::to_string(i))));
  Snapshot taken = fixture.snapshot();
  std::vector<DocumentView> found;
  for (int i = 0; i < 20; ++i) found.push_back(taken.find("p:" + std::to_string(i)).value().value());
  const Snapshot snapshot = std::move(taken);
  for (int i = 0; i < 20; ++i) CHECK(found[static_cast<std::size_t>(i)].body == large_body(std::to_string(i)));
}

TEST_CASE("without compression bodies are stored as they are, and packed ones stay readable") {
  PartitionFixture fixture;
  const std::string body = large_body("plain");
  auto plain = PartitionFixture::make("p:plain", body);
  plain.packed = "";  // a writer has found that packing does not pay
  REQUIRE(fixture.write({plain}).front());
  REQUIRE(fixture.put("p:packed", body));
  PhysicalPartition::Options options;
  options.compression = config::Compression::none;
  PartitionFixture other(options);
  REQUIRE(other.put("p:none", body));
  CHECK_FALSE(record_in(other.snapshot(), "p:none").body.is_packed());
  const Snapshot snapshot = fixture.snapshot();
  CHECK_FALSE(record_in(snapshot, "p:plain").body.is_packed());
  CHECK(record_in(snapshot, "p:packed").body.is_packed());
  CHECK(snapshot.find("p:plain").value()->body == body);
  CHECK(snapshot.find("p:packed").value()->body == body);
}

TEST_CASE("a write that comes packed is stored so") {
  PartitionFixture fixture;
  const std::string body = large_body("a");
  auto write = PartitionFixture::make("p:a", body);
  write.packed = pack_body(body);
  REQUIRE(fixture.write({write}).front());
  const Snapshot snapshot = fixture.snapshot();
  CHECK(record_in(snapshot, "p:a").body.bytes() == *write.packed);
  CHECK(snapshot.find("p:a").value()->body == body);
}

TEST_CASE("a cursor walks packed and other documents") {
  PartitionFixture fixture;
  std::vector<std::string> bodies;
  for (int i = 0; i < 9; ++i) {
    bodies.push_back(i % 3 == 0 ? "{\"n\":" + std::to_string(i) + "}" : large_body(std::to_string(i)));
    REQUIRE(fixture.put("p:" + std::to_string(i), bodies.back()));
  }
  const Snapshot snapshot = fixture.snapshot();
  auto cursor = snapshot.documents();
  std::size_t count = 0;
  for (auto document = cursor.seek(""); document; document = cursor.next()) CHECK(document->body == bodies[count++]);
  CHECK(count == 9);
  for (auto document = cursor.last(); document; document = cursor.previous()) CHECK(document->body == bodies[--count]);
  CHECK(count == 0);
  CHECK(cursor.find("p:4").value()->body == bodies[4]);
  CHECK(cursor.seek_back("p:5")->body == bodies[5]);
  auto records = snapshot.records();
  for (auto record = records.seek(""); record; record = records.next()) {
    CHECK(record->body.is_packed() == (count % 3 != 0));
    CHECK(record->body.size() == bodies[count++].size());
  }
  CHECK(count == 9);
}

TEST_CASE("an update, a deletion and a conflict keep the bodies of packed leaves") {
  PartitionFixture fixture;
  REQUIRE(fixture.replicate("p:a", large_body("one"), {rev(2, "aaa"), rev(1, "x")}));
  REQUIRE(fixture.replicate("p:a", large_body("two"), {rev(2, "bbb"), rev(1, "x")}));
  REQUIRE(fixture.replicate("p:a", R"({"v":"small"})", {rev(2, "000"), rev(1, "x")}));
  {
    const Snapshot snapshot = fixture.snapshot();
    const auto document = snapshot.find("p:a").value();
    CHECK(document->body == large_body("two"));
    CHECK(snapshot.leaf_body(*document, rev(2, "aaa")).value() == large_body("one"));
    CHECK(snapshot.leaf_body(*document, rev(2, "bbb")).value() == large_body("two"));
    CHECK(snapshot.leaf_body(*document, rev(2, "000")).value() == R"({"v":"small"})");
  }
  CHECK(fixture.is_sound());
  // The deletion makes the packed leaf the winner.
  REQUIRE(fixture.put("p:a", "{}", rev(2, "bbb"), true));
  {
    const Snapshot snapshot = fixture.snapshot();
    CHECK(record_in(snapshot, "p:a").body.is_packed());
    CHECK(snapshot.find("p:a").value()->body == large_body("one"));
    CHECK(snapshot.statistics().value().external_bytes == 3 + large_body("one").size());
  }
  const auto updated = fixture.put("p:a", large_body("three"), rev(2, "aaa")).value();
  CHECK(fixture.snapshot().find("p:a").value()->body == large_body("three"));
  CHECK(updated.revision == next_revision(rev(2, "aaa"), false, large_body("three")));
  CHECK(fixture.is_sound());
}

TEST_CASE("a replaced revision with a packed body can be read") {
  PartitionFixture fixture;
  fixture.partition().set_replaced_limits({.kept_s = 3600, .share_percent = 100});
  const auto first = fixture.put("p:a", large_body("first")).value();
  const auto second = fixture.put("p:a", R"({"v":2})", first.revision).value();
  REQUIRE(fixture.put("p:a", large_body("third"), second.revision));
  const Snapshot snapshot = fixture.snapshot();
  const auto document = snapshot.find("p:a").value();
  const RevisionTree tree = snapshot.revision_tree(*document).value();
  CHECK(snapshot.body_of(*document, *tree.find(first.revision)).value() == large_body("first"));
  CHECK(snapshot.body_of(*document, *tree.find(second.revision)).value() == R"({"v":2})");
  CHECK(fixture.is_sound());
}

TEST_CASE("a time to live reads packed bodies") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:expired", large_body("expired")));
  REQUIRE(fixture.put("p:lives", large_body("lives")));
  fixture.partition().set_time_to_live(std::make_shared<MarkedExpired>());
  {
    const Snapshot snapshot = fixture.snapshot();
    CHECK(snapshot.find("p:expired").value()->deleted);
    CHECK(snapshot.find("p:expired").value()->body == "{}");
    CHECK(snapshot.find_record("p:expired").value()->deleted);
    CHECK_FALSE(snapshot.find_stored_record("p:expired").value()->deleted);
    CHECK(snapshot.find("p:lives").value()->body == large_body("lives"));
    auto cursor = snapshot.documents();
    CHECK(cursor.seek("p:expired")->deleted);
    CHECK(cursor.next()->body == large_body("lives"));
    auto records = snapshot.records();
    CHECK(records.seek("p:expired")->deleted);
    CHECK_FALSE(records.next()->deleted);
  }
  for (bool more = true; more;) {
    std::promise<bool> part;
    fixture.partition().make_expiry_schedule(100, [&](Expected<bool> rest) { part.set_value(rest.value()); });
    more = part.get_future().get();
  }
  const auto expired = fixture.snapshot().expired_documents(10).value();
  REQUIRE(expired.documents.size() == 1);
  CHECK(expired.documents.front().id == "p:expired");
  // Created again, as it had expired.
  CHECK(fixture.put("p:expired", large_body("again")).value().created);
  const MarkedExpired rule;
  CHECK(fixture.is_sound(true, &rule));
}

TEST_CASE("a copy of a document for another partition has its packed bodies unchanged") {
  PartitionFixture source;
  REQUIRE(source.replicate("p:a", large_body("one"), {rev(2, "aaa"), rev(1, "x")}));
  REQUIRE(source.replicate("p:a", large_body("two"), {rev(2, "bbb"), rev(1, "x")}));
  PhysicalPartition::Options options;
  options.compression = config::Compression::none;  // nothing is packed on the way
  PartitionFixture target(options);
  const Snapshot before = source.snapshot();
  PartitionCopy copy;
  copy.documents.push_back(CopyReader(source.partition().store(), before.transaction()).document("p:a").value());
  DocumentCopy& document = copy.documents.front();
  document.partition_key = std::string_view(document.id).substr(0, 1);
  CHECK(document.body.view().bytes() == record_in(before, "p:a").body.bytes());
  CHECK(document.bytes() < 1'500);
  std::promise<bool> done;
  target.partition().adopt(std::move(copy), [&](const auto& adopted) { done.set_value(adopted.has_value()); });
  REQUIRE(done.get_future().get());
  const Snapshot after = target.snapshot();
  CHECK(record_in(after, "p:a").body.bytes() == record_in(before, "p:a").body.bytes());
  const auto found = after.find("p:a").value();
  CHECK(found->body == large_body("two"));
  CHECK(after.leaf_body(*found, rev(2, "aaa")).value() == large_body("one"));
  CHECK(after.statistics_of("p").value().external_bytes == 3 + large_body("two").size());
  CHECK(target.is_sound());
}

TEST_CASE("a damaged body is an error of those who read it alone") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:a", large_body("a")));
  const auto b = fixture.put("p:b", large_body("b")).value();
  REQUIRE(fixture.put("p:c", large_body("c")));
  damage_last_byte(fixture, PartitionTree::documents, "p:b");
  {
    const Snapshot snapshot = fixture.snapshot();
    CHECK(snapshot.find("p:b").error().code == ErrorCode::corrupted);
    CHECK(snapshot.find_record("p:b").value()->revision == b.revision);
    CHECK(snapshot.find("p:c").value()->body == large_body("c"));
    auto cursor = snapshot.documents();
    CHECK(cursor.seek("p:a")->body == large_body("a"));
    CHECK_THROWS_AS(cursor.next(), ReadFailure);
    CHECK(cursor.find("p:b").error().code == ErrorCode::corrupted);
    CHECK(cursor.seek("p:c")->body == large_body("c"));
    std::size_t count = 0;
    auto records = snapshot.records();
    for (auto record = records.seek(""); record; record = records.next()) ++count;
    CHECK(count == 3);
  }
  CHECK(names(problems_of(fixture), "documents 'p:b'"));
  // This does not read the body.
  REQUIRE(fixture.put("p:b", "{}", b.revision, true));
  CHECK(fixture.is_sound());
}

TEST_CASE("the check opens the bodies of conflicts and of replaced revisions") {
  PartitionFixture fixture;
  REQUIRE(fixture.replicate("p:a", large_body("one"), {rev(2, "aaa"), rev(1, "x")}));
  REQUIRE(fixture.replicate("p:a", large_body("two"), {rev(2, "bbb"), rev(1, "x")}));
  REQUIRE(fixture.is_sound());
  damage_last_byte(fixture, PartitionTree::leaves, leaf_key("p:a", rev(2, "aaa")));
  CHECK(names(problems_of(fixture), "leaves 'p:a'"));
  {
    const Snapshot snapshot = fixture.snapshot();
    const auto document = snapshot.find("p:a").value();
    CHECK(snapshot.leaf_body(*document, rev(2, "aaa")).error().code == ErrorCode::corrupted);
  }

  PartitionFixture keeping;
  keeping.partition().set_replaced_limits({.kept_s = 3600, .share_percent = 100});
  const auto first = keeping.put("p:a", large_body("first")).value();
  REQUIRE(keeping.put("p:a", "{}", first.revision));
  REQUIRE(keeping.is_sound());
  std::string key;
  {
    const Snapshot snapshot = keeping.snapshot();
    Cursor cursor(snapshot.transaction(),
                  keeping.partition().store().tree(static_cast<std::size_t>(PartitionTree::replaced)));
    key = cursor.last()->key;
  }
  damage_last_byte(keeping, PartitionTree::replaced, key);
  CHECK(names(problems_of(keeping), "replaced"));
}
