#include "analytics/table/sql_type.h"

#include <fmt/format.h>

#include "analytics/duckdb/connection.h"
#include "base/assert.h"

namespace octavo::analytics {

namespace {

using duckdb::quoted_name;
using duckdb::quoted_text;

std::string null_of(const ValueType& type) {
  return "null::" + sql_name(type);
}

std::string unless_null(const std::string& expression, const std::string& otherwise) {
  return fmt::format("case when {} is null then null else {} end", expression, otherwise);
}

std::string member_of(const std::string& expression, const std::string& name) {
  return fmt::format("struct_extract({}, {})", expression, quoted_text(name));
}

std::string variable_of(std::size_t lists) {
  return fmt::format("element{}", lists);
}

// The JSON of a value, NULL for NULL.
std::string json_of(const ValueType& type, const std::string& expression, std::size_t lists) {
  // to_json(null) is no NULL for all types.
  const auto whole = [&](const std::string& value) {
    return unless_null(expression, fmt::format("to_json({})", value));
  };
  if (sql_name(type) == "JSON") return expression;
  if (!type.has_variants()) return whole(expression);
  if (type.kind == ValueKind::list) {
    const std::string variable = variable_of(lists);
    return whole(fmt::format("list_transform({}, lambda {}: {})", expression, variable,
                             json_of(type.element(), variable, lists + 1)));
  }
  std::string members;
  for (std::size_t n = 0; n < type.children.size(); ++n) {
    if (n > 0) members += ", ";
    if (type.kind == ValueKind::object) members += quoted_text(type.names[n]) + ", ";
    members += json_of(type.children[n], member_of(expression, type.names[n]), lists);
  }
  if (type.kind == ValueKind::variants) return fmt::format("coalesce({}, null)", members);
  return unless_null(expression, fmt::format("json_object({})", members));
}

// Each list inside a list has a variable of its own. Names of members stand in quotes, so they are no variables.
std::string converted(const ValueType& from, const ValueType& to, const std::string& expression, std::size_t lists) {
  if (from.kind == ValueKind::none) return null_of(to);
  if (sql_name(from) == sql_name(to)) return expression;
  switch (to.kind) {
    case ValueKind::number:
      return expression + "::DOUBLE";
    case ValueKind::json:
      return json_of(from, expression, lists);
    case ValueKind::list: {
      const std::string variable = variable_of(lists);
      return fmt::format("list_transform({}, lambda {}: {})", expression, variable,
                         converted(from.element(), to.element(), variable, lists + 1));
    }
    case ValueKind::object:
    case ValueKind::variants: {
      std::string members;
      for (std::size_t n = 0; n < to.children.size(); ++n) {
        // Members are only added, behind those that there are.
        const std::string& name = to.names[n];
        const std::string value = n < from.children.size()
                                      ? converted(from.children[n], to.children[n], member_of(expression, name), lists)
                                      : null_of(to.children[n]);
        members += fmt::format("{}{} := {}", n > 0 ? ", " : "", quoted_name(name), value);
      }
      return unless_null(expression, fmt::format("struct_pack({})", members));
    }
    default:
      OCTAVO_ASSERT(false);
      return null_of(to);
  }
}

}  // namespace

std::string sql_name(const ValueType& type) {
  switch (type.kind) {
    case ValueKind::boolean:
      return "BOOLEAN";
    case ValueKind::integer:
      return "BIGINT";
    case ValueKind::number:
      return "DOUBLE";
    case ValueKind::text:
      return "VARCHAR";
    case ValueKind::list:
      return sql_name(type.element()) + "[]";
    case ValueKind::object:
    case ValueKind::variants: {
      if (type.children.empty()) return "JSON";
      std::string members;
      for (std::size_t n = 0; n < type.children.size(); ++n) {
        members += fmt::format("{}{} {}", n > 0 ? ", " : "", quoted_name(type.names[n]), sql_name(type.children[n]));
      }
      return fmt::format("STRUCT({})", members);
    }
    case ValueKind::none:
    case ValueKind::json:
      break;
  }
  return "JSON";
}

std::string conversion(const ValueType& from, const ValueType& to, const std::string& expression) {
  return converted(from, to, expression, 0);
}

}  // namespace octavo::analytics
