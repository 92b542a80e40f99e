#include "analytics/table/value_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <boost/json.hpp>

#include "base/assert.h"
#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

namespace json = boost::json;

constexpr std::array<std::pair<ValueKind, std::string_view>, 5> scalar_names{{
    {ValueKind::boolean, "BOOLEAN"},
    {ValueKind::integer, "BIGINT"},
    {ValueKind::number, "DOUBLE"},
    {ValueKind::text, "VARCHAR"},
    {ValueKind::json, "JSON"},
}};

constexpr std::array<std::pair<ValueKind, std::string_view>, 6> variant_names{{
    {ValueKind::boolean, "bool"},
    {ValueKind::integer, "int64"},
    {ValueKind::number, "float64"},
    {ValueKind::text, "string"},
    {ValueKind::object, "object"},
    {ValueKind::list, "array"},
}};

template <std::size_t size>
std::string_view name_in(const std::array<std::pair<ValueKind, std::string_view>, size>& names, ValueKind kind) {
  const auto found = std::ranges::find(names, kind, &std::pair<ValueKind, std::string_view>::first);
  OCTAVO_ASSERT(found != names.end());
  return found->second;
}

bool is_integer(std::string_view raw) {
  std::int64_t value = 0;
  const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  return read.ec == std::errc() && read.ptr == raw.data() + raw.size();
}

json::value to_json(const ValueType& type);

json::object members_to_json(const ValueType& type) {
  json::object members;
  for (std::size_t n = 0; n < type.names.size(); ++n) members[type.names[n]] = to_json(type.children[n]);
  return members;
}

json::value to_json(const ValueType& type) {
  switch (type.kind) {
    case ValueKind::none:
      return nullptr;
    case ValueKind::object:
      return members_to_json(type);
    case ValueKind::variants:
      return json::object{{"", members_to_json(type)}};
    case ValueKind::list:
      return json::array{to_json(type.element())};
    default:
      return json::value(name_in(scalar_names, type.kind));
  }
}

std::optional<ValueType> from_json(const json::value& stored) {
  ValueType type;
  const auto add_child = [&](const json::value& child) {
    auto read = from_json(child);
    if (read) type.children.push_back(*std::move(read));
    return read.has_value();
  };
  if (stored.is_null()) return type;
  if (stored.is_string()) {
    const std::string_view name = stored.get_string();
    const auto found = std::ranges::find(scalar_names, name, &std::pair<ValueKind, std::string_view>::second);
    if (found == scalar_names.end()) return std::nullopt;
    type.kind = found->first;
    return type;
  }
  if (stored.is_array()) {
    type.kind = ValueKind::list;
    if (stored.get_array().size() != 1 || !add_child(stored.get_array().front())) return std::nullopt;
    return type;
  }
  if (!stored.is_object()) return std::nullopt;
  // No member has an empty name.
  if (const auto* const variants = stored.get_object().if_contains("")) {
    auto read = from_json(*variants);
    if (!read || read->kind != ValueKind::object || read->children.empty()) return std::nullopt;
    read->kind = ValueKind::variants;
    return read;
  }
  type.kind = ValueKind::object;
  for (const auto& member : stored.get_object()) {
    type.names.emplace_back(member.key());
    if (!add_child(member.value())) return std::nullopt;
  }
  return type;
}

}  // namespace

bool ValueType::is_stored_as_text() const {
  return kind == ValueKind::none || kind == ValueKind::text || kind == ValueKind::json ||
         (kind == ValueKind::object && children.empty());
}

bool ValueType::has_variants() const {
  return kind == ValueKind::variants || std::ranges::any_of(children, &ValueType::has_variants);
}

std::optional<std::size_t> ValueType::find(std::string_view name, std::size_t expected) const {
  // Most objects have their members in the order of those before them.
  if (expected < names.size() && names[expected] == name) return expected;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

ValueKind kind_of_json(std::string_view raw) {
  OCTAVO_ASSERT(!raw.empty());
  switch (raw.front()) {
    case 'n':
      return ValueKind::none;
    case 't':
    case 'f':
      return ValueKind::boolean;
    case '"':
      return ValueKind::text;
    case '{':
      return ValueKind::object;
    case '[':
      return ValueKind::list;
    default:
      return is_integer(raw) ? ValueKind::integer : ValueKind::number;
  }
}

ValueKind kind_of_next(query::JsonCursor cursor) {
  const char first = cursor.front();
  if (first == '{') return ValueKind::object;
  if (first == '[') return ValueKind::list;
  return kind_of_json(cursor.skip());
}

std::string_view variant_name(ValueKind kind) {
  return name_in(variant_names, kind);
}

std::string stored_form(const ValueType& type) {
  return json::serialize(to_json(type));
}

std::optional<ValueType> type_of_stored(std::string_view text) {
  const auto parsed = query::parse_json(text);
  return parsed ? from_json(*parsed) : std::nullopt;
}

}  // namespace octavo::analytics
