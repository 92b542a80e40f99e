#pragma once

#include <string_view>

#include <boost/json.hpp>

#include "query/selector/selector.h"
#include "query/sql/constraints/internal/stored_paths.h"
#include "query/sql/syntax/syntax_tree.h"

/// Conditions on the value at a path: they hold in Mango wherever they hold in SQL, and maybe for more values.
namespace octavo::query::sql {

SelectorNode path_exists(const StoredPath& path, bool exists);
/// `type`: as in Mango's `$type`.
SelectorNode path_has_type(const StoredPath& path, std::string_view type);
/// `value`: a scalar. Equality of arrays and objects is another one in Mango.
SelectorNode path_equals(const StoredPath& path, const boost::json::value& value);
/// `path op value` with one of the ordering operators and a scalar, which also fixes the type of what is stored.
/// `order`: that of strings, `collation` or `ordinal`.
SelectorNode path_compares(const StoredPath& path, SqlOperator op, const boost::json::value& value, BoundOrder order);
SelectorNode path_begins_with(const StoredPath& path, std::string_view prefix);

}  // namespace octavo::query::sql
