#include "query/sql/equal_texts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "query/index/raw_field.h"
#include "query/json/writer.h"

namespace octavo::query::sql {

namespace {

constexpr double kExactIntegerMax = 9007199254740992.0;  // 2^53

// Empty: it has several spellings.
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
    if (std::abs(number) < kExactIntegerMax && number == std::trunc(number)) {
      append_json_number(text, static_cast<std::int64_t>(number));
    }
  }
  return text;
}

}  // namespace

std::optional<FieldPath> stored_field(const FixedProperty& property, const RowShape& shape) {
  // An id is the document's, and may stand in its body or not; the rest are of the shape.
  if (property.values.size() != 1 || property.path[0] == "id" || property.path[0].starts_with('_')) return std::nullopt;
  return shape.field_path(property.path);
}

std::vector<EqualText> equal_texts_of(std::span<const FixedProperty> fixed, const RowShape& shape) {
  std::vector<EqualText> texts;
  for (const FixedProperty& property : fixed) {
    auto field = stored_field(property, shape);
    if (!field) return {};
    std::string json = text_of(property.values[0]);
    if (json.empty()) return {};
    texts.push_back({*std::move(field), std::move(json)});
  }
  return texts;
}

bool has_texts(std::string_view body, std::span<const EqualText> texts) {
  return std::ranges::all_of(
      texts, [&](const EqualText& text) { return find_raw_field(body, text.field) == std::string_view(text.json); });
}

}  // namespace octavo::query::sql
