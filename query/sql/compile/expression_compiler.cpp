// Compiles expressions to nodes.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "query/sql/compile/compiler.h"
#include "query/sql/functions/function_table.h"

namespace octavo::query::sql {

namespace {

NodePtr constant(const Value& value) {
  return std::make_unique<Constant>(value);
}

std::optional<std::uint64_t> constant_index(const Expression& expression) {
  if (expression.kind != ExpressionKind::number || expression.number < 0 || expression.number > 1e9 ||
      expression.number != std::floor(expression.number)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(expression.number);
}

}  // namespace

std::size_t Compiler::root_name(std::string_view name) {
  const auto [found, is_new] = root_numbers_.try_emplace(std::string(name), root_names_.size());
  if (is_new) root_names_.emplace_back(name);
  return found->second;
}

// Compiles the expression at its first use. It sees the item as it is stored.
Compiled<const Node*> Compiler::computed_node(std::size_t number) {
  computed_nodes_.resize(computed_->size());
  if (!computed_nodes_[number]) {
    const Query& query = computed_->query(number);
    const FromSource& source = query.sources[0];
    Scope scope;
    scope.bindings.push_back({source.alias.empty() ? source.root : source.alias, true, 0});
    const auto* computed = std::exchange(computed_, nullptr);
    auto node = compile(*query.items[0].expression, scope);
    computed_ = computed;
    if (!node) return std::unexpected(std::move(node).error());
    computed_nodes_[number] = *std::move(node);
  }
  return computed_nodes_[number].get();
}

Compiled<NodePtr> Compiler::root_property(std::string_view name) {
  const auto number = computed_ ? computed_->find(name) : std::nullopt;
  if (!number) return std::make_unique<RootProperty>(root_name(name));
  OCTAVO_TRY(const Node* expression, computed_node(*number));
  return std::make_unique<ComputedValue>(*expression);
}

Compiled<NodePtr> Compiler::root_path(std::vector<PathStep> steps) {
  if (steps.empty()) return std::make_unique<RootItem>();
  if (steps.front().index) return std::make_unique<Path>(std::make_unique<RootItem>(), std::move(steps));
  OCTAVO_TRY(NodePtr property, root_property(steps.front().name));
  steps.erase(steps.begin());
  if (steps.empty()) return property;
  return std::make_unique<Path>(std::move(property), std::move(steps));
}

Value Compiler::constant_text(std::string_view text) {
  auto* buffer = constants_.allocate_array<char>(text.size());
  std::ranges::copy(text, buffer);
  return Value::of(std::string_view(buffer, text.size()));
}

// Each parameter is read only once, even if it is named several times.
std::optional<Value> Compiler::parameter_value(const std::string& name) {
  const auto known = parameter_values_.find(name);
  if (known != parameter_values_.end()) return known->second;
  const auto found = std::ranges::find(parameters_, name, &SqlParameter::name);
  if (found == parameters_.end()) return std::nullopt;
  return parameter_values_.emplace(found->name, Value::read(found->value, constants_)).first->second;
}

Compiled<NodePtr> Compiler::compile_parameter(const Expression& expression) {
  const auto value = parameter_value(expression.text);
  if (!value) {
    return refuse(expression.location, codes::unresolved, fmt::format("Parameter '{}' has no value.", expression.text));
  }
  return constant(*value);
}

// `.name`, `["name"]`, `[2]`, `[@name]`: steps that are known before there is an item.
std::optional<PathStep> Compiler::constant_step(const Expression& expression) {
  PathStep step;
  if (expression.kind == ExpressionKind::property) {
    step.name = expression.text;
    return step;
  }
  if (expression.kind != ExpressionKind::index) return std::nullopt;
  const Expression& operand = *expression.operands[1];
  step.index = constant_index(operand);
  if (step.index) return step;
  if (operand.kind != ExpressionKind::parameter) return std::nullopt;
  const auto name = parameter_value(operand.text);
  if (!name || !name->is_string()) return std::nullopt;
  step.name = name->string();
  return step;
}

Compiled<std::vector<NodePtr>> Compiler::compile_all(const Expression& expression, std::size_t from, const Scope& scope,
                                                     const Grouping* grouping) {
  std::vector<NodePtr> nodes;
  for (std::size_t i = from; i < expression.operands.size(); ++i) {
    OCTAVO_TRY(auto node, compile(*expression.operands[i], scope, grouping));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Compiled<NodePtr> Compiler::compile_name(const Expression& expression, const Scope& scope, const Grouping* grouping) {
  const Binding* binding = scope.find(expression.text);
  const bool hidden = !binding && scope.names_hidden_root(expression.text);
  if (!binding && !hidden) {
    // Numbers that JSON cannot spell.
    if (expression.text == "NaN") return constant(Value::of(std::numeric_limits<double>::quiet_NaN()));
    if (expression.text == "Infinity") return constant(Value::of(std::numeric_limits<double>::infinity()));
    return refuse(expression.location, codes::unresolved,
                  fmt::format("Identifier '{}' could not be resolved.", expression.text));
  }
  if (grouping && (hidden || grouping->scope->find_here(expression.text) == binding)) {
    return refuse(expression.location, codes::not_grouped,
                  fmt::format("Property reference '{}' is invalid in the select list because it is not contained in "
                              "either an aggregate function or the GROUP BY clause.",
                              expression.text));
  }
  if (hidden || binding->is_root) return std::make_unique<RootItem>();
  return std::make_unique<SlotValue>(binding->slot);
}

// Compiles a chain of constant steps, down to the expression it starts from.
Compiled<NodePtr> Compiler::compile_path(const Expression& expression, const Scope& scope, const Grouping* grouping) {
  std::vector<PathStep> steps;
  const Expression* base = &expression;
  while (true) {
    auto step = constant_step(*base);
    if (!step) break;
    steps.push_back(*std::move(step));
    base = base->operands[0].get();
    // A GROUP BY expression may be the beginning of the chain.
    if (grouping && grouping->find(*base)) break;
  }
  std::ranges::reverse(steps);
  if (base->kind == ExpressionKind::identifier && !grouping) {
    const Binding* binding = scope.find(base->text);
    if (binding ? binding->is_root : scope.names_hidden_root(base->text)) return root_path(std::move(steps));
  }
  if (grouping && base->kind == ExpressionKind::identifier && !grouping->find(*base) &&
      grouping->scope->find_here(base->text)) {
    return refuse(expression.location, codes::not_grouped,
                  fmt::format("Property reference '{}' is invalid in the select list because it is not contained in "
                              "either an aggregate function or the GROUP BY clause.",
                              text_of(expression)));
  }
  OCTAVO_TRY(auto node, compile(*base, scope, grouping));
  return std::make_unique<Path>(std::move(node), std::move(steps));
}

Compiled<NodePtr> Compiler::compile_aggregate(const Expression& expression, const Scope& scope,
                                              const Grouping* grouping) {
  if (std::ranges::any_of(expression.operands, [](const auto& operand) { return contains_aggregate(*operand); })) {
    return refuse(expression.location, codes::nested_aggregate,
                  "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.");
  }
  if (!grouping) {
    return refuse(expression.location, codes::aggregate_place,
                  "An aggregate function may only appear in the SELECT clause.");
  }
  if (expression.operands.size() != 1) {
    return refuse(expression.location, codes::arguments,
                  fmt::format("The {} function requires 1 argument.", expression.text));
  }
  if (grouping->aggregates->size() == sql_aggregates_max) {
    return refuse(expression.location, codes::limit_exceeded,
                  fmt::format("The query exceeds the maximum of {} aggregates.", sql_aggregates_max));
  }
  OCTAVO_TRY(auto argument, compile(*expression.operands[0], scope));
  grouping->aggregates->push_back({*aggregate_kind(expression.text), std::move(argument)});
  return std::make_unique<AggregateResult>(grouping->aggregates->size() - 1);
}

Compiled<NodePtr> Compiler::compile_call(const Expression& expression, const Scope& scope, const Grouping* grouping) {
  if (is_aggregate_call(expression)) return compile_aggregate(expression, scope, grouping);
  if (expression.flag) {
    if (++udf_calls_ > sql_udf_calls_max) {
      return refuse(
          expression.location, codes::limit_exceeded,
          fmt::format("The query exceeds the maximum of {} calls of user-defined functions.", sql_udf_calls_max));
    }
    OCTAVO_TRY(auto arguments, compile_all(expression, 0, scope, grouping));
    return std::make_unique<UserFunctionCall>(expression.text, std::move(arguments));
  }
  const Function* function = find_function(expression.text);
  if (!function) {
    const std::size_t start = expression.location.start;
    return refuse({start, start + expression.text.size()}, codes::unknown_function,
                  fmt::format("'{}' is not a recognized built-in function name.", expression.text));
  }
  const std::size_t count = expression.operands.size();
  if (count < function->arguments_min || (function->arguments_max != any_number && count > function->arguments_max)) {
    std::string wanted = std::to_string(function->arguments_min);
    if (function->arguments_max == any_number) {
      wanted += " or more";
    } else if (function->arguments_max != function->arguments_min) {
      wanted += " to " + std::to_string(function->arguments_max);
    }
    const bool is_range = function->arguments_max != function->arguments_min;
    return refuse(expression.location, is_range ? codes::arguments_of_range : codes::arguments,
                  fmt::format("The {} function requires {} argument(s).", function->name, wanted));
  }
  OCTAVO_TRY(auto arguments, compile_all(expression, 0, scope, grouping));
  return std::make_unique<FunctionCall>(*function, std::move(arguments));
}

Compiled<NodePtr> Compiler::compile_subquery(const Expression& expression, const Scope& scope,
                                             const Grouping* grouping) {
  if (grouping) {
    return refuse(expression.location, codes::not_grouped,
                  "A subquery is invalid in the select list of a query with aggregates or GROUP BY.");
  }
  OCTAVO_TRY(auto program, compile_program(*expression.subquery, &scope, false));
  Subquery::Use use = Subquery::Use::scalar;
  switch (expression.kind) {
    case ExpressionKind::exists:
      use = Subquery::Use::exists;
      break;
    case ExpressionKind::all:
      use = Subquery::Use::all;
      // ALL is true if the opposite holds for no element. The opposite of an undefined condition is undefined, too.
      program->where = program->where
                           ? NodePtr(std::make_unique<Unary>(SqlOperator::logical_not, std::move(program->where)))
                           : constant(Value::of(false));
      break;
    case ExpressionKind::array_of:
      use = Subquery::Use::array;
      break;
    case ExpressionKind::first:
      use = Subquery::Use::first;
      break;
    case ExpressionKind::last:
      use = Subquery::Use::last;
      break;
    default:
      break;
  }
  return std::make_unique<Subquery>(use, std::move(program));
}

Compiled<NodePtr> Compiler::compile(const Expression& expression, const Scope& scope, const Grouping* grouping) {
  if (grouping) {
    if (const auto number = grouping->find(expression)) return std::make_unique<GroupValue>(*number);
  }
  switch (expression.kind) {
    case ExpressionKind::undefined:
      return constant(Value());
    case ExpressionKind::null:
      return constant(Value::null());
    case ExpressionKind::boolean:
      return constant(Value::of(expression.flag));
    case ExpressionKind::number:
      return constant(Value::of(expression.number));
    case ExpressionKind::string:
      return constant(constant_text(expression.text));
    case ExpressionKind::parameter:
      return compile_parameter(expression);
    case ExpressionKind::identifier:
      return compile_name(expression, scope, grouping);
    case ExpressionKind::property:
      return compile_path(expression, scope, grouping);
    case ExpressionKind::index:
      if (constant_step(expression)) return compile_path(expression, scope, grouping);
      break;
    case ExpressionKind::call:
      return compile_call(expression, scope, grouping);
    case ExpressionKind::subquery:
    case ExpressionKind::exists:
    case ExpressionKind::all:
    case ExpressionKind::array_of:
    case ExpressionKind::first:
    case ExpressionKind::last:
      return compile_subquery(expression, scope, grouping);
    default:
      break;
  }
  OCTAVO_TRY(auto nodes, compile_all(expression, 0, scope, grouping));
  switch (expression.kind) {
    case ExpressionKind::index:
      return std::make_unique<Index>(std::move(nodes[0]), std::move(nodes[1]));
    case ExpressionKind::array:
      return std::make_unique<ArrayMaker>(std::move(nodes));
    case ExpressionKind::object: {
      // If two members have the same name, the later one counts.
      std::vector<std::string> names;
      std::vector<NodePtr> values;
      const auto last_of_name = last_positions(expression.names);
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (last_of_name.at(expression.names[i]) != i) continue;
        names.push_back(expression.names[i]);
        values.push_back(std::move(nodes[i]));
      }
      return std::make_unique<ObjectMaker>(std::move(names), std::move(values));
    }
    case ExpressionKind::unary:
      return std::make_unique<Unary>(expression.op, std::move(nodes[0]));
    case ExpressionKind::binary:
      return std::make_unique<Binary>(expression.op, std::move(nodes[0]), std::move(nodes[1]));
    case ExpressionKind::conjunction:
      return std::make_unique<Logical>(false, std::move(nodes));
    case ExpressionKind::disjunction:
      return std::make_unique<Logical>(true, std::move(nodes));
    case ExpressionKind::in: {
      NodePtr needle = std::move(nodes[0]);
      nodes.erase(nodes.begin());
      return std::make_unique<In>(std::move(needle), std::move(nodes), expression.flag);
    }
    case ExpressionKind::between:
      return std::make_unique<Between>(std::move(nodes[0]), std::move(nodes[1]), std::move(nodes[2]), expression.flag);
    case ExpressionKind::like:
      return std::make_unique<Like>(std::move(nodes[0]), std::move(nodes[1]), expression.text, expression.flag);
    case ExpressionKind::conditional:
      return std::make_unique<Conditional>(std::move(nodes[0]), std::move(nodes[1]), std::move(nodes[2]));
    default:
      return std::make_unique<Coalesce>(std::move(nodes[0]), std::move(nodes[1]));
  }
}

}  // namespace octavo::query::sql
