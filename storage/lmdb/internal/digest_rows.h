#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// Walks the rows of one run in the old form (long_key_tree.h), which are in the order of digests, by the full keys. A
/// seek reads all of them once and keeps the few that follow. A step past those does the same and keeps twice as many
/// each time. Rows that are damaged are left out. Throws as Cursor does.
class DigestRows {
 public:
  /// `rows` walks the tree that has the run.
  explicit DigestRows(Cursor rows) : rows_(std::move(rows)) {}

  /// Begins with the run of the keys with this beginning. The calls below concern it.
  void enter(std::string_view prefix);
  /// First entry with key >= `key`, which is a long key of the run. A key's view lives until the next call.
  std::optional<KeyValue> seek(std::string_view key) { return start(key, true); }
  /// Last entry with key <= `key`.
  std::optional<KeyValue> seek_back(std::string_view key) { return start(key, false); }
  std::optional<KeyValue> first() { return start(std::nullopt, true); }
  std::optional<KeyValue> last() { return start(std::nullopt, false); }
  /// Precondition of both: the call before has returned an entry.
  std::optional<KeyValue> next();
  std::optional<KeyValue> previous();

  /// Number of rows read so far.
  std::uint64_t rows_read() const { return rows_read_; }

 private:
  struct Entry {
    std::string key;
    std::string_view value;
  };
  std::optional<KeyValue> start(std::optional<std::string_view> bound, bool forward);
  void load_window(std::optional<std::string_view> bound, bool inclusive, bool forward);
  std::optional<KeyValue> here() const;

  static constexpr std::size_t window_rows_min = 128;
  static constexpr std::size_t window_rows_max = 4096;
  static constexpr std::size_t window_bytes_max = 1024 * 1024;  ///< of keys; one row may have more

  Cursor rows_;
  std::string prefix_;
  std::vector<Entry> entries_;  ///< sorted part of the run
  std::size_t position_ = 0;
  bool more_before_ = false;  ///< the run has rows before that part
  bool more_after_ = false;
  std::size_t window_ = window_rows_min;  ///< number of rows of the next part
  std::uint64_t rows_read_ = 0;
};

}  // namespace octavo::storage
