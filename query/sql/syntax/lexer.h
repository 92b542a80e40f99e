#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "query/sql/syntax/sql_error.h"

namespace octavo::query::sql {

enum class TokenKind : std::uint8_t {
  end,
  identifier,  ///< a name that is not a keyword
  parameter,   ///< `@name`
  number,
  string,
  symbol,   ///< an operator or punctuation, in `text`
  keyword,  ///< in `keyword`
};

/// Words of the grammar, in any case. After a dot, and as member names in objects, they are ordinary names.
enum class Keyword : std::uint8_t {
  none,
  k_all,
  k_and,
  k_array,
  k_as,
  k_asc,
  k_between,
  k_by,
  k_desc,
  k_distinct,
  k_escape,
  k_exists,
  k_false,
  k_first,
  k_from,
  k_group,
  k_in,
  k_join,
  k_last,
  k_left,
  k_like,
  k_limit,
  k_not,
  k_null,
  k_offset,
  k_or,
  k_order,
  k_rank,
  k_right,
  k_select,
  k_top,
  k_true,
  k_udf,
  k_undefined,
  k_value,
  k_where,
};

struct Token {
  TokenKind kind = TokenKind::end;
  Keyword keyword = Keyword::none;
  Location location;     ///< in bytes
  std::string_view raw;  ///< as written
  std::string text;      ///< of strings: decoded; of parameters: including the `@`
  double number = 0;
};

/// Splits a query text into tokens, the last of which is `end`. Comments are `-- …` and `/* … */`.
std::expected<std::vector<Token>, SqlError> tokenize(std::string_view text);

/// The keyword that `name` is, or Keyword::none.
Keyword keyword_of(std::string_view name);

/// U+00A0 and U+202F, which are white space, too.
inline constexpr std::array<std::string_view, 2> no_break_spaces{"\xC2\xA0", "\xE2\x80\xAF"};

}  // namespace octavo::query::sql
