#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/lmdb/store.h"

namespace octavo::storage {

class LongKeyRun;

/// A tree whose keys may be longer than a tree's limit of 511 bytes and still sort exactly, by bytes.
///
/// Format (rows with long keys):
///   in the tree itself
///     short key (≤ 480 bytes):  key                      → value
///     long keys:                key[0..480) 00           → number:u64      of the first level of their rest
///
///   in the store's tree "long", which its other trees share
///     number:u64be part 00                               → value           the rest of the key, at most 480 bytes
///     number:u64be part[480] 01                          → number:u64      of the level of what follows this part
///     0:u64be                                            → number:u64      the last number given
///
///   in the tree itself, as older versions wrote it
///     long key:                 key[0..480) digest[16]   → key_size:u32 key[480..] value
///
/// Long keys with the same 480-byte prefix form a run, which sorts after the short key that equals the prefix. A level
/// has the rests of keys that are equal up to it, in their order, so that a seek reads a few rows for each 480 bytes of
/// the key, whatever the size of the run. A level without rows is removed. A level has a greater number than the one
/// that leads to it.
///
/// `digest` is the beginning of the key's SHA-256. A seek into a run with such rows reads all of them. Each write of a
/// key of the run gives some of them the present form.
///
/// Elsewhere the cost is that of Cursor.
namespace long_key {

inline constexpr std::size_t prefix_bytes = 480;

Expected<std::optional<std::string_view>> get(const Transaction& transaction, Tree tree, std::string_view key);
// The calls that write throw as Cursor does. A long key needs a store with a tree_of_long_keys, and a write of one also
// invalidates the views of long keys' values in the other trees.
Expected<void> put(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value);
/// Does the same as put, over a value of `old_value_bytes`: see WriteTransaction::put_over.
Expected<void> put_over(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value,
                        std::size_t old_value_bytes);
/// True if the key existed.
Expected<bool> erase(WriteTransaction& transaction, Tree tree, std::string_view key);
/// Counts the keys by reading all of them, as count_rows does.
std::uint64_t count(const Transaction& transaction, Tree tree);
/// Whether the key has a row in the form of older versions. put() replaces it.
Expected<bool> has_old_form(const Transaction& transaction, Tree tree, std::string_view key);
/// Counts those rows by reading all rows of the tree itself. Throws as Cursor does.
std::uint64_t count_old_forms(const Transaction& transaction, Tree tree);
/// Compares the levels with the rows that lead to them: a sentence for a report. nullopt: they agree. `trees` are all
/// trees of the store that may have long keys. Throws as Cursor does.
std::optional<std::string> find_damaged_levels(const Transaction& transaction, std::span<const Tree> trees);

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
  LongKeyCursor(const Transaction& transaction, Tree tree);
  LongKeyCursor(LongKeyCursor&& other) noexcept;
  LongKeyCursor& operator=(LongKeyCursor&& other) noexcept;
  ~LongKeyCursor();

  /// First entry with key >= `key`.
  std::optional<KeyValue> seek(std::string_view key);
  /// Last entry with key <= `key`.
  std::optional<KeyValue> seek_back(std::string_view key);
  /// Last entry of the tree.
  std::optional<KeyValue> last();
  std::optional<KeyValue> next();
  std::optional<KeyValue> previous();

  /// Number of rows read for long keys so far.
  std::uint64_t long_rows_read() const;

 private:
  LongKeyRun& enter_run(std::string_view key);
  std::optional<KeyValue> arrive(std::optional<KeyValue> row, bool forward);
  std::optional<KeyValue> beyond_run(bool forward);

  Cursor cursor_;
  Tree tree_;
  std::unique_ptr<LongKeyRun> run_;  ///< made at the first long key
  bool in_run_ = false;              ///< the present entry is that of run_
};

}  // namespace octavo::storage
