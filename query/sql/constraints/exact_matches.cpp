#include "query/sql/constraints/exact_matches.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "query/index/raw_field.h"
#include "query/json/plain_strings.h"

namespace octavo::query::sql {

namespace {

// The stored field of a property that must equal one constant. nullopt: it must equal one of several constants, or its
// value depends on more than the stored body.
std::optional<FieldPath> stored_field(const FixedProperty& property, const RowShape& shape) {
  // An id is the document's, and may be in its body or not; properties with an underscore come from the shape.
  if (property.values.size() != 1 || property.path[0] == "id" || property.path[0].starts_with('_')) return std::nullopt;
  return shape.field_path(property.path);
}

WhereHolds equality_of(const FixedProperty& property, const RowShape& shape) {
  if (!stored_field(property, shape)) return WhereHolds::unknown;
  const boost::json::value& value = property.values[0];
  if (value.is_string()) {
    return has_plain_strings(boost::json::serialize(value)) ? WhereHolds::of_plain_strings : WhereHolds::unknown;
  }
  if (value.is_number()) return is_exact(value.to_number<double>()) ? WhereHolds::of_all : WhereHolds::unknown;
  return value.is_bool() || value.is_null() ? WhereHolds::of_all : WhereHolds::unknown;
}

// The JSON text of the value; empty: it has several spellings.
std::string text_of(const boost::json::value& value) {
  std::string text;
  if (value.is_string()) {
    append_json_string(text, value.get_string());
  } else if (value.is_bool()) {
    append_json_bool(text, value.get_bool());
  } else if (value.is_null()) {
    text = "null";
  } else if (value.is_number()) {
    const auto number = value.to_number<double>();
    if (is_exact(number) && number == std::trunc(number)) {
      append_json_number(text, static_cast<std::int64_t>(number));
    }
  }
  return text;
}

}  // namespace

bool is_exact(double number) {
  constexpr double limit = 9007199254740992.0;  // 2^53
  return std::abs(number) < limit;
}

WhereHolds equality_of(std::span<const FixedProperty> fixed, const RowShape& shape) {
  auto holds = WhereHolds::of_all;
  for (const FixedProperty& property : fixed) holds = std::min(holds, equality_of(property, shape));
  return holds;
}

std::vector<ExactMatch> exact_matches_of(std::span<const FixedProperty> fixed, const RowShape& shape) {
  std::vector<ExactMatch> texts;
  for (const FixedProperty& property : fixed) {
    auto field = stored_field(property, shape);
    if (!field) return {};
    std::string json = text_of(property.values[0]);
    if (json.empty()) return {};
    texts.push_back({*std::move(field), std::move(json)});
  }
  return texts;
}

bool has_exact_matches(std::string_view body, std::span<const ExactMatch> texts) {
  return std::ranges::all_of(
      texts, [&](const ExactMatch& text) { return find_raw_field(body, text.field) == std::string_view(text.json); });
}

}  // namespace octavo::query::sql
