// Histories of documents in their rows, against revision trees that are kept as a whole.
#include "storage/document/history.h"

#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/document/document_record.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/partition_check.h"
#include "support/format_1.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

/// Each edit with its parent ("" for a root) and whether it was a deletion: equal for equal trees, whatever the order
/// of their nodes is.
using Edits = std::map<std::string, std::pair<std::string, bool>>;

Edits edits_of(const RevisionTree& tree) {
  Edits edits;
  for (const auto& node : tree.nodes()) {
    const std::string parent =
        node.parent < 0 ? "" : tree.nodes()[static_cast<std::size_t>(node.parent)].revision.to_string();
    edits[node.revision.to_string()] = {parent, node.deleted};
  }
  return edits;
}

RevisionTree stored_tree(PartitionFixture& fixture, std::string_view id) {
  const Snapshot snapshot = fixture.snapshot();
  const auto document = snapshot.find(id).value();
  if (!document) return {};
  auto tree = snapshot.revision_tree(*document);
  REQUIRE(tree);
  return *std::move(tree);
}

/// Sizes of the rows of a tree.
std::vector<std::size_t> row_sizes(PartitionFixture& fixture, PartitionTree name) {
  const Snapshot snapshot = fixture.snapshot();
  Cursor cursor(snapshot.transaction(), fixture.partition().store().tree(static_cast<std::size_t>(name)));
  std::vector<std::size_t> sizes;
  for (auto row = cursor.first(); row; row = cursor.next()) sizes.push_back(row->value.size());
  return sizes;
}

void require_sound(PartitionFixture& fixture) {
  const auto report = check_partition(fixture.partition(), false);
  REQUIRE(report);
  REQUIRE(report->problems == std::vector<std::string>{});
}

/// Updates the winner `count` times in one request. Returns the last revision.
Revision update(PartitionFixture& fixture, const std::string& id, std::optional<Revision> parent, int count) {
  std::vector<DocumentWrite> writes;
  for (int i = 0; i < count; ++i) {
    const std::string body = "{\"n\":" + std::to_string(i) + "}";
    writes.push_back(PartitionFixture::make(id, body, parent));
    parent = next_revision(parent, false, body);
  }
  for (const auto& written : fixture.write(std::move(writes))) REQUIRE(written);
  return *parent;
}

/// One document, and the tree that it must have.
class HistoryModel {
 public:
  HistoryModel(std::uint32_t limit, unsigned seed) : limit_(limit), random_(seed) { set_limit(limit); }

  void step() {
    switch (below(12)) {
      case 0:
        return branch();
      case 1:
        return replicate();
      case 2:
        return purge_leaf();
      case 3:
        return edit_any_leaf();
      case 4:
        return complete();
      case 5:
        return set_limit(below(4) == 0 ? 1 + below(600) : limit_);
      default:
        return update_winner();
    }
  }

  void reopen() {
    const Sequence last = fixture_.snapshot().last_sequence().value();
    fixture_.open(last);
    fixture_.partition().set_revs_limit(now_);
  }

  void compare() {
    REQUIRE(edits_of(stored_tree(fixture_, "d")) == edits_of(tree_));
    REQUIRE(stored_leaves() == leaves_of(tree_));
    require_sound(fixture_);
  }

  PartitionFixture& fixture() { return fixture_; }

 private:
  using Leaves = std::vector<std::pair<Revision, bool>>;

  static Leaves leaves_of(const RevisionTree& tree) {
    Leaves leaves;
    for (const auto* leaf : tree.leaves()) leaves.emplace_back(leaf->revision, leaf->deleted);
    return leaves;
  }

  Leaves stored_leaves() {
    const Snapshot snapshot = fixture_.snapshot();
    const auto document = snapshot.find("d").value();
    return document ? leaves_of(snapshot.revision_branches(*document).value()) : Leaves{};
  }

  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

  void set_limit(std::uint32_t limit) {
    now_ = limit;
    fixture_.partition().set_revs_limit(limit);
  }

  /// Halves, digests and texts.
  RevisionHash hash() {
    const std::string number = std::to_string(++hashes_);
    switch (below(3)) {
      case 0:
        return *RevisionHash::from_text("t" + number);
      case 1:
        return *RevisionHash::from_text(std::string(32 - number.size(), 'd') + number);
      default:
        return next_revision(std::nullopt, false, number).hash;
    }
  }

  /// Some new revisions above `base`, newest first, and `base` with all or some of its ancestors.
  std::vector<Revision> path_above(std::vector<Revision> base, std::uint32_t count) {
    if (!base.empty() && below(2) == 0) base.resize(1 + below(static_cast<std::uint32_t>(base.size())));
    std::uint64_t generation = base.empty() ? below(3) * 494 : base.front().generation;
    for (std::uint32_t i = 0; i < count; ++i) base.insert(base.begin(), Revision{++generation, hash()});
    return base;
  }

  void replicate_path(const std::vector<Revision>& path) {
    const bool deleted = below(4) == 0;
    const auto written = fixture_.replicate("d", "{\"n\":" + std::to_string(++hashes_) + "}", path, deleted);
    REQUIRE(written);
    RevisionTree after = tree_;
    const auto merged = after.merge(path, deleted);
    if (merged == RevisionTree::Merge::known) return;
    after.prune(now_);
    if (merged == RevisionTree::Merge::completed && after.history(path.front()) == tree_.history(path.front())) return;
    tree_ = std::move(after);
  }

  void replicate() {
    const auto* winner = tree_.winner();
    const std::uint32_t count = 1 + below(below(4) == 0 ? 700 : 20);
    replicate_path(path_above(winner == nullptr ? std::vector<Revision>{} : tree_.history(winner->revision), count));
  }

  void branch() {
    if (tree_.empty()) return replicate();
    const Revision base = tree_.nodes()[below(static_cast<std::uint32_t>(tree_.nodes().size()))].revision;
    replicate_path(path_above(below(5) == 0 ? std::vector<Revision>{} : tree_.history(base), 1 + below(3)));
  }

  /// A known revision with ancestors that a stemmed branch has lost.
  void complete() {
    const auto* winner = tree_.winner();
    if (winner == nullptr) return;
    std::vector<Revision> path = tree_.history(winner->revision);
    for (std::uint32_t i = below(20); i > 0 && path.back().generation > 1; --i) {
      path.push_back({path.back().generation - 1, hash()});
    }
    replicate_path(path);
  }

  void write(std::optional<Revision> parent, bool deleted) {
    const std::string body = "{\"n\":" + std::to_string(++hashes_) + "}";
    const auto written = fixture_.put("d", body, parent, deleted);
    REQUIRE(written);
    if (!parent && tree_.winner() != nullptr) parent = tree_.winner()->revision;
    tree_.extend(parent, written->revision, deleted);
    tree_.prune(now_);
  }

  void update_winner() {
    const std::uint32_t count = 1 + below(below(8) == 0 ? limit_ / 2 + 1 : 18);
    std::vector<DocumentWrite> writes;
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool deleted = below(10) == 0;
      const std::string body = "{\"n\":" + std::to_string(++hashes_) + "}";
      const auto* winner = tree_.winner();
      const std::optional<Revision> parent = winner == nullptr ? std::nullopt : std::optional(winner->revision);
      writes.push_back(PartitionFixture::make("d", body, parent, deleted));
      tree_.extend(parent, next_revision(parent, deleted, body), deleted);
      tree_.prune(now_);
    }
    for (const auto& written : fixture_.write(std::move(writes))) REQUIRE(written);
  }

  void edit_any_leaf() {
    const auto leaves = tree_.leaves();
    if (leaves.empty()) return write(std::nullopt, false);
    write(leaves[below(static_cast<std::uint32_t>(leaves.size()))]->revision, below(4) == 0);
  }

  void purge_leaf() {
    const auto leaves = tree_.leaves();
    if (leaves.size() < 2 && below(8) != 0) return;
    if (leaves.empty()) return;
    const Revision leaf = leaves[below(static_cast<std::uint32_t>(leaves.size()))]->revision;
    std::vector<PurgeRequest> requests;
    requests.push_back({"d", {}, {leaf}});
    std::promise<bool> done;
    fixture_.partition().purge(std::move(requests), [&](const auto& purged) { done.set_value(purged.has_value()); });
    REQUIRE(done.get_future().get());
    REQUIRE(tree_.purge(leaf));
  }

  PartitionFixture fixture_;
  std::uint32_t limit_;
  std::uint32_t now_ = 0;
  std::mt19937 random_;
  RevisionTree tree_;
  std::uint64_t hashes_ = 0;
};

}  // namespace

TEST_CASE("stored histories agree with whole trees through random edits, merges and purges") {
  const std::uint32_t limit = GENERATE(1U, 2U, 16U, 17U, 495U, 496U, 497U, 1000U);
  for (unsigned seed = 0; seed < 2; ++seed) {
    HistoryModel model(limit, 100 * limit + seed);
    for (int step = 0; step < 60; ++step) {
      model.step();
      model.compare();
      if (step % 10 == 9) {
        model.reopen();
        model.compare();
      }
    }
  }
}

TEST_CASE("histories that format 1 stored continue in rows of the present format") {
  HistoryModel model(40, 5);
  for (int step = 0; step < 80; ++step) {
    model.step();
    if (model.fixture().snapshot().find("d").value()) {
      octavo::tests::store_as_format_1(model.fixture(), "d");
      model.compare();
    }
  }
}

TEST_CASE("a history of 1,000 revisions takes two pages, and an update writes at most one of them") {
  PartitionFixture fixture;
  const Revision first = update(fixture, "d", std::nullopt, 100);
  CHECK(row_sizes(fixture, PartitionTree::histories).size() == 1);
  Revision last = update(fixture, "d", first, 900);
  constexpr std::size_t page_bytes = 4080;
  const auto sizes = row_sizes(fixture, PartitionTree::histories);
  CHECK(sizes.size() == 2);
  CHECK(std::ranges::all_of(sizes, [](std::size_t size) { return size > page_bytes * 9 / 10 && size < page_bytes; }));
  CHECK(row_sizes(fixture, PartitionTree::documents).front() < 200);
  CHECK(row_sizes(fixture, PartitionTree::revisions).empty());
  CHECK(stored_tree(fixture, "d").history(last).size() == 1000);
  // And it stays so small beyond the limit.
  for (int i = 0; i < 40; ++i) {
    last = update(fixture, "d", last, 37);
    std::size_t bytes = 0;
    for (const std::size_t size : row_sizes(fixture, PartitionTree::histories)) bytes += size;
    CHECK(bytes < 10'400);
    CHECK(stored_tree(fixture, "d").history(last).size() == 1000);
  }
  require_sound(fixture);
}

TEST_CASE("a replicated path that only extends the winner may be longer than what is kept") {
  PartitionFixture fixture;
  fixture.partition().set_revs_limit(5);
  std::vector<Revision> path;
  for (std::uint64_t generation = 1; generation <= 30; ++generation) {
    path.insert(path.begin(), rev(generation, "a"));
    REQUIRE(fixture.replicate("d", "{}", path));
  }
  CHECK(stored_tree(fixture, "d").history(rev(30, "a")) == std::vector<Revision>(path.begin(), path.begin() + 5));
  require_sound(fixture);
}

TEST_CASE("a purged document leaves no rows of its history") {
  PartitionFixture fixture;
  const Revision last = update(fixture, "d", std::nullopt, 600);
  REQUIRE(row_sizes(fixture, PartitionTree::histories).size() == 2);
  std::vector<PurgeRequest> requests;
  requests.push_back({"d", {}, {last}});
  std::promise<bool> done;
  fixture.partition().purge(std::move(requests), [&](const auto& purged) { done.set_value(purged.has_value()); });
  REQUIRE(done.get_future().get());
  CHECK(row_sizes(fixture, PartitionTree::histories).empty());
  require_sound(fixture);
}

TEST_CASE("another partition takes over a whole history, also one that format 1 stored") {
  const bool in_format_1 = GENERATE(false, true);
  PartitionFixture source;
  const Revision last = update(source, "d", std::nullopt, 700);
  REQUIRE(source.replicate("d", "{\"other\":1}", {rev(300, "x"), rev(299, "y")}));
  const Edits edits = edits_of(stored_tree(source, "d"));
  if (in_format_1) octavo::tests::store_as_format_1(source, "d");

  PartitionFixture target;
  for (int round = 0; round < 2; ++round) {  // the second copy replaces the first
    PartitionCopy copy;
    {
      const Snapshot snapshot = source.snapshot();
      copy.documents.push_back(CopyReader(source.partition().store(), snapshot.transaction()).document("d").value());
    }
    std::promise<bool> done;
    target.partition().adopt(std::move(copy), [&](const auto& adopted) { done.set_value(adopted.has_value()); });
    REQUIRE(done.get_future().get());
    CHECK(edits_of(stored_tree(target, "d")) == edits);
    require_sound(target);
  }
  CHECK(target.put("d", "{}", last));
}

TEST_CASE("a history that lacks a block is reported, and the document can still be read") {
  PartitionFixture fixture;
  const Revision last = update(fixture, "d", std::nullopt, 600);
  Store& store = fixture.partition().store();
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    const Tree histories = store.tree(static_cast<std::size_t>(PartitionTree::histories));
    std::string first;
    {
      Cursor cursor(transaction, histories);
      first = cursor.first()->key;
    }
    OCTAVO_TRY(const bool erased, transaction.erase(histories, first));
    CHECK(erased);
    return {};
  }));
  const auto report = check_partition(fixture.partition(), false);
  REQUIRE(report);
  REQUIRE(report->problem_count > 0);
  CHECK(report->problems.front().find("histories 'd'") != std::string::npos);
  const Snapshot snapshot = fixture.snapshot();
  const auto document = snapshot.find("d").value();
  REQUIRE(document);
  CHECK(document->revision == last);
  CHECK(snapshot.revision_tree(*document).error().code == ErrorCode::corrupted);
}
