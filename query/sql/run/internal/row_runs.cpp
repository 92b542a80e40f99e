#include "query/sql/run/internal/row_runs.h"

#include "base/assert.h"
#include "query/index/automatic_index.h"

namespace octavo::query::sql {

void RowRuns::restart() {
  starts_.clear();
  is_over_ = false;
}

void RowRuns::note(std::string_view order, bool has_scalars) {
  is_over_ = false;
  order_ = order;
  fields_ = entry_fields_;
  is_known_by_fields_ = has_scalars && fields_.size() < automatic_key_bytes_max;
}

std::size_t RowRuns::current() const {
  OCTAVO_ASSERT(!starts_.empty());
  return starts_.size() - 1;
}

std::string RowRuns::start_after(std::size_t runs, const std::optional<std::string>& left, bool down) const {
  if (runs < starts_.size()) return starts_[runs];
  std::string start = left.value_or(std::string());
  // The lowest byte after an entry makes it an exclusive bound.
  if (!start.empty() && down) start.pop_back();
  return start;
}

}  // namespace octavo::query::sql
