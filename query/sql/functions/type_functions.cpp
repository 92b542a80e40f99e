// Functions that check types, IIF, and functions of the item itself.

#include <cmath>

#include "query/sql/functions/function_table.h"

namespace octavo::query::sql {

namespace {

using Arguments = std::span<const Value>;

template <Type type>
Value is_type(Evaluation&, Arguments arguments) {
  return Value::of(arguments[0].type() == type);
}

Value is_defined(Evaluation&, Arguments arguments) {
  return Value::of(!arguments[0].is_undefined());
}

Value is_primitive(Evaluation&, Arguments arguments) {
  const Type type = arguments[0].type();
  return Value::of(type != Type::undefined && type != Type::array && type != Type::object);
}

Value is_finite_number(Evaluation&, Arguments arguments) {
  return Value::of(arguments[0].is_number() && std::isfinite(arguments[0].number()));
}

Value is_integer(Evaluation&, Arguments arguments) {
  return Value::of(arguments[0].integer().has_value());
}

Value iif(Evaluation&, Arguments arguments) {
  return arguments[0].is_true() ? arguments[1] : arguments[2];
}

// The sequence of the item's last write in its database: unique, as Cosmos DB's value is in its partition.
Value document_id(Evaluation& evaluation, Arguments arguments) {
  if (!arguments[0].is_object() || !evaluation.row.is_bound()) return {};
  return Value::of(static_cast<double>(evaluation.row.document().sequence));
}

constexpr Function type_function_table[] = {
    {"IS_ARRAY", 1, 1, is_type<Type::array>, true},
    {"IS_BOOL", 1, 1, is_type<Type::boolean>, true},
    {"IS_BOOLEAN", 1, 1, is_type<Type::boolean>, true},  // Microsoft's clients write it when they resume an ORDER BY
    {"IS_DEFINED", 1, 1, is_defined, true},
    {"IS_FINITE_NUMBER", 1, 1, is_finite_number, true},
    {"IS_INTEGER", 1, 1, is_integer, true},
    {"IS_NULL", 1, 1, is_type<Type::null>, true},
    {"IS_NUMBER", 1, 1, is_type<Type::number>, true},
    {"IS_OBJECT", 1, 1, is_type<Type::object>, true},
    {"IS_PRIMITIVE", 1, 1, is_primitive, true},
    {"IS_STRING", 1, 1, is_type<Type::string>, true},
    {"IIF", 3, 3, iif, true},
    {"DOCUMENTID", 1, 1, document_id},
};

}  // namespace

std::span<const Function> type_functions() {
  return type_function_table;
}

}  // namespace octavo::query::sql
