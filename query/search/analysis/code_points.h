#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <unicode/utf8.h>

namespace octavo::query::search {

/// The code point that begins at `at`; negative for invalid UTF-8. Moves `at` to its end.
inline UChar32 next_code_point(std::string_view utf8, std::size_t& at) {
  UChar32 c = 0;
  // NOLINTNEXTLINE(bugprone-assignment-in-if-condition): ICU's macro
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(utf8.data()), at, utf8.size(), c);
  return c;
}

}  // namespace octavo::query::search
