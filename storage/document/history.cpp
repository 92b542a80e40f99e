#include "storage/document/history.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage::history {
namespace {

constexpr std::uint64_t block_generations = HistoryBlock::generations_max;
/// Not a block: generations are below 2^63.
constexpr std::uint64_t branches_number = std::numeric_limits<std::uint64_t>::max();

std::string row_key(std::string_view id, std::uint64_t number) {
  std::string key(id);
  key.push_back('\0');
  append_key_u64(key, number);
  return key;
}

std::unexpected<Error> damaged(std::string_view id) {
  return fail(ErrorCode::corrupted, "The history of " + std::string(id) + " is damaged.");
}

/// The generations that lie in blocks.
struct BlockRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  bool empty() const { return first >= end; }
  std::uint64_t first_block() const { return first / block_generations; }
  std::uint64_t end_block() const { return empty() ? first_block() : (end - 1) / block_generations + 1; }
};

/// `generation`: the winner's, which has `kept` ancestors.
BlockRange in_blocks(std::uint64_t generation, std::uint64_t kept) {
  OCTAVO_ASSERT(kept < generation || kept == 0);
  return {generation - kept, first_in_record(generation)};
}

/// The end of the generations from `first` on that are in one block.
std::uint64_t end_in_block(std::uint64_t first, std::uint64_t end) {
  return std::min(end, (first / block_generations + 1) * block_generations);
}

Expected<std::optional<HistoryBlock>> read_block(const Transaction& transaction, Tree histories, std::string_view id,
                                                 std::uint64_t number) {
  OCTAVO_TRY(const auto row, long_key::get(transaction, histories, row_key(id, number)));
  if (!row) return std::nullopt;
  OCTAVO_TRY(HistoryBlock block, decode_history_block(*row, number));
  return block;
}

Expected<void> write_block(WriteTransaction& transaction, Tree histories, std::string_view id,
                           const HistoryBlock& block) {
  std::string value;
  encode_history_block(value, block);
  return long_key::put(transaction, histories, row_key(id, block.first / block_generations), value);
}

// What is no longer kept stays in a block until it is half of a full one, so that a block is shortened once, not at
// each edit. `first`: the oldest generation that is kept.
bool is_wasteful(const HistoryBlock& block, std::uint64_t first) {
  constexpr std::uint64_t half = block_generations / 2;
  return block.first < first && block.first % block_generations < half && first % block_generations >= half;
}

// True if the stored row need not be written to hold `wanted`.
bool holds(std::string_view stored, std::string_view wanted, std::uint64_t number) {
  if (stored == wanted) return true;
  if (number == branches_number) return false;
  const auto old_block = decode_history_block(stored, number);
  const auto new_block = decode_history_block(wanted, number);
  if (!old_block || !new_block) return false;
  if (old_block->first > new_block->first || old_block->end() != new_block->end()) return false;
  const std::span<const Ancestor> kept(old_block->ancestors);
  return !is_wasteful(*old_block, new_block->first) &&
         std::ranges::equal(kept.last(new_block->ancestors.size()), new_block->ancestors);
}

/// Appends ancestors to the blocks of their generations. `first` is the generation of `moved.front()`, `oldest` the
/// oldest that is kept.
Expected<void> append_to_blocks(WriteTransaction& transaction, Tree histories, std::string_view id, std::uint64_t first,
                                std::span<const Ancestor> moved, std::uint64_t oldest) {
  while (!moved.empty()) {
    const std::uint64_t number = first / block_generations;
    const auto count = static_cast<std::size_t>(end_in_block(first, first + moved.size()) - first);
    OCTAVO_TRY(auto block, read_block(transaction, histories, id, number));
    if (!block || block->end() != first) {
      // Right if no older generation of the block is kept.
      if (std::max(oldest, number * block_generations) != first) return damaged(id);
      block = HistoryBlock{first, {}};
    }
    block->ancestors.insert(block->ancestors.end(), moved.begin(), moved.begin() + static_cast<std::ptrdiff_t>(count));
    OCTAVO_TRY_VOID(write_block(transaction, histories, id, *block));
    first += count;
    moved = moved.subspan(count);
  }
  return {};
}

Expected<void> shorten_oldest_block(WriteTransaction& transaction, Tree histories, std::string_view id,
                                    const BlockRange& range) {
  if (range.empty()) return {};
  OCTAVO_TRY(auto block, read_block(transaction, histories, id, range.first_block()));
  if (!block || block->first > range.first || block->end() <= range.first) return damaged(id);
  if (!is_wasteful(*block, range.first)) return {};
  block->ancestors.erase(block->ancestors.begin(),
                         block->ancestors.begin() + static_cast<std::ptrdiff_t>(range.first - block->first));
  block->first = range.first;
  return write_block(transaction, histories, id, *block);
}

Expected<void> erase_row(WriteTransaction& transaction, Tree tree, std::string_view id, std::string_view key) {
  OCTAVO_TRY(const bool existed, long_key::erase(transaction, tree, key));
  // Stops at once where a damaged record speaks of rows without number.
  if (!existed) return damaged(id);
  return {};
}

Expected<BlockRange> range_of(const DocumentHead& document) {
  OCTAVO_TRY(const Ancestry ancestry, decode_ancestry(document.ancestry, document.revision.generation));
  return in_blocks(document.revision.generation, ancestry.kept);
}

Expected<RevisionTree> add_branches(const Transaction& transaction, const Trees& trees, const DocumentHead& document,
                                    RevisionTree path, RevisionTree::Path kind) {
  if (!document.has_conflicts) return path;
  OCTAVO_TRY(const auto row, long_key::get(transaction, trees.histories, row_key(document.id, branches_number)));
  if (!row) return damaged(document.id);
  return RevisionTree::decode(*row, std::move(path), kind);
}

}  // namespace

Expected<RevisionTree> read(const Transaction& transaction, const Trees& trees, const DocumentHead& document) {
  if (document.has_tree_row) {
    OCTAVO_TRY(const auto row, long_key::get(transaction, trees.revisions, document.id));
    if (!row) return fail(ErrorCode::corrupted, "The revision tree of " + std::string(document.id) + " is missing.");
    return RevisionTree::decode(*row);
  }
  const std::uint64_t newest = document.revision.generation;
  OCTAVO_TRY(const Ancestry ancestry, decode_ancestry(document.ancestry, newest));
  RevisionTree tree;
  std::optional<Revision> parent;
  const auto extend_path = [&](std::uint64_t generation, const RevisionHash& hash, bool deleted) {
    const Revision revision{generation, hash};
    tree.extend(parent, revision, deleted);
    parent = revision;
  };
  const BlockRange range = in_blocks(newest, ancestry.kept);
  for (std::uint64_t generation = range.first; generation < range.end;) {
    OCTAVO_TRY(const auto block, read_block(transaction, trees.histories, document.id, generation / block_generations));
    const std::uint64_t end = end_in_block(generation, range.end);
    if (!block || block->first > generation || block->end() != end) return damaged(document.id);
    for (; generation < end; ++generation) {
      const Ancestor& ancestor = block->ancestors[static_cast<std::size_t>(generation - block->first)];
      extend_path(generation, ancestor.hash, ancestor.deleted);
    }
  }
  std::uint64_t generation = newest - ancestry.recent.size();
  for (const Ancestor& ancestor : ancestry.recent) extend_path(generation++, ancestor.hash, ancestor.deleted);
  extend_path(newest, document.revision.hash, document.deleted);
  return add_branches(transaction, trees, document, std::move(tree), RevisionTree::Path::whole);
}

Expected<RevisionTree> read_branches(const Transaction& transaction, const Trees& trees, const DocumentHead& document) {
  if (document.has_tree_row) return read(transaction, trees, document);
  return add_branches(transaction, trees, document, RevisionTree(document.revision, document.deleted),
                      RevisionTree::Path::winner_alone);
}

StoredHistory stored_form(std::string_view id, const RevisionTree& tree) {
  StoredHistory stored;
  const RevisionTree::Node* winner = tree.winner();
  OCTAVO_ASSERT(winner != nullptr);
  std::vector<Ancestor> ancestors;
  for (std::int32_t index = winner->parent; index >= 0;) {
    const RevisionTree::Node& node = tree.nodes()[static_cast<std::size_t>(index)];
    ancestors.push_back({node.revision.hash, node.deleted});
    index = node.parent;
  }
  std::ranges::reverse(ancestors);
  const std::uint64_t newest = winner->revision.generation;
  stored.ancestry.kept = ancestors.size();
  std::span<const Ancestor> rest(ancestors);
  const BlockRange range = in_blocks(newest, stored.ancestry.kept);
  for (std::uint64_t generation = range.first; generation < range.end;) {
    const auto count = static_cast<std::size_t>(end_in_block(generation, range.end) - generation);
    const HistoryBlock block{generation, {rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count)}};
    std::string value;
    encode_history_block(value, block);
    stored.rows.emplace_back(row_key(id, generation / block_generations), std::move(value));
    rest = rest.subspan(count);
    generation += count;
  }
  stored.ancestry.recent.assign(rest.begin(), rest.end());
  if (tree.leaves().size() > 1) {
    std::string value;
    tree.encode_branches(value);
    stored.rows.emplace_back(row_key(id, branches_number), std::move(value));
  }
  return stored;
}

Expected<std::vector<std::string>> keys(const DocumentHead& document) {
  std::vector<std::string> found;
  if (document.has_tree_row) return found;
  OCTAVO_TRY(const BlockRange range, range_of(document));
  for (std::uint64_t number = range.first_block(); number < range.end_block(); ++number) {
    found.push_back(row_key(document.id, number));
  }
  if (document.has_conflicts) found.push_back(row_key(document.id, branches_number));
  return found;
}

Expected<std::span<const Revision>> growth(const DocumentHead& before, std::span<const Revision> path,
                                           std::uint32_t revs_limit) {
  if (before.has_conflicts || before.has_tree_row || path.empty()) return std::span<const Revision>();
  const std::uint64_t generation = before.revision.generation;
  if (path.front().generation <= generation) return std::span<const Revision>();
  const std::uint64_t added = path.front().generation - generation;
  if (added >= path.size() || path[added] != before.revision) return std::span<const Revision>();
  // A path that goes further back may add ancestors, if they are not beyond the limit.
  OCTAVO_TRY(const Ancestry ancestry, decode_ancestry(before.ancestry, generation));
  const std::uint64_t known = added + ancestry.kept + 1;
  if (path.size() > known && known < revs_limit) return std::span<const Revision>();
  return path.first(static_cast<std::size_t>(added));
}

Expected<Ancestry> extend(WriteTransaction& transaction, const Trees& trees, const DocumentHead& before,
                          std::span<const Revision> added, std::uint32_t revs_limit) {
  OCTAVO_ASSERT(!added.empty() && revs_limit > 0);
  OCTAVO_ASSERT(!before.has_conflicts && !before.has_tree_row);
  OCTAVO_ASSERT(added.front().generation == before.revision.generation + added.size());
  OCTAVO_TRY(Ancestry ancestry, decode_ancestry(before.ancestry, before.revision.generation));
  const BlockRange range_before = in_blocks(before.revision.generation, ancestry.kept);
  std::vector<Ancestor>& recent = ancestry.recent;
  recent.push_back({before.revision.hash, before.deleted});
  for (std::size_t i = added.size(); i-- > 1;) recent.push_back({added[i].hash, false});
  ancestry.kept = std::min<std::uint64_t>(ancestry.kept + added.size(), revs_limit - 1);
  if (recent.size() > ancestry.kept) {
    recent.erase(recent.begin(), recent.end() - static_cast<std::ptrdiff_t>(ancestry.kept));
  }

  const std::uint64_t newest = added.front().generation;
  const BlockRange range = in_blocks(newest, ancestry.kept);
  const std::uint64_t first = newest - recent.size();
  const bool moves = first < range.end;
  if (moves) {
    const auto count = static_cast<std::size_t>(range.end - first);
    OCTAVO_ASSERT(count < recent.size());
    OCTAVO_TRY_VOID(append_to_blocks(transaction, trees.histories, before.id, first,
                                     std::span<const Ancestor>(recent).first(count), range.first));
    recent.erase(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(count));
  }
  const std::uint64_t erased_end = range.empty() ? range_before.end_block() : range.first_block();
  for (std::uint64_t number = range_before.first_block(); number < std::min(erased_end, range_before.end_block());
       ++number) {
    OCTAVO_TRY_VOID(erase_row(transaction, trees.histories, before.id, row_key(before.id, number)));
  }
  if (moves) OCTAVO_TRY_VOID(shorten_oldest_block(transaction, trees.histories, before.id, range));
  return ancestry;
}

Expected<Ancestry> replace(WriteTransaction& transaction, const Trees& trees, std::string_view id,
                           const DocumentHead* before, const RevisionTree& after) {
  StoredHistory stored = stored_form(id, after);
  if (before != nullptr) {
    OCTAVO_TRY(const std::vector<std::string> old_keys, keys(*before));
    for (const std::string& key : old_keys) {
      if (std::ranges::find(stored.rows, key, &Rows::value_type::first) != stored.rows.end()) continue;
      OCTAVO_TRY_VOID(erase_row(transaction, trees.histories, id, key));
    }
    if (before->has_tree_row) OCTAVO_TRY_VOID(erase_row(transaction, trees.revisions, id, id));
  }
  for (const auto& [key, value] : stored.rows) {
    OCTAVO_TRY(const auto old_value, long_key::get(transaction, trees.histories, key));
    const std::uint64_t number = read_key_u64(std::string_view(key).substr(key.size() - sizeof(std::uint64_t)));
    if (old_value && holds(*old_value, value, number)) continue;
    OCTAVO_TRY_VOID(long_key::put(transaction, trees.histories, key, value));
  }
  return std::move(stored.ancestry);
}

Expected<void> remove(WriteTransaction& transaction, const Trees& trees, const DocumentHead& before) {
  if (before.has_tree_row) return erase_row(transaction, trees.revisions, before.id, before.id);
  OCTAVO_TRY(const BlockRange range, range_of(before));
  for (std::uint64_t number = range.first_block(); number < range.end_block(); ++number) {
    OCTAVO_TRY_VOID(erase_row(transaction, trees.histories, before.id, row_key(before.id, number)));
  }
  if (!before.has_conflicts) return {};
  return erase_row(transaction, trees.histories, before.id, row_key(before.id, branches_number));
}

}  // namespace octavo::storage::history
