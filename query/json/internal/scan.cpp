#include "query/json/internal/scan.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace octavo::query::scan {

namespace {

/// The length of the valid UTF-8 sequence at `text[i]`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(i);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() - i < length) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(i + 1);
  if (first == 0xE0 && second < 0xA0) return 0;  // overlong
  if (first == 0xED && second > 0x9F) return 0;  // surrogates
  if (first == 0xF0 && second < 0x90) return 0;  // overlong
  if (first == 0xF4 && second > 0x8F) return 0;  // beyond U+10FFFF
  return length;
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = sequence_length(text, i);
    if (length == 0) break;
    i += length;
  }
  return i;
}

std::unexpected<Error> invalid(std::size_t offset, std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("invalid UTF-8 JSON at byte {}: {}", offset, what));
}

Expected<void> check_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return {};
  return invalid(first_invalid_utf8(text), "not UTF-8");
}

}  // namespace octavo::query::scan
