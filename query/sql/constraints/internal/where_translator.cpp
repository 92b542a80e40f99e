#include "query/sql/constraints/internal/where_translator.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "base/ascii_case.h"
#include "query/selector/selector_builder.h"
#include "query/sql/constraints/internal/path_conditions.h"

namespace octavo::query::sql {

namespace {

namespace json = boost::json;

/// A function that is true only if its first argument has a type.
struct TypedCall {
  std::string_view name;
  std::string_view type;
};
constexpr TypedCall typed_calls[] = {
    {"ARRAY_CONTAINS", "array"}, {"CONTAINS", "string"},    {"ENDSWITH", "string"},   {"IS_ARRAY", "array"},
    {"IS_BOOL", "boolean"},      {"IS_BOOLEAN", "boolean"}, {"IS_NUMBER", "number"},  {"IS_OBJECT", "object"},
    {"IS_STRING", "string"},     {"REGEXMATCH", "string"},  {"STARTSWITH", "string"}, {"STRINGEQUALS", "string"},
};

bool is_ordering(SqlOperator op) {
  return op == SqlOperator::less || op == SqlOperator::less_equal || op == SqlOperator::greater ||
         op == SqlOperator::greater_equal;
}

SqlOperator mirrored(SqlOperator op) {
  switch (op) {
    case SqlOperator::less:
      return SqlOperator::greater;
    case SqlOperator::less_equal:
      return SqlOperator::greater_equal;
    case SqlOperator::greater:
      return SqlOperator::less;
    case SqlOperator::greater_equal:
      return SqlOperator::less_equal;
    default:
      return op;
  }
}

}  // namespace

std::optional<SelectorNode> WhereTranslator::translate(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::conjunction:
      return translate_conjunction(expression);
    case ExpressionKind::disjunction:
      return translate_disjunction(expression);
    case ExpressionKind::binary:
      return translate_comparison(expression);
    case ExpressionKind::in:
      return translate_in(expression);
    case ExpressionKind::between:
      return translate_between(expression);
    case ExpressionKind::like:
      return translate_like(expression);
    case ExpressionKind::call:
      return translate_call(expression);
    case ExpressionKind::unary:
      return translate_not(expression);
    case ExpressionKind::property:
      return translate_property(expression);
    default:
      return std::nullopt;
  }
}

std::optional<SelectorNode> WhereTranslator::translate_conjunction(const Expression& expression) {
  std::vector<SelectorNode> conditions;
  for (const auto& operand : expression.operands) {
    if (auto translated = translate(*operand)) conditions.push_back(*std::move(translated));
  }
  if (conditions.empty()) return std::nullopt;
  return SelectorBuilder::all_of(std::move(conditions));
}

std::optional<SelectorNode> WhereTranslator::translate_disjunction(const Expression& expression) {
  std::vector<SelectorNode> sides;
  for (const auto& operand : expression.operands) {
    auto translated = translate(*operand);
    if (!translated) return std::nullopt;
    sides.push_back(*std::move(translated));
  }
  return SelectorBuilder::any_of(std::move(sides));
}

std::optional<SelectorNode> WhereTranslator::compare(const Expression& path, SqlOperator op,
                                                     const Expression& constant) {
  const auto stored = paths_.stored_path_of(path);
  if (!stored) return std::nullopt;
  const auto value = constants_.read(constant);
  if (!value) return std::nullopt;
  return op == SqlOperator::equal ? path_equals(*stored, *value) : path_compares(*stored, op, *value, order_);
}

std::optional<SelectorNode> WhereTranslator::translate_comparison(const Expression& expression) {
  const SqlOperator op = expression.op;
  if (op != SqlOperator::equal && !is_ordering(op)) return std::nullopt;
  const Expression& left = *expression.operands[0];
  const Expression& right = *expression.operands[1];
  auto condition = compare(left, op, right);
  return condition ? std::move(condition) : compare(right, mirrored(op), left);
}

std::optional<SelectorNode> WhereTranslator::translate_in(const Expression& expression) {
  const auto path = paths_.stored_path_of(*expression.operands[0]);
  if (expression.flag || !path) return std::nullopt;
  std::vector<SelectorNode> sides;
  for (std::size_t i = 1; i < expression.operands.size(); ++i) {
    const auto value = constants_.read(*expression.operands[i]);
    if (!value) return std::nullopt;
    sides.push_back(path_equals(*path, *value));
  }
  if (sides.size() == 1) return std::move(sides[0]);
  // Nested one level deeper, so that it stays one set of ranges of one index.
  std::vector<SelectorNode> nested;
  nested.push_back(SelectorBuilder::any_of(std::move(sides)));
  return SelectorBuilder::all_of(std::move(nested));
}

std::optional<SelectorNode> WhereTranslator::translate_between(const Expression& expression) {
  if (expression.flag) return std::nullopt;
  const Expression& path = *expression.operands[0];
  auto from = compare(path, SqlOperator::greater_equal, *expression.operands[1]);
  auto to = compare(path, SqlOperator::less_equal, *expression.operands[2]);
  if (from && to) return SelectorBuilder::all_of({*std::move(from), *std::move(to)});
  return from ? from : to;
}

std::optional<SelectorNode> WhereTranslator::translate_like(const Expression& expression) {
  const auto path = paths_.stored_path_of(*expression.operands[0]);
  if (expression.flag || !path) return std::nullopt;
  const auto pattern = constants_.read(*expression.operands[1]);
  if (!pattern || !pattern->is_string()) return path_has_type(*path, "string");
  std::string_view prefix = pattern->get_string();
  prefix = prefix.substr(0, prefix.find_first_of("%_["));
  if (!expression.text.empty()) prefix = prefix.substr(0, prefix.find(expression.text));
  return path_begins_with(*path, prefix);
}

std::optional<SelectorNode> WhereTranslator::translate_call(const Expression& expression) {
  if (expression.flag || expression.operands.empty()) return std::nullopt;
  const auto path = paths_.stored_path_of(*expression.operands[0]);
  if (!path) return std::nullopt;
  const std::string_view name = expression.text;
  if (equals_ignoring_case(name, "IS_DEFINED")) return path_exists(*path, true);
  if (equals_ignoring_case(name, "IS_NULL")) return path_equals(*path, nullptr);
  if (equals_ignoring_case(name, "STARTSWITH") && expression.operands.size() == 2) {
    const auto prefix = constants_.read(*expression.operands[1]);
    if (prefix && prefix->is_string()) return path_begins_with(*path, prefix->get_string());
  }
  if (equals_ignoring_case(name, "ARRAY_CONTAINS")) {
    if (auto condition = translate_array_contains(expression)) return condition;
  }
  for (const TypedCall& call : typed_calls) {
    if (equals_ignoring_case(name, call.name)) return path_has_type(*path, call.type);
  }
  return std::nullopt;
}

// ARRAY_CONTAINS(path, constant). For an object: some element has those of its members that are not containers.
std::optional<SelectorNode> WhereTranslator::translate_array_contains(const Expression& expression) {
  if (expression.operands.size() < 2) return std::nullopt;
  const auto array = paths_.field_of(*expression.operands[0]);
  if (!array || array->is("_id")) return std::nullopt;
  const Expression& wanted = *expression.operands[1];
  if (const auto value = constants_.read(wanted)) return path_equals({*array, FieldPath()}, *value);
  if (wanted.kind != ExpressionKind::object) return std::nullopt;
  std::vector<SelectorNode> conditions;
  for (std::size_t i = 0; i < wanted.operands.size(); ++i) {
    const auto value = constants_.read(*wanted.operands[i]);
    const auto below = field_path_of(std::span(&wanted.names[i], 1));
    if (!value || !below || may_be_position(wanted.names[i])) continue;
    conditions.push_back(path_equals({*array, below}, *value));
  }
  if (conditions.empty()) return std::nullopt;
  return SelectorBuilder::all_of(std::move(conditions));
}

// Only what certainly holds in Mango, too: NOT IS_DEFINED of a top-level property.
std::optional<SelectorNode> WhereTranslator::translate_not(const Expression& expression) const {
  const Expression& operand = *expression.operands[0];
  if (expression.op != SqlOperator::logical_not || operand.kind != ExpressionKind::call || operand.flag ||
      !equals_ignoring_case(operand.text, "IS_DEFINED") || operand.operands.size() != 1) {
    return std::nullopt;
  }
  const Expression& property = *operand.operands[0];
  const auto path = paths_.item_paths().path_of(property);
  const auto field = paths_.field_of(property);
  if (!path || !field || path->has_numbers || field->parts().size() != 1 || field->is("_id")) return std::nullopt;
  return path_exists({*field, std::nullopt}, false);
}

// A property by itself, which must be true.
std::optional<SelectorNode> WhereTranslator::translate_property(const Expression& expression) const {
  const auto path = paths_.stored_path_of(expression);
  if (!path) return std::nullopt;
  return path_equals(*path, json::value(true));
}

}  // namespace octavo::query::sql
