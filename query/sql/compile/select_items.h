#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/sql/evaluate/program.h"
#include "query/sql/syntax/syntax_tree.h"

/// Properties of a select list alone: aggregates, and the names of its items.
namespace octavo::query::sql {

/// The name of an aggregate in query plans: `Count`, `Average`, …
std::string_view aggregate_name(AggregateKind kind);
/// The aggregate with this function name; nullopt: it is not an aggregate.
std::optional<AggregateKind> aggregate_kind(std::string_view function);

inline bool is_aggregate_call(const Expression& expression) {
  return expression.kind == ExpressionKind::call && !expression.flag && aggregate_kind(expression.text);
}

/// Whether an expression has an aggregate function outside of subqueries.
bool contains_aggregate(const Expression& expression);

/// The name of a SELECT item: its alias, or the last property that it names; empty: it gets a number.
std::string item_name(const SelectItem& item);
/// The names of all items of a select list; those without one are `$1`, `$2`, ….
std::vector<std::string> item_names(const Query& query);

}  // namespace octavo::query::sql
