#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::query::search {

/// A token of Lucene's query syntax, named as in its grammar.
struct QueryToken {
  enum class Symbol : std::uint8_t {
    end,
    and_,
    or_,
    not_,
    plus,
    minus,
    open,
    close,
    colon,
    star,
    carat,
    quoted,
    term,
    fuzzy,
    prefix,
    wildcard,
    regex,
    range_open,
    bare_operator,
    number
  };
  Symbol symbol = Symbol::end;
  std::string_view image;  ///< its text in the query
  std::size_t at = 0;
};

/// Splits a query into tokens, one at a time, like the lexer of Lucene 4.6, with its error messages. Holds views into
/// the text, which must outlive it.
class QueryTokens {
 public:
  using Symbol = QueryToken::Symbol;

  explicit QueryTokens(std::string_view text) : text_(text) {}

  /// The token read last; `end` before the first advance().
  const QueryToken& current() const { return token_; }
  Expected<void> advance();
  /// Reads the next token after `^`, which must be a number.
  Expected<void> advance_to_number();
  /// Whether `:` follows the current token.
  bool next_is_colon() const;

  /// The bounds of a range between its brackets; nullopt for `*`.
  struct Range {
    std::optional<std::string> lower, upper;
    bool upper_inclusive = true;
  };
  /// Precondition: the current token is the opening bracket. Afterwards it is the token behind the closing bracket.
  /// Inside brackets, other rules for tokens apply.
  Expected<Range> take_range();

  Expected<std::string> without_escapes(std::string_view image) const;
  std::unexpected<Error> cannot_parse(std::string_view reason) const;
  std::unexpected<Error> unexpected_token() const;

 private:
  Expected<void> take(Symbol symbol, std::size_t size);
  Expected<void> take_until(char quote, Symbol symbol);
  Expected<void> take_fuzzy();
  Expected<void> take_term();
  Expected<std::optional<std::string>> take_range_end();
  void skip_spaces();
  std::size_t end_of_number(std::size_t at) const;
  std::size_t end_of_escape(std::size_t at) const;
  std::unexpected<Error> lexical_error(std::size_t from, std::size_t at) const;
  std::unexpected<Error> range_error() const;

  std::string_view text_;
  std::size_t position_ = 0;
  QueryToken token_;
};

}  // namespace octavo::query::search
