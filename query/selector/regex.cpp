#define PCRE2_CODE_UNIT_WIDTH 8

#include "query/selector/internal/regex.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <pcre2.h>
#include <utility>

#include <fmt/format.h>

#include "base/machine/processor_time.h"

namespace octavo::query {

namespace {

// One step is the visit of an item of the pattern, or 64 bytes of text passed: about 20 ns, so about 10 ms in total.
constexpr std::uint64_t match_steps_max = 500'000;
constexpr std::size_t bytes_per_step = 64;
// Processor time, for work that steps do not count: `a{60000}` is one item.
constexpr std::chrono::milliseconds match_time_max{20};
constexpr std::uint32_t visits_per_look = 128;
constexpr std::uint32_t match_heap_kib_max = 16 * 1024;
constexpr std::uint32_t groups_nested_max = 250;  // PCRE's own limit

template <auto Free>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, FreeBy<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeBy<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeBy<pcre2_match_data_free>>;

template <class Owner, class Object>
Owner owned(Object* object) {
  if (!object) throw std::bad_alloc();
  return Owner(object);
}

/// The budget of one match.
struct RegexBudget {
  bool has_backreferences = false;
  std::uint64_t steps_left = match_steps_max;
  std::size_t position = 0;
  std::uint32_t visits_until_look = visits_per_look;
  std::chrono::nanoseconds until{};  ///< in the thread's processor time; 0 before the clock is first read

  /// False if the match has used up its budget.
  bool visit(const pcre2_callout_block& at) {
    const std::size_t passed =
        at.current_position < position ? position - at.current_position : at.current_position - position;
    position = at.current_position;
    std::uint64_t steps = 1 + passed / bytes_per_step;
    if (has_backreferences) steps += steps_of_backreference(at);
    if (steps_left < steps) return false;
    steps_left -= steps;
    return --visits_until_look > 0 || look();
  }

  // The next item may compare as much text as the longest group contains, and fail without any sign of this work.
  static std::uint64_t steps_of_backreference(const pcre2_callout_block& at) {
    std::size_t longest = 0;
    for (std::size_t group = 1; group < at.capture_top; ++group) {
      const std::size_t start = at.offset_vector[2 * group];
      const std::size_t end = at.offset_vector[2 * group + 1];
      if (start != PCRE2_UNSET && end > start) longest = std::max(longest, end - start);
    }
    return longest / bytes_per_step + at.capture_top / bytes_per_step;
  }

  bool look() {
    visits_until_look = visits_per_look;
    const std::chrono::nanoseconds now = processor_time();
    if (until == std::chrono::nanoseconds{}) until = now + match_time_max;
    return now < until;
  }
};

int on_visit(pcre2_callout_block* at, void* budget) {
  return static_cast<RegexBudget*>(budget)->visit(*at) ? 0 : PCRE2_ERROR_MATCHLIMIT;
}

/// What PCRE2 needs for a match. One per thread: it keeps the memory of the largest match.
struct Matcher {
  MatchContext context = owned<MatchContext>(pcre2_match_context_create(nullptr));
  MatchData data = owned<MatchData>(pcre2_match_data_create(1, nullptr));

  Matcher() { pcre2_set_heap_limit(context.get(), match_heap_kib_max); }
};

/// `is_lenient`: unknown escapes are literals.
CompileContext compile_context(RegexDialect dialect, bool is_lenient) {
  auto context = owned<CompileContext>(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE);
  pcre2_set_parens_nest_limit(context.get(), groups_nested_max);
  if (dialect == RegexDialect::bytes) {
    std::uint32_t extra = is_lenient ? PCRE2_EXTRA_BAD_ESCAPE_IS_LITERAL : 0;
#ifdef PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK
    extra |= PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK;
#endif
    pcre2_set_compile_extra_options(context.get(), extra);
  }
  return context;
}

std::uint32_t compile_options(RegexDialect dialect, RegexModifiers modifiers) {
  std::uint32_t options = PCRE2_AUTO_CALLOUT;
  if (dialect == RegexDialect::characters) options |= PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
  if (modifiers.ignore_case) options |= PCRE2_CASELESS;
  if (modifiers.multi_line) options |= PCRE2_MULTILINE;
  if (modifiers.dot_all) options |= PCRE2_DOTALL;
  if (modifiers.ignore_blanks) options |= PCRE2_EXTENDED;
  return options;
}

/// Errors for what PCRE2 rejects and PCRE 8 accepts. PCRE 8 rejects other wrong escapes, too (`\p{Foo}`), so leniency
/// is not the default.
bool is_taken_by_pcre_8(int error) {
  return error == PCRE2_ERROR_UNKNOWN_ESCAPE || error == PCRE2_ERROR_CLASS_INVALID_RANGE;
}

bool is_too_large(int error) {
  return error == PCRE2_ERROR_PATTERN_TOO_LARGE || error == PCRE2_ERROR_PATTERN_TOO_COMPLICATED ||
         error == PCRE2_ERROR_PATTERN_STRING_TOO_LONG;
}

}  // namespace

void CompiledRegex::FreeCode::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

CompiledRegex::CompiledRegex(Code code) : code_(std::move(code)) {
  std::uint32_t highest = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_BACKREFMAX, &highest);
  has_backreferences_ = highest > 0;
}

Expected<std::shared_ptr<const CompiledRegex>> CompiledRegex::compile(std::string_view pattern, RegexDialect dialect,
                                                                      RegexModifiers modifiers) {
  if (pattern.size() > regex_bytes_max) {
    return fail(ErrorCode::too_large, fmt::format("The regular expression has {} bytes; at most {} are allowed.",
                                                  pattern.size(), regex_bytes_max));
  }
  int error = 0;
  PCRE2_SIZE where = 0;
  const auto code_of = [&](bool is_lenient) {
    const CompileContext context = compile_context(dialect, is_lenient);
    return Code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              compile_options(dialect, modifiers), &error, &where, context.get()));
  };
  Code code = code_of(false);
  if (!code && dialect == RegexDialect::bytes && is_taken_by_pcre_8(error)) code = code_of(true);
  if (code) return std::make_shared<const CompiledRegex>(std::move(code));
  if (is_too_large(error)) {
    return fail(ErrorCode::too_large,
                fmt::format("The regular expression of {} bytes compiles to more than 64 KiB.", pattern.size()));
  }
  return fail(ErrorCode::bad_request, fmt::format("The regular expression is wrong at byte {}.", where));
}

CompiledRegex::Outcome CompiledRegex::search(std::string_view text) const {
  thread_local const Matcher matcher;
  RegexBudget budget{.has_backreferences = has_backreferences_};
  pcre2_set_callout(matcher.context.get(), on_visit, &budget);
  const int result = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0,
                                 matcher.data.get(), matcher.context.get());
  if (result >= 0) return Outcome::found;
  return result == PCRE2_ERROR_NOMATCH ? Outcome::not_found : Outcome::limit_reached;
}

}  // namespace octavo::query
