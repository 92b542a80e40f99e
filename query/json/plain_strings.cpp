#include "query/json/plain_strings.h"

#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace octavo::query {

namespace {

// In JSON text a backslash begins an escape, so the string has another spelling.
template <bool is_json>
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= ' ' && byte < 0x7f && !(is_json && c == '\\');
}

template <bool is_json>
bool are_plain(std::string_view text) {
  for (const char c : text) {
    if (!is_plain<is_json>(c)) return false;
  }
  return true;
}

template <bool is_json>
bool all_plain(std::string_view text) {
#if defined(__SSE2__)
  constexpr std::size_t block_bytes = 16;
  if (text.size() < block_bytes) return are_plain<is_json>(text);
  __m128i others = _mm_setzero_si128();
  const auto look = [&](const char* at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Bytes beyond ASCII, read as signed numbers, are below all ASCII bytes.
    others = _mm_or_si128(others, _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
    others = _mm_or_si128(others, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\x7f')));
    if constexpr (is_json) others = _mm_or_si128(others, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  };
  const char* const last = text.data() + text.size() - block_bytes;
  for (const char* at = text.data(); at < last; at += block_bytes) look(at);
  look(last);
  return _mm_movemask_epi8(others) == 0;
#else
  return are_plain<is_json>(text);
#endif
}

}  // namespace

bool has_plain_strings(std::string_view json) {
  return all_plain<true>(json);
}

bool is_plain_text(std::string_view text) {
  return all_plain<false>(text);
}

}  // namespace octavo::query
