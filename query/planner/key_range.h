#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "query/index/index_definition.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// Ranges over more combinations than this become one wider range with a check of each document.
inline constexpr std::size_t key_ranges_max = 512;

/// A stretch of index entry keys (index_entry.h, without the prefix of a local index): begin <= key < end, bytewise.
struct KeyRange {
  std::string begin;
  std::string end;

  bool operator==(const KeyRange&) const = default;
};

/// Where in an index everything lies that a selector can match.
struct IndexBounds {
  /// In key order, disjoint; none: nothing can match. A document has an entry in one of them at most, or several only
  /// by the elements of an array.
  std::vector<KeyRange> ranges;
  std::size_t columns_used = 0;     ///< leading fields of the index that narrow the ranges
  std::size_t point_columns = 0;    ///< of these, the leading ones with one single value each: constant in the result
  bool one_value = false;           ///< all used columns have one single value, a plain string maybe in two ranges
  std::vector<bool> column_exact;   ///< by used column: the ranges say all that the selector says of it
  std::vector<bool> column_exists;  ///< by used column: no entry in the ranges lacks the field
  boost::json::array start_key;     ///< of the first range, as values, for people
  boost::json::array end_key;       ///< of the last range

  bool narrows() const { return columns_used > 0; }
};

/// `must_exist`: fields that a result must have besides (those it is sorted by). `ordinal`: what else is known, when
/// strings are compared by their bytes; of use for indexes in that order. Without it they know no more of a string than
/// its type.
IndexBounds bounds_for(const IndexDefinition& index, const Selector& selector,
                       const std::vector<OrderedField>& must_exist, const Selector* ordinal = nullptr);

/// What an index can know of a field of its own. In the collation's order, where the index is by bytes, of a string
/// only its type, or that it is a plain one: then it says what has entries of strings that are not plain besides.
FieldConstraint constraint_on(const IndexDefinition& index, const OrderedField& field, const Selector& selector,
                              const Selector* ordinal);

}  // namespace octavo::query
