#include "storage/logs/replaced_log.h"

#include <algorithm>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/lmdb/store_preparation.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

constexpr ReplacedLimits generous{.kept_s = 3600, .share_percent = 100};

struct KeepingPartition : PartitionFixture {
  KeepingPartition() { partition().set_replaced_limits(generous); }

  std::optional<std::string> body(const std::string& id, const Revision& revision) {
    const Snapshot view = snapshot();
    const auto document = view.find(id).value();
    REQUIRE(document);
    const RevisionTree tree = view.revision_tree(*document).value();
    const RevisionTree::Node* node = tree.find(revision);
    if (node == nullptr) return std::nullopt;
    const auto found = view.body_of(*document, *node).value();
    return found ? std::optional<std::string>(*found) : std::nullopt;
  }
  /// Bodies in the log.
  std::size_t bodies() {
    const Snapshot view = snapshot();
    Cursor cursor(view.transaction(), partition().store().tree(static_cast<std::size_t>(PartitionTree::replaced)));
    std::size_t count = 0;
    for (auto found = cursor.first(); found; found = cursor.next()) {
      auto row = replaced_log::decode(found->value).value();
      while (!row.entries.empty()) count += replaced_log::next_entry(row.entries).value().revision ? 1 : 0;
    }
    return count;
  }
  void purge(std::string id, std::vector<Revision> revisions) {
    std::promise<bool> done;
    std::vector<PurgeRequest> requests;
    requests.push_back({std::move(id), {}, std::move(revisions)});
    partition().purge(std::move(requests), [&](const auto& purged) { done.set_value(purged.has_value()); });
    REQUIRE(done.get_future().get());
  }
};

}  // namespace

TEST_CASE("each replaced revision of a document can be read") {
  KeepingPartition partition;
  std::vector<Revision> revisions;
  for (int i = 0; i < 5; ++i) {
    const auto parent = revisions.empty() ? std::nullopt : std::optional(revisions.back());
    revisions.push_back(partition.put("a", "{\"n\":" + std::to_string(i) + "}", parent).value().revision);
    REQUIRE(partition.put("other" + std::to_string(i), "{}"));
  }
  for (std::size_t i = 0; i < revisions.size(); ++i) {
    CHECK(partition.body("a", revisions[i]) == "{\"n\":" + std::to_string(i) + "}");
  }
  const Snapshot view = partition.snapshot();
  const auto document = view.find("a").value();
  std::vector<Revision> expected(revisions.begin(), revisions.end() - 1);
  std::ranges::sort(expected);
  CHECK(view.replaced_revisions(*document).value() == expected);
  CHECK(partition.is_sound(false));
}

TEST_CASE("a deletion keeps what it deletes, and a document written again its tombstone") {
  KeepingPartition partition;
  const Revision first = partition.put("a", R"({"n":1})").value().revision;
  const Revision tombstone = partition.put("a", "{}", first, true).value().revision;
  CHECK(partition.body("a", first) == R"({"n":1})");
  REQUIRE(partition.put("a", R"({"n":2})"));
  CHECK(partition.body("a", first) == R"({"n":1})");
  CHECK(partition.body("a", tombstone) == "{}");
}

TEST_CASE("an edit of a losing branch does not hide the former winners") {
  KeepingPartition partition;
  REQUIRE(partition.replicate("a", R"({"v":1})", {rev(1, "aa")}));
  REQUIRE(partition.replicate("a", R"({"v":2})", {rev(2, "bb"), rev(1, "aa")}));
  REQUIRE(partition.replicate("a", R"({"v":3})", {rev(1, "00")}));
  CHECK(partition.body("a", rev(1, "aa")) == R"({"v":1})");
  // A new winner leaves the old one a leaf, whose body is not replaced.
  REQUIRE(partition.replicate("a", R"({"v":4})", {rev(3, "dd"), rev(2, "cc"), rev(1, "aa")}));
  CHECK(partition.body("a", rev(2, "bb")) == R"({"v":2})");
  CHECK(partition.body("a", rev(1, "aa")) == R"({"v":1})");
  CHECK(partition.is_sound(false));
}

TEST_CASE("purged documents leave no replaced revisions") {
  KeepingPartition partition;
  const Revision first = partition.put("a", R"({"n":1})").value().revision;
  const Revision second = partition.put("a", R"({"n":2})", first).value().revision;
  CHECK(partition.bodies() == 1);
  partition.purge("a", {second});
  CHECK(partition.bodies() == 0);
}

TEST_CASE("replaced revisions take a share of the documents' bytes, the newest of them") {
  KeepingPartition partition;
  partition.partition().set_replaced_limits({.kept_s = 3600, .share_percent = 10});
  std::mt19937 random(5);
  std::string text(100'000, 'x');
  for (char& letter : text) letter = static_cast<char>(']' + random() % 34);
  std::vector<Revision> revisions;
  for (int i = 0; i < 40; ++i) {
    const auto parent = revisions.empty() ? std::nullopt : std::optional(revisions.back());
    revisions.push_back(partition.put("a", R"({"n":")" + text + "\"}", parent).value().revision);
  }
  CHECK(partition.bodies() >= 10);
  CHECK(partition.bodies() <= 18);  // of 100 KB, packed to about 64, in 1 MiB
  CHECK(partition.body("a", revisions[revisions.size() - 2]));
  CHECK_FALSE(partition.body("a", revisions.front()));
}

TEST_CASE("replaced revisions go when they are older than they are kept") {
  KeepingPartition partition;
  REQUIRE(partition.put("a", "{}"));
  const auto log_at = [&](std::int64_t now_s, Sequence sequence) {
    REQUIRE(partition.partition().store().write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      const Tree log = partition.partition().store().tree(static_cast<std::size_t>(PartitionTree::replaced));
      replaced_log::Writer writer(transaction, log);
      writer.append({.sequence = sequence,
                     .previous = sequence - 1,
                     .revision = rev(1, "a"),
                     .id = "a",
                     .body = StoredBody::of_json("{}")});
      return writer.finish({.kept_s = 60, .share_percent = 100}, now_s, 0);
    }));
  };
  log_at(1'000, 2);
  log_at(1'060, 4);
  CHECK(partition.bodies() == 2);
  log_at(1'061, 6);
  CHECK(partition.bodies() == 2);
}

TEST_CASE("replaced revisions go when none are wanted any more, and before a compaction") {
  KeepingPartition partition;
  const auto replace = [&](const std::string& id) {
    const Revision first = partition.put(id, "{}").value().revision;
    REQUIRE(partition.put(id, R"({"n":2})", first));
  };
  replace("a");
  REQUIRE(partition.bodies() == 1);
  partition.partition().set_replaced_limits({});
  replace("b");
  CHECK(partition.bodies() == 0);
  partition.partition().set_replaced_limits(generous);
  replace("c");
  REQUIRE(partition.bodies() == 1);
  REQUIRE(partition.partition().drop_replaced(StorePreparation{}));
  CHECK(partition.bodies() == 0);
}

TEST_CASE("an undone atomic request replaces nothing") {
  KeepingPartition partition;
  const Revision first = partition.put("a", R"({"n":1})").value().revision;
  std::vector<DocumentWrite> writes;
  writes.push_back(PartitionFixture::make("a", R"({"n":2})", first));
  writes.push_back(PartitionFixture::make("b", "{}", first));
  for (const auto& result : partition.write(std::move(writes), true)) CHECK_FALSE(result);
  CHECK(partition.bodies() == 0);
  REQUIRE(partition.put("a", R"({"n":3})", first));
  CHECK(partition.body("a", first) == R"({"n":1})");
  CHECK(partition.is_sound(false));
}

TEST_CASE("the entries of a large group are several rows, and each can be read") {
  KeepingPartition partition;
  const std::string text(1'000, 'x');
  std::vector<DocumentWrite> writes;
  for (int i = 0; i < 500; ++i)
    writes.push_back(PartitionFixture::make("d" + std::to_string(i), R"({"n":")" + text + "\"}"));
  std::vector<Revision> first;
  for (const auto& written : partition.write(std::move(writes))) first.push_back(written.value().revision);
  writes.clear();
  for (int i = 0; i < 500; ++i)
    writes.push_back(PartitionFixture::make("d" + std::to_string(i), "{}", first[static_cast<std::size_t>(i)]));
  for (const auto& written : partition.write(std::move(writes))) REQUIRE(written);
  CHECK(partition.bodies() == 500);
  for (int i = 0; i < 500; i += 7)
    CHECK(partition.body("d" + std::to_string(i), first[static_cast<std::size_t>(i)])->size() > text.size());
  CHECK(partition.is_sound(false));
  partition.purge("d250", {partition.snapshot().find("d250").value()->revision});
  CHECK(partition.bodies() == 499);
  CHECK(partition.body("d251", first[251]));
  CHECK(partition.is_sound(false));
}
