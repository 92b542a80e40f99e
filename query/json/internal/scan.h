#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/encoding.h"
#include "base/error.h"

/// The lexical level of JSON (RFC 8259), shared by the normaliser and the splitter. Functions take the text as a pair
/// of pointers and return where they stopped; nullptr means that the text is invalid there.
namespace octavo::query::scan {

inline bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

inline const char* skip_space(const char* p, const char* end) {
  while (p != end && is_space(*p)) ++p;
  return p;
}

inline bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

/// The end of the number that starts at `p`.
inline const char* number(const char* p, const char* end) {
  if (p != end && *p == '-') ++p;
  if (p == end || !is_digit(*p)) return nullptr;
  if (*p == '0') {
    ++p;
  } else {
    while (p != end && is_digit(*p)) ++p;
  }
  if (p != end && *p == '.') {
    ++p;
    if (p == end || !is_digit(*p)) return nullptr;
    while (p != end && is_digit(*p)) ++p;
  }
  if (p != end && (*p | 0x20) == 'e') {
    ++p;
    if (p != end && (*p == '+' || *p == '-')) ++p;
    if (p == end || !is_digit(*p)) return nullptr;
    while (p != end && is_digit(*p)) ++p;
  }
  return p;
}

/// The end of `true`, `false` or `null` at `p`.
inline const char* literal(const char* p, const char* end) {
  const std::string_view rest(p, static_cast<std::size_t>(end - p));
  if (rest.starts_with("true") || rest.starts_with("null")) return p + 4;
  if (rest.starts_with("false")) return p + 5;
  return nullptr;
}

/// Four hexadecimal digits at `p`, or -1.
inline int hex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = crypto::hex_value(p[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// The end of the escape whose backslash is at `p`; a surrogate pair is one escape, a lone surrogate is invalid.
inline const char* escape(const char* p, const char* end) {
  if (end - p < 2) return nullptr;
  switch (p[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return p + 2;
    case 'u':
      break;
    default:
      return nullptr;
  }
  const int unit = hex4(p + 2, end);
  if (unit < 0) return nullptr;
  if (unit < 0xD800 || unit > 0xDFFF) return p + 6;
  if (unit >= 0xDC00 || end - p < 12 || p[6] != '\\' || p[7] != 'u') return nullptr;
  const int low = hex4(p + 8, end);
  return low >= 0xDC00 && low <= 0xDFFF ? p + 12 : nullptr;
}

inline bool is_string_special(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

#if defined(__SSE2__)
/// A bit for each of 16 bytes: set if the byte ends a plain run inside a string.
inline unsigned string_special_mask(__m128i bytes) {
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)));
}
#endif

/// The first quote, backslash or control character from `p` on, or `end`.
inline const char* string_special(const char* p, const char* end) {
#if defined(__SSE2__)
  while (end - p >= 16) {
    const unsigned mask = string_special_mask(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    if (mask != 0) return p + std::countr_zero(mask);
    p += 16;
  }
#endif
  while (p != end && !is_string_special(*p)) ++p;
  return p;
}

/// A string whose opening quote is at `p`.
struct String {
  const char* end = nullptr;  ///< after the closing quote; nullptr: invalid, see `error_at`
  const char* error_at = nullptr;
  const char* error = nullptr;
  bool escaped = false;
};
inline String string(const char* p, const char* end) {
  bool escaped = false;
  for (++p;;) {
    p = string_special(p, end);
    if (p == end) return {nullptr, p, "unterminated string", escaped};
    if (*p == '"') return {p + 1, nullptr, nullptr, escaped};
    if (*p != '\\') return {nullptr, p, "control character in a string", escaped};
    escaped = true;
    const char* after = escape(p, end);
    if (after == nullptr) return {nullptr, p, "bad escape in a string", escaped};
    p = after;
  }
}

/// Offset of the first byte that is not UTF-8, given that there is one.
std::size_t first_invalid_utf8(std::string_view text);

/// "invalid UTF-8 JSON at byte N: what".
std::unexpected<Error> invalid(std::size_t offset, std::string_view what);

/// An error unless `text` is valid UTF-8.
Expected<void> check_utf8(std::string_view text);

}  // namespace octavo::query::scan
