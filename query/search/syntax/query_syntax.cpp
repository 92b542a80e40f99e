#include "query/search/syntax/query_syntax.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "query/search/syntax/query_tokens.h"

namespace octavo::query::search {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) {}

  Expected<QueryNode> run() {
    OCTAVO_TRY_VOID(tokens_.advance());
    OCTAVO_TRY(auto query, parse_clauses(default_field, 0));
    if (token().symbol != Symbol::end) return tokens_.unexpected_token();
    return query;
  }

 private:
  using Symbol = QueryToken::Symbol;

  bool starts_clause() const {
    switch (token().symbol) {
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
    if (depth > query_depth_max) return tokens_.cannot_parse("too deeply nested");
    QueryNode node;
    node.kind = QueryNode::Kind::clauses;
    node.field = field;
    bool first_is_plain = false;
    bool first = true;
    while (first || starts_clause()) {
      Conjunction conjunction = Conjunction::none;
      if (!first && (token().symbol == Symbol::and_ || token().symbol == Symbol::or_)) {
        conjunction = token().symbol == Symbol::and_ ? Conjunction::and_ : Conjunction::or_;
        OCTAVO_TRY_VOID(tokens_.advance());
      }
      bool required = false;
      bool prohibited = false;
      if (token().symbol == Symbol::plus) {
        required = true;
        OCTAVO_TRY_VOID(tokens_.advance());
      } else if (token().symbol == Symbol::minus || token().symbol == Symbol::not_) {
        prohibited = true;
        OCTAVO_TRY_VOID(tokens_.advance());
      }
      OCTAVO_TRY(auto clause, parse_clause(field, depth));
      // `a AND b` requires both, so the clause before AND becomes required, too.
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
        return tokens_.cannot_parse("too many boolean clauses");
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
    if (token().symbol == Symbol::term && tokens_.next_is_colon()) {
      OCTAVO_TRY(own_field, tokens_.without_escapes(token().image));
      field = own_field;
      OCTAVO_TRY_VOID(tokens_.advance());
      OCTAVO_TRY_VOID(tokens_.advance());
    } else if (token().symbol == Symbol::star && tokens_.next_is_colon()) {
      field = "*";
      OCTAVO_TRY_VOID(tokens_.advance());
      OCTAVO_TRY_VOID(tokens_.advance());
    }
    if (token().symbol != Symbol::open) return parse_term(field);
    OCTAVO_TRY_VOID(tokens_.advance());
    OCTAVO_TRY(auto node, parse_clauses(field, depth + 1));
    if (token().symbol != Symbol::close) return tokens_.unexpected_token();
    OCTAVO_TRY_VOID(tokens_.advance());
    OCTAVO_TRY(const double boost, parse_boost());
    // The parentheses may contain a single term with its own boost.
    node.boost *= boost;
    return node;
  }

  Expected<double> parse_boost() {
    if (token().symbol != Symbol::carat) return 1.0;
    OCTAVO_TRY_VOID(tokens_.advance_to_number());
    const auto number = parse_query_number(token().image);
    OCTAVO_TRY_VOID(tokens_.advance());
    return number.value_or(1.0);
  }

  Expected<QueryNode> parse_term(std::string_view field) {
    QueryNode node;
    node.field = field;
    const QueryToken word = token();
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
        return tokens_.unexpected_token();
    }
    OCTAVO_TRY_VOID(tokens_.advance());
    std::optional<std::string_view> fuzzy;
    const auto take_fuzzy_mark = [&]() -> Expected<void> {
      if (token().symbol != Symbol::fuzzy) return {};
      fuzzy = token().image.substr(1);
      return tokens_.advance();
    };
    OCTAVO_TRY_VOID(take_fuzzy_mark());
    OCTAVO_TRY(node.boost, parse_boost());
    if (!fuzzy) OCTAVO_TRY_VOID(take_fuzzy_mark());
    OCTAVO_TRY_VOID(fill(node, word, fuzzy));
    return node;
  }

  Expected<void> fill(QueryNode& node, const QueryToken& word, std::optional<std::string_view> fuzzy) {
    constexpr std::string_view leading = "'*' or '?' not allowed as first character in WildcardQuery";
    switch (word.symbol) {
      case Symbol::star:
      case Symbol::wildcard:
        if (node.field == "*" && word.image == "*") {
          node.kind = QueryNode::Kind::everything;
          return {};
        }
        if (word.image.front() == '*' || word.image.front() == '?') return tokens_.cannot_parse(leading);
        node.kind = QueryNode::Kind::wildcard;
        node.text = word.image;
        return {};
      case Symbol::prefix: {
        if (word.image.front() == '*') return tokens_.cannot_parse(leading);
        node.kind = QueryNode::Kind::prefix;
        OCTAVO_TRY(node.text, tokens_.without_escapes(word.image.substr(0, word.image.size() - 1)));
        return {};
      }
      case Symbol::regex:
        node.kind = QueryNode::Kind::regex;
        node.text = word.image.substr(1, word.image.size() - 2);
        return {};
      case Symbol::quoted: {
        node.kind = QueryNode::Kind::phrase;
        OCTAVO_TRY(node.text, tokens_.without_escapes(word.image.substr(1, word.image.size() - 2)));
        if (fuzzy && !fuzzy->empty()) {
          node.slop = static_cast<std::uint32_t>(std::min(parse_query_number(*fuzzy).value_or(0), 10'000.0));
        }
        return {};
      }
      default:
        break;
    }
    OCTAVO_TRY(node.text, tokens_.without_escapes(word.image));
    node.kind = QueryNode::Kind::words;
    if (!fuzzy) return {};
    node.kind = QueryNode::Kind::fuzzy;
    if (!fuzzy->empty()) node.similarity = parse_query_number(*fuzzy).value_or(2);
    if (node.similarity >= 1 && node.similarity != std::floor(node.similarity)) {
      return tokens_.cannot_parse("Fractional edit distances are not allowed!");
    }
    return {};
  }

  // Precondition: the current token is the opening bracket.
  Expected<QueryNode> parse_range(QueryNode node) {
    node.kind = QueryNode::Kind::range;
    node.lower_inclusive = token().image == "[";
    OCTAVO_TRY(auto range, tokens_.take_range());
    node.lower = std::move(range.lower);
    node.upper = std::move(range.upper);
    node.upper_inclusive = range.upper_inclusive;
    OCTAVO_TRY(node.boost, parse_boost());
    return node;
  }

  const QueryToken& token() const { return tokens_.current(); }

  QueryTokens tokens_;
  std::size_t nodes_ = 0;
};

}  // namespace

Expected<QueryNode> parse_query(std::string_view text) {
  if (text.size() > query_bytes_max) {
    return fail(ErrorCode::bad_request, fmt::format("The query is longer than {} bytes.", query_bytes_max));
  }
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
  // from_chars would also accept "inf" and "nan".
  if (text.empty() || !((text.front() >= '0' && text.front() <= '9') || text.front() == '.')) return std::nullopt;
  if (std::string_view("fFdD").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ptr != text.data() + text.size() || text.empty()) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    // The number is too large or too small; from_chars does not report which.
    const bool small = text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    return small ? 0.0 : sign * std::numeric_limits<double>::infinity();
  }
  if (read.ec != std::errc()) return std::nullopt;
  return sign * number;
}

}  // namespace octavo::query::search
