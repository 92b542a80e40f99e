#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/lmdb/store.h"

namespace octavo::storage {

/// Walks the long keys of one run in the levels of the tree of long keys (long_key_tree.h), both ways. A seek reads a
/// few rows in each level of the key. Rows that are damaged are left out. Throws as Cursor does.
class LongKeyLevels {
 public:
  /// `rows` walks the tree of long keys.
  explicit LongKeyLevels(Cursor rows) : rows_(std::move(rows)) {}

  /// Begins with the run of the keys with this beginning, whose first level has `number`. The calls below concern it.
  void enter(std::string_view prefix, std::uint64_t number);
  /// First entry with key >= `key`, which is a long key of the run. A key's view lives until the next call.
  std::optional<KeyValue> seek(std::string_view key);
  /// Last entry with key <= `key`.
  std::optional<KeyValue> seek_back(std::string_view key);
  std::optional<KeyValue> first();
  std::optional<KeyValue> last();
  /// Precondition of both: the call before has returned an entry.
  std::optional<KeyValue> next();
  std::optional<KeyValue> previous();

  /// Number of rows read so far.
  std::uint64_t rows_read() const { return rows_read_; }

 private:
  /// How much of the keys leads to the present level.
  std::size_t path_bytes() const;
  std::optional<KeyValue> noted(std::optional<KeyValue> row);
  std::optional<KeyValue> descend(std::string_view key, bool forward);
  bool go_down(std::string_view value);
  std::optional<KeyValue> edge_of_level(bool forward);
  std::optional<KeyValue> neighbour_above(bool forward);
  std::optional<KeyValue> arrive(std::optional<KeyValue> row, bool forward);

  Cursor rows_;
  std::string key_;                     ///< of the present entry, or as much of it as is known
  std::vector<std::uint64_t> numbers_;  ///< of the levels from the run's first one to the present one
  std::uint64_t rows_read_ = 0;
};

}  // namespace octavo::storage
