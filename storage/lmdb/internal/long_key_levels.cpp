#include "storage/lmdb/internal/long_key_levels.h"

#include "base/assert.h"
#include "storage/lmdb/internal/long_key_rows.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage {

void LongKeyLevels::enter(std::string_view prefix, std::uint64_t number) {
  OCTAVO_ASSERT(prefix.size() == long_key::prefix_bytes);
  key_.assign(prefix);
  numbers_.assign(1, number);
}

std::optional<KeyValue> LongKeyLevels::seek(std::string_view key) {
  return descend(key, true);
}
std::optional<KeyValue> LongKeyLevels::seek_back(std::string_view key) {
  return descend(key, false);
}

std::optional<KeyValue> LongKeyLevels::first() {
  numbers_.resize(1);
  return arrive(edge_of_level(true), true);
}
std::optional<KeyValue> LongKeyLevels::last() {
  numbers_.resize(1);
  return arrive(edge_of_level(false), false);
}

std::optional<KeyValue> LongKeyLevels::next() {
  return arrive(noted(rows_.next()), true);
}
std::optional<KeyValue> LongKeyLevels::previous() {
  return arrive(noted(rows_.previous()), false);
}

std::size_t LongKeyLevels::path_bytes() const {
  return long_key::prefix_bytes * numbers_.size();
}

std::optional<KeyValue> LongKeyLevels::noted(std::optional<KeyValue> row) {
  ++rows_read_;
  return row;
}

// Goes down along `key` as far as there are levels for it, then to the nearest entry in the direction.
std::optional<KeyValue> LongKeyLevels::descend(std::string_view key, bool forward) {
  OCTAVO_ASSERT(!numbers_.empty() && long_key::is_long(key));
  OCTAVO_ASSERT(key.substr(0, long_key::prefix_bytes) == std::string_view(key_).substr(0, long_key::prefix_bytes));
  numbers_.resize(1);
  for (;;) {
    const std::string_view rest = key.substr(path_bytes());
    const bool ends_here = rest.size() <= long_key::prefix_bytes;
    const std::string wanted =
        ends_here ? long_key::value_row_key(numbers_.back(), rest) : long_key::level_row_key(numbers_.back(), rest);
    const auto row = noted(forward ? rows_.seek(wanted) : rows_.seek_back(wanted));
    key_.assign(key.substr(0, path_bytes() + long_key::prefix_bytes));
    const bool leads_on = !ends_here && row && row->key == wanted;
    if (!leads_on || !go_down(row->value)) return arrive(row, forward);
  }
}

// A level has a greater number than the one above it, as it was made later. So even in a damaged tree this ends. False:
// the number is damaged.
bool LongKeyLevels::go_down(std::string_view value) {
  const auto number = long_key::decode_number(value);
  if (!number || *number <= numbers_.back()) return false;
  numbers_.push_back(*number);
  return true;
}

/// The level's first or last row, or one outside of it if it is empty.
std::optional<KeyValue> LongKeyLevels::edge_of_level(bool forward) {
  const std::uint64_t number = numbers_.back();
  return noted(forward ? rows_.seek(long_key::level_begin(number))
                       : rows_.seek_back(long_key::level_begin(number + 1)));
}

/// Goes up one level, to the row beside the one that led down.
std::optional<KeyValue> LongKeyLevels::neighbour_above(bool forward) {
  OCTAVO_ASSERT(numbers_.size() > 1);
  numbers_.pop_back();
  const std::string above = long_key::level_row_key(numbers_.back(), std::string_view(key_).substr(path_bytes()));
  const auto row = noted(forward ? rows_.seek(above) : rows_.seek_back(above));
  if (!row || row->key != above) return row;
  return noted(forward ? rows_.next() : rows_.previous());
}

// From a row of the present level, or the first one beyond it, to the nearest entry.
std::optional<KeyValue> LongKeyLevels::arrive(std::optional<KeyValue> row, bool forward) {
  for (;;) {
    if (!row || !row->key.starts_with(long_key::level_begin(numbers_.back()))) {
      if (numbers_.size() == 1) return std::nullopt;
      row = neighbour_above(forward);
      continue;
    }
    if (const auto found = long_key::decode_level_row(row->key)) {
      key_.resize(path_bytes());
      key_.append(found->part);
      if (!found->leads_on) return KeyValue{key_, row->value};
      if (go_down(row->value)) {
        row = edge_of_level(forward);
        continue;
      }
    }
    row = noted(forward ? rows_.next() : rows_.previous());
  }
}

}  // namespace octavo::storage
