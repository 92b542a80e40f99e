#include "storage/document/revision_tree.h"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::rev;

namespace {

/// A ten-line model: the set of edits, each with its parent's name.
struct Model {
  struct Edit {
    std::string parent;
    bool deleted;
  };
  std::map<std::string, Edit> edits;

  bool leaf(const std::string& name) const {
    for (const auto& [other, edit] : edits) {
      if (edit.parent == name) return false;
    }
    return true;
  }
  std::set<std::string> leaves() const {
    std::set<std::string> found;
    for (const auto& [name, edit] : edits) {
      if (leaf(name)) found.insert(name);
    }
    return found;
  }
};

std::set<std::string> leaf_names(const RevisionTree& tree) {
  std::set<std::string> names;
  for (const auto* leaf : tree.leaves()) names.insert(leaf->revision.to_string());
  return names;
}

RevisionTree reload(const RevisionTree& tree) {
  std::string bytes;
  tree.encode(bytes);
  auto decoded = RevisionTree::decode(bytes);
  REQUIRE(decoded);
  return *decoded;
}

/// The tree, put together again from the path of its winner and the branches beside it.
RevisionTree rejoin(const RevisionTree& tree) {
  if (tree.leaves().size() < 2) return tree;
  std::vector<Revision> path = tree.history(tree.winner()->revision);
  RevisionTree joined;
  std::optional<Revision> parent;
  for (; !path.empty(); path.pop_back()) {
    joined.extend(parent, path.back(), tree.find(path.back())->deleted);
    parent = path.back();
  }
  std::string bytes;
  tree.encode_branches(bytes);
  auto decoded = RevisionTree::decode(bytes, std::move(joined));
  REQUIRE(decoded);
  REQUIRE(decoded->nodes().size() == tree.nodes().size());
  return *std::move(decoded);
}

}  // namespace

TEST_CASE("the winner is live before deleted, then the highest generation, then the highest hash") {
  RevisionTree tree(rev(1, "a"), false);
  tree.extend(rev(1, "a"), rev(2, "b"), false);
  tree.merge(std::vector{rev(2, "c"), rev(1, "a")}, false);
  CHECK(tree.winner()->revision == rev(2, "c"));
  tree.extend(rev(2, "b"), rev(3, "b"), false);
  CHECK(tree.winner()->revision == rev(3, "b"));
  tree.extend(rev(3, "b"), rev(4, "b"), true);
  CHECK(tree.winner()->revision == rev(2, "c"));
  CHECK(tree.live_leaf_count() == 1);
}

TEST_CASE("merging what is known changes nothing") {
  RevisionTree tree(rev(1, "a"), false);
  tree.extend(rev(1, "a"), rev(2, "b"), false);
  CHECK(tree.merge(std::vector{rev(1, "a")}, false) == RevisionTree::Merge::known);
  CHECK(tree.nodes().size() == 2);
}

TEST_CASE("a replicated path brings its whole history") {
  RevisionTree tree;
  CHECK(tree.merge(std::vector{rev(3, "c"), rev(2, "b"), rev(1, "a")}, false) == RevisionTree::Merge::extended);
  CHECK(tree.history(rev(3, "c")) == std::vector{rev(3, "c"), rev(2, "b"), rev(1, "a")});
}

TEST_CASE("a stemmed branch learns its beginning from a longer path") {
  RevisionTree tree(rev(3, "c"), false);
  CHECK(tree.merge(std::vector{rev(4, "d"), rev(3, "c"), rev(2, "b")}, false) == RevisionTree::Merge::extended);
  CHECK(tree.history(rev(4, "d")) == std::vector{rev(4, "d"), rev(3, "c"), rev(2, "b")});
  CHECK(tree.merge(std::vector{rev(4, "d"), rev(3, "c"), rev(2, "b"), rev(1, "a")}, false) ==
        RevisionTree::Merge::completed);
  CHECK(tree.merge(std::vector{rev(2, "b")}, false) == RevisionTree::Merge::known);
  CHECK(leaf_names(reload(tree)) == std::set<std::string>{"4-d"});
  CHECK(reload(tree).history(rev(4, "d")).size() == 4);
}

TEST_CASE("histories of any length are merged in a time that grows as they do") {
  // Given a branch of which only the newest edit is left
  constexpr std::uint64_t length = 300'000;
  RevisionTree tree(rev(length, "newest"), false);
  // When all that came before it arrives, and then a conflict with a history as long
  std::vector<Revision> path{rev(length, "newest")};
  while (path.back().generation > 1) path.push_back(rev(path.back().generation - 1, "a"));
  CHECK(tree.merge(path, false) == RevisionTree::Merge::completed);
  path.front() = rev(length, "other");
  CHECK(tree.merge(path, false) == RevisionTree::Merge::branched);
  // Then both have it
  CHECK(tree.nodes().size() == length + 1);
  CHECK(tree.history(rev(length, "newest")).size() == length);
  CHECK(tree.history(rev(length, "other")).size() == length);
}

TEST_CASE("two branches become one when a path shows that one began with the other") {
  RevisionTree tree(rev(3, "c"), false);
  tree.merge(std::vector{rev(2, "b"), rev(1, "a")}, false);
  CHECK(leaf_names(tree) == std::set<std::string>{"2-b", "3-c"});
  CHECK(tree.merge(std::vector{rev(3, "c"), rev(2, "b")}, false) == RevisionTree::Merge::completed);
  CHECK(leaf_names(reload(tree)) == std::set<std::string>{"3-c"});
  CHECK(reload(tree).history(rev(3, "c")).size() == 3);
  CHECK(tree.merge(std::vector{rev(3, "c"), rev(2, "x")}, false) == RevisionTree::Merge::known);
}

TEST_CASE("pruning keeps the newest generations of every branch") {
  RevisionTree tree(rev(1, "x"), false);
  for (std::uint64_t g = 2; g <= 50; ++g) tree.extend(rev(g - 1, "x"), rev(g, "x"), false);
  tree.merge(std::vector{rev(3, "y"), rev(2, "x")}, false);
  tree.prune(5);
  CHECK(tree.history(rev(50, "x")).size() == 5);
  CHECK(tree.history(rev(3, "y")).size() == 3);
  CHECK(leaf_names(reload(tree)) == std::set<std::string>{"50-x", "3-y"});
}

TEST_CASE("purging a leaf removes the branch that led only to it") {
  RevisionTree tree(rev(1, "a"), false);
  tree.extend(rev(1, "a"), rev(2, "b"), false);
  tree.merge(std::vector{rev(3, "d"), rev(2, "c"), rev(1, "a")}, false);
  CHECK_FALSE(tree.purge(rev(1, "a")));
  CHECK(tree.purge(rev(3, "d")));
  CHECK(leaf_names(tree) == std::set<std::string>{"2-b"});
  CHECK(tree.nodes().size() == 2);
  CHECK(tree.purge(rev(2, "b")));
  CHECK(tree.empty());
}

TEST_CASE("a damaged tree is refused, never read past its end") {
  RevisionTree tree(rev(1, "a"), false);
  for (std::uint64_t g = 2; g <= 9; ++g) tree.extend(rev(g - 1, "a"), rev(g, "a"), g % 2 == 0);
  std::string bytes;
  tree.encode(bytes);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) CHECK_FALSE(RevisionTree::decode(bytes.substr(0, cut)));
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string broken = bytes;
    broken[random() % broken.size()] = static_cast<char>(random());
    (void)RevisionTree::decode(broken);
  }
}

TEST_CASE("branches whose path is not the one they left are refused") {
  RevisionTree tree(rev(3, "c"), false);
  tree.extend(rev(3, "c"), rev(4, "d"), false);
  tree.merge(std::vector{rev(4, "b"), rev(3, "c")}, false);
  std::string bytes;
  tree.encode_branches(bytes);
  RevisionTree path(rev(3, "c"), false);
  path.extend(rev(3, "c"), rev(4, "d"), false);
  CHECK(RevisionTree::decode(bytes, path));
  CHECK_FALSE(RevisionTree::decode(bytes));
  CHECK_FALSE(RevisionTree::decode(bytes, RevisionTree(rev(4, "d"), false)));
  CHECK_FALSE(RevisionTree::decode(bytes, RevisionTree(rev(2, "c"), false)));
}

TEST_CASE("a stored tree whose leaves are not its leaves is refused") {
  RevisionTree tree(rev(1, "a"), false);
  std::string one;
  tree.encode(one);
  CHECK(RevisionTree::decode(one));
  one[2] = static_cast<char>(one[2] & ~1);  // the flags of the only edit: no leaf
  CHECK_FALSE(RevisionTree::decode(one));
  tree.extend(rev(1, "a"), rev(2, "a"), false);
  std::string two;
  tree.encode(two);
  two[2] = static_cast<char>(two[2] | 1);  // a leaf that has a child
  CHECK_FALSE(RevisionTree::decode(two));
}

TEST_CASE("a stored tree in which an edit is not one generation above its parent is refused") {
  // An edit of generation 5, and below it a leaf that names it as its parent.
  const auto tree_with_leaf_of = [](char generation) {
    return std::string(
               "\1\2"
               "\x10\5\1"
               "a"
               "\1\0",
               8)
        .append(1, generation)
        .append("\1b");
  };
  CHECK(RevisionTree::decode(tree_with_leaf_of(6)));
  CHECK_FALSE(RevisionTree::decode(tree_with_leaf_of(4)));
  CHECK_FALSE(RevisionTree::decode(tree_with_leaf_of(7)));
}

TEST_CASE("random edits, merges and deletions agree with a naive model") {
  std::mt19937 random(11);
  for (int run = 0; run < 200; ++run) {
    RevisionTree tree;
    Model model;
    for (int step = 0; step < 30; ++step) {
      const auto leaves = model.leaves();
      const bool deleted = random() % 5 == 0;
      if (!leaves.empty() && random() % 2) {
        const std::string parent_name = *std::next(leaves.begin(), static_cast<long>(random() % leaves.size()));
        const Revision parent = *Revision::parse(parent_name);
        const Revision child = rev(parent.generation + 1, std::to_string(step) + "e");
        tree.extend(parent, child, deleted);
        model.edits[child.to_string()] = {parent_name, deleted};
      } else {
        // A path that starts anywhere in the known history, or nowhere.
        std::vector<Revision> path;
        if (!model.edits.empty() && random() % 4) {
          const auto base = std::next(model.edits.begin(), static_cast<long>(random() % model.edits.size()));
          path = tree.history(*Revision::parse(base->first));
        }
        const std::uint64_t start = path.empty() ? 0 : path.front().generation;
        std::string parent = path.empty() ? "" : path.front().to_string();
        const int length = 1 + static_cast<int>(random() % 3);
        for (int i = 1; i <= length; ++i) {
          const Revision next = rev(start + static_cast<std::uint64_t>(i), std::to_string(step) + "m");
          path.insert(path.begin(), next);
          model.edits[next.to_string()] = {parent, i == length && deleted};
          parent = next.to_string();
        }
        CHECK(tree.merge(path, deleted) != RevisionTree::Merge::known);
      }
      tree = rejoin(reload(tree));
      REQUIRE(leaf_names(tree) == model.leaves());
      const auto* winner = tree.winner();
      for (const std::string& name : model.leaves()) {
        const bool other_live = !model.edits[name].deleted;
        REQUIRE((!winner->deleted || !other_live));
        if (winner->deleted != other_live) REQUIRE((*Revision::parse(name) <= winner->revision));
      }
    }
  }
}
