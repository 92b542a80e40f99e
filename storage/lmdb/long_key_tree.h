#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// A tree whose keys may be longer than a tree's limit of 511 bytes and still sort exactly, by bytes.
///
/// Format (rows with long keys):
///   short key (≤ 480 bytes):  key                              → value
///   long key:                 key[0..480) digest[16]           → key_size:u32 key[480..] value
///
/// `digest` is the beginning of the key's SHA-256. A long key's row sorts after the short keys that are its prefix.
/// Rows with the same 480-byte prefix form a run; the cursor orders it by the full key: a seek into a run reads its
/// rows once and keeps the few that follow. A step past those does the same and keeps twice as many each time.
/// Elsewhere the cost is that of Cursor.
namespace long_key {

inline constexpr std::size_t prefix_bytes = 480;

Expected<std::optional<std::string_view>> get(const Transaction& transaction, Tree tree, std::string_view key);
Expected<void> put(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value);
/// As put, over a value of `old_value_bytes`: see WriteTransaction::put_over.
Expected<void> put_over(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value,
                        std::size_t old_value_bytes);
/// True if the key existed.
Expected<bool> erase(WriteTransaction& transaction, Tree tree, std::string_view key);

}  // namespace long_key

/// Puts rows into such a tree in one write transaction. A row behind all others is appended, so that rows which come in
/// the order of their keys fill the pages. The last row is looked for once, at the first new row.
class LongKeyWriter {
 public:
  /// `transaction` must outlive this.
  LongKeyWriter(WriteTransaction& transaction, Tree tree) : transaction_(transaction), tree_(tree) {}

  /// `old_value_bytes`: the size of the value that is replaced; nullopt: there is no row of this key. Throws as Cursor
  /// does.
  Expected<void> put(std::string_view key, std::string_view value, std::optional<std::size_t> old_value_bytes);
  /// True if the key existed.
  Expected<bool> erase(std::string_view key) { return long_key::erase(transaction_, tree_, key); }

 private:
  WriteTransaction& transaction_;
  Tree tree_;
  /// No row sorts after it. It may have been erased, or its transaction undone. nullopt: unknown.
  std::optional<std::string> last_;
};

/// Walks such a tree in the order of the full keys, both ways. Views live as long as the transaction (see Transaction),
/// except a long key's view, which lives until the next step of this cursor.
class LongKeyCursor {
 public:
  LongKeyCursor(const Transaction& transaction, Tree tree) : cursor_(transaction, tree) {}

  /// First entry with key >= `key`.
  std::optional<KeyValue> seek(std::string_view key);
  /// Last entry with key <= `key`.
  std::optional<KeyValue> seek_back(std::string_view key);
  /// Last entry of the tree.
  std::optional<KeyValue> last();
  std::optional<KeyValue> next();
  std::optional<KeyValue> previous();

 private:
  struct LongEntry {
    std::string key;
    std::string_view value;
  };
  std::optional<KeyValue> arrive_forward(std::optional<KeyValue> row);
  std::optional<KeyValue> arrive_backward(std::optional<KeyValue> row);
  std::optional<KeyValue> leave_forward(std::string_view prefix);
  std::optional<KeyValue> leave_backward(std::string_view prefix);
  /// Loads the run's rows nearest to `bound` in one direction; without a bound, those at that direction's start.
  void load_window(std::string_view prefix, std::optional<std::string_view> bound, bool inclusive, bool forward);
  KeyValue at_run() const {
    OCTAVO_ASSERT(run_position_ < run_.size());
    return {run_[run_position_].key, run_[run_position_].value};
  }

  Cursor cursor_;
  static constexpr std::size_t window_rows_min = 128;
  static constexpr std::size_t window_rows_max = 4096;
  static constexpr std::size_t window_bytes_max = 1024 * 1024;  ///< of keys; one row may have more

  std::vector<LongEntry> run_;  ///< sorted part of the run at the cursor; empty outside runs
  std::size_t run_position_ = 0;
  bool more_before_ = false;  ///< the run has rows before that part
  bool more_after_ = false;
  std::size_t window_ = window_rows_min;  ///< number of rows of the next part
};

}  // namespace octavo::storage
