#include "query/search/syntax/query_tokens.h"

#include <charconv>

#include <fmt/format.h>

#include "base/assert.h"

namespace octavo::query::search {

namespace {

using Symbol = QueryToken::Symbol;

constexpr std::string_view expected_tokens =
    "\nWas expecting one of:\n    <NOT> ...\n    \"+\" ...\n    \"-\" ...\n    <BAREOPER> ...\n    \"(\" ...\n    "
    "\"*\" ...\n    <QUOTED> ...\n    <TERM> ...\n    <PREFIXTERM> ...\n    <WILDTERM> ...\n    <REGEXPTERM> ...\n    "
    "\"[\" ...\n    \"{\" ...\n    <NUMBER> ...\n    ";

// The name of a token in JavaCC's messages.
std::string_view symbol_name(Symbol symbol) {
  switch (symbol) {
    case Symbol::end:
      return "<EOF>";
    case Symbol::and_:
      return "<AND>";
    case Symbol::or_:
      return "<OR>";
    case Symbol::not_:
      return "<NOT>";
    case Symbol::plus:
      return "\"+\"";
    case Symbol::minus:
      return "\"-\"";
    case Symbol::open:
      return "\"(\"";
    case Symbol::close:
      return "\")\"";
    case Symbol::colon:
      return "\":\"";
    case Symbol::star:
      return "\"*\"";
    case Symbol::carat:
      return "\"^\"";
    case Symbol::quoted:
      return "<QUOTED>";
    case Symbol::term:
      return "<TERM>";
    case Symbol::fuzzy:
      return "<FUZZY_SLOP>";
    case Symbol::prefix:
      return "<PREFIXTERM>";
    case Symbol::wildcard:
      return "<WILDTERM>";
    case Symbol::regex:
      return "<REGEXPTERM>";
    case Symbol::range_open:
      return "\"[\"";
    case Symbol::bare_operator:
      return "<BAREOPER>";
    case Symbol::number:
      return "<NUMBER>";
  }
  return "";
}

// The number of bytes of the white space character at `at`; 0 if the character is not white space.
std::size_t space_at(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return 1;
  return text.substr(at).starts_with("\u3000") ? 3 : 0;
}

bool starts_term(std::string_view text, std::size_t at) {
  if (space_at(text, at) > 0) return false;
  return std::string_view("+-!():^[]\"{}~*?\\/").find(text[at]) == std::string_view::npos;
}

// For messages: `size` bytes from `at` on, extended to the end of the last character.
std::string_view whole_characters(std::string_view text, std::size_t at, std::size_t size) {
  while (at + size < text.size() && (text[at + size] & 0xC0) == 0x80) ++size;
  return text.substr(at, size);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_utf8(std::string& out, unsigned int code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

}  // namespace

std::unexpected<Error> QueryTokens::cannot_parse(std::string_view reason) const {
  constexpr std::size_t shown_max = 500;
  std::string shown(text_.substr(0, shown_max));
  if (text_.size() > shown_max) {
    while (!shown.empty() && (shown.back() & 0xC0) == 0x80) shown.pop_back();
    if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0xC0) shown.pop_back();
    shown += "…";
  }
  return fail(ErrorCode::bad_request, fmt::format("Cannot parse '{}': {}", shown, reason));
}

std::unexpected<Error> QueryTokens::unexpected_token() const {
  if (token_.symbol == Symbol::end) {
    return cannot_parse(fmt::format("Encountered \"<EOF>\" at line 1, column {}.{}", text_.size(), expected_tokens));
  }
  return cannot_parse(fmt::format("Encountered \" {} \"{} \"\" at line 1, column {}.{}", symbol_name(token_.symbol),
                                  token_.image, token_.at, expected_tokens));
}

std::unexpected<Error> QueryTokens::lexical_error(std::size_t from, std::size_t at) const {
  const std::string found = at >= text_.size() ? "<EOF>" : fmt::format("\"{}\" ({})", text_[at], int(text_[at]));
  return cannot_parse(fmt::format("Lexical error at line 1, column {}.  Encountered: {} after : \"{}\"", at + 1, found,
                                  text_.substr(from, at - from)));
}

std::size_t QueryTokens::end_of_escape(std::size_t at) const {
  return at + 1 < text_.size() ? at + 2 : std::string_view::npos;
}

Expected<void> QueryTokens::take(Symbol symbol, std::size_t size) {
  token_ = {symbol, text_.substr(position_, size), position_};
  position_ += size;
  return {};
}

Expected<void> QueryTokens::advance() {
  skip_spaces();
  if (position_ >= text_.size()) return take(Symbol::end, 0);
  const std::size_t at = position_;
  const bool space_follows = at + 1 < text_.size() && space_at(text_, at + 1) > 0;
  switch (text_[at]) {
    case '+':
      return space_follows ? take(Symbol::bare_operator, 2) : take(Symbol::plus, 1);
    case '-':
      return space_follows ? take(Symbol::bare_operator, 2) : take(Symbol::minus, 1);
    case '!':
      return space_follows ? take(Symbol::bare_operator, 2) : take(Symbol::not_, 1);
    case '(':
      return take(Symbol::open, 1);
    case ')':
      return take(Symbol::close, 1);
    case ':':
      return take(Symbol::colon, 1);
    case '^':
      return take(Symbol::carat, 1);
    case '[':
    case '{':
      return take(Symbol::range_open, 1);
    case '"':
      return take_until('"', Symbol::quoted);
    case '/':
      return take_until('/', Symbol::regex);
    case '~':
      return take_fuzzy();
    default:
      return take_term();
  }
}

Expected<void> QueryTokens::take_until(char quote, Symbol symbol) {
  for (std::size_t at = position_ + 1; at < text_.size(); ++at) {
    if (text_[at] == '\\') {
      ++at;
    } else if (text_[at] == quote) {
      return take(symbol, at + 1 - position_);
    }
  }
  return lexical_error(position_, text_.size());
}

std::size_t QueryTokens::end_of_number(std::size_t at) const {
  while (at < text_.size() && is_digit(text_[at])) ++at;
  if (at + 1 < text_.size() && text_[at] == '.' && is_digit(text_[at + 1])) {
    ++at;
    while (at < text_.size() && is_digit(text_[at])) ++at;
  }
  return at;
}

Expected<void> QueryTokens::take_fuzzy() {
  return take(Symbol::fuzzy, end_of_number(position_ + 1) - position_);
}

Expected<void> QueryTokens::take_term() {
  std::size_t at = position_;
  bool wild = false;
  bool plain_prefix = false;  // ends with its only wildcard, a `*`
  while (at < text_.size()) {
    const char c = text_[at];
    if (c == '\\') {
      at = end_of_escape(at);
      if (at == std::string_view::npos) return lexical_error(position_, text_.size());
      plain_prefix = false;
      continue;
    }
    const bool is_wild = c == '*' || c == '?';
    const bool in_term = starts_term(text_, at) || ((c == '+' || c == '-') && at > position_);
    if (!is_wild && !in_term) break;
    plain_prefix = c == '*' && !wild;
    wild = wild || is_wild;
    ++at;
  }
  const std::string_view image = text_.substr(position_, at - position_);
  if (image.empty()) return lexical_error(position_, position_);
  if (image == "AND" || image == "&&") return take(Symbol::and_, image.size());
  if (image == "OR" || image == "||") return take(Symbol::or_, image.size());
  if (image == "NOT") return take(Symbol::not_, image.size());
  if (image == "*") return take(Symbol::star, 1);
  if (wild) return take(plain_prefix ? Symbol::prefix : Symbol::wildcard, image.size());
  return take(Symbol::term, image.size());
}

Expected<void> QueryTokens::advance_to_number() {
  skip_spaces();
  const std::size_t end = end_of_number(position_);
  if (end == position_) {
    OCTAVO_TRY_VOID(advance());
    return unexpected_token();
  }
  return take(Symbol::number, end - position_);
}

bool QueryTokens::next_is_colon() const {
  std::size_t at = position_;
  while (at < text_.size() && space_at(text_, at) > 0) at += space_at(text_, at);
  return at < text_.size() && text_[at] == ':';
}

void QueryTokens::skip_spaces() {
  while (position_ < text_.size() && space_at(text_, position_) > 0) position_ += space_at(text_, position_);
}

std::unexpected<Error> QueryTokens::range_error() const {
  if (position_ >= text_.size()) {
    return cannot_parse(
        fmt::format("Encountered \"<EOF>\" at line 1, column {}.\nWas expecting one of:\n    \"TO\" "
                    "...\n    \"]\" ...\n    \"}}\" ...\n    ",
                    text_.size()));
  }
  const auto found = whole_characters(text_, position_, 1);
  return cannot_parse(fmt::format("Encountered \" \"{}\" \"{} \"\" at line 1, column {}.", found, found, position_));
}

Expected<QueryTokens::Range> QueryTokens::take_range() {
  OCTAVO_ASSERT(token_.symbol == Symbol::range_open);
  Range range;
  OCTAVO_TRY(range.lower, take_range_end());
  skip_spaces();
  // The word TO is optional.
  if (text_.substr(position_).starts_with("TO") && position_ + 2 < text_.size() &&
      (space_at(text_, position_ + 2) > 0)) {
    position_ += 2;
  }
  OCTAVO_TRY(range.upper, take_range_end());
  skip_spaces();
  if (position_ >= text_.size() || (text_[position_] != ']' && text_[position_] != '}')) return range_error();
  range.upper_inclusive = text_[position_] == ']';
  ++position_;
  OCTAVO_TRY_VOID(advance());
  return range;
}

Expected<std::optional<std::string>> QueryTokens::take_range_end() {
  skip_spaces();
  if (position_ >= text_.size()) return range_error();
  const std::size_t begin = position_;
  if (text_[begin] == '"') {
    OCTAVO_TRY_VOID(take_until('"', Symbol::quoted));
    OCTAVO_TRY(auto quoted, without_escapes(token_.image.substr(1, token_.image.size() - 2)));
    return quoted;
  }
  while (position_ < text_.size() && text_[position_] != ' ' && text_[position_] != ']' && text_[position_] != '}') {
    ++position_;
  }
  if (position_ == begin) return range_error();
  const std::string_view image = text_.substr(begin, position_ - begin);
  if (image == "*") return std::nullopt;
  OCTAVO_TRY(auto plain, without_escapes(image));
  return plain;
}

Expected<std::string> QueryTokens::without_escapes(std::string_view image) const {
  std::string out;
  out.reserve(image.size());
  for (std::size_t i = 0; i < image.size(); ++i) {
    if (image[i] != '\\') {
      out.push_back(image[i]);
      continue;
    }
    if (++i == image.size()) return cannot_parse("Term can not end with escape character.");
    if (image[i] != 'u') {
      out.push_back(image[i]);
      continue;
    }
    unsigned int code = 0;
    if (image.size() - i < 5) return cannot_parse("Truncated unicode escape sequence.");
    const char* digits = image.data() + i + 1;
    if (const auto read = std::from_chars(digits, digits + 4, code, 16); read.ptr != digits + 4) {
      return cannot_parse(
          fmt::format("Non-hex character in Unicode escape sequence: {}", whole_characters(image, i + 1, 4)));
    }
    append_utf8(out, code);
    i += 4;
  }
  return out;
}

}  // namespace octavo::query::search
