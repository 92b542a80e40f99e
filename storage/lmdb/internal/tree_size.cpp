#include "storage/lmdb/internal/tree_size.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <lmdb.h>

#include "storage/lmdb/internal/page_file.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage {

namespace {

constexpr MDB_dbi tree_of_trees = 1;  // LMDB's own handle for it
// Longer keys are in a tree of their own, below one row with this many bytes of the key (long_key_tree.h).
constexpr std::size_t ordered_key_bytes = 480;
// Where rows may stand for many long keys, a range with fewer rows is counted, up to this many keys.
constexpr std::uint64_t small_range_rows = 16;
constexpr std::uint64_t counted_keys_max = 64;

struct PageLayout {
  static constexpr std::size_t header_bytes = 16;
  static constexpr std::size_t node_header_bytes = 8;
  static constexpr std::uint16_t branch = 1, leaf = 2, kinds = 0x0F;
  static constexpr std::uint32_t version = 1;
};

template <class Integer>
Integer integer_at(const char* at) {
  Integer value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

bool has_long_keys(MDB_txn* transaction, Tree tree) {
  constexpr std::size_t other_rows = 1;  // the last number given
  if (tree.long_keys == Tree::missing) return false;
  MDB_stat statistics;
  return mdb_stat(transaction, tree.long_keys, &statistics) == 0 && statistics.ms_entries > other_rows;
}

}  // namespace

std::optional<TreeSize> TreeSize::open(const ReadTransaction& transaction, std::string_view tree) {
  MDB_val name{tree.size(), const_cast<char*>(tree.data())};
  MDB_val record;
  if (mdb_get(transaction.handle_, tree_of_trees, &name, &record) != 0 || record.mv_size != PageTree::stored_bytes) {
    return std::nullopt;
  }
  MDB_env* env = mdb_txn_env(transaction.handle_);
  MDB_stat statistics;
  MDB_envinfo info;
  if (mdb_env_stat(env, &statistics) != 0 || mdb_env_info(env, &info) != 0) return std::nullopt;
  const auto known = PageTree::read({static_cast<const char*>(record.mv_data), record.mv_size});
  TreeSize size;
  size.page_bytes_ = statistics.ms_psize;
  size.last_page_ = info.me_last_pgno;
  size.root_ = known.root;
  size.depth_ = known.depth;
  size.entries_ = known.entries;
  size.leaf_pages_ = known.leaf_pages;
  if (known.empty()) return size;
  if (size.depth_ == 0 || size.depth_ > depth_max) return std::nullopt;
  // The record lies in a leaf, whose header contains its page number; from that follows where the mapping begins.
  const auto address = reinterpret_cast<std::uintptr_t>(record.mv_data);
  const char* leaf = static_cast<const char*>(record.mv_data) - address % size.page_bytes_;
  const auto number = integer_at<std::uint64_t>(leaf);
  if (number > size.last_page_ || (integer_at<std::uint16_t>(leaf + 10) & PageLayout::kinds) != PageLayout::leaf)
    return std::nullopt;
  size.base_ = leaf - number * size.page_bytes_;
  // Page 0 is a meta page, which contains the version of the format.
  if (integer_at<std::uint64_t>(size.base_) != 0 ||
      integer_at<std::uint32_t>(size.base_ + PageLayout::header_bytes + 4) != PageLayout::version) {
    return std::nullopt;
  }
  return size;
}

std::optional<TreeSize::Page> TreeSize::page(std::uint64_t number) const {
  if (number > last_page_) return std::nullopt;
  const char* bytes = base_ + number * page_bytes_;
  const auto kind = integer_at<std::uint16_t>(bytes + 10) & PageLayout::kinds;
  const std::size_t lower = integer_at<std::uint16_t>(bytes + 12);
  const bool known =
      integer_at<std::uint64_t>(bytes) == number && (kind == PageLayout::branch || kind == PageLayout::leaf);
  if (!known || lower <= PageLayout::header_bytes || lower > page_bytes_) return std::nullopt;
  return Page{bytes, static_cast<unsigned>((lower - PageLayout::header_bytes) / 2), kind == PageLayout::leaf};
}

std::optional<const char*> TreeSize::node(const Page& page, unsigned index) const {
  if (index >= page.count) return std::nullopt;
  const std::size_t offset = integer_at<std::uint16_t>(page.bytes + PageLayout::header_bytes + std::size_t{2} * index);
  if (offset < PageLayout::header_bytes || offset + PageLayout::node_header_bytes > page_bytes_) return std::nullopt;
  return page.bytes + offset;
}

std::optional<std::string_view> TreeSize::key(const Page& page, unsigned index) const {
  const auto at = node(page, index);
  if (!at) return std::nullopt;
  const std::size_t size = integer_at<std::uint16_t>(*at + 6);
  if (static_cast<std::size_t>(*at - page.bytes) + PageLayout::node_header_bytes + size > page_bytes_)
    return std::nullopt;
  return std::string_view(*at + PageLayout::node_header_bytes, size);
}

std::optional<std::uint64_t> TreeSize::child(const Page& page, unsigned index) const {
  const auto at = node(page, index);
  if (!at) return std::nullopt;
  return std::uint64_t{integer_at<std::uint16_t>(*at)} | std::uint64_t{integer_at<std::uint16_t>(*at + 2)} << 16 |
         std::uint64_t{integer_at<std::uint16_t>(*at + 4)} << 32;
}

// Without a key: to the end of the tree. False: a page is invalid.
bool TreeSize::descend(std::optional<std::string_view> key, Step* steps) const {
  std::uint64_t number = root_;
  for (unsigned level = 0; level < depth_; ++level) {
    const auto page = this->page(number);
    if (!page || page->leaf != (level + 1 == depth_)) return false;
    unsigned low = page->leaf ? 0 : 1;  // the first key of a branch counts as the lowest
    unsigned high = page->count;
    if (!key) low = high;
    while (low < high) {
      const unsigned middle = (low + high) / 2;
      const auto there = this->key(*page, middle);
      if (!there) return false;
      if (page->leaf ? *there < *key : *there <= *key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    steps[level] = {*page, page->leaf ? low : low - 1};
    if (page->leaf) break;
    const auto next = child(*page, low - 1);
    if (!next) return false;
    number = *next;
  }
  return true;
}

// Estimates the entries below the children [from, to) of a branch, reading at most `samples` of them, evenly spread.
// `levels`: of pages below this one. More pages are read below each child where there are fewer children than samples,
// and where there are branches below: LMDB may leave a page nearly empty, which must not stand for many others.
std::optional<double> TreeSize::under(const Page& page, unsigned from, unsigned to, unsigned samples, double fraction,
                                      unsigned levels) const {
  constexpr double golden_ratio = 0.618;  // spreads the samples on the levels below
  if (from >= to) return 0;
  const unsigned all = to - from;
  const unsigned some = std::min(all, samples);
  const unsigned samples_below = std::max({samples >= many ? few : 1, samples / some, levels > 2 ? few : 1});
  double sum = 0;
  for (unsigned i = 0; i < some; ++i) {
    const double position = (i + (some == all ? 0 : fraction)) * all / some;
    const auto number = child(page, from + std::min(all - 1, static_cast<unsigned>(position)));
    const auto below = number ? this->page(*number) : std::nullopt;
    if (!below) return std::nullopt;
    if (below->leaf) {
      sum += below->count;
      continue;
    }
    const auto deeper =
        under(*below, 0, below->count, samples_below, std::fmod(fraction + golden_ratio * (i + 1), 1.0), levels - 1);
    if (!deeper) return std::nullopt;
    sum += *deeper;
  }
  return sum * all / some;
}

bool TreeSize::add_leaf(const Page& leaf, double weight, LeafSums& sums) const {
  const std::size_t lower = integer_at<std::uint16_t>(leaf.bytes + 12);
  const std::size_t upper = integer_at<std::uint16_t>(leaf.bytes + 14);
  if (upper < lower || upper > page_bytes_) return false;
  std::uint64_t row_bytes = 0;
  for (unsigned i = 0; i < leaf.count; ++i) {
    const auto at = node(leaf, i);
    if (!at) return false;
    // The size of a value, also of one in pages of its own, in two halves; then flags, and the size of the key.
    const std::uint32_t value_bytes = integer_at<std::uint16_t>(*at) | std::uint32_t{integer_at<std::uint16_t>(*at + 2)}
                                                                           << 16;
    row_bytes += value_bytes + integer_at<std::uint16_t>(*at + 6);
  }
  sums.weight += weight;
  sums.filled +=
      weight * (1 - static_cast<double>(upper - lower) / static_cast<double>(page_bytes_ - PageLayout::header_bytes));
  sums.row_bytes += weight * static_cast<double>(row_bytes);
  return true;
}

bool TreeSize::add_leaves(std::uint64_t page_number, unsigned level, LeafSums& sums) const {
  const auto page = this->page(page_number);
  if (!page || page->leaf != (level + 1 == depth_)) return false;
  if (page->leaf) return add_leaf(*page, 1, sums);
  for (unsigned i = 0; i < page->count; ++i) {
    const auto number = child(*page, i);
    if (!number || !add_leaves(*number, level + 1, sums)) return false;
  }
  return true;
}

// `position` in [0, 1) tells the way down. A leaf below pages with many children is found less often than others, and
// counts more therefore.
bool TreeSize::add_random_leaf(double position, LeafSums& sums) const {
  std::uint64_t number = root_;
  double weight = 1;
  for (unsigned level = 0; level < depth_; ++level) {
    const auto page = this->page(number);
    if (!page || page->leaf != (level + 1 == depth_)) return false;
    if (page->leaf) return add_leaf(*page, weight, sums);
    position *= page->count;
    weight *= page->count;
    const unsigned index = std::min(page->count - 1, static_cast<unsigned>(position));
    position -= index;
    const auto below = child(*page, index);
    if (!below) return false;
    number = *below;
  }
  return false;
}

std::optional<LeafContent> TreeSize::leaf_content(unsigned samples, std::uint32_t seed) const {
  if (root_ == PageTree::no_root || leaf_pages_ == 0) return LeafContent{};
  LeafSums sums;
  if (leaf_pages_ <= samples) {
    if (!add_leaves(root_, 0, sums)) return std::nullopt;
  } else {
    std::minstd_rand random(seed);
    std::uniform_real_distribution<double> within(0, 1);
    for (unsigned i = 0; i < samples; ++i) {
      // One in each of equal parts of the tree.
      if (!add_random_leaf((i + within(random)) / samples, sums)) return std::nullopt;
    }
  }
  if (sums.weight <= 0) return LeafContent{};
  return LeafContent{.fill = sums.filled / sums.weight,
                     .row_bytes = sums.row_bytes / sums.weight * static_cast<double>(leaf_pages_)};
}

std::optional<RangeSize> TreeSize::range(std::string_view low, std::optional<std::string_view> high,
                                         unsigned samples) const {
  if (root_ == PageTree::no_root || (high && low >= *high)) return RangeSize{0, true};
  if (low.empty() && !high) return RangeSize{entries_, true};
  const bool cut = low.size() > ordered_key_bytes || (high && high->size() > ordered_key_bytes);
  low = low.substr(0, ordered_key_bytes);
  if (high) high = high->substr(0, ordered_key_bytes);
  Step a[depth_max];
  Step b[depth_max];
  if (!descend(low, a) || !descend(high, b)) return std::nullopt;
  const unsigned last = depth_ - 1;
  unsigned parting = 0;
  while (parting < last && a[parting].index == b[parting].index) ++parting;
  if (parting == last) {
    if (b[last].index < a[last].index) return std::nullopt;
    return RangeSize{b[last].index - a[last].index, !cut};
  }
  if (a[last].index > a[last].page.count) return std::nullopt;
  double rows = a[last].page.count - a[last].index + b[last].index;
  const auto add = [&rows](std::optional<double> more) {
    if (more) rows += *more;
    return more.has_value();
  };
  if (!add(under(a[parting].page, a[parting].index + 1, b[parting].index, samples, 0.5, last - parting)))
    return std::nullopt;
  for (unsigned level = parting + 1; level < last; ++level) {
    if (!add(under(a[level].page, a[level].index + 1, a[level].page.count, samples, 0.5, last - level)) ||
        !add(under(b[level].page, 0, b[level].index, samples, 0.5, last - level))) {
      return std::nullopt;
    }
  }
  const bool exact = !cut && parting + 1 == last && b[parting].index - a[parting].index - 1 <= samples;
  return RangeSize{std::min(entries_, static_cast<std::uint64_t>(std::llround(rows))), exact};
}

std::optional<RowsEstimate> ReadTransaction::rows_estimate(Tree tree, std::string_view low,
                                                           std::optional<std::string_view> high,
                                                           Closeness closeness) const {
  const auto& trees = store_->trees_;
  const auto known = std::ranges::find(trees, tree.handle, &Tree::handle);
  if (known == trees.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(known - trees.begin());
  const auto pages = TreeSize::open(*this, store_->options().trees[index]);
  if (!pages) return std::nullopt;
  const auto size = pages->range(low, high, closeness == Closeness::close ? TreeSize::many : TreeSize::few);
  if (!size) return std::nullopt;
  if (size->entries == 0 && size->exact) return RowsEstimate{0, true};
  if (!has_long_keys(handle_, tree)) return RowsEstimate{size->entries, size->exact};
  const bool has_long_bound = low.size() > ordered_key_bytes || (high && high->size() > ordered_key_bytes);
  if (!has_long_bound && size->entries >= small_range_rows) return RowsEstimate{size->entries, false};
  std::uint64_t keys = 0;
  LongKeyCursor cursor(*this, tree);
  for (auto row = cursor.seek(low); row && (!high || row->key < *high); row = cursor.next()) {
    if (++keys > counted_keys_max) return std::nullopt;
  }
  return RowsEstimate{keys, true};
}

}  // namespace octavo::storage
