#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::query::search {

/// A token of Lucene's query syntax, by the name that its grammar has for it.
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
  std::string_view image;  ///< as written
  std::size_t at = 0;
};

/// The tokens of a query, one at a time, as Lucene 4.6's lexer sees them, and errors in its words. Views into the text,
/// which outlives it.
class QueryTokens {
 public:
  using Symbol = QueryToken::Symbol;

  explicit QueryTokens(std::string_view text) : text_(text) {}

  /// The one that has been read last; before the first advance(): the end.
  const QueryToken& current() const { return token_; }
  Expected<void> advance();
  /// After `^` nothing but a number can follow.
  Expected<void> advance_to_number();
  /// Whether `:` follows the current token.
  bool next_is_colon() const;

  /// What stands between the brackets of a range; an end that is absent is `*`.
  struct Range {
    std::optional<std::string> lower, upper;
    bool upper_inclusive = true;
  };
  /// The current token is the opening bracket; afterwards it is the one behind the closing one. Inside other rules hold
  /// for what a token is.
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
