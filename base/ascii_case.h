#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// The case of the letters A to Z, in every locale; other bytes stay as they are. For names and tokens of protocols,
/// not for text in a language.
namespace octavo {

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

inline std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_lower(c);
  return result;
}
inline std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = to_upper(c);
  return result;
}

constexpr bool equals_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  if (left == right) return true;
  // Header names of one size often begin with the same characters ("x-ms-…"), but seldom end with the same.
  if (to_lower(left.back()) != to_lower(right.back())) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (to_lower(left[i]) != to_lower(right[i])) return false;
  }
  return true;
}

}  // namespace octavo
