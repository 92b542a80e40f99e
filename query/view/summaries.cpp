#include "query/view/summaries.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/byte_codec.h"

namespace octavo::query::views {

namespace {

constexpr std::size_t block_children = 64;
constexpr std::size_t block_children_max = 128;
constexpr std::size_t block_children_min = 16;
constexpr std::size_t merged_children_max = 96;

/// An entry of the summaries tree, or a row as the child of a block of level 1.
struct Block {
  std::string start;
  std::uint64_t children = 0;
  std::uint64_t rows = 0;
  std::string state;
};

std::string entry_key(std::uint8_t level, std::string_view start) {
  std::string key(1, static_cast<char>(level));
  key += start;
  return key;
}

std::optional<Block> read_block(const std::optional<storage::KeyValue>& entry, std::uint8_t level,
                                std::string_view prefix) {
  if (!entry || entry->key.empty() || static_cast<std::uint8_t>(entry->key[0]) != level) return std::nullopt;
  const auto start = entry->key.substr(1);
  if (!start.starts_with(prefix)) return std::nullopt;
  ByteReader reader(entry->value);
  Block block{std::string(start), reader.varint(), reader.varint(), {}};
  block.state = reader.rest();
  return block;
}

std::string block_value(const Block& block) {
  std::string value;
  ByteWriter writer(value);
  writer.varint(block.children);
  writer.varint(block.rows);
  writer.bytes(block.state);
  return value;
}

std::unexpected<Error> damaged() {
  return fail(ErrorCode::corrupted, "A row of a view is damaged.");
}

/// The shortest prefix of `after` that is above `before`.
std::string separator(std::string_view before, std::string_view after) {
  const auto same = std::ranges::mismatch(before, after).in1 - before.begin();
  return std::string(after.substr(0, static_cast<std::size_t>(same) + 1));
}

/// Updates the summaries level by level, from the lowest up.
class SummaryUpdate {
 public:
  SummaryUpdate(storage::WriteTransaction& transaction, const SummaryTrees& trees, std::size_t view,
                const Reducer* reducer)
      : transaction_(transaction), trees_(trees), prefix_(view_prefix(view)), reducer_(reducer) {}

  /// `touched`: the changed, created and removed children, in order. Returns the touched blocks for the level above.
  template <class Touched>
  Expected<std::set<std::string>> run(std::uint8_t level, const Touched& touched) {
    OCTAVO_ASSERT(level >= 1 && level <= level_max);
    std::set<std::string> starts;
    {
      storage::LongKeyCursor cursor(transaction_, trees_.summaries);
      for (const auto& child : touched) {
        // Children are sorted, and often many belong to one block.
        const auto block = read_block(cursor.seek_back(entry_key(level, child)), level, prefix_);
        starts.insert(starts.end(), block ? block->start : prefix_);
      }
    }
    std::set<std::string> changed;
    // From last to first, because a block that became small is merged into its predecessor.
    while (!starts.empty()) {
      const std::string start = *starts.rbegin();
      starts.erase(std::prev(starts.end()));
      OCTAVO_TRY_VOID(refresh(level, start, starts, changed));
    }
    return changed;
  }

 private:
  Expected<void> refresh(std::uint8_t level, const std::string& start, std::set<std::string>& starts,
                         std::set<std::string>& changed) {
    const auto next = next_start(level, start);
    OCTAVO_TRY(auto blocks, level == 1 ? blocks_of_rows(start, next) : blocks_of_blocks(level, start, next));
    if (blocks.empty()) {
      // The first block is kept, even empty, as long as there are others.
      if (start == prefix_ && next) return put(level, Block{start, 0, 0, {}}, changed);
      return remove(level, start, changed);
    }
    if (blocks.size() == 1 && blocks[0].children < block_children_min && start != prefix_) {
      const auto before = block_before(level, start);
      if (before && before->children + blocks[0].children <= merged_children_max) {
        starts.insert(before->start);
        return remove(level, start, changed);
      }
    }
    for (const auto& block : blocks) OCTAVO_TRY_VOID(put(level, block, changed));
    return {};
  }

  std::optional<std::string> next_start(std::uint8_t level, std::string_view start) const {
    storage::LongKeyCursor cursor(transaction_, trees_.summaries);
    auto entry = cursor.seek(entry_key(level, start));
    if (entry && entry->key.substr(1) == start && static_cast<std::uint8_t>(entry->key[0]) == level) {
      entry = cursor.next();
    }
    const auto block = read_block(entry, level, prefix_);
    return block ? std::optional(block->start) : std::nullopt;
  }

  std::optional<Block> block_before(std::uint8_t level, std::string_view start) const {
    storage::LongKeyCursor cursor(transaction_, trees_.summaries);
    auto entry = cursor.seek_back(entry_key(level, start));
    if (entry && entry->key.substr(1) == start) entry = cursor.previous();
    return read_block(entry, level, prefix_);
  }

  // The number of children for the next block if `left` children remain.
  static std::size_t share(std::size_t left, bool first) {
    if (first && left <= block_children_max) return left;
    return left < 2 * block_children ? (left <= merged_children_max ? left : left / 2) : block_children;
  }

  Expected<std::vector<Block>> blocks_of_rows(const std::string& start, const std::optional<std::string>& next) const {
    RowBatch rows;
    storage::LongKeyCursor cursor(transaction_, trees_.rows);
    for (auto entry = cursor.seek(start); entry && entry->key.starts_with(prefix_) && (!next || entry->key < *next);
         entry = cursor.next()) {
      const auto row = read_row(entry->key, entry->value);
      if (!row) return damaged();
      rows.add(*row);
    }
    std::vector<Block> blocks;
    const auto all = rows.rows();
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t count = share(all.size() - begin, begin == 0);
      OCTAVO_ASSERT(count > 0 && count <= all.size() - begin);
      Block block{begin == 0 ? start : separator(all[begin - 1].row_key, all[begin].row_key), count, count, {}};
      if (reducer_ != nullptr) {
        OCTAVO_TRY(block.state, reducer_->reduce(all.subspan(begin, count)));
      }
      blocks.push_back(std::move(block));
      begin += count;
    }
    return blocks;
  }

  Expected<std::vector<Block>> blocks_of_blocks(std::uint8_t level, const std::string& start,
                                                const std::optional<std::string>& next) const {
    std::vector<Block> children;
    storage::LongKeyCursor cursor(transaction_, trees_.summaries);
    const auto child_level = static_cast<std::uint8_t>(level - 1);
    for (auto child = read_block(cursor.seek(entry_key(child_level, start)), child_level, prefix_);
         child && (!next || child->start < *next); child = read_block(cursor.next(), child_level, prefix_)) {
      children.push_back(*std::move(child));
    }
    std::vector<Block> blocks;
    for (std::size_t begin = 0; begin < children.size();) {
      const std::size_t count = share(children.size() - begin, begin == 0);
      OCTAVO_ASSERT(count > 0 && count <= children.size() - begin);
      Block block{begin == 0 ? start : children[begin].start, count, 0, {}};
      std::vector<std::string_view> states;
      for (std::size_t i = begin; i < begin + count; ++i) {
        block.rows += children[i].rows;
        if (children[i].rows > 0) states.push_back(children[i].state);
      }
      if (reducer_ != nullptr && !states.empty()) {
        OCTAVO_TRY(block.state, reducer_->merge(states));
      }
      blocks.push_back(std::move(block));
      begin += count;
    }
    return blocks;
  }

  Expected<void> put(std::uint8_t level, const Block& block, std::set<std::string>& changed) {
    OCTAVO_ASSERT(block.start.starts_with(prefix_));
    OCTAVO_ASSERT(block.children > 0 || block.start == prefix_);
    const std::string key = entry_key(level, block.start);
    const std::string value = block_value(block);
    OCTAVO_TRY(const auto old, storage::long_key::get(transaction_, trees_.summaries, key));
    if (old && *old == value) return {};
    changed.insert(block.start);
    return storage::long_key::put(transaction_, trees_.summaries, key, value);
  }

  Expected<void> remove(std::uint8_t level, const std::string& start, std::set<std::string>& changed) {
    OCTAVO_TRY(const bool was, storage::long_key::erase(transaction_, trees_.summaries, entry_key(level, start)));
    if (was) changed.insert(start);
    return {};
  }

  storage::WriteTransaction& transaction_;
  const SummaryTrees& trees_;
  const std::string prefix_;
  const Reducer* reducer_;
};

}  // namespace

void RowBatch::add(const ViewRow& row) {
  rows_.push_back(row);
  if (row.row_key.size() <= storage::long_key::prefix_bytes) return;
  auto& stored = *long_keys_.emplace_back(std::make_unique<std::string>(row.row_key));
  auto& kept = rows_.back();
  kept.row_key = stored;
  kept.escaped_id =
      kept.row_key.substr(kept.row_key.size() - ordinal_bytes - row.escaped_id.size(), row.escaped_id.size());
}

void RowBatch::clear() {
  rows_.clear();
  long_keys_.clear();
}

Expected<void> update_summaries(storage::WriteTransaction& transaction, const SummaryTrees& trees, std::size_t view,
                                const Reducer* reducer, std::span<const std::string> changed) {
  if (changed.empty()) return {};
  OCTAVO_ASSERT(std::ranges::is_sorted(changed));
  OCTAVO_ASSERT(changed.front().starts_with(view_prefix(view)) && changed.back().starts_with(view_prefix(view)));
  SummaryUpdate update(transaction, trees, view, reducer);
  OCTAVO_TRY(auto touched, update.run(1, changed));
  for (std::uint8_t level = 2; level <= level_max; ++level) {
    OCTAVO_TRY(touched, update.run(level, touched));
  }
  return {};
}

// --- reading ---

struct SummaryReader::Entry : Block {};

std::optional<SummaryReader::Entry> SummaryReader::entry_at_or_before(std::uint8_t level,
                                                                      std::string_view start) const {
  storage::LongKeyCursor cursor(transaction_, trees_.summaries);
  auto block = read_block(cursor.seek_back(entry_key(level, start)), level, view_prefix(view_));
  if (!block) return std::nullopt;
  return Entry{*std::move(block)};
}

// The last block of level 1 that may have rows below `start`.
std::optional<SummaryReader::Entry> SummaryReader::entry_before(std::string_view start) const {
  storage::LongKeyCursor cursor(transaction_, trees_.summaries);
  auto entry = cursor.seek_back(entry_key(1, start));
  if (entry && entry->key == entry_key(1, start)) entry = cursor.previous();
  auto block = read_block(entry, 1, view_prefix(view_));
  if (!block) return std::nullopt;
  return Entry{*std::move(block)};
}

std::optional<std::string> SummaryReader::start_after(std::uint8_t level, std::string_view start) const {
  storage::LongKeyCursor cursor(transaction_, trees_.summaries);
  auto entry = cursor.seek(entry_key(level, start));
  if (entry && entry->key.substr(1) == start && static_cast<std::uint8_t>(entry->key[0]) == level) {
    entry = cursor.next();
  }
  auto block = read_block(entry, level, view_prefix(view_));
  if (!block) return std::nullopt;
  return std::move(block->start);
}

std::uint64_t SummaryReader::count() const {
  std::uint64_t rows = 0;
  const std::string prefix = view_prefix(view_);
  storage::LongKeyCursor cursor(transaction_, trees_.summaries);
  for (auto block = read_block(cursor.seek(entry_key(level_max, prefix)), level_max, prefix); block;
       block = read_block(cursor.next(), level_max, prefix)) {
    rows += block->rows;
  }
  return rows;
}

std::uint64_t SummaryReader::rank(std::string_view key) const {
  const std::string prefix = view_prefix(view_);
  if (key <= prefix) return 0;
  const auto first = entry_at_or_before(1, key);
  if (!first) return key >= after_prefix(prefix) ? count() : 0;
  std::uint64_t rank = 0;
  {
    storage::LongKeyCursor cursor(transaction_, trees_.rows);
    for (auto row = cursor.seek(first->start); row && row->key < key && row->key.starts_with(prefix);
         row = cursor.next()) {
      ++rank;
    }
  }
  // Sum the siblings before the block in its parent, before the parent in its own parent, and so on.
  std::string at = first->start;
  for (std::uint8_t level = 1; level <= level_max; ++level) {
    std::string from = prefix;
    if (level < level_max) {
      const auto parent = entry_at_or_before(static_cast<std::uint8_t>(level + 1), at);
      if (parent) from = parent->start;
    }
    storage::LongKeyCursor cursor(transaction_, trees_.summaries);
    for (auto block = read_block(cursor.seek(entry_key(level, from)), level, prefix); block && block->start < at;
         block = read_block(cursor.next(), level, prefix)) {
      rank += block->rows;
    }
    at = std::move(from);
  }
  return rank;
}

std::optional<std::string> SummaryReader::at(std::uint64_t rank) const {
  const std::string prefix = view_prefix(view_);
  std::string from = prefix;
  for (std::uint8_t level = level_max; level >= 1; --level) {
    storage::LongKeyCursor cursor(transaction_, trees_.summaries);
    auto block = read_block(cursor.seek(entry_key(level, from)), level, prefix);
    for (; block && rank >= block->rows; block = read_block(cursor.next(), level, prefix)) rank -= block->rows;
    if (!block) return std::nullopt;
    from = std::move(block->start);
  }
  storage::LongKeyCursor cursor(transaction_, trees_.rows);
  auto row = cursor.seek(from);
  for (; row && rank > 0; row = cursor.next()) --rank;
  if (!row || !row->key.starts_with(prefix)) return std::nullopt;
  return std::string(row->key);
}

Expected<void> SummaryReader::reduce_rows(std::string_view low, std::string_view high,
                                          std::vector<std::string>& states) const {
  RowBatch batch;
  const auto flush = [&]() -> Expected<void> {
    if (batch.size() == 0) return {};
    OCTAVO_ASSERT(reducer_ != nullptr);
    OCTAVO_TRY(auto state, reducer_->reduce(batch.rows()));
    states.push_back(std::move(state));
    batch.clear();
    return {};
  };
  storage::LongKeyCursor cursor(transaction_, trees_.rows);
  for (auto entry = cursor.seek(low); entry && entry->key < high; entry = cursor.next()) {
    const auto row = read_row(entry->key, entry->value);
    if (!row) return damaged();
    batch.add(*row);
    if (batch.size() == block_children_max) OCTAVO_TRY_VOID(flush());
  }
  return flush();
}

// Adds the states of the blocks of `level` whose starts are in [`low`, `high`), two starts of blocks of that level.
Expected<void> SummaryReader::reduce_blocks(std::uint8_t level, std::string_view low, std::string_view high,
                                            std::vector<std::string>& states) const {
  if (low >= high) return {};
  OCTAVO_ASSERT(level >= 1 && level <= level_max);
  const std::string prefix = view_prefix(view_);
  const auto take = [&](std::string_view from, std::string_view to) {
    storage::LongKeyCursor cursor(transaction_, trees_.summaries);
    for (auto block = read_block(cursor.seek(entry_key(level, from)), level, prefix); block && block->start < to;
         block = read_block(cursor.next(), level, prefix)) {
      if (block->rows > 0) states.push_back(std::move(block->state));
    }
  };
  if (level == level_max) {
    take(low, high);
    return {};
  }
  const auto above = static_cast<std::uint8_t>(level + 1);
  const auto first = entry_at_or_before(above, low);
  const auto last = entry_at_or_before(above, high);
  if (!first || !last || first->start == last->start) {
    take(low, high);
    return {};
  }
  // Find the first parent whose blocks are all in the range; blocks before it are added one by one.
  std::string parents_from = first->start;
  const auto child_before = [&]() -> bool {
    storage::LongKeyCursor cursor(transaction_, trees_.summaries);
    const auto block = read_block(cursor.seek(entry_key(level, first->start)), level, prefix);
    return block && block->start < low;
  }();
  if (child_before) {
    parents_from = start_after(above, first->start).value_or(last->start);
    take(low, parents_from);
  }
  OCTAVO_TRY_VOID(reduce_blocks(above, parents_from, last->start, states));
  take(last->start, high);
  return {};
}

Expected<std::vector<std::string>> SummaryReader::states(std::string_view low, std::string_view high) const {
  std::vector<std::string> states;
  const std::string end = after_prefix(view_prefix(view_));
  high = std::min<std::string_view>(high, end);
  if (low >= high) return states;
  const auto first = entry_at_or_before(1, low);
  const auto last = entry_before(high);
  if (!last) return states;
  const bool same = first && first->start == last->start;
  if (same) {
    OCTAVO_TRY_VOID(reduce_rows(low, high, states));
  } else {
    std::string blocks_from = view_prefix(view_);
    if (first) {
      if (low <= first->start) {
        blocks_from = first->start;
      } else {
        blocks_from = start_after(1, first->start).value_or(last->start);
        OCTAVO_TRY_VOID(reduce_rows(low, blocks_from, states));
      }
    }
    OCTAVO_TRY_VOID(reduce_blocks(1, blocks_from, last->start, states));
    OCTAVO_TRY_VOID(reduce_rows(last->start, high, states));
  }
  return states;
}

Expected<std::optional<std::string>> SummaryReader::reduce(std::string_view low, std::string_view high) const {
  OCTAVO_TRY(auto states, this->states(low, high));
  if (states.empty()) return std::nullopt;
  if (states.size() == 1) return std::move(states.front());
  OCTAVO_ASSERT(reducer_ != nullptr);
  const std::vector<std::string_view> views(states.begin(), states.end());
  OCTAVO_TRY(auto merged, reducer_->merge(views));
  return std::optional<std::string>(std::move(merged));
}

// --- checking ---

Expected<std::optional<std::string>> check_summaries(const storage::Transaction& transaction, const SummaryTrees& trees,
                                                     std::size_t view, const Reducer* reducer) {
  const std::string prefix = view_prefix(view);
  const std::string end = after_prefix(prefix);
  const auto found = [](std::string problem) { return std::optional<std::string>(std::move(problem)); };
  std::uint64_t rows = 0;
  {
    storage::LongKeyCursor cursor(transaction, trees.rows);
    for (auto row = cursor.seek(prefix); row && row->key < end; row = cursor.next()) {
      if (!read_row(row->key, row->value)) return found("a row is damaged");
      ++rows;
    }
  }
  for (std::uint8_t level = 1; level <= level_max; ++level) {
    std::uint64_t counted = 0;
    bool first = true;
    storage::LongKeyCursor cursor(transaction, trees.summaries);
    auto block = read_block(cursor.seek(entry_key(level, prefix)), level, prefix);
    while (block) {
      if (std::exchange(first, false) && block->start != prefix)
        return found("the first block does not begin the view");
      auto next = read_block(cursor.next(), level, prefix);
      const std::string_view block_end = next ? std::string_view(next->start) : std::string_view(end);
      std::uint64_t children = 0;
      std::uint64_t held = 0;
      std::vector<std::string> states;
      if (level == 1) {
        RowBatch batch;
        storage::LongKeyCursor row_cursor(transaction, trees.rows);
        for (auto row = row_cursor.seek(block->start); row && row->key < block_end; row = row_cursor.next()) {
          batch.add(*read_row(row->key, row->value));
        }
        children = held = batch.size();
        if (reducer != nullptr && held > 0) {
          OCTAVO_TRY(auto state, reducer->reduce(batch.rows()));
          states.push_back(std::move(state));
        }
      } else {
        const auto child_level = static_cast<std::uint8_t>(level - 1);
        storage::LongKeyCursor child_cursor(transaction, trees.summaries);
        std::vector<std::string> parts;
        for (auto child = read_block(child_cursor.seek(entry_key(child_level, block->start)), child_level, prefix);
             child && child->start < block_end; child = read_block(child_cursor.next(), child_level, prefix)) {
          ++children;
          held += child->rows;
          if (child->rows > 0) parts.push_back(std::move(child->state));
        }
        if (reducer != nullptr && !parts.empty()) {
          const std::vector<std::string_view> views(parts.begin(), parts.end());
          OCTAVO_TRY(auto state, reducer->merge(views));
          states.push_back(std::move(state));
        }
      }
      if (children != block->children || held != block->rows) {
        return found(fmt::format("a block of level {} says {} rows and holds {}", level, block->rows, held));
      }
      if (!states.empty() && states.front() != block->state) {
        return found(fmt::format("the reduction of a block of level {} is not that of its rows", level));
      }
      counted += held;
      block = std::move(next);
    }
    if (counted != rows) return found(fmt::format("level {} counts {} rows of {}", level, counted, rows));
  }
  return std::nullopt;
}

}  // namespace octavo::query::views
