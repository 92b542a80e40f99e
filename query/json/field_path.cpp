#include "query/json/field_path.h"

#include <charconv>

#include <fmt/format.h>

namespace octavo::query {

namespace {

/// The array index that a name stands for, in Erlang's spellings of integers: "7", "+7", "007". "-0" is 0; nullopt for
/// other negative numbers.
std::optional<std::size_t> array_index(std::string_view name) {
  bool negative = false;
  if (name.starts_with('+') || name.starts_with('-')) {
    negative = name[0] == '-';
    name.remove_prefix(1);
  }
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc{} || end != name.data() + name.size() || (negative && index != 0)) return std::nullopt;
  return index;
}

// Names of the same length are compared byte by byte: this number of them costs as much as passing one more member.
constexpr std::size_t key_bytes_per_member = 64;

}  // namespace

Expected<FieldPath> FieldPath::parse(std::string_view text) {
  FieldPath path;
  path.text_ = text;
  if (text.empty()) return path;
  std::string name;
  bool is_part_empty = true;
  const auto end_part = [&]() -> bool {
    if (is_part_empty) return false;
    const auto index = array_index(name);
    path.parts_.push_back({std::move(name), index});
    name.clear();
    is_part_empty = true;
    return true;
  };
  // Mango's rule: a dot after a backslash does not separate parts, and then all backslashes are removed.
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && (i == 0 || text[i - 1] != '\\')) {
      if (!end_part()) return fail(ErrorCode::bad_request, fmt::format("Invalid field name: {}", text));
      continue;
    }
    is_part_empty = false;
    if (text[i] != '\\') name.push_back(text[i]);
  }
  if (!end_part()) return fail(ErrorCode::bad_request, fmt::format("Invalid field name: {}", text));
  return path;
}

FieldLookup find_field(simdjson::dom::element root, const FieldPath& path, std::size_t first_part) {
  using Outcome = FieldLookup::Outcome;
  simdjson::dom::element value = root;
  std::size_t passed = 0;
  const auto& parts = path.parts();
  for (std::size_t i = first_part; i < parts.size(); ++i) {
    if (simdjson::dom::object object; value.get(object) == simdjson::SUCCESS) {
      auto member = object.begin();
      const auto end = object.end();
      const std::string& name = parts[i].name;
      const std::size_t extra = name.size() / key_bytes_per_member;
      for (; member != end && !member.key_equals(name); ++member) {
        ++passed;
        if (extra > 0 && member.key_length() == name.size()) passed += extra;
      }
      if (!(member != end)) return {Outcome::missing, {}, passed};
      value = member.value();
    } else if (simdjson::dom::array array; value.get(array) == simdjson::SUCCESS) {
      if (!parts[i].index) return {Outcome::bad_path, {}, passed};
      auto item = array.begin();
      const auto end = array.end();
      for (std::size_t left = *parts[i].index; item != end && left > 0; ++item, --left) ++passed;
      if (!(item != end)) return {Outcome::bad_path, {}, passed};
      value = *item;
    } else {
      return {Outcome::bad_path, {}, passed};
    }
  }
  return {Outcome::found, value, passed};
}

}  // namespace octavo::query
