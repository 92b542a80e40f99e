#pragma once

#include <vector>

#include "query/index/index_definition.h"
#include "query/plan/key_range.h"

namespace octavo::query {

/// Whether walking an index returns results in the requested order.
struct SortFit {
  bool serves = false;
  bool descending = false;  ///< when walked backwards
};

/// The columns of an index serve a sort if they are the sort's fields in order, not counting fields with only one value
/// in `bounds`. The document id follows the last column. All directions must agree, or all must differ.
SortFit fit_sort(const IndexDefinition& index, const IndexBounds& bounds, const std::vector<OrderedField>& sort);

}  // namespace octavo::query
