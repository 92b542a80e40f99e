#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/assert.h"

namespace octavo::query::sql {

/// A result that waits until all rows are collected: its sort key, and its text.
struct CollectedRow {
  std::string key;
  std::string text;
  std::size_t run = 0;          ///< number of the run of index entries it came from, if runs are counted
  std::size_t order_bytes = 0;  ///< leading bytes of the key: the values of ORDER BY
  /// Its position in a walk that was left: key of its entry, and the combination of a JOIN.
  std::string entry = {};
  std::vector<std::uint64_t> positions = {};
};

/// Results that are sorted in memory before the first of them is returned. Keeps the first ones in key order:
/// `rows_max` of them, or fewer that together have `bytes_max`. Rows with an identity (DISTINCT) are all kept, one per
/// identity, with its first key.
class CollectedRows {
 public:
  explicit CollectedRows(std::size_t rows_max, std::size_t bytes_max = SIZE_MAX)
      : rows_max_(rows_max), bytes_max_(bytes_max) {}

  /// Whether a row with this key could be among those that are kept.
  bool has_room_for(std::string_view key) const {
    return !is_full() || (!rows_.empty() && key < std::string_view(rows_.front().key));
  }

  void add(CollectedRow row) {
    if (!has_room_for(row.key)) return;
    if (rows_.size() == rows_max_) drop_last();
    bytes_ += size_of(row);
    rows_.push_back(std::move(row));
    std::ranges::push_heap(rows_, {}, key_of);
    // They still fill `bytes_max` without the last one: once full, always full.
    while (rows_.size() > 1 && bytes_ - size_of(rows_.front()) >= bytes_max_) drop_last();
  }

  void add_distinct(const std::string& identity, CollectedRow row) {
    const auto [found, is_new] = distinct_.try_emplace(identity);
    if (is_new) {
      bytes_ += identity.size() + size_of(row) + map_bytes;
      found->second = std::move(row);
    } else if (row.key < found->second.key) {
      bytes_ = bytes_ - size_of(found->second) + size_of(row);
      found->second = std::move(row);
    }
  }

  std::size_t bytes() const { return bytes_; }
  /// Whether there may have been more rows; always false for rows with an identity.
  bool is_full() const { return rows_.size() >= rows_max_ || (!rows_.empty() && bytes_ >= bytes_max_); }
  /// Unordered; without the rows that have an identity.
  const std::vector<CollectedRow>& rows() const { return rows_; }

  /// All rows in order. Call it once.
  std::vector<CollectedRow> take_sorted() {
    for (auto& [identity, row] : distinct_) rows_.push_back(std::move(row));
    distinct_.clear();
    std::ranges::sort(rows_, {}, key_of);
    return std::move(rows_);
  }

 private:
  void drop_last() {
    OCTAVO_ASSERT(!rows_.empty());
    std::ranges::pop_heap(rows_, {}, key_of);
    bytes_ -= size_of(rows_.back());
    rows_.pop_back();
  }

  static constexpr std::size_t map_bytes = 64;
  static constexpr auto key_of = [](const CollectedRow& row) -> const std::string& { return row.key; };
  static std::size_t size_of(const CollectedRow& row) {
    return row.key.size() + row.text.size() + row.entry.size() + 8 * row.positions.size() + sizeof(CollectedRow);
  }

  std::size_t rows_max_;
  std::size_t bytes_max_;
  std::vector<CollectedRow> rows_;  ///< a heap with the last row on top
  std::unordered_map<std::string, CollectedRow> distinct_;
  std::size_t bytes_ = 0;
};

}  // namespace octavo::query::sql
