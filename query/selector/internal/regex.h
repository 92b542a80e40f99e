#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>

#include <unicode/regex.h>

namespace octavo::query {

/// A pattern from a client, compiled once. Matching is bounded in time and stack, so no pattern can hang a thread;
/// a match that reaches a bound counts as none. Thread-safe.
class CompiledRegex {
 public:
  /// Null when `pattern` is no valid expression.
  static std::shared_ptr<const CompiledRegex> compile(std::string_view pattern);

  explicit CompiledRegex(std::unique_ptr<icu::RegexPattern> pattern) : pattern_(std::move(pattern)) {}
  CompiledRegex(const CompiledRegex&) = delete;
  CompiledRegex& operator=(const CompiledRegex&) = delete;
  ~CompiledRegex() { delete idle_.load(); }

  /// True when the pattern is found anywhere in `text`.
  bool matches(std::string_view text) const;

 private:
  std::unique_ptr<icu::RegexPattern> pattern_;
  /// A matcher kept from the last call: making one costs more than most matches.
  mutable std::atomic<icu::RegexMatcher*> idle_{nullptr};
};

}  // namespace octavo::query
