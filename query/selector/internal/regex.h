#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"

struct pcre2_real_code_8;

namespace octavo::query {

inline constexpr std::size_t regex_bytes_max = 8192;  ///< size of one pattern, in every query language

/// How a pattern is interpreted. The engine is always PCRE2.
enum class RegexDialect : std::uint8_t {
  bytes,       ///< Mango: PCRE 8 on bytes, as Erlang's `re` without options, which CouchDB calls
  characters,  ///< SQL and search: Unicode characters, in classes, case and `.`
};

/// SQL's modifiers, by letter.
struct RegexModifiers {
  bool ignore_case = false;    ///< i
  bool multi_line = false;     ///< m
  bool dot_all = false;        ///< s
  bool ignore_blanks = false;  ///< x
};

/// A pattern from a client, compiled once. Immutable and thread-safe.
///
/// A match is bounded in steps, processor time and memory, whatever the pattern and the text. PCRE2's own limit begins
/// again at each start position and does not count the letters of a literal, so the patterns are compiled with
/// automatic callouts: PCRE2 calls back before each item of the pattern, and the callback counts.
class CompiledRegex {
 public:
  enum class Outcome : std::uint8_t { found, not_found, limit_reached };

  /// Errors: bad_request if `pattern` is invalid, too_large if it exceeds regex_bytes_max or compiles to more than 64
  /// KiB.
  static Expected<std::shared_ptr<const CompiledRegex>> compile(std::string_view pattern, RegexDialect dialect,
                                                                RegexModifiers modifiers = {});

  /// Searches for the pattern anywhere in `text`, which is UTF-8.
  Outcome search(std::string_view text) const;
  /// Like search(); a match that reaches a limit counts as not found.
  bool matches(std::string_view text) const { return search(text) == Outcome::found; }

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, FreeCode>;

 public:
  explicit CompiledRegex(Code code);

 private:
  Code code_;
  bool has_backreferences_ = false;
};

}  // namespace octavo::query
