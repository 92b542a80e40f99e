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

/// A property that queries compute, as its owner said: `{"name":"lower","query":"SELECT VALUE LOWER(c.name) FROM c"}`.
struct ComputedProperty {
  std::string name;
  std::string query;
};

/// The computed properties of a container. A query that names one at the top of an item gets the value of its
/// expression instead of what the item has under that name; the item as a whole does not have it.
///
/// Immutable and thread-safe; shared by the queries of the container.
class ComputedProperties {
 public:
  using Ptr = std::shared_ptr<const ComputedProperties>;

  /// Azure Cosmos DB's rules: at most 20, each with a name of its own (which names are the server's the caller knows)
  /// and a query `SELECT VALUE expression FROM c` and nothing more: no subqueries, aggregates, user-defined or spatial
  /// functions, none whose value changes by itself, and no other computed property. Null for an empty list.
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
