// From the syntax tree to programs: names, functions, parameters, aggregates.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "query/json/writer.h"
#include "query/sql/nodes.h"
#include "query/sql/program.h"
#include "query/sql/syntax_text.h"

namespace octavo::query::sql {

namespace {

template <class T>
using Compiled = std::expected<T, SqlError>;

std::unexpected<SqlError> refuse(Location location, std::string_view code, std::string message) {
  return std::unexpected(SqlError{location, code, std::move(message)});
}

struct AggregateFunction {
  std::string_view name;
  AggregateKind kind;
  std::string_view plan_name;
};
constexpr AggregateFunction kAggregates[] = {
    {"AVG", AggregateKind::average, "Average"},      {"COUNT", AggregateKind::count, "Count"},
    {"COUNTIF", AggregateKind::count_if, "CountIf"}, {"MAKELIST", AggregateKind::make_list, "MakeList"},
    {"MAKESET", AggregateKind::make_set, "MakeSet"}, {"MAX", AggregateKind::maximum, "Max"},
    {"MIN", AggregateKind::minimum, "Min"},          {"SUM", AggregateKind::sum, "Sum"},
};

bool same_name(std::string_view name, std::string_view capitals) {
  return std::ranges::equal(name, capitals, [](char a, char b) {
    return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
  });
}

bool is_aggregate_call(const Expression& expression) {
  return expression.kind == ExpressionKind::call && !expression.flag && aggregate_kind(expression.text);
}

/// What a name in FROM stands for.
struct Binding {
  std::string name;
  bool is_root = false;
  std::size_t slot = 0;
};

struct Scope {
  const Scope* outer = nullptr;
  std::vector<Binding> bindings;
  std::string hidden_root;  ///< the name of the database where FROM gave it none: `FROM t IN c.tags`

  const Binding* find_here(std::string_view name) const {
    const auto found = std::ranges::find(bindings, name, &Binding::name);
    return found == bindings.end() ? nullptr : &*found;
  }
  const Binding* find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->outer) {
      if (const Binding* found = scope->find_here(name)) return found;
    }
    return nullptr;
  }
  bool names_hidden_root(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->outer) {
      if (!scope->hidden_root.empty() && scope->hidden_root == name) return true;
    }
    return false;
  }
};

/// The projection of a grouped query: expressions of GROUP BY and aggregates stand for what the group knows.
struct Grouping {
  struct Key {
    const Expression* expression;
    std::string text;
  };
  const Scope* scope = nullptr;
  std::vector<Key> keys;
  std::vector<Aggregate>* aggregates = nullptr;

  /// The number of the GROUP BY expression that `expression` is. Texts are made only of what could be one.
  std::optional<std::size_t> find(const Expression& expression) const {
    std::string text;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].expression->kind != expression.kind || keys[i].expression->depth != expression.depth) continue;
      if (text.empty()) text = text_of(expression);
      if (keys[i].text == text) return i;
    }
    return std::nullopt;
  }
};

class Compiler {
 public:
  Compiler(std::span<const SqlParameter> parameters, Arena& constants)
      : parameters_(parameters), constants_(constants) {}

  Compiled<std::unique_ptr<Program>> run(const Query& query) {
    OCTAVO_TRY(auto program, compile_program(query, nullptr, true));
    program->root_names = std::move(root_names_);
    program->slots = slots_;
    return program;
  }

 private:
  Compiled<std::unique_ptr<Program>> compile_program(const Query& query, const Scope* outer, bool is_top);
  Compiled<void> check_selection(const Query& query, const Program& program) const;
  Compiled<void> compile_sources(const Query& query, Scope& scope, Program& program, bool is_top);
  Compiled<void> compile_source(const FromSource& source, Scope& scope, Program& program, bool is_first_of_all);
  Compiled<void> compile_root_subquery(const FromSource& source, Scope& scope, Program& program);
  Compiled<void> compile_items(const Query& query, Scope& scope, Program& program);
  Compiled<void> compile_order(const Query& query, Scope& scope, Program& program);
  Compiled<void> compile_counts(const Query& query, Program& program);

  Compiled<NodePtr> compile(const Expression& expression, const Scope& scope, const Grouping* grouping = nullptr);
  Compiled<std::vector<NodePtr>> compile_all(const Expression& expression, std::size_t from, const Scope& scope,
                                             const Grouping* grouping);
  Compiled<NodePtr> compile_name(const Expression& expression, const Scope& scope, const Grouping* grouping);
  Compiled<NodePtr> compile_path(const Expression& expression, const Scope& scope, const Grouping* grouping);
  Compiled<NodePtr> compile_call(const Expression& expression, const Scope& scope, const Grouping* grouping);
  Compiled<NodePtr> compile_aggregate(const Expression& expression, const Scope& scope, const Grouping* grouping);
  Compiled<NodePtr> compile_subquery(const Expression& expression, const Scope& scope, const Grouping* grouping);
  Compiled<NodePtr> compile_parameter(const Expression& expression);
  NodePtr root_path(std::vector<PathStep> steps);
  std::size_t root_name(std::string_view name);
  Value constant_text(std::string_view text);

  std::span<const SqlParameter> parameters_;
  Arena& constants_;
  std::vector<std::string> root_names_;
  std::size_t slots_ = 0;
  std::size_t udf_calls_ = 0;
  bool in_aggregate_ = false;
};

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

// --- queries ---

Compiled<std::unique_ptr<Program>> Compiler::compile_program(const Query& query, const Scope* outer, bool is_top) {
  auto program = std::make_unique<Program>();
  program->selection = query.selection;
  program->distinct = query.distinct;
  program->grouped = !query.group_by.empty() || std::ranges::any_of(query.items, [](const SelectItem& item) {
    return contains_aggregate(*item.expression);
  });
  Scope scope;
  scope.outer = outer;
  OCTAVO_TRY_VOID(compile_sources(query, scope, *program, is_top));
  OCTAVO_TRY_VOID(check_selection(query, *program));
  if (query.where) {
    OCTAVO_TRY(program->where, compile(*query.where, scope));
  }
  for (const auto& expression : query.group_by) {
    OCTAVO_TRY(auto node, compile(*expression, scope));
    program->group_by.push_back(std::move(node));
  }
  OCTAVO_TRY_VOID(compile_items(query, scope, *program));
  OCTAVO_TRY_VOID(compile_order(query, scope, *program));
  OCTAVO_TRY_VOID(compile_counts(query, *program));
  return program;
}

Compiled<void> Compiler::check_selection(const Query& query, const Program& program) const {
  if (query.selection != Query::Selection::star) return {};
  if (program.grouped) return refuse(query.star, codes::star_grouped, "'SELECT *' is not allowed with GROUP BY.");
  if (query.sources.size() > 1) {
    return refuse(query.star, codes::star_many_sources, "'SELECT *' is only valid with a single input set.");
  }
  if (query.sources.empty()) {
    return refuse(query.star, codes::star_many_sources, "'SELECT *' is not valid if the FROM clause is omitted.");
  }
  return {};
}

Compiled<void> Compiler::compile_sources(const Query& query, Scope& scope, Program& program, bool is_top) {
  for (std::size_t i = 0; i < query.sources.size(); ++i) {
    OCTAVO_TRY_VOID(compile_source(query.sources[i], scope, program, is_top && i == 0));
  }
  return {};
}

Compiled<void> Compiler::compile_source(const FromSource& source, Scope& scope, Program& program,
                                        bool is_first_of_all) {
  std::string name = source.alias;
  if (name.empty() && !source.subquery) {
    if (source.path.empty()) {
      name = source.root;
    } else if (!source.path.back().index) {
      name = source.path.back().name;
    }
  }
  if (!name.empty() && scope.find_here(name)) {
    return refuse(source.location, codes::duplicate_alias,
                  fmt::format("The input alias '{}' is specified more than once in the FROM clause.", name));
  }
  const auto add = [&](NodePtr value, bool iterates, bool flattens) {
    CompiledSource compiled;
    compiled.value = std::move(value);
    compiled.iterates = iterates;
    compiled.flattens = flattens;
    compiled.slot = slots_++;
    if (!name.empty()) scope.bindings.push_back({name, false, compiled.slot});
    program.sources.push_back(std::move(compiled));
  };

  if (source.subquery) {
    const FromSource* inner = source.subquery->sources.empty() ? nullptr : &source.subquery->sources[0];
    const bool from_items = is_first_of_all && inner && !inner->subquery && !scope.find(inner->root);
    if (from_items) OCTAVO_TRY_VOID(compile_root_subquery(source, scope, program));
    OCTAVO_TRY(auto inner_program, compile_program(*source.subquery, &scope, from_items));
    add(std::make_unique<Subquery>(Subquery::Use::array, std::move(inner_program)), true, source.iterates);
    return {};
  }

  const Binding* binding = scope.find(source.root);
  if (!binding && !is_first_of_all) {
    if (!scope.names_hidden_root(source.root)) {
      return refuse(source.root_location, codes::unresolved,
                    fmt::format("Identifier '{}' could not be resolved.", source.root));
    }
  }
  if (is_first_of_all) {
    program.reads_items = true;
    binding = nullptr;
    if (source.path.empty() && !source.iterates) {
      scope.bindings.push_back({name, true, 0});
      return {};
    }
    scope.hidden_root = source.root;
  }
  NodePtr value;
  if (!binding || binding->is_root) {
    value = root_path(source.path);
  } else if (source.path.empty()) {
    value = std::make_unique<SlotValue>(binding->slot);
  } else {
    value = std::make_unique<Path>(std::make_unique<SlotValue>(binding->slot), source.path);
  }
  add(std::move(value), source.iterates, false);
  return {};
}

// A query over the results of another one, which is run item by item.
Compiled<void> Compiler::compile_root_subquery(const FromSource& source, Scope&, Program& program) {
  const Query& inner = *source.subquery;
  const bool aggregates =
      std::ranges::any_of(inner.items, [](const SelectItem& item) { return contains_aggregate(*item.expression); });
  if (aggregates || !inner.group_by.empty() || !inner.order_by.empty() || inner.distinct || inner.top || inner.offset) {
    return refuse(source.location, codes::unsupported,
                  "A subquery over all items in FROM must not have aggregates, GROUP BY, ORDER BY, DISTINCT, TOP or "
                  "OFFSET LIMIT.");
  }
  program.reads_items = true;
  return {};
}

Compiled<void> Compiler::compile_items(const Query& query, Scope& scope, Program& program) {
  if (query.selection == Query::Selection::star) {
    ProjectedItem item;
    const Binding* only = scope.bindings.empty() ? nullptr : &scope.bindings[0];
    if (only && only->is_root) {
      item.value = std::make_unique<RootItem>();
      program.projects_row = true;
    } else {
      item.value = std::make_unique<SlotValue>(program.sources[0].slot);
    }
    program.items.push_back(std::move(item));
    return {};
  }
  Grouping grouping;
  if (program.grouped) {
    grouping.scope = &scope;
    grouping.aggregates = &program.aggregates;
    for (const auto& expression : query.group_by) grouping.keys.push_back({expression.get(), text_of(*expression)});
  }
  const std::vector<std::string> names = item_names(query);
  for (std::size_t i = 0; i < query.items.size(); ++i) {
    const Expression& expression = *query.items[i].expression;
    ProjectedItem item;
    OCTAVO_TRY(item.value, compile(expression, scope, program.grouped ? &grouping : nullptr));
    if (query.selection == Query::Selection::list) {
      item.name = names[i];
      append_json_string(item.key, item.name);
      item.key += ':';
      // Of two items with one name the later one counts.
      std::erase_if(program.items, [&](const ProjectedItem& other) { return other.name == item.name; });
    } else if (expression.kind == ExpressionKind::identifier && !program.grouped) {
      const Binding* binding = scope.find(expression.text);
      program.projects_row = binding && binding->is_root;
    }
    program.items.push_back(std::move(item));
  }
  return {};
}

Compiled<void> Compiler::compile_order(const Query& query, Scope& scope, Program& program) {
  if (query.order_by.empty()) return {};
  if (!query.group_by.empty()) {
    return refuse(query.order_by[0].expression->location, codes::unsupported,
                  "ORDER BY is not supported with GROUP BY.");
  }
  for (const OrderItem& order : query.order_by) {
    SortItem item;
    item.descending = order.descending;
    OCTAVO_TRY(item.value, compile(*order.expression, scope));
    program.order_by.push_back(std::move(item));
  }
  if (program.grouped) program.order_by.clear();  // one row has only one order
  return {};
}

Compiled<void> Compiler::compile_counts(const Query& query, Program& program) {
  if (query.top && query.offset) {
    return refuse(query.offset->location, codes::syntax, "TOP cannot be combined with OFFSET LIMIT.");
  }
  if (query.top) {
    OCTAVO_TRY(program.limit, resolve_count(*query.top, parameters_, codes::top_count, "TOP"));
  }
  if (query.offset) {
    OCTAVO_TRY(program.offset, resolve_count(*query.offset, parameters_, codes::offset_count, "OFFSET"));
    OCTAVO_TRY(program.limit, resolve_count(*query.limit, parameters_, codes::limit_count, "LIMIT"));
  }
  return {};
}

// --- expressions ---

std::size_t Compiler::root_name(std::string_view name) {
  const auto found = std::ranges::find(root_names_, name);
  if (found != root_names_.end()) return static_cast<std::size_t>(found - root_names_.begin());
  root_names_.emplace_back(name);
  return root_names_.size() - 1;
}

NodePtr Compiler::root_path(std::vector<PathStep> steps) {
  if (steps.empty()) return std::make_unique<RootItem>();
  if (steps.front().index) return std::make_unique<Path>(std::make_unique<RootItem>(), std::move(steps));
  NodePtr property = std::make_unique<RootProperty>(root_name(steps.front().name));
  steps.erase(steps.begin());
  if (steps.empty()) return property;
  return std::make_unique<Path>(std::move(property), std::move(steps));
}

Value Compiler::constant_text(std::string_view text) {
  auto* place = constants_.allocate_array<char>(text.size());
  std::ranges::copy(text, place);
  return Value::of(std::string_view(place, text.size()));
}

Compiled<NodePtr> Compiler::compile_parameter(const Expression& expression) {
  const auto found = std::ranges::find(parameters_, expression.text, &SqlParameter::name);
  if (found == parameters_.end()) {
    return refuse(expression.location, codes::unresolved, fmt::format("Parameter '{}' has no value.", expression.text));
  }
  return constant(Value::read(found->value, constants_));
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

// A chain of constant steps, down to what it starts from.
Compiled<NodePtr> Compiler::compile_path(const Expression& expression, const Scope& scope, const Grouping* grouping) {
  std::vector<PathStep> steps;
  const Expression* base = &expression;
  while (true) {
    PathStep step;
    if (base->kind == ExpressionKind::property) {
      step.name = base->text;
    } else if (base->kind == ExpressionKind::index && constant_index(*base->operands[1])) {
      step.index = constant_index(*base->operands[1]);
    } else {
      break;
    }
    steps.push_back(std::move(step));
    base = base->operands[0].get();
    // A GROUP BY expression may end inside of the chain.
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
  if (in_aggregate_) {
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
  in_aggregate_ = true;
  auto argument = compile(*expression.operands[0], scope);
  in_aggregate_ = false;
  if (!argument) return std::unexpected(std::move(argument).error());
  grouping->aggregates->push_back({*aggregate_kind(expression.text), *std::move(argument)});
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
    return refuse(expression.location, codes::unknown_function,
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
    return refuse(expression.location, codes::arguments,
                  fmt::format("The {} function requires {} argument(s).", function->name, wanted));
  }
  OCTAVO_TRY(auto arguments, compile_all(expression, 0, scope, grouping));
  return std::make_unique<FunctionCall>(*function, std::move(arguments));
}

Compiled<NodePtr> Compiler::compile_subquery(const Expression& expression, const Scope& scope,
                                             const Grouping* grouping) {
  if (in_aggregate_) {
    // As part of an aggregate's argument a subquery has aggregates of its own.
    in_aggregate_ = false;
    auto node = compile_subquery(expression, scope, grouping);
    in_aggregate_ = true;
    return node;
  }
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
      if (constant_index(*expression.operands[1])) return compile_path(expression, scope, grouping);
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
      // Of two members with one name the later one counts.
      std::vector<std::string> names;
      std::vector<NodePtr> values;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (std::find(expression.names.begin() + static_cast<std::ptrdiff_t>(i) + 1, expression.names.end(),
                      expression.names[i]) != expression.names.end()) {
          continue;
        }
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

}  // namespace

std::optional<AggregateKind> aggregate_kind(std::string_view function) {
  for (const AggregateFunction& known : kAggregates) {
    if (same_name(function, known.name)) return known.kind;
  }
  return std::nullopt;
}

std::string_view aggregate_name(AggregateKind kind) {
  for (const AggregateFunction& known : kAggregates) {
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

std::expected<std::uint64_t, SqlError> resolve_count(const Count& count, std::span<const SqlParameter> parameters,
                                                     std::string_view code, std::string_view clause) {
  double number = count.number;
  if (!count.parameter.empty()) {
    const auto found = std::ranges::find(parameters, count.parameter, &SqlParameter::name);
    if (found == parameters.end()) {
      return refuse(count.location, codes::unresolved, fmt::format("Parameter '{}' has no value.", count.parameter));
    }
    Arena arena(1024);
    const Value value = Value::read(found->value, arena);
    number = value.is_number() ? value.number() : -1;
  }
  // Azure Cosmos DB's clients take 32-bit integers.
  if (!(number >= 0 && number <= 2147483647.0) || number != std::floor(number)) {
    return refuse(
        count.location, code,
        fmt::format("The count value provided for a {} clause must be a non-negative integer of 32 bits.", clause));
  }
  return static_cast<std::uint64_t>(number);
}

std::expected<std::unique_ptr<Program>, SqlError> compile_query(const Query& query,
                                                                std::span<const SqlParameter> parameters,
                                                                Arena& constants) {
  return Compiler(parameters, constants).run(query);
}

}  // namespace octavo::query::sql
