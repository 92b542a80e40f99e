#include "query/sql/compile/select_items.h"

#include <algorithm>

#include "base/ascii_case.h"

namespace octavo::query::sql {

namespace {

struct AggregateFunction {
  std::string_view name;
  AggregateKind kind;
  std::string_view plan_name;
};
constexpr AggregateFunction aggregate_table[] = {
    {"AVG", AggregateKind::average, "Average"},      {"COUNT", AggregateKind::count, "Count"},
    {"COUNTIF", AggregateKind::count_if, "CountIf"}, {"MAKELIST", AggregateKind::make_list, "MakeList"},
    {"MAKESET", AggregateKind::make_set, "MakeSet"}, {"MAX", AggregateKind::maximum, "Max"},
    {"MIN", AggregateKind::minimum, "Min"},          {"SUM", AggregateKind::sum, "Sum"},
};

}  // namespace

std::optional<AggregateKind> aggregate_kind(std::string_view function) {
  for (const AggregateFunction& known : aggregate_table) {
    if (equals_ignoring_case(function, known.name)) return known.kind;
  }
  return std::nullopt;
}

std::string_view aggregate_name(AggregateKind kind) {
  for (const AggregateFunction& known : aggregate_table) {
    if (known.kind == kind) return known.plan_name;
  }
  return "";
}

bool contains_aggregate(const Expression& expression) {
  if (is_aggregate_call(expression)) return true;
  return std::ranges::any_of(expression.operands,
                             [](const ExpressionPtr& operand) { return contains_aggregate(*operand); });
}

std::string item_name(const SelectItem& item) {
  if (!item.alias.empty()) return item.alias;
  const Expression& expression = *item.expression;
  if (expression.kind == ExpressionKind::property || expression.kind == ExpressionKind::identifier) {
    return expression.text;
  }
  return {};
}

std::vector<std::string> item_names(const Query& query) {
  std::vector<std::string> names;
  std::size_t number = 0;
  for (const SelectItem& item : query.items) {
    names.push_back(item_name(item));
    if (names.back().empty()) names.back() = "$" + std::to_string(++number);
  }
  return names;
}

}  // namespace octavo::query::sql
