#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/environment.h"

namespace octavo::storage {

/// A tree whose keys may be longer than LMDB's 511 bytes and still sort exactly, bytewise.
///
/// Row format:
///   short key (≤ 480 bytes):  key                              → value
///   long key:                 key[0..480) digest[16]           → key_size:u32le key[480..] value
/// A long key's row sorts after the short keys that are its prefix, and rows with one 480-byte prefix form a run that
/// the cursor orders by the full key. Cost of a step inside a run: O(run length), elsewhere as Cursor.
namespace long_key {

inline constexpr std::size_t kPrefixBytes = 480;

Expected<std::optional<std::string_view>> get(const Transaction& transaction, Tree tree, std::string_view key);
Expected<void> put(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value);
/// True when the key was there.
Expected<bool> erase(WriteTransaction& transaction, Tree tree, std::string_view key);

}  // namespace long_key

/// Walks such a tree in full-key order, both ways. Views live as long as the transaction (see Transaction), but a long
/// key's view only until the next step of this cursor.
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
  void load_run(std::string_view prefix);
  KeyValue at_run() const { return {run_[run_position_].key, run_[run_position_].value}; }

  Cursor cursor_;
  std::vector<LongEntry> run_;  ///< the run of long keys that the cursor stands in, sorted; empty outside of runs
  std::size_t run_position_ = 0;
};

}  // namespace octavo::storage
