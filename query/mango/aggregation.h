#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/index/index_definition.h"
#include "query/json/field_path.h"

namespace octavo::query {

/// Limits on the aggregation of one `_find`.
inline constexpr std::size_t group_fields_max = 32;
inline constexpr std::size_t aggregates_max = 64;

/// One member of `"aggregate"`: `{"turnover": {"$sum": "price"}}`.
struct Aggregate {
  enum class Function : std::uint8_t { sum, count, avg, min, max };
  std::string name;
  Function function = Function::count;
  std::optional<std::size_t> field;  ///< number in the request's fields; absent: `$count` of all documents
};

/// The rows that a `_find` with `group`, `aggregate`, `distinct` or `count` returns instead of documents: one row per
/// group. An extension of Mango.
///
///   {"selector": …, "group": ["year"], "aggregate": {"turnover": {"$sum": "total"}, "orders": {"$count": true}},
///    "sort": [{"turnover": "desc"}], "limit": 3}
///
/// Documents whose group fields are equal in the collation are one group; a document that lacks one is in a group
/// without it. `$sum` and `$avg` take numbers only; `$min` and `$max` take every value, in the order of the collation.
/// The average, minimum or maximum of no values is null. Without `group` there is one row, even if nothing matches.
struct Aggregation {
  /// One sort criterion of the rows; rows that compare equal follow the order of the group fields.
  struct Order {
    bool by_group = true;    ///< else by an aggregate
    std::size_t number = 0;  ///< of the group field or aggregate
    bool descending = false;
  };

  std::size_t group_fields = 0;  ///< number of leading `fields` of the request that are group fields
  bool rows = false;             ///< false: the request has `count` only
  bool count = false;            ///< the reply has `count`: of groups, or of documents without groups
  std::vector<Aggregate> aggregates;
  std::vector<Order> order;
  boost::json::object options;  ///< as sent, for `_explain`
};

/// The aggregation members of a request; null where absent.
struct AggregationMembers {
  const boost::json::value* group = nullptr;
  const boost::json::value* aggregate = nullptr;
  const boost::json::value* distinct = nullptr;
  const boost::json::value* count = nullptr;
};

/// Validates the members and appends the fields that they need to `fields`. nullopt: no aggregation. Errors:
/// bad_request invalid_group, invalid_aggregate, invalid_distinct, invalid_boolean; invalid_sort_field for a sort by
/// anything but group fields and aggregates.
Expected<std::optional<Aggregation>> parse_aggregation(const AggregationMembers& members,
                                                       const std::vector<OrderedField>& sort,
                                                       std::vector<FieldPath>& fields);

}  // namespace octavo::query
