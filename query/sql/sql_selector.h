#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "query/index/index_definition.h"
#include "query/selector/selector.h"
#include "query/sql/equal_texts.h"
#include "query/sql/row_shape.h"
#include "query/sql/sql_query.h"

namespace octavo::query::sql {

/// What indexes can know of a query: a Mango selector that every item matches which the query's WHERE matches (and
/// maybe more: each item is tested all the same).
///
/// Where the two languages differ the selector says less: Mango's indexes have strings in ICU's order, so of a range of
/// strings only their type is left, save for `_id`; equal strings are equal in both. Numbers beyond 2^53, which differ
/// in an index but are equal here, are any number.
struct SqlConstraints {
  boost::json::value selector_json;  ///< `{}`: nothing
  Selector selector;
  /// The same of indexes whose strings are in the order of their bytes, ranges of strings and all.
  Selector ordinal;
  /// Of which documents that match the selector WHERE holds, too.
  WhereHolds where_holds = WhereHolds::unknown;
  bool where_is_fixed = false;       ///< WHERE is the conjunction of `fixed`, and not more
  std::vector<FixedProperty> fixed;  ///< conjuncts `path = constant` and `path IN (constants)`
  /// The ORDER BY as fields; empty when it is by anything else.
  std::vector<OrderedField> sort;
  bool sort_is_ordinal = false;  ///< Mango's indexes may have it in another order
};

/// `shape` tells where an item's properties are stored.
SqlConstraints constraints_of(const SqlQuery& query, const RowShape& shape);

/// The constants that WHERE demands of properties of the item, for partition keys: conjuncts as in `fixed`, by the
/// property's path in the row.
std::vector<FixedProperty> fixed_properties(const SqlQuery& query);

}  // namespace octavo::query::sql
