#include "query/json/plain_strings.h"

#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace octavo::query {

namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= ' ' && byte < 0x7f && c != '\\';
}

bool all_plain(std::string_view text) {
  for (const char c : text) {
    if (!is_plain(c)) return false;
  }
  return true;
}

}  // namespace

bool has_plain_strings(std::string_view json) {
#if defined(__SSE2__)
  constexpr std::size_t kBlock = 16;
  if (json.size() < kBlock) return all_plain(json);
  __m128i others = _mm_setzero_si128();
  const auto look = [&](const char* at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // As signed numbers, what is not ASCII is below all that is.
    others = _mm_or_si128(others, _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
    others = _mm_or_si128(others, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\x7f')));
    others = _mm_or_si128(others, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  };
  const char* const last = json.data() + json.size() - kBlock;
  for (const char* at = json.data(); at < last; at += kBlock) look(at);
  look(last);
  return _mm_movemask_epi8(others) == 0;
#else
  return all_plain(json);
#endif
}

}  // namespace octavo::query
