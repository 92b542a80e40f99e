#include "query/sql/run/internal/row_key.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/byte_codec.h"
#include "query/sql/run/internal/entry_keys.h"

namespace octavo::query::sql {

RowKey::RowKey(const Program& program, const RowShape& shape, Evaluation& evaluation, const Combinations& combinations)
    : program_(program),
      shape_(shape),
      evaluation_(evaluation),
      combinations_(combinations),
      is_descending_(std::ranges::any_of(program.order_by, &SortItem::descending)) {}

bool RowKey::make_order() {
  text_.clear();
  has_scalars_ = true;
  const auto& order = program_.order_by;
  for (const SortItem& item : order) {
    const Value value = item.value->evaluate(evaluation_);
    if (value.is_array() || value.is_object()) has_scalars_ = false;
    const bool appended = item.descending ? evaluation_.append_order_key_descending(text_, value)
                                          : evaluation_.append_order_key(text_, value);
    if (!appended) return false;
  }
  order_bytes_ = text_.size();
  return !evaluation_.failed();
}

bool RowKey::make() {
  if (!make_order()) return false;
  std::vector<std::uint64_t> positions = combinations_.positions();
  if (program_.has_distinct_source()) {
    text_ += combinations_.distinct_key();
    positions.erase(positions.begin());
  } else if (evaluation_.row.is_bound()) {
    append_tie(evaluation_.row.document().id);
  }
  append_positions(text_, positions);
  return true;
}

void RowKey::make_of(std::string_view order, std::string_view document_id) {
  text_ = order;
  order_bytes_ = order.size();
  append_tie(document_id);
}

// Clients that merge continue after a row by the number of its item, in ascending order, or in descending order under
// DESC.
void RowKey::append_tie(std::string_view document_id) {
  if (program_.is_merged_by_client) {
    if (const auto number = shape_.number_of(document_id)) append_key_u64(text_, is_descending_ ? ~*number : *number);
  }
  append_order_key(text_, Value::of(document_id));
}

}  // namespace octavo::query::sql
