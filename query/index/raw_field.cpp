#include "query/index/raw_field.h"

#include <cstring>
#include <string>

#include "query/json/normalize.h"

namespace octavo::query {

namespace {

// `at` is the opening quote; returns the position after the closing one.
std::size_t skip_string(std::string_view json, std::size_t at) {
  std::size_t i = at + 1;
  while (i < json.size()) {
    const void* quote = std::memchr(json.data() + i, '"', json.size() - i);
    if (!quote) return json.size();
    const auto end = static_cast<std::size_t>(static_cast<const char*>(quote) - json.data());
    std::size_t slashes = 0;
    while (end - slashes > at + 1 && json[end - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) return end + 1;
    i = end + 1;
  }
  return json.size();
}

bool name_is(std::string_view raw, std::string_view name) {
  if (raw.find('\\') == std::string_view::npos) return raw == name;
  std::string decoded;
  append_decoded_string(raw, decoded);
  return decoded == name;
}

// Value of one member of the object that starts at `json[0]`.
std::string_view member(std::string_view json, std::string_view name) {
  std::size_t i = 1;
  while (i < json.size() && json[i] == '"') {
    const std::size_t name_end = skip_string(json, i);
    if (name_end >= json.size() || name_end < i + 2) return {};
    const std::string_view raw = json.substr(i + 1, name_end - i - 2);
    const std::size_t begin = name_end + 1;  // after the colon
    const std::size_t end = skip_raw_value(json, begin);
    if (end <= begin) return {};
    if (name_is(raw, name)) return json.substr(begin, end - begin);
    i = end + 1;
  }
  return {};
}

std::string_view element(std::string_view json, std::size_t index) {
  std::size_t i = 1;
  if (i < json.size() && json[i] == ']') return {};
  for (std::size_t position = 0; i < json.size(); ++position) {
    const std::size_t end = skip_raw_value(json, i);
    if (end <= i) return {};
    if (position == index) return json.substr(i, end - i);
    if (end >= json.size() || json[end] != ',') return {};
    i = end + 1;
  }
  return {};
}

}  // namespace

std::size_t skip_raw_value(std::string_view json, std::size_t at) {
  if (at >= json.size()) return json.size();
  const char first = json[at];
  if (first == '"') return skip_string(json, at);
  if (first != '{' && first != '[') {
    std::size_t i = at;
    while (i < json.size() && json[i] != ',' && json[i] != '}' && json[i] != ']') ++i;
    return i;
  }
  std::size_t depth = 0;
  for (std::size_t i = at; i < json.size();) {
    const char c = json[i];
    if (c == '"') {
      i = skip_string(json, i);
      continue;
    }
    ++i;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return i;
  }
  return json.size();
}

std::string_view find_raw_field(std::string_view json, const FieldPath& path) {
  std::string_view value = json;
  for (const auto& part : path.parts()) {
    if (value.empty()) return {};
    if (value[0] == '{') {
      value = member(value, part.name);
    } else if (value[0] == '[' && part.index) {
      value = element(value, *part.index);
    } else {
      return {};
    }
  }
  return value;
}

}  // namespace octavo::query
