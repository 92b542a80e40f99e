#include "query/plan/sort_fit.h"

namespace octavo::query {

SortFit fit_sort(const IndexDefinition& index, const IndexBounds& bounds, const std::vector<OrderedField>& sort) {
  // Most queries have no order.
  if (sort.empty()) return {.serves = true};
  std::vector<OrderedField> columns;
  for (std::size_t i = 0; i < index.fields.size(); ++i) columns.push_back(index.fields[i]);
  if (const auto id = FieldPath::parse("_id")) columns.push_back({*id, false});
  SortFit fit;
  bool first = true;
  std::size_t column = 0;
  const auto is_constant = [&](const FieldPath& path) {
    for (std::size_t i = 0; i < bounds.point_columns; ++i) {
      if (index.fields[i].path == path) return true;
    }
    return false;
  };
  for (const OrderedField& field : sort) {
    if (is_constant(field.path)) continue;
    while (column < bounds.point_columns) ++column;
    if (column == columns.size() || columns[column].path != field.path) return {};
    const bool backwards = columns[column].descending != field.descending;
    if (!first && backwards != fit.descending) return {};
    fit.descending = backwards;
    first = false;
    ++column;
  }
  fit.serves = true;
  return fit;
}

}  // namespace octavo::query
