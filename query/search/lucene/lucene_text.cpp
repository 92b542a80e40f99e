#include "query/search/lucene/lucene_text.h"

#include <cstdint>

#include <unicode/utf8.h>

namespace octavo::query::search {

void append_wide(Lucene::String& out, std::string_view utf8) {
  out.reserve(out.size() + utf8.size());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(utf8.data());
  for (std::size_t at = 0; at < utf8.size();) {
    if (bytes[at] < 0x80) {
      out.push_back(static_cast<wchar_t>(bytes[at++]));
      continue;
    }
    UChar32 c = 0;
    // NOLINTNEXTLINE(bugprone-assignment-in-if-condition): ICU's macro
    U8_NEXT(bytes, at, utf8.size(), c);
    out.push_back(static_cast<wchar_t>(c < 0 ? 0xFFFD : c));
  }
}

void append_utf8(std::string& out, std::wstring_view wide) {
  out.reserve(out.size() + wide.size());
  for (const wchar_t letter : wide) {
    const auto c = static_cast<char32_t>(letter);
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
      continue;
    }
    const bool valid = c < 0x110000 && (c < 0xD800 || c > 0xDFFF);
    std::uint8_t bytes[U8_MAX_LENGTH];
    std::size_t size = 0;
    U8_APPEND_UNSAFE(bytes, size, valid ? c : 0xFFFD);
    out.append(reinterpret_cast<const char*>(bytes), size);
  }
}

}  // namespace octavo::query::search
