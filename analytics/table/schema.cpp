#include "analytics/table/schema.h"

#include <algorithm>
#include <utility>

#include "base/ascii_case.h"
#include "query/json/json_cursor.h"

namespace octavo::analytics {

Schema::Schema(SchemaRules rules, std::vector<Column> columns)
    : rules_(std::move(rules)), columns_(std::move(columns)) {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    by_folded_name_.emplace(lower_case(columns_[column].name), column);
    nodes_ += columns_[column].nodes;
  }
}

bool Schema::may_have_column(std::string_view name) const {
  if (!TypeInference::is_possible_name(name) || name.front() == '_' || is_flattened(name)) return false;
  return rules_.include.empty() || std::ranges::find(rules_.include, name) != rules_.include.end();
}

std::optional<std::size_t> Schema::add(std::string_view name) {
  if (nodes_ >= nodes_max || !may_have_column(name)) return std::nullopt;
  if (!by_folded_name_.emplace(lower_case(name), columns_.size()).second) return std::nullopt;
  columns_.push_back({std::string(name), {}, 0, 1});
  ++nodes_;
  return columns_.size() - 1;
}

void Schema::learn(std::string_view document) {
  query::JsonCursor cursor(document);
  learn_object(cursor);
}

void Schema::learn_element(query::JsonCursor& cursor) {
  if (cursor.front() == '{') return learn_object(cursor);
  std::size_t expected = 0;
  learn_property(element_property, cursor, expected);
}

void Schema::learn_object(query::JsonCursor& cursor) {
  std::size_t expected = 0;
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    const std::string_view name = cursor.name();
    learn_property(name, cursor, expected);
  }
}

void Schema::learn_property(std::string_view name, query::JsonCursor& cursor, std::size_t& expected) {
  const bool is_null = cursor.front() == 'n';
  auto column = is_null ? std::nullopt : find(name, expected);
  if (!is_null && !column) column = add(name);
  if (!column) {
    cursor.skip();
    return;
  }
  expected = *column + 1;
  const std::size_t left = nodes_max - std::min(nodes_, nodes_max);
  TypeInference inference(left, rules_.mode);
  inference.learn(cursor, columns_[*column].type);
  columns_[*column].nodes += left - inference.nodes_left();
  nodes_ += left - inference.nodes_left();
}

bool Schema::is_flattened(std::string_view name) const {
  return std::ranges::find(rules_.flattened, name) != rules_.flattened.end();
}

std::optional<std::size_t> Schema::find(std::string_view name, std::size_t expected) const {
  // Most documents have their properties in the order of those before them.
  if (expected < columns_.size() && columns_[expected].name == name) return expected;
  const auto found = by_folded_name_.find(lower_case(name));
  if (found == by_folded_name_.end() || columns_[found->second].name != name) return std::nullopt;
  return found->second;
}

}  // namespace octavo::analytics
