#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "query/sql/run/internal/collected_rows.h"

namespace octavo::query::sql {

/// The collected rows of a result in order, which are taken one after the other. The first of them may belong to
/// earlier pages.
class SortedRows {
 public:
  SortedRows() = default;
  /// `first`: number of the first row of this page. `is_cut`: more rows may follow that were not collected.
  SortedRows(std::vector<CollectedRow> rows, std::size_t first, bool is_cut);

  bool is_cut() const { return is_cut_; }
  /// Number of rows that are left.
  std::size_t left() const { return rows_.size() - next_; }
  void skip(std::size_t rows) {
    OCTAVO_ASSERT(rows <= left());
    next_ += rows;
  }
  /// Precondition: rows are left.
  const CollectedRow& take() {
    OCTAVO_ASSERT(left() > 0);
    return rows_[next_++];
  }

  /// Whether there is a row before those that are left.
  bool has_last() const { return next_ > 0; }
  /// The last row before those that are left.
  const CollectedRow& last() const {
    OCTAVO_ASSERT(has_last());
    return rows_[next_ - 1];
  }
  /// Number of rows up to the last one with longer keys that begin with `beginning`. If these are all rows of the page
  /// so far, `before` such rows of earlier pages are counted, too.
  std::uint64_t count(std::string_view beginning, std::uint64_t before) const;
  /// The entry of a row that ORDER BY places before the last one, as close to it as is known; empty: unknown.
  std::string entry_before_last() const;

 private:
  std::vector<CollectedRow> rows_;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
  bool is_cut_ = false;
};

}  // namespace octavo::query::sql
