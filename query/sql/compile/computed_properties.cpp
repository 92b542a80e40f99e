#include "query/sql/compile/computed_properties.h"

#include "query/sql/compile/select_items.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/functions/function_table.h"
#include "query/sql/syntax/parser.h"

namespace octavo::query::sql {

namespace {

constexpr std::size_t computed_properties_max = 20;  // Azure Cosmos DB service limits
// A query that names all computed properties contains all their expressions.
constexpr std::size_t computed_query_bytes_max = 16 * 1024;

std::unexpected<Error> refused(const ComputedProperty& property, std::string_view why) {
  return fail(ErrorCode::bad_request,
              "The computed property '" + property.name.substr(0, 64) + "' is not valid: " + std::string(why));
}

// The reason why a call is not allowed; empty: it depends on the item alone and always gives the same value.
std::string_view wrong_call(const Expression& call) {
  if (call.flag) return "its query must not call user-defined functions.";
  if (aggregate_kind(call.text)) return "its query must not have aggregates.";
  const Function* function = find_function(call.text);
  if (!function) return {};
  if (function->name.starts_with("ST_")) return "its query must not call spatial functions.";
  if (function->name.starts_with("GETCURRENT") || function->name == "RAND" || function->name == "NOW" ||
      function->name == "AGO") {
    return "its query must not call functions whose value changes by itself.";
  }
  return {};
}

std::string_view wrong_part(const Expression& expression) {
  if (expression.subquery) return "its query must not have subqueries.";
  if (expression.kind == ExpressionKind::parameter) return "its query must not have parameters.";
  if (expression.kind == ExpressionKind::call) {
    if (const auto wrong = wrong_call(expression); !wrong.empty()) return wrong;
  }
  for (const ExpressionPtr& operand : expression.operands) {
    if (const auto wrong = wrong_part(*operand); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string_view wrong_in_expression_query(const Query& query) {
  if (query.selection != Query::Selection::value) return "its query must have the form SELECT VALUE … FROM c.";
  if (query.sources.size() != 1) return "its query must have one source in FROM, the item, and no JOIN.";
  const FromSource& source = query.sources[0];
  if (source.subquery || source.iterates || !source.path.empty()) return "FROM of its query must name the item itself.";
  if (query.where || !query.group_by.empty() || !query.order_by.empty() || query.top || query.offset ||
      query.distinct) {
    return "its query must not have WHERE, GROUP BY, ORDER BY, TOP, DISTINCT or OFFSET LIMIT.";
  }
  return wrong_part(*query.items[0].expression);
}

namespace {

std::string_view alias_of(const Query& query) {
  const FromSource& source = query.sources[0];
  return source.alias.empty() ? source.root : source.alias;
}

// The first computed property that the expression names, not counting `own`.
std::optional<std::size_t> find_other(const ComputedProperties& all, const Expression& expression,
                                      std::string_view alias, std::size_t own) {
  if (expression.kind == ExpressionKind::property && expression.operands[0]->kind == ExpressionKind::identifier &&
      expression.operands[0]->text == alias) {
    const auto found = all.find(expression.text);
    return found == own ? std::nullopt : found;
  }
  for (const ExpressionPtr& operand : expression.operands) {
    if (const auto found = find_other(all, *operand, alias, own)) return found;
  }
  return std::nullopt;
}

Expected<void> check_name(const ComputedProperty& property) {
  if (property.name.empty()) {
    return fail(ErrorCode::bad_request, "Every computed property must have a name and a query.");
  }
  if (property.name.find('/') != std::string::npos) return refused(property, "the name must not have a '/'.");
  return {};
}

}  // namespace

Expected<ComputedProperties::Ptr> ComputedProperties::parse(std::span<const ComputedProperty> properties) {
  if (properties.empty()) return Ptr();
  if (properties.size() > computed_properties_max) {
    return fail(ErrorCode::bad_request, "A container has at most 20 computed properties.");
  }
  std::shared_ptr<ComputedProperties> all(new ComputedProperties());
  all->properties_.assign(properties.begin(), properties.end());
  for (const ComputedProperty& property : all->properties_) {
    OCTAVO_TRY_VOID(check_name(property));
    if (property.query.size() > computed_query_bytes_max) return refused(property, "its query has more than 16 KB.");
    // Parsing checks names, functions and numbers of arguments.
    const auto whole = SqlQuery::parse(property.query);
    auto syntax = parse_query(property.query);
    if (!syntax) return refused(property, whole.error().to_error().reason);
    if (const auto wrong = wrong_in_expression_query(**syntax); !wrong.empty()) return refused(property, wrong);
    if (!whole) return refused(property, whole.error().to_error().reason);
    if (!all->numbers_.emplace(property.name, all->queries_.size()).second) {
      return refused(property, "there is another one of this name.");
    }
    all->queries_.push_back(*std::move(syntax));
  }
  for (std::size_t i = 0; i < all->size(); ++i) {
    const Query& query = all->query(i);
    if (const auto other = find_other(*all, *query.items[0].expression, alias_of(query), i)) {
      return refused(all->properties_[i],
                     "it refers to another computed property, '" + all->properties_[*other].name + "'.");
    }
  }
  return all;
}

ComputedProperties::ComputedProperties() = default;
ComputedProperties::~ComputedProperties() = default;

std::optional<std::size_t> ComputedProperties::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace octavo::query::sql
