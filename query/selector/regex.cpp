#include "query/selector/internal/regex.h"

#include <utility>

#include <unicode/unistr.h>

namespace octavo::query {

namespace {

constexpr int32_t match_time_max = 10;  // ICU's unit: about one millisecond of matching
constexpr int32_t match_stack_bytes_max = 1 << 20;

icu::UnicodeString to_utf16(std::string_view text) {
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
}

}  // namespace

std::shared_ptr<const CompiledRegex> CompiledRegex::compile(std::string_view pattern) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError where{};
  // Only \n ends a line, as in PCRE.
  std::unique_ptr<icu::RegexPattern> compiled(
      icu::RegexPattern::compile(to_utf16(pattern), UREGEX_UNIX_LINES, where, status));
  if (U_FAILURE(status)) return nullptr;
  return std::make_shared<const CompiledRegex>(std::move(compiled));
}

bool CompiledRegex::matches(std::string_view text) const {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::RegexMatcher> matcher(idle_.exchange(nullptr, std::memory_order_acquire));
  if (!matcher) {
    matcher.reset(pattern_->matcher(status));
    if (U_FAILURE(status)) return false;
    matcher->setTimeLimit(match_time_max, status);
    matcher->setStackLimit(match_stack_bytes_max, status);
  }
  const icu::UnicodeString utf16 = to_utf16(text);
  matcher->reset(utf16);
  const bool is_found = matcher->find(status) && U_SUCCESS(status);
  delete idle_.exchange(matcher.release(), std::memory_order_acq_rel);
  return is_found;
}

}  // namespace octavo::query
