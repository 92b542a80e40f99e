#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "query/sql/run/continuation.h"
#include "query/sql/run/internal/collected_rows.h"

namespace octavo::query::sql {

/// Key of the last row or group of the previous page, in an order that is computed again for this page. The page begins
/// after it.
///
/// Of a long key, a continuation has only the beginning, and the digest. Then the key is recognised among the rows that
/// are kept, or is searched for in a walk before the one that keeps them.
class ResumeKey {
 public:
  /// No row was returned before this page, or it is not known by a key.
  ResumeKey() = default;

  /// Takes the key of a continuation that names a row.
  void resume(const Continuation& continuation) {
    OCTAVO_ASSERT(continuation.names_row());
    set(continuation.key);
    digest_ = continuation.digest;
    rows_before_ = continuation.same_beginning;
    if (!continuation.has_whole_key()) beginning_ = continuation.key;
  }
  void set(std::string whole) {
    key_ = std::move(whole);
    is_set_ = true;
    digest_.clear();
  }
  void reset() {
    is_set_ = false;
    key_.clear();
  }

  bool is_set() const { return is_set_; }
  bool is_whole() const { return digest_.empty(); }
  /// Empty: there is none.
  const std::string& key() const { return key_; }
  /// Whether the row with this key is known to have been returned.
  bool has_passed(std::string_view key) const { return is_set_ && key <= key_; }
  /// Whether all rows whose keys begin with `beginning` are known to have been returned.
  bool has_passed_all(std::string_view beginning) const {
    return is_set_ && beginning < key_ && !key_.starts_with(beginning);
  }
  /// Whether this is the key of which only the beginning is known.
  bool is_key(std::string_view key) const {
    return Continuation::goes_on(key, key_) && Continuation::digest_of(key) == digest_;
  }
  /// Number of rows up to the key, inclusive, that cannot be told from those that follow until they are collected.
  std::uint64_t rows_before() const { return is_whole() ? 0 : rows_before_; }
  /// How many rows of earlier pages have keys that begin with `beginning`, as far as they are counted.
  std::uint64_t count(std::string_view beginning) const { return beginning == beginning_ ? rows_before_ : 0; }
  /// Where the page begins in `rows`, which are in order.
  std::size_t first_row_in(std::span<const CollectedRow> rows);

  // The search for the whole key.

  /// Whether too many rows may come before the key to keep them.
  bool is_far() const { return !is_whole() && rows_before_ > rows_held_max; }
  bool is_sought() const { return is_sought_; }
  void seek() { is_sought_ = true; }
  /// The search is over; if it found the key, `set` was called.
  void end_search() {
    is_sought_ = false;
    was_sought_ = true;
  }
  /// Whether the key is still to be found, and might be found by a search.
  bool may_be_lost() const { return !is_whole() && !was_sought_; }

 private:
  // Up to this many rows of previous pages are kept instead of walking over them again.
  static constexpr std::uint64_t rows_held_max = 16;

  std::string key_;  ///< with a digest: its beginning
  bool is_set_ = false;
  std::string digest_;
  std::string beginning_;          ///< of a long key, as the continuation has it
  std::uint64_t rows_before_ = 0;  ///< up to the key, inclusive: rows with longer keys that begin with `beginning_`
  bool is_sought_ = false;
  bool was_sought_ = false;
};

}  // namespace octavo::query::sql
