#include "storage/partition/partition_check.h"

#include <catch2/catch.hpp>

#include "storage/document/document_record.h"
#include "storage/document/logical_record.h"
#include "support/format_1.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

/// Some of everything: updates, deletions, conflicts, long ids.
void fill(PartitionFixture& fixture) {
  const auto a = fixture.put("x:a", R"({"v":1})");
  REQUIRE(fixture.put("x:a", R"({"v":2})", a->revision));
  const auto b = fixture.put("y:b", "{}");
  REQUIRE(fixture.put("y:b", "{}", b->revision, true));
  REQUIRE(fixture.replicate("x:c", R"({"v":"a"})", {rev(2, "aaa"), rev(1, "x")}));
  REQUIRE(fixture.replicate("x:c", R"({"v":"b"})", {rev(2, "bbb"), rev(1, "x")}));
  REQUIRE(fixture.put("x:" + std::string(3000, 'k'), "{}"));
}

void damage(PartitionFixture& fixture, PartitionTree tree, std::string_view key) {
  Store& store = fixture.partition().store();
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY(const bool erased, transaction.erase(store.tree(static_cast<std::size_t>(tree)), key));
    CHECK(erased);
    return {};
  }));
}

}  // namespace

TEST_CASE("a sound partition has no problems") {
  PartitionFixture fixture;
  fill(fixture);
  const auto report = check_partition(fixture.partition(), true);
  REQUIRE(report);
  CHECK(report->problems == std::vector<std::string>{});
  CHECK(report->documents == 4);
  CHECK(report->feed_rows == 4);
}

TEST_CASE("documents with long ids are counted by their keys, and a damaged tree of long keys is reported") {
  PartitionFixture fixture;
  fill(fixture);
  const auto id_of = [](int number) { return "x:" + std::string(600, 'k') + std::to_string(100 + number); };
  for (int i = 0; i < 40; ++i) {
    auto written = fixture.put(id_of(i), R"({"v":0})");
    REQUIRE(written);
    const int edits = i == 7 ? 40 : i % 3;  // 40 give the document rows of its history
    for (int edit = 1; edit <= edits; ++edit) {
      written = fixture.put(id_of(i), R"({"v":1})", written->revision);
      REQUIRE(written);
    }
    if (i % 5 == 0) REQUIRE(fixture.put(id_of(i), "{}", written->revision, true));
  }
  for (const auto* hash : {"aaa", "bbb"}) {
    REQUIRE(fixture.replicate(id_of(50), R"({"v":"a"})", {rev(2, hash), rev(1, "x")}));
  }
  const auto report = check_partition(fixture.partition(), true);
  REQUIRE(report);
  CHECK(report->problems == std::vector<std::string>{});
  CHECK(report->documents == 4 + 41);
  damage(fixture, PartitionTree::long_keys, std::string(8, '\0'));
  const auto damaged = check_partition(fixture.partition(), true);
  REQUIRE(damaged);
  CHECK(damaged->problems == std::vector<std::string>{"long keys: the last number is missing"});
}

TEST_CASE("a deleted document may be where format 1 left it, and in one tree only") {
  PartitionFixture fixture;
  fill(fixture);
  const auto problem = [&] {
    const auto report = check_partition(fixture.partition(), true);
    REQUIRE(report);
    return report->problems.empty() ? std::string() : report->problems.front();
  };
  octavo::tests::move_to_documents(fixture, "y:b");
  CHECK(problem().empty());
  Store& store = fixture.partition().store();
  const auto copy = [&](std::string_view id) {
    REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      const auto tree = [&](PartitionTree name) { return store.tree(static_cast<std::size_t>(name)); };
      OCTAVO_TRY(const auto record, transaction.get(tree(PartitionTree::documents), id));
      return transaction.put(tree(PartitionTree::tombstones), id, std::string(record.value()));
    }));
  };
  copy("y:b");
  CHECK(problem() == "tombstones 'y:b': there is a row in documents, too");
  damage(fixture, PartitionTree::documents, "y:b");
  CHECK(problem().empty());
  copy("x:a");
  damage(fixture, PartitionTree::documents, "x:a");
  CHECK(problem() == "tombstones 'x:a': the document is not deleted");
}

TEST_CASE("rows of format 1 are counted, and are a problem where there should be none") {
  PartitionFixture fixture;
  fill(fixture);
  const auto report = [&] { return check_partition(fixture.partition(), true).value(); };
  CHECK(report().rows_of_format_1 == 0);
  octavo::tests::store_as_format_1(fixture, "x:a");        // the record, and its tree
  octavo::tests::store_as_format_1(fixture, "y:b");        // the same of a deleted document
  octavo::tests::store_logical_as_format_1(fixture, "x");  // the statistics, and three changes
  CHECK(report().problems == std::vector<std::string>{});
  CHECK(report().rows_of_format_1 == 8);
  Store& store = fixture.partition().store();
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) { return format_upgrade::mark(transaction, store); }));
  CHECK(report().problems ==
        std::vector<std::string>{"format: 8 rows of format 1, though it says that there are none"});
}

TEST_CASE("a missing row of each tree is found and named") {
  const auto [tree, key, word] = GENERATE(table<PartitionTree, std::string, std::string>({
      {PartitionTree::documents, "x:a", "feed"},
      {PartitionTree::tombstones, "y:b", "document 'y:b'"},
      {PartitionTree::histories, "x:c" + std::string(1, '\0') + std::string(8, '\xFF'), "histories 'x:c'"},
      {PartitionTree::leaves, leaf_key("x:c", rev(2, "aaa")), "leaves 'x:c'"},
      {PartitionTree::logical, logical_name("y"), "logical 'y'"},
      {PartitionTree::meta, "counters", "counters"},
  }));
  PartitionFixture fixture;
  fill(fixture);
  damage(fixture, tree, key);
  const auto report = check_partition(fixture.partition(), true);
  REQUIRE(report);
  REQUIRE(report->problem_count > 0);
  bool named = false;
  for (const std::string& problem : report->problems) named = named || problem.find(word) != std::string::npos;
  CHECK(named);
}
