#include "query/sql/constraints/internal/fixed_conjuncts.h"

#include <cstddef>
#include <optional>
#include <utility>

namespace octavo::query::sql {

namespace {

class ConjunctCollector {
 public:
  ConjunctCollector(const ItemPaths& paths, ConstantReader& constants) : paths_(paths), constants_(constants) {}

  void collect(const Expression& expression) {
    if (expression.kind == ExpressionKind::conjunction) {
      for (const auto& operand : expression.operands) collect(*operand);
    } else if (auto property = fixed_property(expression)) {
      found_.properties.push_back(*std::move(property));
    } else {
      found_.are_all = false;
    }
  }

  FixedConjuncts take() { return std::move(found_); }

 private:
  std::optional<FixedProperty> fixed_property(const Expression& expression) {
    FixedProperty property;
    const auto& operands = expression.operands;
    if (expression.kind == ExpressionKind::binary && expression.op == SqlOperator::equal) {
      const bool is_fixed = add(property, *operands[0], *operands[1]) || add(property, *operands[1], *operands[0]);
      return is_fixed ? std::optional(std::move(property)) : std::nullopt;
    }
    if (expression.kind != ExpressionKind::in || expression.flag) return std::nullopt;
    for (std::size_t i = 1; i < operands.size(); ++i) {
      if (!add(property, *operands[0], *operands[i])) return std::nullopt;
    }
    return property;
  }

  // False if `path` is not a path, or `value` not a constant.
  bool add(FixedProperty& property, const Expression& path, const Expression& value) {
    auto found = paths_.path_of(path);
    if (!found || found->has_numbers) return false;
    auto constant = constants_.read(value);
    if (!constant) return false;
    property.path = std::move(found->names);
    property.values.push_back(*std::move(constant));
    return true;
  }

  const ItemPaths& paths_;
  ConstantReader& constants_;
  FixedConjuncts found_;
};

}  // namespace

FixedConjuncts fixed_conjuncts(const Expression& where, const ItemPaths& paths, ConstantReader& constants) {
  ConjunctCollector collector(paths, constants);
  collector.collect(where);
  return collector.take();
}

}  // namespace octavo::query::sql
