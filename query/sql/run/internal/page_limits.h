#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/assert.h"

namespace octavo::query::sql {

/// What a page of a query still takes: rows up to the query's LIMIT, items and bytes up to the page's. OFFSET skips
/// rows before that. A page that is full may look ahead, for a limited number of keys, to see whether a row follows.
class PageLimits {
 public:
  PageLimits(std::uint64_t offset, std::uint64_t limit, std::uint64_t items_max, std::size_t bytes_max)
      : skip_left_(offset), limit_left_(limit), items_max_(items_max), bytes_max_(bytes_max), wanted_(rows_left()) {}

  /// Continues with what earlier pages have left of OFFSET and LIMIT.
  void resume(std::uint64_t skip, std::uint64_t left) {
    skip_left_ = skip;
    limit_left_ = std::min(limit_left_, left);
    wanted_ = rows_left();
  }

  bool takes_nothing() const { return limit_left_ == 0 || items_max_ == 0; }
  /// Whether the query ends with this page, because it has all rows of LIMIT.
  bool is_limit_reached() const { return limit_left_ == 0; }
  std::uint64_t skip_left() const { return skip_left_; }
  std::uint64_t limit_left() const { return limit_left_; }
  /// What the page still takes, with what OFFSET skips.
  std::uint64_t rows_left() const { return add_saturated(skip_left_, std::min(limit_left_, items_max_ - items_)); }
  /// The share of the page that was found, 0 to 1, with `waiting` rows that are not counted yet.
  double found(std::size_t waiting) const {
    const double left = static_cast<double>(rows_left()) - static_cast<double>(waiting);
    return 1 - left / static_cast<double>(wanted_);
  }

  /// Whether OFFSET skips the next row.
  bool skips() const { return skip_left_ > 0; }
  /// Skips as many of `rows` rows as OFFSET has left, and returns their number.
  std::size_t skip(std::size_t rows) {
    const auto skipped = std::min<std::uint64_t>(skip_left_, rows);
    skip_left_ -= skipped;
    return static_cast<std::size_t>(skipped);
  }
  /// Counts a row of the page with this text. True: it is the last one.
  bool count(std::size_t bytes) {
    OCTAVO_ASSERT(limit_left_ > 0);
    ++items_;
    bytes_ += bytes + 1;
    --limit_left_;
    return limit_left_ == 0 || items_ >= items_max_ || bytes_ >= bytes_max_;
  }

  /// Looking ahead costs no more than the page did: `keys_examined` keys, and some more.
  void look_ahead(std::uint64_t keys_examined) {
    looks_ahead_ = true;
    look_ahead_end_ = 2 * keys_examined + look_ahead_keys;
  }
  bool looks_ahead() const { return looks_ahead_; }
  bool has_looked_enough(std::uint64_t keys_examined) const { return looks_ahead_ && keys_examined >= look_ahead_end_; }

  static std::uint64_t add_saturated(std::uint64_t a, std::uint64_t b) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    return a > most - b ? most : a + b;
  }

 private:
  // Minimum number of keys examined beyond those of a full page before the page says that rows may follow.
  static constexpr std::uint64_t look_ahead_keys = 1000;

  std::uint64_t skip_left_;
  std::uint64_t limit_left_;
  std::uint64_t items_max_;
  std::size_t bytes_max_;
  std::uint64_t items_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t wanted_;  ///< rows_left() when the page began
  bool looks_ahead_ = false;
  std::uint64_t look_ahead_end_ = 0;  ///< number of keys examined at which to stop
};

}  // namespace octavo::query::sql
