#include "query/sql/constraints/internal/path_conditions.h"

#include <utility>
#include <vector>

#include "base/assert.h"
#include "query/selector/selector_builder.h"
#include "query/sql/constraints/exact_matches.h"

namespace octavo::query::sql {

namespace {

namespace json = boost::json;

struct ValueTest {
  Operator op;
  json::value argument;
};

// The value at the path passes all of the tests; at least one.
SelectorNode condition(const StoredPath& path, std::vector<ValueTest> tests) {
  const FieldPath& tested = path.in_elements ? *path.in_elements : path.field;
  std::vector<SelectorNode> nodes;
  for (ValueTest& test : tests) {
    nodes.push_back(SelectorBuilder::compare(tested, test.op, std::move(test.argument)));
  }
  SelectorNode joined = nodes.size() == 1 ? std::move(nodes[0]) : SelectorBuilder::all_of(std::move(nodes));
  return path.in_elements ? SelectorBuilder::some_element(path.field, std::move(joined)) : joined;
}

Operator selector_operator(SqlOperator op) {
  switch (op) {
    case SqlOperator::less:
      return Operator::less;
    case SqlOperator::less_equal:
      return Operator::less_equal;
    case SqlOperator::greater:
      return Operator::greater;
    default:
      return Operator::greater_equal;
  }
}

}  // namespace

SelectorNode path_exists(const StoredPath& path, bool exists) {
  return condition(path, {{Operator::exists, json::value(exists)}});
}

SelectorNode path_has_type(const StoredPath& path, std::string_view type) {
  return condition(path, {{Operator::type, json::value(type)}});
}

SelectorNode path_equals(const StoredPath& path, const json::value& value) {
  OCTAVO_ASSERT(!value.is_array() && !value.is_object());
  if (value.is_number() && !is_exact(value.to_number<double>())) return path_has_type(path, "number");
  return condition(path, {{Operator::equal, value}});
}

SelectorNode path_compares(const StoredPath& path, SqlOperator op, const json::value& value, BoundOrder order) {
  const ValueTest test{selector_operator(op), value};
  if (value.is_number()) {
    if (!is_exact(value.to_number<double>())) return path_has_type(path, "number");
    return condition(path, {{Operator::type, "number"}, test});
  }
  if (value.is_string()) {
    if (!path.in_elements && path.field.is("_id")) return condition(path, {test});
    if (order != BoundOrder::ordinal) return path_has_type(path, "string");
    return condition(path, {{Operator::type, "string"}, test});
  }
  if (value.is_bool()) return path_has_type(path, "boolean");
  return path_equals(path, value);
}

SelectorNode path_begins_with(const StoredPath& path, std::string_view prefix) {
  if (prefix.empty()) return path_has_type(path, "string");
  return condition(path, {{Operator::begins_with, json::value(prefix)}});
}

}  // namespace octavo::query::sql
