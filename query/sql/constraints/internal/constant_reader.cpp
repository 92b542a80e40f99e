#include "query/sql/constraints/internal/constant_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "query/json/parsed_document.h"

namespace octavo::query::sql {

namespace {

namespace json = boost::json;

// JSON has no infinite numbers.
std::optional<json::value> number_constant(double number) {
  return std::isfinite(number) ? std::optional(json::value(number)) : std::nullopt;
}

}  // namespace

std::optional<json::value> ConstantReader::read(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::null:
      return json::value(nullptr);
    case ExpressionKind::boolean:
      return json::value(expression.flag);
    case ExpressionKind::number:
      return number_constant(expression.number);
    case ExpressionKind::string:
      return json::value(expression.text);
    case ExpressionKind::unary: {
      const Expression& operand = *expression.operands[0];
      const bool is_number = expression.op == SqlOperator::minus && operand.kind == ExpressionKind::number;
      return is_number ? number_constant(-operand.number) : std::nullopt;
    }
    case ExpressionKind::parameter:
      return read_parameter(expression);
    default:
      return std::nullopt;
  }
}

std::optional<json::value> ConstantReader::read_parameter(const Expression& expression) {
  const auto found = std::ranges::find(query_.parameters(), expression.text, &SqlParameter::name);
  if (found == query_.parameters().end() || found->value.empty()) return std::nullopt;
  if (found->value.size() > parameter_bytes_left_) return std::nullopt;
  parameter_bytes_left_ -= found->value.size();
  auto parsed = parse_json(found->value);
  if (!parsed || parsed->is_array() || parsed->is_object()) return std::nullopt;
  return *std::move(parsed);
}

}  // namespace octavo::query::sql
