#include "query/sql/constraints/sql_constraints.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "query/selector/selector_builder.h"
#include "query/sql/constraints/internal/constant_reader.h"
#include "query/sql/constraints/internal/fixed_conjuncts.h"
#include "query/sql/constraints/internal/stored_paths.h"
#include "query/sql/constraints/internal/where_translator.h"
#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

namespace {

// What WHERE requires, for indexes with this order of strings. nullopt: nothing, or it is too large for a selector;
// then no index is used.
std::optional<Selector> selector_of(const Expression& where, const StoredPaths& paths, ConstantReader& constants,
                                    BoundOrder order) {
  WhereTranslator translator(paths, constants, order);
  auto condition = translator.translate(where);
  if (!condition) return std::nullopt;
  auto selector = SelectorBuilder::build(*std::move(condition));
  if (!selector) return std::nullopt;
  return *std::move(selector);
}

void add_where(SqlConstraints& constraints, const SqlQuery& query, const StoredPaths& paths, const RowShape& shape) {
  const Expression& where = *query.syntax().where;
  ConstantReader constants(query);
  FixedConjuncts fixed = fixed_conjuncts(where, paths.item_paths(), constants);
  constraints.fixed = std::move(fixed.properties);
  constraints.where_is_fixed = fixed.are_all;
  auto selector = selector_of(where, paths, constants, BoundOrder::collation);
  if (!selector) return;
  constraints.selector = *std::move(selector);
  // The limit on copies of parameters is that of one selector.
  ConstantReader constants_again(query);
  auto ordinal = selector_of(where, paths, constants_again, BoundOrder::ordinal);
  if (ordinal) constraints.ordinal = *std::move(ordinal);
  if (constraints.where_is_fixed) constraints.where_holds = equality_of(constraints.fixed, shape);
}

// ORDER BY as fields; empty if it is by anything else.
std::vector<OrderedField> sort_of(const SqlQuery& query, const StoredPaths& paths) {
  std::vector<OrderedField> sort;
  for (const OrderItem& item : query.syntax().order_by) {
    auto field = paths.field_of(*item.expression);
    if (!field) return {};
    sort.push_back({*std::move(field), item.descending});
  }
  return sort;
}

// Whether these fields have the same order in Mango's indexes: no strings, arrays or objects, and none missing.
bool is_in_collation(const std::vector<OrderedField>& sort, const Selector& selector) {
  const FieldConstraint below_strings{{Interval{std::nullopt, true, boost::json::value(""), false}}, false, true};
  return std::ranges::all_of(sort, [&](const OrderedField& field) {
    return field.path.is("_id") || is_subset(selector.constraint_for(field.path), below_strings, BoundOrder::collation);
  });
}

}  // namespace

SqlConstraints constraints_of(const SqlQuery& query, const RowShape& shape) {
  SqlConstraints constraints;
  const StoredPaths paths(query, shape);
  if (paths.item_paths().root().empty()) return constraints;
  if (query.syntax().where) add_where(constraints, query, paths, shape);
  constraints.sort = sort_of(query, paths);
  constraints.sort_is_ordinal = !is_in_collation(constraints.sort, constraints.selector);
  return constraints;
}

std::vector<FixedProperty> fixed_properties(const SqlQuery& query) {
  const ItemPaths paths(query);
  if (!query.syntax().where) return {};
  ConstantReader constants(query);
  return fixed_conjuncts(*query.syntax().where, paths, constants).properties;
}

std::vector<FieldPath> equalities_of(const SqlQuery& query) {
  std::vector<FieldPath> paths;
  for (const FixedProperty& property : fixed_properties(query)) {
    if (property.values.size() != 1) continue;
    if (auto path = field_path_of(property.path)) paths.push_back(*std::move(path));
  }
  return paths;
}

}  // namespace octavo::query::sql
