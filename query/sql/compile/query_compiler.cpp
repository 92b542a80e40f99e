// Compiles queries and their clauses to programs.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "query/sql/compile/compiler.h"

namespace octavo::query::sql {

namespace {

bool is_merged_by_client(const Query& query) {
  if (query.selection != Query::Selection::list || query.order_by.empty() || query.items.size() != 3) return false;
  return item_names(query) == std::vector<std::string>{"_rid", "orderByItems", "payload"};
}

// Whether FROM begins with the database's items, possibly inside subqueries.
bool begins_with_items(const Query& query, const Scope& scope) {
  if (query.sources.empty()) return false;
  const FromSource& first = query.sources.front();
  return first.subquery ? begins_with_items(*first.subquery, scope) : !scope.find(first.root);
}

// The value of a TOP, OFFSET or LIMIT.
Compiled<std::uint64_t> resolve_count(const Count& count, std::span<const SqlParameter> parameters,
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
  // Azure Cosmos DB's clients accept 32-bit integers.
  if (!(number >= 0 && number <= 2147483647.0) || number != std::floor(number)) {
    return refuse(
        count.location, code,
        fmt::format("The count value provided for a {} clause must be a non-negative integer of 32 bits.", clause));
  }
  return static_cast<std::uint64_t>(number);
}

}  // namespace

Compiled<std::unique_ptr<Program>> Compiler::compile_program(const Query& query, const Scope* outer, bool is_top) {
  auto program = std::make_unique<Program>();
  program->selection = query.selection;
  program->distinct = query.distinct;
  program->grouped = !query.group_by.empty() || std::ranges::any_of(query.items, [](const SelectItem& item) {
    return contains_aggregate(*item.expression);
  });
  program->is_merged_by_client = is_top && !program->grouped && is_merged_by_client(query);
  Scope scope;
  scope.outer = outer;
  if (is_top) {
    for (const std::string& name : bound_) scope.bindings.push_back({name, false, slots_++});
  }
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
  const auto add = [&](NodePtr value, bool iterates, bool flattens, bool is_distinct = false) {
    CompiledSource compiled;
    compiled.value = std::move(value);
    compiled.iterates = iterates;
    compiled.flattens = flattens;
    compiled.is_distinct = is_distinct;
    compiled.slot = slots_++;
    if (!name.empty()) scope.bindings.push_back({name, false, compiled.slot});
    program.sources.push_back(std::move(compiled));
  };

  if (source.subquery) {
    const bool from_items = is_first_of_all && begins_with_items(*source.subquery, scope);
    if (from_items) OCTAVO_TRY_VOID(compile_root_subquery(source, scope, program));
    OCTAVO_TRY(auto inner_program, compile_program(*source.subquery, &scope, from_items));
    add(std::make_unique<Subquery>(Subquery::Use::array, std::move(inner_program)), true, source.iterates,
        from_items && source.subquery->distinct);
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
    OCTAVO_TRY(value, root_path(source.path));
  } else if (source.path.empty()) {
    value = std::make_unique<SlotValue>(binding->slot);
  } else {
    value = std::make_unique<Path>(std::make_unique<SlotValue>(binding->slot), source.path);
  }
  add(std::move(value), source.iterates, false);
  return {};
}

// Compiles a query over the results of another one, which is run item by item.
Compiled<void> Compiler::compile_root_subquery(const FromSource& source, Scope& scope, Program& program) {
  const Query& inner = *source.subquery;
  const bool aggregates =
      std::ranges::any_of(inner.items, [](const SelectItem& item) { return contains_aggregate(*item.expression); });
  if (aggregates || !inner.group_by.empty() || !inner.order_by.empty() || inner.top || inner.offset) {
    return refuse(source.location, codes::unsupported,
                  "A subquery over all items in FROM must not have aggregates, GROUP BY, ORDER BY, TOP or OFFSET "
                  "LIMIT.");
  }
  if (inner.distinct && (scope.outer || source.iterates)) {
    return refuse(source.location, codes::unsupported,
                  "A subquery over all items may have DISTINCT only as the FROM of the outermost query.");
  }
  program.reads_items = true;
  return {};
}

Compiled<void> Compiler::compile_items(const Query& query, Scope& scope, Program& program) {
  if (query.selection == Query::Selection::star) {
    ProjectedItem item;
    const Binding* only = scope.bindings.empty() ? nullptr : scope.bindings.data();
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
    for (const auto& expression : query.group_by) grouping.keys.push_back(expression.get());
  }
  const std::vector<std::string> names = item_names(query);
  const auto last_of_name = last_positions(names);
  for (std::size_t i = 0; i < query.items.size(); ++i) {
    const Expression& expression = *query.items[i].expression;
    ProjectedItem item;
    OCTAVO_TRY(item.value, compile(expression, scope, program.grouped ? &grouping : nullptr));
    // The result of a subquery has no `_rid`. Clients continue by that of the item which it comes from.
    if (program.is_merged_by_client && program.reads_items && query.sources.front().subquery && names[i] == "_rid") {
      item.value = std::make_unique<RootProperty>(root_name("_rid"));
    }
    if (query.selection == Query::Selection::list) {
      item.name = names[i];
      append_json_string(item.key, item.name);
      item.key += ':';
      // If two items have the same name, the later one counts.
      if (last_of_name.at(item.name) != i) continue;
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
  if (program.grouped) program.order_by.clear();  // a single row needs no order
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

}  // namespace octavo::query::sql
