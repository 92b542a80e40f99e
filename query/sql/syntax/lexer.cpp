#include "query/sql/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/ascii_case.h"
#include "base/encoding.h"
#include "query/json/internal/scan.h"
#include "query/json/normalize.h"

namespace octavo::query::sql {

namespace {

struct KeywordName {
  std::string_view name;
  Keyword keyword;
};
// Sorted by name.
constexpr std::array keywords{
    KeywordName{"all", Keyword::k_all},
    KeywordName{"and", Keyword::k_and},
    KeywordName{"array", Keyword::k_array},
    KeywordName{"as", Keyword::k_as},
    KeywordName{"asc", Keyword::k_asc},
    KeywordName{"between", Keyword::k_between},
    KeywordName{"by", Keyword::k_by},
    KeywordName{"desc", Keyword::k_desc},
    KeywordName{"distinct", Keyword::k_distinct},
    KeywordName{"escape", Keyword::k_escape},
    KeywordName{"exists", Keyword::k_exists},
    KeywordName{"false", Keyword::k_false},
    KeywordName{"first", Keyword::k_first},
    KeywordName{"from", Keyword::k_from},
    KeywordName{"group", Keyword::k_group},
    KeywordName{"in", Keyword::k_in},
    KeywordName{"join", Keyword::k_join},
    KeywordName{"last", Keyword::k_last},
    KeywordName{"left", Keyword::k_left},
    KeywordName{"like", Keyword::k_like},
    KeywordName{"limit", Keyword::k_limit},
    KeywordName{"not", Keyword::k_not},
    KeywordName{"null", Keyword::k_null},
    KeywordName{"offset", Keyword::k_offset},
    KeywordName{"or", Keyword::k_or},
    KeywordName{"order", Keyword::k_order},
    KeywordName{"rank", Keyword::k_rank},
    KeywordName{"right", Keyword::k_right},
    KeywordName{"select", Keyword::k_select},
    KeywordName{"top", Keyword::k_top},
    KeywordName{"true", Keyword::k_true},
    KeywordName{"udf", Keyword::k_udf},
    KeywordName{"undefined", Keyword::k_undefined},
    KeywordName{"value", Keyword::k_value},
    KeywordName{"where", Keyword::k_where},
};
constexpr std::size_t keyword_bytes_max = 9;

// The longest symbols come first.
constexpr std::array<std::string_view, 29> symbols{
    ">>>", "<=", ">=", "!=", "<>", "||", "??", "<<", ">>", "+", "-", "*", "/", "%", "&",
    "|",   "^",  "~",  "=",  "<",  ">",  "?",  ":",  ",",  ".", "(", ")", "[", "]",
};

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_part(char c) {
  return is_name_start(c) || scan::is_digit(c);
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::expected<std::vector<Token>, SqlError> run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 4 + 2);
    while (true) {
      if (auto skipped = skip_blank(); !skipped) return std::unexpected(skipped.error());
      Token token;
      token.location.start = at_;
      if (at_ == text_.size()) {
        token.location.end = at_;
        tokens.push_back(std::move(token));
        return tokens;
      }
      if (auto read = read_token(token); !read) return std::unexpected(read.error());
      token.location.end = at_;
      token.raw = text_.substr(token.location.start, at_ - token.location.start);
      tokens.push_back(std::move(token));
    }
  }

 private:
  using Result = std::expected<void, SqlError>;

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  static std::unexpected<SqlError> error(std::size_t start, std::size_t end, std::string_view code,
                                         std::string message) {
    return std::unexpected(SqlError{{start, end}, code, std::move(message)});
  }

  // Text that was copied from a web page may have no-break spaces.
  std::size_t blank_size() const {
    if (scan::is_space(text_[at_])) return 1;
    const auto found = std::ranges::find_if(
        no_break_spaces, [&](std::string_view blank) { return text_.substr(at_).starts_with(blank); });
    return found == no_break_spaces.end() ? 0 : found->size();
  }

  Result skip_blank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (const std::size_t size = blank_size(); size > 0) {
        at_ += size;
      } else if (c == '-' && peek(1) == '-') {
        const std::size_t end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end + 1;
      } else if (c == '/' && peek(1) == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) {
          return error(at_, text_.size(), codes::invalid_token, "Syntax error, the comment does not end.");
        }
        at_ = end + 2;
      } else {
        break;
      }
    }
    return {};
  }

  Result read_token(Token& token) {
    const char c = text_[at_];
    if (is_name_start(c)) {
      while (is_name_part(peek()) && blank_size() == 0) ++at_;
      const std::string_view name = text_.substr(token.location.start, at_ - token.location.start);
      token.keyword = keyword_of(name);
      token.kind = token.keyword == Keyword::none ? TokenKind::identifier : TokenKind::keyword;
      return {};
    }
    if (scan::is_digit(c) || (c == '.' && scan::is_digit(peek(1)))) return read_number(token);
    if (c == '"' || c == '\'') return read_string(token);
    if (c == '@' && is_name_start(peek(1))) {
      ++at_;
      while (is_name_part(peek()) && blank_size() == 0) ++at_;
      token.kind = TokenKind::parameter;
      token.text = text_.substr(token.location.start, at_ - token.location.start);
      return {};
    }
    token.kind = TokenKind::symbol;
    if (c == '{' || c == '}') {
      ++at_;
      return {};
    }
    for (const std::string_view symbol : symbols) {
      if (!text_.substr(at_).starts_with(symbol)) continue;
      at_ += symbol.size();
      return {};
    }
    return error(at_, at_ + 1, codes::invalid_token,
                 fmt::format("Syntax error, invalid token '{}'.", static_cast<unsigned char>(c) < 0x20 ? '?' : c));
  }

  Result read_number(Token& token) {
    token.kind = TokenKind::number;
    const std::size_t start = at_;
    if (peek() == '0' && (peek(1) | 0x20) == 'x') {
      at_ += 2;
      const std::size_t digits = at_;
      while (crypto::hex_value(peek()) >= 0) {
        token.number = token.number * 16 + crypto::hex_value(peek());
        ++at_;
      }
      if (at_ == digits || is_name_part(peek())) return bad_number(start);
      return {};
    }
    while (scan::is_digit(peek())) ++at_;
    if (peek() == '.') {
      ++at_;
      while (scan::is_digit(peek())) ++at_;
    }
    if ((peek() | 0x20) == 'e') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!scan::is_digit(peek())) return bad_number(start);
      while (scan::is_digit(peek())) ++at_;
    }
    if (is_name_part(peek())) return bad_number(start);
    // Numbers out of range become the largest double, as in documents and parameters.
    const std::string spelled(text_.substr(start, at_ - start));
    constexpr double largest = std::numeric_limits<double>::max();
    token.number = std::min(std::strtod(spelled.c_str(), nullptr), largest);
    return {};
  }

  Result bad_number(std::size_t start) {
    while (is_name_part(peek()) && blank_size() == 0) ++at_;
    return error(start, at_, codes::invalid_number,
                 fmt::format("Syntax error, invalid numeric value token '{}'.", text_.substr(start, at_ - start)));
  }

  Result read_string(Token& token) {
    token.kind = TokenKind::string;
    const std::size_t start = at_;
    const char quote = text_[at_++];
    std::size_t run = at_;
    while (true) {
      if (at_ == text_.size()) return bad_string(start);
      const char c = text_[at_];
      if (c == quote) {
        token.text.append(text_.substr(run, at_ - run));
        ++at_;
        return {};
      }
      if (c != '\\') {
        ++at_;
        continue;
      }
      token.text.append(text_.substr(run, at_ - run));
      if (peek(1) == '\'') {
        token.text += '\'';
        at_ += 2;
      } else {
        const char* begin = text_.data() + at_;
        const char* after = scan::escape(begin, text_.data() + text_.size());
        if (!after) return bad_string(start);
        const std::string_view escape(begin, static_cast<std::size_t>(after - begin));
        append_decoded_string(escape, token.text);
        at_ += escape.size();
      }
      run = at_;
    }
  }

  Result bad_string(std::size_t start) {
    const std::size_t end = std::min(text_.size(), at_ + 2);
    return error(start, end, codes::invalid_string, "Syntax error, invalid string literal token.");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Keyword keyword_of(std::string_view name) {
  if (name.size() > keyword_bytes_max) return Keyword::none;
  std::array<char, keyword_bytes_max> lower{};
  std::ranges::transform(name, lower.begin(), to_lower);
  const std::string_view folded(lower.data(), name.size());
  const auto found = std::ranges::lower_bound(keywords, folded, {}, &KeywordName::name);
  return found != keywords.end() && found->name == folded ? found->keyword : Keyword::none;
}

std::expected<std::vector<Token>, SqlError> tokenize(std::string_view text) {
  return Lexer(text).run();
}

}  // namespace octavo::query::sql
