#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

/// Positions in valid UTF-8 text counted in characters (code points), like the string functions do.
namespace octavo::query::sql::utf8 {

inline bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

inline std::size_t length(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

/// Bytes before character number `count`; the size of the text if it has fewer.
inline std::size_t offset(std::string_view text, std::size_t count) {
  if (count >= text.size()) return text.size();
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (is_continuation(text[at])) continue;
    if (count-- == 0) return at;
  }
  return at;
}

/// Bytes of the character at `at`.
inline std::size_t character_size(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && is_continuation(text[end])) ++end;
  return end - at;
}

}  // namespace octavo::query::sql::utf8
