#include "query/search/query_syntax.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace octavo::query::search {

namespace {

enum class Symbol : std::uint8_t {
  end, and_, or_, not_, plus, minus, open, close, colon, star, carat, quoted, term, fuzzy, prefix, wildcard, regex,
  range_open, bare_operator, number
};

struct Token {
  Symbol symbol = Symbol::end;
  std::string_view image;
  std::size_t at = 0;
};

// How JavaCC names a token in its messages.
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

// Width of the white space at `at`; 0: none.
std::size_t space_at(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return 1;
  return text.substr(at).starts_with("\u3000") ? 3 : 0;
}

bool starts_term(std::string_view text, std::size_t at) {
  if (space_at(text, at) > 0) return false;
  return std::string_view("+-!():^[]\"{}~*?\\/").find(text[at]) == std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expected<QueryNode> run() {
    if (text_.size() > query_bytes_max) {
      return fail(ErrorCode::bad_request, fmt::format("The query is longer than {} bytes.", query_bytes_max));
    }
    OCTAVO_TRY_VOID(advance());
    OCTAVO_TRY(auto query, parse_clauses(default_field, 0));
    if (token_.symbol != Symbol::end) return unexpected_token();
    return query;
  }

 private:
  std::unexpected<Error> cannot_parse(std::string_view reason) const {
    constexpr std::size_t shown_max = 500;
    std::string shown(text_.substr(0, shown_max));
    if (text_.size() > shown_max) {
      while (!shown.empty() && (shown.back() & 0xC0) == 0x80) shown.pop_back();
      if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0xC0) shown.pop_back();
      shown += "…";
    }
    return fail(ErrorCode::bad_request, fmt::format("Cannot parse '{}': {}", shown, reason));
  }

  std::unexpected<Error> unexpected_token() const {
    if (token_.symbol == Symbol::end) {
      return cannot_parse(fmt::format("Encountered \"<EOF>\" at line 1, column {}.{}", text_.size(), kExpected));
    }
    return cannot_parse(fmt::format("Encountered \" {} \"{} \"\" at line 1, column {}.{}", symbol_name(token_.symbol),
                                    token_.image, token_.at, kExpected));
  }

  std::unexpected<Error> lexical_error(std::size_t from, std::size_t at) const {
    const std::string found = at >= text_.size() ? "<EOF>" : fmt::format("\"{}\" ({})", text_[at], int(text_[at]));
    return cannot_parse(fmt::format("Lexical error at line 1, column {}.  Encountered: {} after : \"{}\"", at + 1, found,
                                    text_.substr(from, at - from)));
  }

  // --- tokens ---

  std::size_t end_of_escape(std::size_t at) const { return at + 1 < text_.size() ? at + 2 : std::string_view::npos; }

  Expected<void> take(Symbol symbol, std::size_t size) {
    token_ = {symbol, text_.substr(position_, size), position_};
    position_ += size;
    return {};
  }

  Expected<void> advance() {
    while (position_ < text_.size()) {
      const std::size_t width = space_at(text_, position_);
      if (width == 0) break;
      position_ += width;
    }
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

  Expected<void> take_until(char quote, Symbol symbol) {
    for (std::size_t at = position_ + 1; at < text_.size(); ++at) {
      if (text_[at] == '\\') {
        ++at;
      } else if (text_[at] == quote) {
        return take(symbol, at + 1 - position_);
      }
    }
    return lexical_error(position_, text_.size());
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::size_t end_of_number(std::size_t at) const {
    while (at < text_.size() && is_digit(text_[at])) ++at;
    if (at + 1 < text_.size() && text_[at] == '.' && is_digit(text_[at + 1])) {
      ++at;
      while (at < text_.size() && is_digit(text_[at])) ++at;
    }
    return at;
  }

  Expected<void> take_fuzzy() { return take(Symbol::fuzzy, end_of_number(position_ + 1) - position_); }

  Expected<void> take_term() {
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

  // After `^`.
  Expected<void> advance_to_number() {
    while (position_ < text_.size() && space_at(text_, position_) > 0) position_ += space_at(text_, position_);
    const std::size_t end = end_of_number(position_);
    if (end == position_) {
      OCTAVO_TRY_VOID(advance());
      return unexpected_token();
    }
    return take(Symbol::number, end - position_);
  }

  // --- grammar ---

  bool starts_clause() const {
    switch (token_.symbol) {
      case Symbol::end:
      case Symbol::close:
      case Symbol::colon:
      case Symbol::carat:
      case Symbol::fuzzy:
      case Symbol::number:
        return false;
      default:
        return true;
    }
  }

  enum class Conjunction : std::uint8_t { none, and_, or_ };

  Expected<QueryNode> parse_clauses(std::string_view field, std::size_t depth) {
    if (depth > query_depth_max) return cannot_parse("too deeply nested");
    QueryNode node;
    node.kind = QueryNode::Kind::clauses;
    node.field = field;
    bool first_is_plain = false;
    bool first = true;
    while (first || starts_clause()) {
      Conjunction conjunction = Conjunction::none;
      if (!first && (token_.symbol == Symbol::and_ || token_.symbol == Symbol::or_)) {
        conjunction = token_.symbol == Symbol::and_ ? Conjunction::and_ : Conjunction::or_;
        OCTAVO_TRY_VOID(advance());
      }
      bool required = false;
      bool prohibited = false;
      if (token_.symbol == Symbol::plus) {
        required = true;
        OCTAVO_TRY_VOID(advance());
      } else if (token_.symbol == Symbol::minus || token_.symbol == Symbol::not_) {
        prohibited = true;
        OCTAVO_TRY_VOID(advance());
      }
      OCTAVO_TRY(auto clause, parse_clause(field, depth));
      // `a AND b` asks for both: also for the one before the AND.
      if (conjunction == Conjunction::and_ && node.clauses.back().occur != QueryNode::Occur::must_not) {
        node.clauses.back().occur = QueryNode::Occur::must;
      }
      auto occur = QueryNode::Occur::should;
      if (prohibited) {
        occur = QueryNode::Occur::must_not;
      } else if (required || conjunction == Conjunction::and_) {
        occur = QueryNode::Occur::must;
      }
      if (node.clauses.size() == query_clauses_max || ++nodes_ > query_nodes_max) {
        return cannot_parse("too many boolean clauses");
      }
      node.clauses.push_back({occur, std::move(clause)});
      if (first) first_is_plain = !required && !prohibited;
      first = false;
    }
    if (node.clauses.size() == 1 && first_is_plain) {
      QueryNode only = std::move(node.clauses.front().node);
      return only;
    }
    return node;
  }

  Expected<QueryNode> parse_clause(std::string_view field, std::size_t depth) {
    std::string own_field;
    if (token_.symbol == Symbol::term && next_is_colon()) {
      OCTAVO_TRY(own_field, without_escapes(token_.image));
      field = own_field;
      OCTAVO_TRY_VOID(advance());
      OCTAVO_TRY_VOID(advance());
    } else if (token_.symbol == Symbol::star && next_is_colon()) {
      field = "*";
      OCTAVO_TRY_VOID(advance());
      OCTAVO_TRY_VOID(advance());
    }
    if (token_.symbol != Symbol::open) return parse_term(field);
    OCTAVO_TRY_VOID(advance());
    OCTAVO_TRY(auto node, parse_clauses(field, depth + 1));
    if (token_.symbol != Symbol::close) return unexpected_token();
    OCTAVO_TRY_VOID(advance());
    OCTAVO_TRY(const double boost, parse_boost());
    // The parentheses may have held a single term with a boost of its own.
    node.boost *= boost;
    return node;
  }

  bool next_is_colon() const {
    std::size_t at = position_;
    while (at < text_.size() && space_at(text_, at) > 0) at += space_at(text_, at);
    return at < text_.size() && text_[at] == ':';
  }

  Expected<double> parse_boost() {
    if (token_.symbol != Symbol::carat) return 1.0;
    OCTAVO_TRY_VOID(advance_to_number());
    const auto number = parse_query_number(token_.image);
    OCTAVO_TRY_VOID(advance());
    return number.value_or(1.0);
  }

  Expected<QueryNode> parse_term(std::string_view field) {
    QueryNode node;
    node.field = field;
    const Token word = token_;
    switch (word.symbol) {
      case Symbol::range_open:
        return parse_range(std::move(node));
      case Symbol::quoted:
      case Symbol::term:
      case Symbol::star:
      case Symbol::prefix:
      case Symbol::wildcard:
      case Symbol::regex:
      case Symbol::bare_operator:
        break;
      default:
        return unexpected_token();
    }
    OCTAVO_TRY_VOID(advance());
    std::optional<std::string_view> fuzzy;
    const auto take_fuzzy_mark = [&]() -> Expected<void> {
      if (token_.symbol != Symbol::fuzzy) return {};
      fuzzy = token_.image.substr(1);
      return advance();
    };
    OCTAVO_TRY_VOID(take_fuzzy_mark());
    OCTAVO_TRY(node.boost, parse_boost());
    if (!fuzzy) OCTAVO_TRY_VOID(take_fuzzy_mark());
    OCTAVO_TRY_VOID(fill(node, word, fuzzy));
    return node;
  }

  Expected<void> fill(QueryNode& node, const Token& word, std::optional<std::string_view> fuzzy) {
    constexpr std::string_view leading = "'*' or '?' not allowed as first character in WildcardQuery";
    switch (word.symbol) {
      case Symbol::star:
      case Symbol::wildcard:
        if (node.field == "*" && word.image == "*") {
          node.kind = QueryNode::Kind::everything;
          return {};
        }
        if (word.image.front() == '*' || word.image.front() == '?') return cannot_parse(leading);
        node.kind = QueryNode::Kind::wildcard;
        node.text = word.image;
        return {};
      case Symbol::prefix: {
        if (word.image.front() == '*') return cannot_parse(leading);
        node.kind = QueryNode::Kind::prefix;
        OCTAVO_TRY(node.text, without_escapes(word.image.substr(0, word.image.size() - 1)));
        return {};
      }
      case Symbol::regex:
        node.kind = QueryNode::Kind::regex;
        node.text = word.image.substr(1, word.image.size() - 2);
        return {};
      case Symbol::quoted: {
        node.kind = QueryNode::Kind::phrase;
        OCTAVO_TRY(node.text, without_escapes(word.image.substr(1, word.image.size() - 2)));
        if (fuzzy && !fuzzy->empty()) {
          node.slop = static_cast<std::uint32_t>(std::min(parse_query_number(*fuzzy).value_or(0), 10'000.0));
        }
        return {};
      }
      default:
        break;
    }
    OCTAVO_TRY(node.text, without_escapes(word.image));
    node.kind = QueryNode::Kind::words;
    if (!fuzzy) return {};
    node.kind = QueryNode::Kind::fuzzy;
    if (!fuzzy->empty()) node.similarity = parse_query_number(*fuzzy).value_or(2);
    if (node.similarity >= 1 && node.similarity != std::floor(node.similarity)) {
      return cannot_parse("Fractional edit distances are not allowed!");
    }
    return {};
  }

  // `token_` is the opening bracket; inside other rules hold for what a token is.
  Expected<QueryNode> parse_range(QueryNode node) {
    node.kind = QueryNode::Kind::range;
    node.lower_inclusive = token_.image == "[";
    OCTAVO_TRY(auto lower, range_end());
    skip_spaces();
    // The word TO may be left out.
    if (text_.substr(position_).starts_with("TO") && position_ + 2 < text_.size() &&
        (space_at(text_, position_ + 2) > 0)) {
      position_ += 2;
    }
    OCTAVO_TRY(auto upper, range_end());
    skip_spaces();
    if (position_ >= text_.size() || (text_[position_] != ']' && text_[position_] != '}')) {
      return range_error();
    }
    node.upper_inclusive = text_[position_] == ']';
    ++position_;
    node.lower = std::move(lower);
    node.upper = std::move(upper);
    OCTAVO_TRY_VOID(advance());
    OCTAVO_TRY(node.boost, parse_boost());
    return node;
  }

  void skip_spaces() {
    while (position_ < text_.size() && space_at(text_, position_) > 0) position_ += space_at(text_, position_);
  }

  std::unexpected<Error> range_error() const {
    if (position_ >= text_.size()) {
      return cannot_parse(fmt::format("Encountered \"<EOF>\" at line 1, column {}.\nWas expecting one of:\n    \"TO\" "
                                      "...\n    \"]\" ...\n    \"}}\" ...\n    ",
                                      text_.size()));
    }
    return cannot_parse(fmt::format("Encountered \" \"{}\" \"{} \"\" at line 1, column {}.", text_[position_],
                                    text_[position_], position_));
  }

  // One side of a range; nullopt is `*`.
  Expected<std::optional<std::string>> range_end() {
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

  Expected<std::string> without_escapes(std::string_view image) const {
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
        return cannot_parse(fmt::format("Non-hex character in Unicode escape sequence: {}", image.substr(i + 1, 4)));
      }
      append_utf8(out, code);
      i += 4;
    }
    return out;
  }

  static void append_utf8(std::string& out, unsigned int code) {
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

  static constexpr std::string_view kExpected =
      "\nWas expecting one of:\n    <NOT> ...\n    \"+\" ...\n    \"-\" ...\n    <BAREOPER> ...\n    \"(\" ...\n    "
      "\"*\" ...\n    <QUOTED> ...\n    <TERM> ...\n    <PREFIXTERM> ...\n    <WILDTERM> ...\n    <REGEXPTERM> ...\n    "
      "\"[\" ...\n    \"{\" ...\n    <NUMBER> ...\n    ";

  std::string_view text_;
  std::size_t position_ = 0;
  Token token_;
  std::size_t nodes_ = 0;
};

}  // namespace

Expected<QueryNode> parse_query(std::string_view text) {
  return Parser(text).run();
}

std::optional<double> parse_query_number(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  double sign = 1;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    if (text.front() == '-') sign = -1;
    text.remove_prefix(1);
  }
  if (text == "Infinity") return sign * std::numeric_limits<double>::infinity();
  // from_chars would also take "inf" and "nan".
  if (text.empty() || !((text.front() >= '0' && text.front() <= '9') || text.front() == '.')) return std::nullopt;
  if (std::string_view("fFdD").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ptr != text.data() + text.size() || text.empty()) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    // Too large or too small: from_chars does not say which.
    const bool small = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    return small ? 0.0 : sign * std::numeric_limits<double>::infinity();
  }
  if (read.ec != std::errc()) return std::nullopt;
  return sign * number;
}

}  // namespace octavo::query::search
