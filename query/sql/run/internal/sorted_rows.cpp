#include "query/sql/run/internal/sorted_rows.h"

#include <utility>

#include "query/sql/run/continuation.h"

namespace octavo::query::sql {

SortedRows::SortedRows(std::vector<CollectedRow> rows, std::size_t first, bool is_cut)
    : rows_(std::move(rows)), first_(first), next_(first), is_cut_(is_cut) {
  OCTAVO_ASSERT(first <= rows_.size());
}

std::uint64_t SortedRows::count(std::string_view beginning, std::uint64_t before) const {
  std::size_t row = next_;
  while (row > first_ && Continuation::goes_on(rows_[row - 1].key, beginning)) --row;
  return next_ - row + (row == first_ ? before : 0);
}

std::string SortedRows::entry_before_last() const {
  const std::string_view order = std::string_view(last().key).substr(0, last().order_bytes);
  for (std::size_t row = next_ - 1; row-- > 0;) {
    if (!rows_[row].key.starts_with(order) && !rows_[row].entry.empty()) return rows_[row].entry;
  }
  return {};
}

}  // namespace octavo::query::sql
