#include "query/sql/constraints/internal/stored_paths.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace octavo::query::sql {

namespace {

// The name of the last step of a path; nullopt if it depends on the item.
std::optional<std::string> last_step(const Expression& expression) {
  if (expression.kind == ExpressionKind::property) return expression.text;
  if (expression.kind != ExpressionKind::index) return std::nullopt;
  const Expression& index = *expression.operands[1];
  const bool is_position = index.kind == ExpressionKind::number && index.number >= 0 && index.number < 1e9 &&
                           index.number == std::floor(index.number);
  if (!is_position) return std::nullopt;
  return std::to_string(static_cast<std::uint64_t>(index.number));
}

// The steps of `name.a[3].b`; empty for the name itself.
std::optional<ItemPath> path_below(std::string_view name, const Expression& expression) {
  ItemPath path;
  const Expression* at = &expression;
  for (; at->kind != ExpressionKind::identifier; at = at->operands[0].get()) {
    auto step = last_step(*at);
    if (!step) return std::nullopt;
    path.has_numbers = path.has_numbers || may_be_position(*step);
    path.names.push_back(*std::move(step));
  }
  if (at->text != name) return std::nullopt;
  std::ranges::reverse(path.names);
  return path;
}

}  // namespace

bool may_be_position(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

ItemPaths::ItemPaths(const SqlQuery& query) : query_(query) {
  const auto& sources = query.syntax().sources;
  if (sources.empty() || sources[0].subquery || sources[0].iterates || !sources[0].path.empty()) return;
  root_ = sources[0].alias.empty() ? sources[0].root : sources[0].alias;
}

std::optional<ItemPath> ItemPaths::path_of(const Expression& expression) const {
  auto path = path_below(root_, expression);
  if (!path || path->names.empty() || is_computed(path->names.front())) return std::nullopt;
  return path;
}

StoredPaths::StoredPaths(const SqlQuery& query, const RowShape& shape) : item_paths_(query), shape_(shape) {
  if (item_paths_.root().empty()) return;
  for (const FromSource& source : query.syntax().sources) add_elements(source);
}

// `alias IN root.path`: an item that yields a row has an element for the alias, so some element meets what WHERE
// requires of the alias.
void StoredPaths::add_elements(const FromSource& source) {
  if (!source.iterates || source.subquery || source.root != item_paths_.root() || source.path.empty()) return;
  std::vector<std::string> names;
  for (const PathStep& step : source.path) {
    if (step.index) return;
    names.push_back(step.name);
  }
  if (item_paths_.is_computed(names.front())) return;
  if (auto field = shape_.field_path(names); field && !field->is("_id")) {
    elements_.push_back({source.alias, *std::move(field)});
  }
}

std::optional<FieldPath> StoredPaths::field_of(const Expression& expression) const {
  const auto path = item_paths_.path_of(expression);
  return path ? shape_.field_path(path->names) : std::nullopt;
}

std::optional<StoredPath> StoredPaths::stored_path_of(const Expression& expression) const {
  if (auto field = field_of(expression)) return StoredPath{*std::move(field), std::nullopt};
  for (const ElementAlias& alias : elements_) {
    const auto path = path_below(alias.name, expression);
    if (!path || path->has_numbers) continue;
    if (path->names.empty()) return StoredPath{alias.array, FieldPath()};
    if (auto below = field_path_of(path->names)) return StoredPath{alias.array, std::move(below)};
  }
  return std::nullopt;
}

}  // namespace octavo::query::sql
