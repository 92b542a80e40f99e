#pragma once

#include <algorithm>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query/sql/compile/computed_properties.h"
#include "query/sql/compile/select_items.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/evaluate/nodes.h"
#include "query/sql/evaluate/program.h"
#include "query/sql/syntax/syntax_text.h"

namespace octavo::query::sql {

template <class T>
using Compiled = std::expected<T, SqlError>;

inline std::unexpected<SqlError> refuse(Location location, std::string_view code, std::string message) {
  return std::unexpected(SqlError{location, code, std::move(message)});
}

/// What a name in FROM refers to.
struct Binding {
  std::string name;
  bool is_root = false;
  std::size_t slot = 0;
};

struct Scope {
  const Scope* outer = nullptr;
  std::vector<Binding> bindings;
  std::string hidden_root;  ///< the name of the database if FROM does not bind it: `FROM t IN c.tags`

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

/// The projection of a grouped query, in which GROUP BY expressions and aggregates refer to values of the group.
struct Grouping {
  const Scope* scope = nullptr;
  std::vector<const Expression*> keys;
  std::vector<Aggregate>* aggregates = nullptr;

  /// The number of the GROUP BY expression that is the same as `expression`.
  std::optional<std::size_t> find(const Expression& expression) const {
    const auto found = std::ranges::find_if(keys, [&](const Expression* key) { return is_same(*key, expression); });
    return found == keys.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - keys.begin()));
  }
};

/// The last position of each name.
inline std::unordered_map<std::string_view, std::size_t> last_positions(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> positions;
  for (std::size_t i = 0; i < names.size(); ++i) positions[names[i]] = i;
  return positions;
}

/// Compiles the syntax tree to a program: resolves names, functions, parameters and aggregates. Queries are in
/// query_compiler.cpp, expressions in expression_compiler.cpp.
class Compiler {
 public:
  /// `computed`: the computed properties, or null; must outlive the compiler.
  Compiler(std::span<const SqlParameter> parameters, Arena& constants, const ComputedProperties* computed)
      : parameters_(parameters), constants_(constants), computed_(computed) {}

  /// `bound`: names that stand for values beside the item, as SqlQuery::parse says. Locations in errors are in bytes.
  Compiled<std::unique_ptr<Program>> run(const Query& query, std::span<const std::string> bound = {}) {
    bound_ = bound;
    OCTAVO_TRY(auto program, compile_program(query, nullptr, true));
    program->root_names = std::move(root_names_);
    program->slots = slots_;
    program->computed = std::move(computed_nodes_);
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
  std::optional<Value> parameter_value(const std::string& name);
  std::optional<PathStep> constant_step(const Expression& expression);
  Compiled<NodePtr> root_path(std::vector<PathStep> steps);
  Compiled<NodePtr> root_property(std::string_view name);
  Compiled<const Node*> computed_node(std::size_t number);
  std::size_t root_name(std::string_view name);
  Value constant_text(std::string_view text);

  std::span<const SqlParameter> parameters_;
  std::span<const std::string> bound_;
  Arena& constants_;
  const ComputedProperties* computed_;
  std::vector<NodePtr> computed_nodes_;  ///< by number; null: not named yet
  std::vector<std::string> root_names_;
  std::unordered_map<std::string, std::size_t> root_numbers_;
  std::unordered_map<std::string_view, Value> parameter_values_;
  std::size_t slots_ = 0;
  std::size_t udf_calls_ = 0;
};

}  // namespace octavo::query::sql
