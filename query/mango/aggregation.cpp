#include "query/mango/aggregation.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace octavo::query {

namespace {

namespace json = boost::json;

struct FunctionName {
  std::string_view name;
  Aggregate::Function function;
};
constexpr std::array aggregate_functions{
    FunctionName{"$sum", Aggregate::Function::sum}, FunctionName{"$count", Aggregate::Function::count},
    FunctionName{"$avg", Aggregate::Function::avg}, FunctionName{"$min", Aggregate::Function::min},
    FunctionName{"$max", Aggregate::Function::max},
};

std::unexpected<Error> invalid(std::string_view word, std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), word);
}

Expected<FieldPath> parse_field(const json::value& value, std::string_view word) {
  const auto wrong = [&] {
    return invalid(word, "A field must be named by a non-empty string, not: " + json::serialize(value));
  };
  if (!value.is_string() || value.get_string().empty()) return wrong();
  auto path = FieldPath::parse(value.get_string());
  if (!path) return wrong();
  // `_conflicts` is not a stored field of the document.
  if (path->is("_conflicts")) return wrong();
  return path;
}

std::size_t number_of(std::vector<FieldPath>& fields, FieldPath path) {
  const auto found = std::ranges::find(fields, path);
  if (found != fields.end()) return static_cast<std::size_t>(found - fields.begin());
  fields.push_back(std::move(path));
  return fields.size() - 1;
}

// A name, or a list of names: `"city"`, `["country", "city"]`.
Expected<void> parse_group(const json::value& value, std::string_view word, std::vector<FieldPath>& fields) {
  const auto add = [&](const json::value& name) -> Expected<void> {
    OCTAVO_TRY(auto path, parse_field(name, word));
    if (std::ranges::find(fields, path) != fields.end()) {
      return invalid(word, fmt::format("The field {} is named twice.", path.text()));
    }
    fields.push_back(std::move(path));
    return {};
  };
  if (value.is_string()) return add(value);
  if (!value.is_array() || value.get_array().empty() || value.get_array().size() > group_fields_max) {
    return invalid(word, fmt::format("Name one to {} fields, as an array of strings.", group_fields_max));
  }
  for (const auto& name : value.get_array()) OCTAVO_TRY_VOID(add(name));
  return {};
}

Expected<Aggregate> parse_aggregate(std::string_view name, const json::value& value, std::vector<FieldPath>& fields) {
  constexpr std::string_view form =
      R"(write {"name": {"$sum": "field"}}, with $sum, $count, $avg, $min or $max; {"$count": true} counts all)";
  const auto wrong = [&] {
    return invalid("invalid_aggregate",
                   fmt::format("Invalid aggregate {}: {}; {}.", name, json::serialize(value), form));
  };
  if (name.empty() || name.starts_with('_') || name.starts_with('$')) return wrong();
  if (!value.is_object() || value.get_object().size() != 1) return wrong();
  const auto& member = *value.get_object().begin();
  const auto function = std::ranges::find(aggregate_functions, std::string_view(member.key()), &FunctionName::name);
  if (function == aggregate_functions.end()) return wrong();
  Aggregate aggregate{std::string(name), function->function, std::nullopt};
  if (aggregate.function == Aggregate::Function::count && member.value() == true) return aggregate;
  if (!member.value().is_string()) return wrong();
  OCTAVO_TRY(auto path, parse_field(member.value(), "invalid_aggregate"));
  aggregate.field = number_of(fields, std::move(path));
  return aggregate;
}

Expected<std::vector<Aggregation::Order>> parse_order(const std::vector<OrderedField>& sort,
                                                      const Aggregation& aggregation,
                                                      const std::vector<FieldPath>& fields) {
  std::vector<Aggregation::Order> order;
  for (const OrderedField& field : sort) {
    Aggregation::Order by{true, 0, field.descending};
    const auto groups_end = fields.begin() + static_cast<std::ptrdiff_t>(aggregation.group_fields);
    if (const auto group = std::find(fields.begin(), groups_end, field.path); group != groups_end) {
      by.number = static_cast<std::size_t>(group - fields.begin());
    } else {
      const auto found = std::ranges::find(aggregation.aggregates, field.path.text(), &Aggregate::name);
      if (found == aggregation.aggregates.end()) {
        return invalid(
            "invalid_sort_field",
            fmt::format("Groups can be sorted by their fields and aggregates only, not by {}.", field.path.text()));
      }
      by.by_group = false;
      by.number = static_cast<std::size_t>(found - aggregation.aggregates.begin());
    }
    order.push_back(by);
  }
  return order;
}

// A group field and an aggregate of the same name would be the same member of a row.
Expected<void> check_names(const Aggregation& aggregation, const std::vector<FieldPath>& fields) {
  for (const Aggregate& aggregate : aggregation.aggregates) {
    for (std::size_t i = 0; i < aggregation.group_fields; ++i) {
      if (fields[i].parts()[0].name != aggregate.name) continue;
      return invalid("invalid_aggregate",
                     fmt::format("The aggregate {} has the name of a group field; give it another.", aggregate.name));
    }
  }
  return {};
}

}  // namespace

Expected<std::optional<Aggregation>> parse_aggregation(const AggregationMembers& members,
                                                       const std::vector<OrderedField>& sort,
                                                       std::vector<FieldPath>& fields) {
  Aggregation aggregation;
  if (members.count) {
    if (!members.count->is_bool()) {
      return invalid("invalid_boolean", "Invalid boolean value: " + json::serialize(*members.count));
    }
    aggregation.count = members.count->get_bool();
  }
  aggregation.rows = members.group || members.aggregate || members.distinct;
  if (!aggregation.rows && !aggregation.count) return std::nullopt;
  if (!fields.empty()) {
    return invalid("invalid_fields",
                   "With `group`, `aggregate`, `distinct` or `count` there are no `fields` to return.");
  }
  if (members.distinct && (members.group || members.aggregate)) {
    return invalid("invalid_distinct", "`distinct` stands alone: its fields are the groups.");
  }
  if (members.group) OCTAVO_TRY_VOID(parse_group(*members.group, "invalid_group", fields));
  if (members.distinct) OCTAVO_TRY_VOID(parse_group(*members.distinct, "invalid_distinct", fields));
  aggregation.group_fields = fields.size();
  if (members.aggregate) {
    const auto& value = *members.aggregate;
    if (!value.is_object() || value.get_object().empty() || value.get_object().size() > aggregates_max) {
      return invalid("invalid_aggregate",
                     fmt::format("`aggregate` must be an object of one to {} aggregates.", aggregates_max));
    }
    for (const auto& member : value.get_object()) {
      OCTAVO_TRY(auto aggregate, parse_aggregate(member.key(), member.value(), fields));
      aggregation.aggregates.push_back(std::move(aggregate));
    }
  }
  OCTAVO_TRY_VOID(check_names(aggregation, fields));
  OCTAVO_TRY(aggregation.order, parse_order(sort, aggregation, fields));
  const auto keep = [&](std::string_view name, const json::value* value) {
    if (value) aggregation.options[name] = *value;
  };
  keep("group", members.group);
  keep("aggregate", members.aggregate);
  keep("distinct", members.distinct);
  keep("count", members.count);
  // Counting needs no field. `_id` is in every index, which allows a covering plan.
  if (fields.empty()) fields.push_back(*FieldPath::parse("_id"));
  return aggregation;
}

}  // namespace octavo::query
