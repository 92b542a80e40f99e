#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/encoding.h"

namespace octavo {

/// A tiny append-only JSON writer over std::string: the caller writes the punctuation, these write the leaves.

/// Number of leading bytes of `text` that need no escape in a JSON string. Reads eight bytes at a time.
inline std::size_t json_unescaped_prefix(std::string_view text) {
  constexpr std::uint64_t each = 0x0101010101010101;
  constexpr std::uint64_t tops = 0x80 * each;
  const auto is_escaped = [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; };
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    const std::uint64_t quotes = word ^ ('"' * each);
    const std::uint64_t backslashes = word ^ ('\\' * each);
    // A subtraction borrows into a byte's top bit if the byte is less than what is subtracted. Bytes from 0x80 on have
    // that bit set already, and are never escaped.
    const std::uint64_t borrows = (word - 0x20 * each) | (quotes - each) | (backslashes - each);
    if ((borrows & ~word & tops) != 0) break;
  }
  while (i < text.size() && !is_escaped(static_cast<unsigned char>(text[i]))) ++i;
  return i;
}

/// Appends `text` as a JSON string with quotes. `text` must be valid UTF-8 (everything that came through
/// `normalize_document`, a checked id or a parsed request is). Copies runs; escapes only `"`, `\` and control
/// characters.
inline void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  while (true) {
    const std::size_t run = json_unescaped_prefix(text);
    out.append(text.data(), run);
    if (run == text.size()) break;
    const auto c = static_cast<unsigned char>(text[run]);
    text.remove_prefix(run + 1);
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
        out.push_back(crypto::hex_digits[c >> 4]);
        out.push_back(crypto::hex_digits[c & 15]);
    }
  }
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
