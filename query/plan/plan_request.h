#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "query/index/index_definition.h"
#include "query/json/field_path.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// Longer queries are parsed and planned on a worker: they may list thousands of strings, which must be sorted.
inline constexpr std::size_t inline_query_bytes_max = 16ULL << 10;

/// What the planner reads of a query, in whichever language the query is written.
struct PlanRequest {
  Selector selector;  ///< holds for every result
  /// Additional conditions that hold when strings are compared by their bytes; used for indexes in that order. Has the
  /// alternatives of `selector`, in the same order.
  std::optional<Selector> ordinal;
  bool matches_nothing = false;  ///< there are no results, whatever `selector` says: no index is examined

  std::vector<OrderedField> sort;   ///< order of the results; empty: any
  bool sort_is_ordinal = false;     ///< `sort` is by bytes: indexes in the collation's order do not serve it
  bool sort_keeps_missing = false;  ///< documents without a sort field are results too, and come first

  /// Maximum number of matches that are needed, counted from the first.
  std::uint64_t matches_needed = std::numeric_limits<std::uint64_t>::max();
  /// The matches are aggregated: all of them are read, and an index that has their fields is read instead of the
  /// documents, even if it narrows nothing.
  bool is_aggregated = false;
  /// The fields that the results are made of. An index that has all of them spares the documents. Empty: the results
  /// are made of whole documents.
  std::vector<FieldPath> fields;

  /// The index to use if it can be used: empty, [ddoc] or [ddoc, name]; ddoc with or without `_design/`.
  std::vector<std::string> use_index;
  bool allow_fallback = true;  ///< false: it is an error if that index, or any index, cannot be used
  /// CouchDB's rules: an index must serve the sort, and only `use_index` may choose a partial index.
  bool strict = false;
};

}  // namespace octavo::query
