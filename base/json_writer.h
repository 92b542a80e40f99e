#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace octavo {

/// A tiny append-only JSON writer over std::string: the caller writes the punctuation, these write the leaves.

/// Appends `text` as a JSON string with quotes. `text` must be valid UTF-8 (everything that came through
/// `normalize_document`, a checked id or a parsed request is). Copies runs; escapes only `"`, `\` and control
/// characters.
inline void append_json_string(std::string& out, std::string_view text) {
  constexpr char hex[] = "0123456789abcdef";
  out.push_back('"');
  std::size_t run = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, run, i - run);
    run = i + 1;
    out.push_back('\\');
    switch (c) {
      case '"':
        out.push_back('"');
        break;
      case '\\':
        out.push_back('\\');
        break;
      case '\b':
        out.push_back('b');
        break;
      case '\f':
        out.push_back('f');
        break;
      case '\n':
        out.push_back('n');
        break;
      case '\r':
        out.push_back('r');
        break;
      case '\t':
        out.push_back('t');
        break;
      default:
        out.append("u00");
        out.push_back(hex[c >> 4]);
        out.push_back(hex[c & 15]);
    }
  }
  out.append(text, run);
  out.push_back('"');
}

template <std::integral Integer>
  requires(!std::same_as<Integer, bool>)
void append_json_number(std::string& out, Integer value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

inline void append_json_bool(std::string& out, bool value) {
  out.append(value ? "true" : "false");
}

/// Appends `"name":`, with a comma before it unless an object or array has just been opened.
inline void append_json_key(std::string& out, std::string_view name) {
  if (!out.empty() && out.back() != '{' && out.back() != '[') out.push_back(',');
  append_json_string(out, name);
  out.push_back(':');
}

}  // namespace octavo
