#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace octavo::query::sql {

struct Query;

/// A computed property, as its owner defined it: `{"name":"lower","query":"SELECT VALUE LOWER(c.name) FROM c"}`.
struct ComputedProperty {
  std::string name;
  std::string query;
};

/// Why `query` is not `SELECT VALUE expression FROM c` and nothing more, with an expression whose value follows from
/// the item alone: "its query must not have subqueries." Empty: it is that.
std::string_view wrong_in_expression_query(const Query& query);

/// The computed properties of a container. A query that names one at the top level of an item gets the value of its
/// expression instead of the stored property of that name; the item as a whole does not contain it.
///
/// Immutable and thread-safe; shared by the queries of the container.
class ComputedProperties {
 public:
  using Ptr = std::shared_ptr<const ComputedProperties>;

  /// Azure Cosmos DB's rules: at most 20, each with a unique name (the caller checks for the server's own names) and a
  /// query `SELECT VALUE expression FROM c` and nothing more: no subqueries, aggregates, user-defined or spatial
  /// functions, no function whose value changes by itself, and no other computed property. Null for an empty list.
  /// Errors: bad_request, naming the property.
  static Expected<Ptr> parse(std::span<const ComputedProperty> properties);
  ~ComputedProperties();

  std::size_t size() const { return properties_.size(); }
  std::optional<std::size_t> find(std::string_view name) const;
  const std::string& query_text(std::size_t number) const { return properties_[number].query; }
  const Query& query(std::size_t number) const { return *queries_[number]; }

 private:
  ComputedProperties();

  std::vector<ComputedProperty> properties_;
  std::vector<std::unique_ptr<Query>> queries_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
};

}  // namespace octavo::query::sql
