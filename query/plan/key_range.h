#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "query/index/index_definition.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// More combinations of ranges than this become one wider range, and each document is checked.
inline constexpr std::size_t key_ranges_max = 512;

/// A range of index entry keys (index_entry.h, without the prefix of a local index): begin <= key < end, bytewise.
struct KeyRange {
  std::string begin;
  std::string end;

  bool operator==(const KeyRange&) const = default;
};

/// The part of an index that contains everything a selector can match.
struct IndexBounds {
  /// In key order, disjoint; empty: nothing can match. A document has an entry in at most one of them, except in an
  /// index of array elements.
  std::vector<KeyRange> ranges;
  std::size_t columns_used = 0;     ///< leading fields of the index that narrow the ranges
  std::size_t point_columns = 0;    ///< of these, the leading ones with one value each: constant in the result
  bool one_value = false;           ///< all used columns have one value each; a plain string may take two ranges
  std::vector<bool> column_exact;   ///< by used column: the ranges express all that the selector requires
  std::vector<bool> column_exists;  ///< by used column: no entry in the ranges lacks the field
  boost::json::array start_key;     ///< of the first range, as values, for display
  boost::json::array end_key;       ///< of the last range

  bool narrows() const { return columns_used > 0; }
};

/// `must_exist`: further fields that a result must have (those it is sorted by). `ordinal`: additional conditions that
/// hold when strings are compared by their bytes, used for indexes in that order. Without it such indexes use only the
/// type of a string.
IndexBounds bounds_for(const IndexDefinition& index, const Selector& selector,
                       const std::vector<OrderedField>& must_exist, const Selector* ordinal = nullptr);

/// The part of the constraint on a field that the entries of the index can express. If the condition is in the
/// collation's order and the index is by bytes, this is only the type of a string; or plain strings, if the index also
/// has entries for strings that are not plain.
FieldConstraint constraint_on(const IndexDefinition& index, const OrderedField& field, const Selector& selector,
                              const Selector* ordinal);

}  // namespace octavo::query
