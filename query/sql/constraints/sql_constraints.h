#pragma once

#include <vector>

#include "query/index/index_definition.h"
#include "query/selector/selector.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/constraints/exact_matches.h"
#include "query/sql/evaluate/row_shape.h"

namespace octavo::query::sql {

/// What indexes can use of a query: a selector that matches every item that WHERE matches (and maybe more: each item is
/// tested anyway).
///
/// Where the two languages differ, the selector is weaker. Mango's indexes have strings in ICU's order, so only the
/// type is left of a range of strings, except for `_id`; equal strings are equal in both. Numbers beyond 2^53, which
/// differ in an index but are equal here, become any number.
struct SqlConstraints {
  Selector selector;  ///< matches everything if no condition is known
  /// The same for indexes with strings in byte order, including ranges of strings.
  Selector ordinal;
  /// Matching documents for which WHERE is known to hold without evaluating it.
  WhereHolds where_holds = WhereHolds::unknown;
  bool where_is_fixed = false;       ///< WHERE is the conjunction of `fixed`, and nothing else
  std::vector<FixedProperty> fixed;  ///< conjuncts `path = constant` and `path IN (constants)`
  /// ORDER BY as fields; empty if it is by anything else.
  std::vector<OrderedField> sort;
  bool sort_is_ordinal = false;  ///< Mango's indexes may have another order
};

/// `shape` says where an item's properties are stored.
SqlConstraints constraints_of(const SqlQuery& query, const RowShape& shape);

/// The constants that WHERE requires of the item's properties, for partition keys: conjuncts as in `fixed`, by the
/// property's path in the row.
std::vector<FixedProperty> fixed_properties(const SqlQuery& query);

/// Those of them that have one constant, as fields.
std::vector<FieldPath> equalities_of(const SqlQuery& query);

}  // namespace octavo::query::sql
