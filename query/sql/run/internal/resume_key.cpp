#include "query/sql/run/internal/resume_key.h"

namespace octavo::query::sql {

std::size_t ResumeKey::first_row_in(std::span<const CollectedRow> rows) {
  if (!is_set_) return 0;
  const auto begin = std::ranges::upper_bound(rows, key_, {}, &CollectedRow::key);
  const auto position = static_cast<std::size_t>(begin - rows.begin());
  if (is_whole()) return position;
  const auto end = std::find_if_not(begin, rows.end(),
                                    [this](const CollectedRow& row) { return Continuation::goes_on(row.key, key_); });
  const auto last = std::find_if(begin, end, [this](const CollectedRow& row) { return is_key(row.key); });
  // If the row no longer exists, it is unknown which rows with this beginning were returned: better twice than never.
  rows_before_ = last != end ? static_cast<std::uint64_t>(last - begin) + 1 : 0;
  return position + static_cast<std::size_t>(rows_before_);
}

}  // namespace octavo::query::sql
