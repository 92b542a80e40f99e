// Revision trees: a sequence of edits, replicated paths, prunings and purges, compared with a model that is a map; and
// stored trees made of any bytes.
#include "storage/document/revision_tree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/target.h"

namespace {

using namespace octavo::storage;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

/// Each edit by its name, with the name of its parent ("" for a root).
class Model {
 public:
  struct Edit {
    std::string parent;
    bool deleted = false;
  };

  bool has(const std::string& name) const { return edits.contains(name); }
  bool is_leaf(const std::string& name) const {
    return has(name) && std::ranges::none_of(edits, [&](const auto& entry) { return entry.second.parent == name; });
  }
  std::set<std::string> leaves() const {
    std::set<std::string> names;
    for (const auto& [name, edit] : edits) names.insert(name);
    for (const auto& [name, edit] : edits) names.erase(edit.parent);
    return names;
  }
  void merge(const std::vector<Revision>& path, bool deleted) {
    std::string child;
    for (const Revision& revision : path) {
      const std::string name = revision.to_string();
      if (!child.empty()) {
        std::string& parent = edits[child].parent;
        if (parent.empty()) parent = name;
        if (parent != name) return;  // another history: the tree's own stays
      }
      if (!has(name)) edits[name] = {"", child.empty() && deleted};
      child = name;
    }
  }
  void prune(std::uint32_t limit) {
    std::set<std::string> kept;
    for (const std::string& leaf : leaves()) {
      std::string name = leaf;
      for (std::uint32_t i = 0; i < limit && !name.empty(); ++i) {
        kept.insert(name);
        name = edits[name].parent;
      }
    }
    if (edits.size() <= limit) return;
    std::erase_if(edits, [&](const auto& entry) { return !kept.contains(entry.first); });
    for (auto& [name, edit] : edits) {
      if (!has(edit.parent)) edit.parent.clear();
    }
  }
  void purge(std::string name) {
    while (!name.empty() && is_leaf(name)) {
      const std::string parent = edits[name].parent;
      edits.erase(name);
      name = parent;
    }
  }

  std::map<std::string, Edit> edits;
};

void compare(const RevisionTree& tree, const Model& model) {
  require(tree.nodes().size() == model.edits.size(), "as many edits as the model has");
  std::set<std::string> leaves;
  const auto ordered = tree.leaves();
  for (const auto* leaf : ordered) leaves.insert(leaf->revision.to_string());
  require(leaves == model.leaves() && leaves.size() == ordered.size(), "the same leaves");
  for (const auto& node : tree.nodes()) {
    const auto entry = model.edits.find(node.revision.to_string());
    require(entry != model.edits.end() && entry->second.deleted == node.deleted, "the same edits");
    const auto history = tree.history(node.revision);
    std::string name = entry->first;
    for (const Revision& revision : history) {
      require(revision.to_string() == name, "the same history");
      name = model.edits.at(name).parent;
    }
    require(name.empty(), "the history reaches the root");
  }
  const RevisionTree::Node* winner = tree.winner();
  require((winner == nullptr) == model.edits.empty(), "a tree has a winner unless it is empty");
  if (winner == nullptr) return;
  require(winner == ordered.front(), "the winner is the first leaf");
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    if (i > 0) require(RevisionTree::leaf_before(*ordered[i - 1], *ordered[i]), "leaves are in order of preference");
    if (!ordered[i]->deleted) require(!winner->deleted, "a live leaf wins over deleted ones");
    if (ordered[i]->deleted == winner->deleted) {
      require(winner->revision >= ordered[i]->revision, "the highest revision wins");
    }
  }
}

RevisionTree reload(const RevisionTree& tree) {
  std::string bytes;
  tree.encode(bytes);
  auto decoded = RevisionTree::decode(bytes);
  require(decoded.has_value(), "a stored tree can be read");
  std::string again;
  decoded->encode(again);
  require(again == bytes, "and is stored the same again");
  return *std::move(decoded);
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
  require(decoded.has_value(), "stored branches can be read");
  return *std::move(decoded);
}

/// Few generations and hashes, so that paths meet.
Revision take_revision(InputReader& in) {
  const std::uint8_t byte = in.byte();
  const std::uint64_t generation = 1 + (byte & 7);
  static const char* const hashes[] = {"a",
                                       "b",
                                       "ab",
                                       "A",
                                       "0123456789abcdef0123456789abcdef",
                                       "0123456789abcdef0123456789abcdee",
                                       "ffffffffffffffffffffffffffffffff",
                                       "zz"};
  return {generation, *RevisionHash::from_text(hashes[byte >> 3 & 7])};
}

void run_operations(InputReader in) {
  RevisionTree tree;
  Model model;
  for (int step = 0; step < 16 && !in.empty(); ++step) {
    const std::uint8_t operation = in.byte();
    const bool deleted = operation & 0x80;
    switch (operation & 7) {
      case 0:
      case 1:
      case 2: {
        std::vector<Revision> path{take_revision(in)};
        const std::uint64_t length = in.byte() % 8;
        while (path.size() < length && path.back().generation > 1) {
          Revision next = take_revision(in);
          next.generation = path.back().generation - 1;
          path.push_back(next);
        }
        const bool known = tree.find(path.front()) != nullptr;
        const auto merged = tree.merge(path, deleted);
        require((merged == RevisionTree::Merge::known || merged == RevisionTree::Merge::completed) == known,
                "only what is known is known");
        model.merge(path, deleted);
        break;
      }
      case 3: {
        const auto leaves = tree.leaves();
        if (leaves.empty()) break;
        const Revision parent = leaves[in.byte() % leaves.size()]->revision;
        const Revision revision{parent.generation + 1, take_revision(in).hash};
        if (tree.find(revision) != nullptr) break;
        tree.extend(parent, revision, deleted);
        model.edits[revision.to_string()] = {parent.to_string(), deleted};
        break;
      }
      case 4: {
        const Revision revision = take_revision(in);
        if (tree.find(revision) != nullptr) break;
        tree.extend(std::nullopt, revision, deleted);
        model.edits[revision.to_string()] = {"", deleted};
        break;
      }
      case 5: {
        const std::uint32_t limit = 1 + in.byte() % 10;
        tree.prune(limit);
        model.prune(limit);
        break;
      }
      case 6: {
        const Revision revision = take_revision(in);
        require(tree.purge(revision) == model.is_leaf(revision.to_string()), "exactly leaves can be purged");
        model.purge(revision.to_string());
        break;
      }
      default:
        tree = reload(tree);
    }
    require(tree.nodes().size() == model.edits.size(), "as many edits as the model has");
  }
  compare(tree, model);
  compare(reload(tree), model);
  compare(rejoin(tree), model);
}

/// A tree as a damaged file may hold it: refused, or as sound as any other.
void run_bytes(std::string_view bytes) {
  auto decoded = RevisionTree::decode(bytes);
  if (!decoded) return;
  RevisionTree tree = *std::move(decoded);
  reload(tree);
  require((tree.winner() == nullptr) == tree.empty(), "a stored tree has a winner unless it is empty");
  for (const auto& node : tree.nodes()) {
    require(!tree.history(node.revision).empty(), "every edit has a history");
  }
  tree.prune(2);
  reload(tree);
  while (!tree.empty()) require(tree.purge(Revision(tree.winner()->revision)), "the winner can be purged");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  if (in.byte() & 1) {
    run_bytes(in.rest());
  } else {
    run_operations(in);
  }
  return 0;
}
