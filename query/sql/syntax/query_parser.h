#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "query/sql/syntax/lexer.h"
#include "query/sql/syntax/sql_error.h"
#include "query/sql/syntax/sql_limits.h"
#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

template <class T>
using Parsed = std::expected<T, SqlError>;

/// A recursive-descent parser of one query text: its clauses are in clause_parser.cpp, its expressions in
/// expression_parser.cpp. Nesting, operators in a row and the number of expressions are bounded (sql_limits.h).
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Parsed<std::unique_ptr<Query>> run() {
    OCTAVO_TRY(auto query, parse_select());
    if (current().kind != TokenKind::end) return unexpected_token();
    return query;
  }

 private:
  const Token& current() const { return tokens_[at_]; }
  const Token& ahead(std::size_t count) const { return tokens_[std::min(at_ + count, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

  bool is_symbol(std::string_view symbol) const {
    return current().kind == TokenKind::symbol && current().raw == symbol;
  }
  bool is_keyword(Keyword keyword) const { return current().keyword == keyword; }
  bool take_symbol(std::string_view symbol) {
    const bool found = is_symbol(symbol);
    if (found) take();
    return found;
  }
  bool take_keyword(Keyword keyword) {
    const bool found = is_keyword(keyword);
    if (found) take();
    return found;
  }
  Parsed<void> expect_symbol(std::string_view symbol) {
    if (take_symbol(symbol)) return {};
    return unexpected_token();
  }

  std::unexpected<SqlError> unexpected_token() const {
    const Token& token = current();
    std::string message = token.kind == TokenKind::end
                              ? std::string("Syntax error, unexpected end of the query.")
                              : fmt::format("Syntax error, incorrect syntax near '{}'.", token.raw.substr(0, 128));
    return std::unexpected(SqlError{token.location, codes::syntax, std::move(message)});
  }
  std::unexpected<SqlError> over_limit(std::string_view what, std::size_t limit) const {
    return std::unexpected(SqlError{current().location, codes::limit_exceeded,
                                    fmt::format("The query exceeds the maximum of {} {}.", limit, what)});
  }

  /// Counts the parser's own recursion.
  class Nesting {
   public:
    explicit Nesting(int& depth) : depth_(++depth) {}
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    bool too_deep() const { return depth_ > sql_nesting_max; }

   private:
    int& depth_;
  };

  // --- query ---

  Parsed<std::unique_ptr<Query>> parse_select();
  Parsed<void> parse_selection(Query& query);
  Parsed<void> parse_from(Query& query);
  Parsed<FromSource> parse_source();
  Parsed<std::unique_ptr<Query>> parse_called_source();
  Parsed<void> parse_path(FromSource& source);
  Parsed<void> parse_order(Query& query);
  Parsed<Count> parse_count();
  Parsed<std::unique_ptr<Query>> parse_subquery();

  // --- expressions ---

  Parsed<ExpressionPtr> parse_expression();
  Parsed<ExpressionPtr> parse_coalesce();
  Parsed<ExpressionPtr> parse_disjunction();
  Parsed<ExpressionPtr> parse_conjunction();
  Parsed<ExpressionPtr> parse_comparison();
  Parsed<ExpressionPtr> parse_in(ExpressionPtr needle, bool negated);
  Parsed<ExpressionPtr> parse_like(ExpressionPtr text, bool negated);
  Parsed<ExpressionPtr> parse_between(ExpressionPtr value, bool negated);
  Parsed<ExpressionPtr> parse_binary(int precedence_min);
  Parsed<ExpressionPtr> parse_unary();
  Parsed<ExpressionPtr> parse_postfix();
  Parsed<ExpressionPtr> parse_primary();
  Parsed<ExpressionPtr> parse_array(ExpressionPtr array);
  Parsed<ExpressionPtr> parse_object(ExpressionPtr object);
  Parsed<ExpressionPtr> parse_call(ExpressionPtr call);
  Parsed<ExpressionPtr> parse_name();
  Parsed<ExpressionPtr> parse_keyword();
  Parsed<ExpressionPtr> finish(ExpressionPtr expression, std::size_t start);

  ExpressionPtr make(ExpressionKind kind) const {
    auto expression = std::make_unique<Expression>();
    expression->kind = kind;
    expression->location = current().location;
    return expression;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::size_t nodes_ = 0;
};

// Where only a name is possible, any word can be one.
inline bool is_word(const Token& token) {
  return token.kind == TokenKind::identifier || token.kind == TokenKind::keyword;
}

// Words that can be names where something else is possible, too.
inline bool is_name(const Token& token) {
  if (token.kind == TokenKind::identifier) return true;
  switch (token.keyword) {
    case Keyword::k_all:
    case Keyword::k_first:
    case Keyword::k_last:
    case Keyword::k_rank:
      return true;
    default:
      return false;
  }
}

}  // namespace octavo::query::sql
