// Format (revision tree):
//   tree := version:u8 node_count:varint node*           parents precede their children
//   node := flags:u8 [parent:varint] [generation:varint] hash
//           flags: 1 leaf, 2 deleted, 4 the hash is a digest, 8 child of the previous node (parent and generation
//           are omitted), 10 root (no parent), 20 child of the winner or of one of its ancestors (the one that is
//           a generation older; no parent is named), 40 the hash is half
#include "storage/document/revision_tree.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/document/hash_codec.h"

namespace octavo::storage {
namespace {

constexpr std::uint8_t tree_version = 1;
constexpr std::uint8_t leaf_flag = 1;
constexpr std::uint8_t node_deleted_flag = 2;
constexpr std::uint8_t digest_flag = 4;
constexpr std::uint8_t child_of_previous_flag = 8;
constexpr std::uint8_t root_flag = 16;
constexpr std::uint8_t child_of_path_flag = 32;
constexpr std::uint8_t half_flag = 64;

HashForm hash_form_of(std::uint8_t flags) {
  if (flags & half_flag) return HashForm::half;
  return flags & digest_flag ? HashForm::digest : HashForm::text;
}

}  // namespace

RevisionTree::RevisionTree(const Revision& revision, bool deleted) {
  nodes_.push_back({revision, -1, true, deleted});
}

Expected<RevisionTree> RevisionTree::decode(std::string_view bytes, RevisionTree path, Path kind) {
  const auto damaged = [] { return fail(ErrorCode::corrupted, "A stored revision tree is damaged."); };
  ByteReader in(bytes);
  if (in.u8() != tree_version) return damaged();
  const std::uint64_t count = in.varint();
  if (!in.ok() || count > bytes.size()) return damaged();
  RevisionTree tree = std::move(path);
  std::vector<Node>& nodes = tree.nodes_;
  const std::size_t path_size = nodes.size();
  nodes.reserve(path_size + count);
  for (std::size_t i = path_size; i < path_size + count; ++i) {
    Node node;
    const std::uint8_t flags = in.u8();
    node.leaf = flags & leaf_flag;
    node.deleted = flags & node_deleted_flag;
    if (flags & child_of_previous_flag) {
      if (i == path_size) return damaged();
      node.parent = static_cast<std::int32_t>(i) - 1;
      node.revision.generation = nodes.back().revision.generation + 1;
    } else {
      const bool on_path = flags & child_of_path_flag;
      if (!(flags & root_flag) && !on_path) {
        const std::uint64_t parent = in.varint();
        if (parent >= i - path_size) return damaged();
        node.parent = static_cast<std::int32_t>(path_size + parent);
      }
      node.revision.generation = in.varint();
      if (on_path && kind == Path::whole) {
        // Generations of the path are without gaps, the oldest first.
        if (path_size == 0 || node.revision.generation <= nodes.front().revision.generation) return damaged();
        const std::uint64_t parent = node.revision.generation - 1 - nodes.front().revision.generation;
        if (parent >= path_size) return damaged();
        node.parent = static_cast<std::int32_t>(parent);
      }
      // Paths are joined to a tree by generations: with others, a revision could become its own ancestor.
      if (node.parent >= 0 &&
          node.revision.generation != nodes[static_cast<std::size_t>(node.parent)].revision.generation + 1) {
        return damaged();
      }
    }
    if (!in.ok() || !read_hash(in, hash_form_of(flags), node.revision.hash)) return damaged();
    nodes.push_back(node);
  }
  // A tree without a leaf would make a document without a winner, which its next edit would remove.
  std::vector<bool> has_child(nodes.size(), false);
  for (const Node& node : nodes) {
    if (node.parent >= 0) has_child[static_cast<std::size_t>(node.parent)] = true;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].leaf == has_child[i]) return damaged();
  }
  return tree;
}

void RevisionTree::encode_branches(std::string& out) const {
  std::vector<bool> is_on_path(nodes_.size(), false);
  const Node* best = winner();
  OCTAVO_ASSERT(best != nullptr);
  for (auto index = static_cast<std::int32_t>(best - nodes_.data()); index >= 0;
       index = nodes_[static_cast<std::size_t>(index)].parent) {
    is_on_path[static_cast<std::size_t>(index)] = true;
  }
  encode(out, is_on_path);
}

void RevisionTree::encode(std::string& out, const std::vector<bool>& left_out) const {
  OCTAVO_ASSERT(left_out.size() == nodes_.size());
  ByteWriter writer(out);
  writer.u8(tree_version);
  writer.varint(static_cast<std::uint64_t>(std::ranges::count(left_out, false)));
  std::vector<std::uint64_t> positions(nodes_.size(), 0);  // among those that are written
  std::uint64_t position = 0;
  std::int32_t previous = -1;  // index of the node that was written last
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (left_out[i]) continue;
    positions[i] = position++;
    const Node& node = nodes_[i];
    OCTAVO_ASSERT(node.parent < static_cast<std::int32_t>(i));
    const auto parent = static_cast<std::size_t>(std::max(node.parent, 0));
    const bool is_child = node.parent >= 0;
    const bool follows =
        is_child && node.parent == previous && node.revision.generation == nodes_[parent].revision.generation + 1;
    const bool on_path = is_child && left_out[parent];
    const HashForm form = form_of(node.revision.hash);
    std::uint8_t flags = 0;
    if (node.leaf) flags |= leaf_flag;
    if (node.deleted) flags |= node_deleted_flag;
    if (form == HashForm::digest) flags |= digest_flag;
    if (form == HashForm::half) flags |= half_flag;
    if (follows) flags |= child_of_previous_flag;
    if (!is_child) flags |= root_flag;
    if (on_path) flags |= child_of_path_flag;
    writer.u8(flags);
    if (!follows) {
      if (is_child && !on_path) writer.varint(positions[parent]);
      writer.varint(node.revision.generation);
    }
    write_hash(writer, node.revision.hash, form);
    previous = static_cast<std::int32_t>(i);
  }
}

const RevisionTree::Node* RevisionTree::find(const Revision& revision) const {
  // From the back: the newest are looked up most.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (node->revision == revision) return &*node;
  }
  return nullptr;
}

bool RevisionTree::is_leaf(const Revision& revision) const {
  const Node* node = find(revision);
  return node != nullptr && node->leaf;
}

bool RevisionTree::leaf_before(const Node& a, const Node& b) {
  if (a.deleted != b.deleted) return !a.deleted;
  return a.revision > b.revision;
}

std::vector<const RevisionTree::Node*> RevisionTree::leaves() const {
  std::vector<const Node*> found;
  for (const Node& node : nodes_) {
    if (node.leaf) found.push_back(&node);
  }
  std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return leaf_before(*a, *b); });
  return found;
}

const RevisionTree::Node* RevisionTree::winner() const {
  const Node* best = nullptr;
  for (const Node& node : nodes_) {
    if (node.leaf && (best == nullptr || leaf_before(node, *best))) best = &node;
  }
  return best;
}

std::size_t RevisionTree::live_leaf_count() const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.leaf && !node.deleted; }));
}

std::vector<Revision> RevisionTree::history(const Revision& revision) const {
  std::vector<Revision> path;
  const Node* node = find(revision);
  while (node != nullptr) {
    path.push_back(node->revision);
    node = node->parent < 0 ? nullptr : &nodes_[static_cast<std::size_t>(node->parent)];
  }
  return path;
}

void RevisionTree::extend(const std::optional<Revision>& parent, const Revision& revision, bool deleted) {
  std::int32_t parent_index = -1;
  if (parent) {
    if (const Node* node = find(*parent)) {
      parent_index = static_cast<std::int32_t>(node - nodes_.data());
      nodes_[static_cast<std::size_t>(parent_index)].leaf = false;
    }
  }
  nodes_.push_back({revision, parent_index, true, deleted});
}

// Index of each of the path's revisions among the nodes; -1: not there. A revision's position in the path follows from
// its generation.
std::vector<std::int32_t> RevisionTree::indexes_of(std::span<const Revision> path) const {
  OCTAVO_ASSERT(!path.empty());
  std::vector<std::int32_t> indexes(path.size(), -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Revision& revision = nodes_[i].revision;
    const std::uint64_t below = path.front().generation - revision.generation;  // beyond the path when it is newer
    if (below < path.size() && path[below] == revision) indexes[below] = static_cast<std::int32_t>(i);
  }
  return indexes;
}

// `path` begins with a revision of the tree. If its branch was stemmed, the path may contain more ancestors: the two
// are joined, as in CouchDB. Otherwise an ancestor that arrives alone later would look like a conflict.
bool RevisionTree::add_ancestry(std::span<const Revision> path, std::span<const std::int32_t> indexes) {
  OCTAVO_ASSERT(path.size() == indexes.size());
  OCTAVO_ASSERT(!indexes.empty() && indexes.front() >= 0);
  bool changed = false;
  std::int32_t index = indexes.front();
  for (std::size_t i = 1; i < path.size(); ++i) {
    std::int32_t parent = nodes_[static_cast<std::size_t>(index)].parent;
    if (parent >= 0) {
      if (nodes_[static_cast<std::size_t>(parent)].revision != path[i]) break;
    } else {
      parent = indexes[i];
      if (parent < 0) {
        parent = static_cast<std::int32_t>(nodes_.size());
        nodes_.push_back({path[i], -1, false, false});
      }
      nodes_[static_cast<std::size_t>(parent)].leaf = false;
      nodes_[static_cast<std::size_t>(index)].parent = parent;
      changed = true;
    }
    index = parent;
  }
  if (changed) sort_parents_first();
  return changed;
}

void RevisionTree::sort_parents_first() {
  std::vector<std::int32_t> moved(nodes_.size(), -1);
  std::vector<Node> sorted;
  sorted.reserve(nodes_.size());
  std::vector<std::int32_t> ancestry;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (auto at = static_cast<std::int32_t>(i); at >= 0 && moved[static_cast<std::size_t>(at)] < 0;
         at = nodes_[static_cast<std::size_t>(at)].parent) {
      ancestry.push_back(at);
    }
    for (; !ancestry.empty(); ancestry.pop_back()) {
      const auto at = static_cast<std::size_t>(ancestry.back());
      Node node = nodes_[at];
      if (node.parent >= 0) node.parent = moved[static_cast<std::size_t>(node.parent)];
      moved[at] = static_cast<std::int32_t>(sorted.size());
      sorted.push_back(node);
    }
  }
  OCTAVO_ASSERT(sorted.size() == nodes_.size());
  nodes_ = std::move(sorted);
}

RevisionTree::Merge RevisionTree::merge(std::span<const Revision> path, bool deleted) {
  if (path.empty()) return Merge::known;
  OCTAVO_ASSERT(std::ranges::adjacent_find(path, [](const Revision& newer, const Revision& older) {
                  return newer.generation != older.generation + 1;
                }) == path.end());
  const std::vector<std::int32_t> indexes = indexes_of(path);
  if (indexes.front() >= 0) return add_ancestry(path, indexes) ? Merge::completed : Merge::known;
  // The newest known ancestor: everything above it is new.
  const auto joint = std::ranges::find_if(indexes, [](std::int32_t index) { return index >= 0; });
  const auto overlap = static_cast<std::size_t>(joint - indexes.begin());
  const bool known_ancestor = joint != indexes.end();
  std::int32_t parent_index = known_ancestor ? *joint : -1;
  const bool extends_leaf = known_ancestor && nodes_[static_cast<std::size_t>(parent_index)].leaf;
  const bool first = nodes_.empty();
  if (extends_leaf) nodes_[static_cast<std::size_t>(parent_index)].leaf = false;
  for (std::size_t i = overlap; i-- > 0;) {
    const bool is_leaf = i == 0;
    nodes_.push_back({path[i], parent_index, is_leaf, is_leaf && deleted});
    parent_index = static_cast<std::int32_t>(nodes_.size()) - 1;
  }
  OCTAVO_ASSERT(nodes_.back().leaf && nodes_.back().revision == path.front());
  if (known_ancestor) {
    add_ancestry(path.subspan(overlap), std::span(indexes).subspan(overlap));
    return extends_leaf ? Merge::extended : Merge::branched;
  }
  // A pruned root does not name its parent, so a path that ends just below it cannot be recognised as its ancestry:
  // they stay separate branches, as in CouchDB.
  return first ? Merge::extended : Merge::branched;
}

void RevisionTree::compact_indexes(const std::vector<bool>& keep) {
  OCTAVO_ASSERT(keep.size() == nodes_.size());
  std::vector<std::int32_t> moved(nodes_.size(), -1);
  std::vector<Node> kept;
  kept.reserve(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!keep[i]) continue;
    Node node = nodes_[i];
    node.parent = node.parent < 0 ? -1 : moved[static_cast<std::size_t>(node.parent)];
    moved[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(node);
  }
  nodes_ = std::move(kept);
}

void RevisionTree::prune(std::uint32_t revs_limit) {
  if (nodes_.size() <= revs_limit) return;
  std::vector<bool> keep(nodes_.size(), false);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].leaf) continue;
    auto index = static_cast<std::int32_t>(i);
    for (std::uint32_t depth = 0; depth < revs_limit && index >= 0; ++depth) {
      keep[static_cast<std::size_t>(index)] = true;
      index = nodes_[static_cast<std::size_t>(index)].parent;
    }
  }
  compact_indexes(keep);
}

bool RevisionTree::purge(const Revision& leaf) {
  const Node* found = find(leaf);
  if (found == nullptr || !found->leaf) return false;
  std::vector<std::uint32_t> children(nodes_.size(), 0);
  for (const Node& node : nodes_) {
    if (node.parent >= 0) ++children[static_cast<std::size_t>(node.parent)];
  }
  std::vector<bool> keep(nodes_.size(), true);
  auto index = static_cast<std::int32_t>(found - nodes_.data());
  while (index >= 0 && children[static_cast<std::size_t>(index)] == 0) {
    keep[static_cast<std::size_t>(index)] = false;
    index = nodes_[static_cast<std::size_t>(index)].parent;
    if (index >= 0) --children[static_cast<std::size_t>(index)];
  }
  compact_indexes(keep);
  return true;
}

}  // namespace octavo::storage
