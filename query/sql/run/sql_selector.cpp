#include "query/sql/run/sql_selector.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "query/collation/collation.h"
#include "query/json/parsed_document.h"
#include "query/selector/selector_builder.h"
#include "query/sql/run/exact_matches.h"
#include "query/sql/syntax/syntax_text.h"
#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

namespace {

namespace json = boost::json;

bool is_number_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

struct PathOfItem {
  std::vector<std::string> names;
  bool has_numbers = false;  ///< steps that may be elements of arrays as well as properties
};

/// Where an expression's value is stored: in a field of the item, or in the elements of an array field.
struct ValuePath {
  FieldPath field;
  std::optional<FieldPath> in_elements;
};

/// An alias of FROM that stands for the elements of an array of the item, one by one.
struct ElementAlias {
  std::string name;
  FieldPath array;
};

class Translator {
 public:
  /// `ordinal`: strings are compared by their bytes; false: like Mango's indexes do.
  Translator(const SqlQuery& query, const RowShape* shape, bool ordinal = false)
      : query_(query), shape_(shape), ordinal_(ordinal) {
    const auto& sources = query.syntax().sources;
    if (sources.empty() || sources[0].subquery || sources[0].iterates || !sources[0].path.empty()) return;
    root_ = sources[0].alias.empty() ? sources[0].root : sources[0].alias;
    for (const FromSource& source : sources) add_elements(source);
  }

  bool has_root() const { return !root_.empty(); }

  /// A condition that holds wherever `expression` is true; nullopt: none is known.
  std::optional<SelectorNode> translate(const Expression& expression) const;
  void collect_fixed(const Expression& expression, std::vector<FixedProperty>& fixed) const;
  std::optional<PathOfItem> path_of(const Expression& expression) const;
  std::optional<FieldPath> field_of(const Expression& expression) const;

 private:
  void add_elements(const FromSource& source);
  std::optional<PathOfItem> path_from(const Expression& expression, std::string_view root) const;
  std::optional<ValuePath> value_path_of(const Expression& expression) const;
  std::optional<SelectorNode> compares(const ValuePath& path, SqlOperator op, const json::value& value) const;
  std::optional<SelectorNode> translate_array_contains(const Expression& expression) const;
  std::optional<json::value> constant_of(const Expression& expression) const;
  std::optional<SelectorNode> translate_comparison(const Expression& expression) const;
  std::optional<SelectorNode> translate_in(const Expression& expression) const;
  std::optional<SelectorNode> translate_between(const Expression& expression) const;
  std::optional<SelectorNode> translate_like(const Expression& expression) const;
  std::optional<SelectorNode> translate_call(const Expression& expression) const;
  std::optional<SelectorNode> translate_not(const Expression& expression) const;

  const SqlQuery& query_;
  const RowShape* shape_;
  const bool ordinal_;
  /// A condition has copies of its values, and a long parameter may be named many times. Beyond this limit they are
  /// left out: every row is tested anyway.
  mutable std::size_t parameter_bytes_left_ = 4 * 1024 * 1024;
  std::string root_;
  std::vector<ElementAlias> elements_;
};

/// One condition on a value.
struct ValueTest {
  Operator op;
  json::value argument;
};

// The value at the path passes all of the tests; at least one.
SelectorNode condition(const ValuePath& path, std::vector<ValueTest> tests) {
  const FieldPath& tested = path.in_elements ? *path.in_elements : path.field;
  std::vector<SelectorNode> nodes;
  for (ValueTest& test : tests) {
    nodes.push_back(SelectorBuilder::compare(tested, test.op, std::move(test.argument)));
  }
  SelectorNode joined = nodes.size() == 1 ? std::move(nodes[0]) : SelectorBuilder::all_of(std::move(nodes));
  return path.in_elements ? SelectorBuilder::some_element(path.field, std::move(joined)) : joined;
}

SelectorNode has_type(const ValuePath& path, std::string_view type) {
  return condition(path, {{Operator::type, json::value(type)}});
}

// Equality with a constant; nullopt for arrays and objects, for which Mango's equality differs.
std::optional<SelectorNode> equals(const ValuePath& path, const json::value& value) {
  if (value.is_array() || value.is_object()) return std::nullopt;
  if (value.is_number() && !is_exact(value.to_number<double>())) return has_type(path, "number");
  return condition(path, {{Operator::equal, value}});
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

bool is_ordering(SqlOperator op) {
  return op == SqlOperator::less || op == SqlOperator::less_equal || op == SqlOperator::greater ||
         op == SqlOperator::greater_equal;
}

// `path op value`, which also fixes the type of the property.
std::optional<SelectorNode> Translator::compares(const ValuePath& path, SqlOperator op,
                                                 const json::value& value) const {
  const ValueTest test{selector_operator(op), value};
  if (value.is_number()) {
    if (!is_exact(value.to_number<double>())) return has_type(path, "number");
    return condition(path, {{Operator::type, "number"}, test});
  }
  if (value.is_string()) {
    if (!path.in_elements && path.field.is("_id")) return condition(path, {test});
    if (!ordinal_) return has_type(path, "string");
    return condition(path, {{Operator::type, "string"}, test});
  }
  if (value.is_bool()) return has_type(path, "boolean");
  if (value.is_null()) return condition(path, {{Operator::equal, nullptr}});
  return std::nullopt;
}

// `alias IN root.path`: an item that yields a row has an element for the alias, so some element meets what WHERE
// requires of the alias.
void Translator::add_elements(const FromSource& source) {
  if (!source.iterates || source.subquery || source.root != root_ || source.path.empty() || !shape_) return;
  std::vector<std::string> names;
  for (const PathStep& step : source.path) {
    if (step.index) return;
    names.push_back(step.name);
  }
  if (query_.computes(names.front())) return;
  if (auto field = shape_->field_path(names); field && !field->is("_id")) {
    elements_.push_back({source.alias, *std::move(field)});
  }
}

std::optional<PathOfItem> Translator::path_from(const Expression& expression, std::string_view root) const {
  PathOfItem path;
  const Expression* at = &expression;
  while (at->kind != ExpressionKind::identifier) {
    if (at->kind == ExpressionKind::property) {
      path.names.push_back(at->text);
      path.has_numbers = path.has_numbers || is_number_text(at->text);
    } else if (at->kind == ExpressionKind::index && at->operands[1]->kind == ExpressionKind::number &&
               at->operands[1]->number >= 0 && at->operands[1]->number < 1e9 &&
               at->operands[1]->number == std::floor(at->operands[1]->number)) {
      path.names.push_back(std::to_string(static_cast<std::uint64_t>(at->operands[1]->number)));
      path.has_numbers = true;
    } else {
      return std::nullopt;
    }
    at = at->operands[0].get();
  }
  if (at->text != root) return std::nullopt;
  std::ranges::reverse(path.names);
  // Indexes know what is stored, not what is computed.
  if (root == root_ && !path.names.empty() && query_.computes(path.names.front())) return std::nullopt;
  return path;
}

std::optional<PathOfItem> Translator::path_of(const Expression& expression) const {
  auto path = path_from(expression, root_);
  return path && !path->names.empty() ? path : std::nullopt;
}

std::optional<FieldPath> Translator::field_of(const Expression& expression) const {
  const auto path = path_of(expression);
  return path && shape_ ? shape_->field_path(path->names) : std::nullopt;
}

std::optional<ValuePath> Translator::value_path_of(const Expression& expression) const {
  if (auto field = field_of(expression)) return ValuePath{*std::move(field), std::nullopt};
  for (const ElementAlias& alias : elements_) {
    const auto path = path_from(expression, alias.name);
    if (!path || path->has_numbers) continue;
    if (path->names.empty()) return ValuePath{alias.array, FieldPath()};
    if (auto below = field_path_of(path->names)) return ValuePath{alias.array, std::move(below)};
  }
  return std::nullopt;
}

std::optional<json::value> Translator::constant_of(const Expression& expression) const {
  switch (expression.kind) {
    case ExpressionKind::null:
      return json::value(nullptr);
    case ExpressionKind::boolean:
      return json::value(expression.flag);
    case ExpressionKind::number:
      if (!std::isfinite(expression.number)) return std::nullopt;
      return json::value(expression.number);
    case ExpressionKind::string:
      return json::value(expression.text);
    case ExpressionKind::unary:
      if (expression.op != SqlOperator::minus || expression.operands[0]->kind != ExpressionKind::number ||
          !std::isfinite(expression.operands[0]->number)) {
        return std::nullopt;
      }
      return json::value(-expression.operands[0]->number);
    case ExpressionKind::parameter: {
      const auto found = std::ranges::find(query_.parameters(), expression.text, &SqlParameter::name);
      if (found == query_.parameters().end() || found->value.empty()) return std::nullopt;
      if (found->value.size() > parameter_bytes_left_) return std::nullopt;
      parameter_bytes_left_ -= found->value.size();
      auto parsed = parse_json(found->value);
      if (!parsed || parsed->is_array() || parsed->is_object()) return std::nullopt;
      return *std::move(parsed);
    }
    default:
      return std::nullopt;
  }
}

std::optional<SelectorNode> Translator::translate_comparison(const Expression& expression) const {
  if (expression.op != SqlOperator::equal && !is_ordering(expression.op)) return std::nullopt;
  auto field = value_path_of(*expression.operands[0]);
  auto value = constant_of(*expression.operands[1]);
  SqlOperator op = expression.op;
  if (!field || !value) {
    field = value_path_of(*expression.operands[1]);
    value = constant_of(*expression.operands[0]);
    op = mirrored(op);
  }
  if (!field || !value) return std::nullopt;
  return op == SqlOperator::equal ? equals(*field, *value) : compares(*field, op, *value);
}

std::optional<SelectorNode> Translator::translate_in(const Expression& expression) const {
  const auto field = value_path_of(*expression.operands[0]);
  if (expression.flag || !field) return std::nullopt;
  std::vector<SelectorNode> sides;
  for (std::size_t i = 1; i < expression.operands.size(); ++i) {
    const auto value = constant_of(*expression.operands[i]);
    auto side = value ? equals(*field, *value) : std::nullopt;
    if (!side) return std::nullopt;
    sides.push_back(*std::move(side));
  }
  if (sides.size() == 1) return sides[0];
  // Nested one level deeper, so that it stays one set of ranges of one index.
  std::vector<SelectorNode> nested;
  nested.push_back(SelectorBuilder::any_of(std::move(sides)));
  return SelectorBuilder::all_of(std::move(nested));
}

std::optional<SelectorNode> Translator::translate_between(const Expression& expression) const {
  const auto field = value_path_of(*expression.operands[0]);
  if (expression.flag || !field) return std::nullopt;
  const auto low = constant_of(*expression.operands[1]);
  const auto high = constant_of(*expression.operands[2]);
  auto from = low ? compares(*field, SqlOperator::greater_equal, *low) : std::nullopt;
  auto to = high ? compares(*field, SqlOperator::less_equal, *high) : std::nullopt;
  if (from && to) return SelectorBuilder::all_of({*std::move(from), *std::move(to)});
  return from ? from : to;
}

SelectorNode begins_with(const ValuePath& field, std::string_view prefix) {
  if (prefix.empty()) return has_type(field, "string");
  return condition(field, {{Operator::begins_with, json::value(prefix)}});
}

std::optional<SelectorNode> Translator::translate_like(const Expression& expression) const {
  const auto field = value_path_of(*expression.operands[0]);
  if (expression.flag || !field) return std::nullopt;
  const auto pattern = constant_of(*expression.operands[1]);
  if (!pattern || !pattern->is_string()) return has_type(*field, "string");
  const std::string_view text(pattern->get_string().data(), pattern->get_string().size());
  std::string prefix(text.substr(0, text.find_first_of("%_[")));
  if (!expression.text.empty()) prefix = prefix.substr(0, prefix.find(expression.text));
  return begins_with(*field, prefix);
}

std::optional<SelectorNode> Translator::translate_call(const Expression& expression) const {
  if (expression.flag || expression.operands.empty()) return std::nullopt;
  const auto field = value_path_of(*expression.operands[0]);
  if (!field) return std::nullopt;
  const std::string_view name = expression.text;
  if (is_same_name(name, "STARTSWITH") && expression.operands.size() == 2) {
    const auto prefix = constant_of(*expression.operands[1]);
    if (prefix && prefix->is_string()) return begins_with(*field, prefix->get_string());
    return has_type(*field, "string");
  }
  for (const std::string_view of_text : {"CONTAINS", "STARTSWITH", "ENDSWITH", "REGEXMATCH", "STRINGEQUALS"}) {
    if (is_same_name(name, of_text)) return has_type(*field, "string");
  }
  if (is_same_name(name, "ARRAY_CONTAINS")) {
    auto element = translate_array_contains(expression);
    return element ? std::move(element) : has_type(*field, "array");
  }
  if (is_same_name(name, "IS_DEFINED")) return condition(*field, {{Operator::exists, true}});
  if (is_same_name(name, "IS_NULL")) return condition(*field, {{Operator::equal, nullptr}});
  if (is_same_name(name, "IS_BOOL")) return has_type(*field, "boolean");
  if (is_same_name(name, "IS_NUMBER")) return has_type(*field, "number");
  if (is_same_name(name, "IS_STRING")) return has_type(*field, "string");
  if (is_same_name(name, "IS_ARRAY")) return has_type(*field, "array");
  if (is_same_name(name, "IS_OBJECT")) return has_type(*field, "object");
  return std::nullopt;
}

// ARRAY_CONTAINS(path, constant). For an object: some element has those of its members that are not containers.
std::optional<SelectorNode> Translator::translate_array_contains(const Expression& expression) const {
  if (expression.operands.size() < 2) return std::nullopt;
  const auto array = field_of(*expression.operands[0]);
  if (!array || array->is("_id")) return std::nullopt;
  const Expression& wanted = *expression.operands[1];
  if (const auto value = constant_of(wanted)) return equals({*array, FieldPath()}, *value);
  if (wanted.kind != ExpressionKind::object) return std::nullopt;
  std::vector<SelectorNode> conditions;
  for (std::size_t i = 0; i < wanted.operands.size(); ++i) {
    const auto value = constant_of(*wanted.operands[i]);
    const auto below = field_path_of(std::span(&wanted.names[i], 1));
    if (!value || !below || is_number_text(wanted.names[i])) continue;
    if (auto condition = equals({*array, below}, *value)) conditions.push_back(*std::move(condition));
  }
  if (conditions.empty()) return std::nullopt;
  return SelectorBuilder::all_of(std::move(conditions));
}

// Only what certainly holds in Mango, too: NOT IS_DEFINED of a top-level property.
std::optional<SelectorNode> Translator::translate_not(const Expression& expression) const {
  const Expression& operand = *expression.operands[0];
  if (expression.op != SqlOperator::logical_not || operand.kind != ExpressionKind::call || operand.flag ||
      !is_same_name(operand.text, "IS_DEFINED") || operand.operands.size() != 1) {
    return std::nullopt;
  }
  const auto path = path_of(*operand.operands[0]);
  const auto field = field_of(*operand.operands[0]);
  if (!path || !field || path->has_numbers || field->parts().size() != 1 || field->is("_id")) return std::nullopt;
  return condition({*field, std::nullopt}, {{Operator::exists, false}});
}

std::optional<SelectorNode> Translator::translate(const Expression& expression) const {
  switch (expression.kind) {
    case ExpressionKind::conjunction: {
      std::vector<SelectorNode> conditions;
      for (const auto& operand : expression.operands) {
        if (auto translated = translate(*operand)) conditions.push_back(*std::move(translated));
      }
      if (conditions.empty()) return std::nullopt;
      return SelectorBuilder::all_of(std::move(conditions));
    }
    case ExpressionKind::disjunction: {
      std::vector<SelectorNode> sides;
      for (const auto& operand : expression.operands) {
        auto translated = translate(*operand);
        if (!translated) return std::nullopt;
        sides.push_back(*std::move(translated));
      }
      return SelectorBuilder::any_of(std::move(sides));
    }
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
    case ExpressionKind::property: {
      const auto field = value_path_of(expression);
      return field ? equals(*field, json::value(true)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

void Translator::collect_fixed(const Expression& expression, std::vector<FixedProperty>& fixed) const {
  if (expression.kind == ExpressionKind::conjunction) {
    for (const auto& operand : expression.operands) collect_fixed(*operand, fixed);
    return;
  }
  FixedProperty property;
  const auto add = [&](const Expression& path, const Expression& value) {
    const auto found = path_of(path);
    auto constant = constant_of(value);
    if (!found || found->has_numbers || !constant) return false;
    property.path = found->names;
    property.values.push_back(*std::move(constant));
    return true;
  };
  if (expression.kind == ExpressionKind::binary && expression.op == SqlOperator::equal) {
    if (add(*expression.operands[0], *expression.operands[1]) ||
        add(*expression.operands[1], *expression.operands[0])) {
      fixed.push_back(std::move(property));
    }
  } else if (expression.kind == ExpressionKind::in && !expression.flag) {
    for (std::size_t i = 1; i < expression.operands.size(); ++i) {
      if (!add(*expression.operands[0], *expression.operands[i])) return;
    }
    fixed.push_back(std::move(property));
  }
}

std::size_t conjuncts_of(const Expression& where) {
  if (where.kind != ExpressionKind::conjunction) return 1;
  std::size_t count = 0;
  for (const auto& operand : where.operands) count += conjuncts_of(*operand);
  return count;
}

// ORDER BY as fields; empty if it is by anything else.
std::vector<OrderedField> sort_of(const SqlQuery& query, const Translator& translator) {
  std::vector<OrderedField> sort;
  for (const OrderItem& item : query.syntax().order_by) {
    auto field = translator.field_of(*item.expression);
    if (!field) return {};
    sort.push_back({*std::move(field), item.descending});
  }
  return sort;
}

// Whether these fields have the same order in Mango's indexes: no strings, arrays or objects, and none missing.
bool is_in_collation(const std::vector<OrderedField>& sort, const Selector& selector) {
  const FieldConstraint below_strings{{Interval{std::nullopt, true, json::value(""), false}}, false, true};
  return std::ranges::all_of(sort, [&](const OrderedField& field) {
    return field.path.is("_id") || is_subset(selector.constraint_for(field.path), below_strings, BoundOrder::collation);
  });
}

}  // namespace

SqlConstraints constraints_of(const SqlQuery& query, const RowShape& shape) {
  SqlConstraints constraints;
  const Translator translator(query, &shape);
  if (!translator.has_root()) return constraints;
  if (query.syntax().where) {
    translator.collect_fixed(*query.syntax().where, constraints.fixed);
    constraints.where_is_fixed = constraints.fixed.size() == conjuncts_of(*query.syntax().where);
    if (auto translated = translator.translate(*query.syntax().where)) {
      // If it is too large for a selector, no index is used.
      if (auto selector = SelectorBuilder::build(*std::move(translated))) {
        constraints.selector = *std::move(selector);
        const Translator ordinal(query, &shape, true);
        auto by_bytes = ordinal.translate(*query.syntax().where);
        auto more = by_bytes ? SelectorBuilder::build(*std::move(by_bytes)) : Expected<Selector>();
        if (more) constraints.ordinal = *std::move(more);
        if (constraints.where_is_fixed) constraints.where_holds = equality_of(constraints.fixed, shape);
      }
    }
  }
  constraints.sort = sort_of(query, translator);
  constraints.sort_is_ordinal = !is_in_collation(constraints.sort, constraints.selector);
  return constraints;
}

std::vector<FixedProperty> fixed_properties(const SqlQuery& query) {
  std::vector<FixedProperty> fixed;
  const Translator translator(query, nullptr);
  if (translator.has_root() && query.syntax().where) translator.collect_fixed(*query.syntax().where, fixed);
  return fixed;
}

}  // namespace octavo::query::sql
