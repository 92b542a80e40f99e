#include "query/sql/parser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "query/sql/lexer.h"
#include "query/sql/sql_limits.h"

namespace octavo::query::sql {

Expression::Expression() = default;
Expression::~Expression() = default;

namespace {

template <class T>
using Parsed = std::expected<T, SqlError>;

#define SQL_TRY(declaration, expression) OCTAVO_TRY(declaration, expression)
#define SQL_TRY_VOID(expression) OCTAVO_TRY_VOID(expression)

struct BinaryOperator {
  std::string_view symbol;
  SqlOperator op;
  int precedence;
};
constexpr BinaryOperator kBinaryOperators[] = {
    {"||", SqlOperator::concat, 1},
    {"|", SqlOperator::bit_or, 2},
    {"^", SqlOperator::bit_xor, 3},
    {"&", SqlOperator::bit_and, 4},
    {"=", SqlOperator::equal, 5},
    {"!=", SqlOperator::not_equal, 5},
    {"<>", SqlOperator::not_equal, 5},
    {"<", SqlOperator::less, 6},
    {"<=", SqlOperator::less_equal, 6},
    {">", SqlOperator::greater, 6},
    {">=", SqlOperator::greater_equal, 6},
    {"<<", SqlOperator::shift_left, 7},
    {">>", SqlOperator::shift_right, 7},
    {">>>", SqlOperator::shift_right_zero, 7},
    {"+", SqlOperator::add, 8},
    {"-", SqlOperator::subtract, 8},
    {"*", SqlOperator::multiply, 9},
    {"/", SqlOperator::divide, 9},
    {"%", SqlOperator::modulo, 9},
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Parsed<std::unique_ptr<Query>> run() {
    SQL_TRY(auto query, parse_select());
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

  /// Counts how deep the parser is in itself.
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

// Any word can name something where only a name can stand.
bool is_word(const Token& token) {
  return token.kind == TokenKind::identifier || token.kind == TokenKind::keyword;
}

// Words that are also names where a name or something else can stand.
bool is_name(const Token& token) {
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

// How deep the evaluation of a query goes.
void measure(Query& query) {
  unsigned depth = 0;
  const auto count = [&](const ExpressionPtr& expression) {
    if (expression) depth = std::max(depth, expression->depth);
  };
  for (const auto& item : query.items) count(item.expression);
  for (const auto& source : query.sources) {
    if (source.subquery) depth = std::max(depth, source.subquery->depth);
  }
  count(query.where);
  for (const auto& expression : query.group_by) count(expression);
  for (const auto& item : query.order_by) count(item.expression);
  query.depth = depth + 1;
}

Parsed<std::unique_ptr<Query>> Parser::parse_select() {
  const Nesting nesting(depth_);
  if (nesting.too_deep()) return over_limit("levels of nesting", sql_nesting_max);
  auto query = std::make_unique<Query>();
  query->location.start = current().location.start;
  if (!take_keyword(Keyword::k_select)) return unexpected_token();
  query->distinct = take_keyword(Keyword::k_distinct);
  if (take_keyword(Keyword::k_top)) {
    SQL_TRY(query->top, parse_count());
  }
  SQL_TRY_VOID(parse_selection(*query));
  if (take_keyword(Keyword::k_from)) SQL_TRY_VOID(parse_from(*query));
  if (take_keyword(Keyword::k_where)) {
    SQL_TRY(query->where, parse_expression());
  }
  if (take_keyword(Keyword::k_group)) {
    if (!take_keyword(Keyword::k_by)) return unexpected_token();
    do {
      if (query->group_by.size() == sql_group_expressions_max) {
        return over_limit("expressions in GROUP BY", sql_group_expressions_max);
      }
      SQL_TRY(auto expression, parse_expression());
      query->group_by.push_back(std::move(expression));
    } while (take_symbol(","));
  }
  if (take_keyword(Keyword::k_order)) SQL_TRY_VOID(parse_order(*query));
  if (take_keyword(Keyword::k_offset)) {
    SQL_TRY(query->offset, parse_count());
    if (!take_keyword(Keyword::k_limit)) return unexpected_token();
    SQL_TRY(query->limit, parse_count());
  }
  query->location.end = tokens_[at_ > 0 ? at_ - 1 : 0].location.end;
  measure(*query);
  if (query->depth > sql_chain_max) return over_limit("operators in a row", sql_chain_max);
  return query;
}

Parsed<void> Parser::parse_selection(Query& query) {
  if (is_symbol("*")) {
    query.star = take().location;
    query.selection = Query::Selection::star;
    return {};
  }
  if (take_keyword(Keyword::k_value)) {
    query.selection = Query::Selection::value;
    SelectItem item;
    SQL_TRY(item.expression, parse_expression());
    query.items.push_back(std::move(item));
    return {};
  }
  query.selection = Query::Selection::list;
  do {
    SelectItem item;
    SQL_TRY(item.expression, parse_expression());
    if (take_keyword(Keyword::k_as)) {
      if (!is_word(current())) return unexpected_token();
      item.alias = take().raw;
    }
    query.items.push_back(std::move(item));
  } while (take_symbol(","));
  return {};
}

Parsed<Count> Parser::parse_count() {
  Count count;
  count.location = current().location;
  if (current().kind == TokenKind::number) {
    count.number = take().number;
  } else if (current().kind == TokenKind::parameter) {
    count.parameter = take().text;
  } else {
    return unexpected_token();
  }
  return count;
}

Parsed<void> Parser::parse_from(Query& query) {
  do {
    if (query.sources.size() > sql_joins_max) return over_limit("JOINs", sql_joins_max);
    SQL_TRY(auto source, parse_source());
    query.sources.push_back(std::move(source));
  } while (take_keyword(Keyword::k_join));
  return {};
}

Parsed<FromSource> Parser::parse_source() {
  FromSource source;
  source.location.start = current().location.start;
  if (is_name(current()) && ahead(1).keyword == Keyword::k_in) {
    source.iterates = true;
    source.alias = take().raw;
    take();
  }
  if (is_symbol("(")) {
    SQL_TRY(source.subquery, parse_subquery());
  } else {
    if (!is_name(current())) return unexpected_token();
    source.root_location = current().location;
    source.root = take().raw;
    SQL_TRY_VOID(parse_path(source));
  }
  if (!source.iterates) {
    if (take_keyword(Keyword::k_as)) {
      if (!is_word(current())) return unexpected_token();
      source.alias = take().raw;
    } else if (is_name(current())) {
      source.alias = take().raw;
    }
  }
  source.location.end = tokens_[at_ - 1].location.end;
  return source;
}

Parsed<void> Parser::parse_path(FromSource& source) {
  while (true) {
    PathStep step;
    if (take_symbol(".")) {
      if (!is_word(current())) return unexpected_token();
      step.name = take().raw;
    } else if (take_symbol("[")) {
      if (current().kind == TokenKind::string) {
        step.name = take().text;
        step.quoted = true;
      } else if (current().kind == TokenKind::number && current().number >= 0 && current().number < 1e9 &&
                 current().number == std::floor(current().number)) {
        step.index = static_cast<std::uint64_t>(take().number);
      } else {
        return unexpected_token();
      }
      SQL_TRY_VOID(expect_symbol("]"));
    } else {
      return {};
    }
    if (source.path.size() == static_cast<std::size_t>(sql_nesting_max)) {
      return over_limit("levels of nesting", sql_nesting_max);
    }
    source.path.push_back(std::move(step));
  }
}

Parsed<void> Parser::parse_order(Query& query) {
  if (!take_keyword(Keyword::k_by)) return unexpected_token();
  if (is_keyword(Keyword::k_rank) && is_word(ahead(1))) {
    return std::unexpected(SqlError{current().location, codes::unsupported,
                                    "ORDER BY RANK needs full-text or vector indexes, which this server does not have "
                                    "for SQL."});
  }
  do {
    if (query.order_by.size() == sql_order_items_max) return over_limit("expressions in ORDER BY", sql_order_items_max);
    OrderItem item;
    SQL_TRY(item.expression, parse_expression());
    item.direction_given = is_keyword(Keyword::k_asc) || is_keyword(Keyword::k_desc);
    if (item.direction_given) item.descending = take().keyword == Keyword::k_desc;
    query.order_by.push_back(std::move(item));
  } while (take_symbol(","));
  return {};
}

Parsed<std::unique_ptr<Query>> Parser::parse_subquery() {
  SQL_TRY_VOID(expect_symbol("("));
  SQL_TRY(auto query, parse_select());
  SQL_TRY_VOID(expect_symbol(")"));
  return query;
}

// Sets what is known once all operands are there.
Parsed<ExpressionPtr> Parser::finish(ExpressionPtr expression, std::size_t start) {
  expression->location = {start, tokens_[at_ > 0 ? at_ - 1 : 0].location.end};
  unsigned depth = 0;
  for (const auto& operand : expression->operands) depth = std::max(depth, operand->depth);
  if (expression->subquery) depth = std::max(depth, expression->subquery->depth);
  expression->depth = depth + 1;
  if (expression->depth > sql_chain_max) return over_limit("operators in a row", sql_chain_max);
  if (++nodes_ > sql_nodes_max) return over_limit("expressions", sql_nodes_max);
  return expression;
}

Parsed<ExpressionPtr> Parser::parse_expression() {
  const Nesting nesting(depth_);
  if (nesting.too_deep()) return over_limit("levels of nesting", sql_nesting_max);
  const std::size_t start = current().location.start;
  SQL_TRY(auto condition, parse_coalesce());
  if (!is_symbol("?")) return condition;
  auto choice = make(ExpressionKind::conditional);
  take();
  choice->operands.push_back(std::move(condition));
  SQL_TRY(auto first, parse_expression());
  choice->operands.push_back(std::move(first));
  SQL_TRY_VOID(expect_symbol(":"));
  SQL_TRY(auto second, parse_expression());
  choice->operands.push_back(std::move(second));
  return finish(std::move(choice), start);
}

Parsed<ExpressionPtr> Parser::parse_coalesce() {
  const std::size_t start = current().location.start;
  SQL_TRY(auto left, parse_disjunction());
  while (is_symbol("??")) {
    auto coalesce = make(ExpressionKind::coalesce);
    take();
    SQL_TRY(auto right, parse_disjunction());
    coalesce->operands.push_back(std::move(left));
    coalesce->operands.push_back(std::move(right));
    SQL_TRY(left, finish(std::move(coalesce), start));
  }
  return left;
}

Parsed<ExpressionPtr> Parser::parse_disjunction() {
  const std::size_t start = current().location.start;
  SQL_TRY(auto first, parse_conjunction());
  if (!is_keyword(Keyword::k_or)) return first;
  auto any = make(ExpressionKind::disjunction);
  any->operands.push_back(std::move(first));
  while (take_keyword(Keyword::k_or)) {
    SQL_TRY(auto next, parse_conjunction());
    any->operands.push_back(std::move(next));
  }
  return finish(std::move(any), start);
}

Parsed<ExpressionPtr> Parser::parse_conjunction() {
  const std::size_t start = current().location.start;
  SQL_TRY(auto first, parse_comparison());
  if (!is_keyword(Keyword::k_and)) return first;
  auto all = make(ExpressionKind::conjunction);
  all->operands.push_back(std::move(first));
  while (take_keyword(Keyword::k_and)) {
    SQL_TRY(auto next, parse_comparison());
    all->operands.push_back(std::move(next));
  }
  return finish(std::move(all), start);
}

Parsed<ExpressionPtr> Parser::parse_comparison() {
  SQL_TRY(auto left, parse_binary(1));
  while (true) {
    bool negated = false;
    if (is_keyword(Keyword::k_not)) {
      const Keyword next = ahead(1).keyword;
      if (next != Keyword::k_in && next != Keyword::k_like && next != Keyword::k_between) return left;
      take();
      negated = true;
    }
    if (is_keyword(Keyword::k_in)) {
      SQL_TRY(left, parse_in(std::move(left), negated));
    } else if (is_keyword(Keyword::k_like)) {
      SQL_TRY(left, parse_like(std::move(left), negated));
    } else if (is_keyword(Keyword::k_between)) {
      SQL_TRY(left, parse_between(std::move(left), negated));
    } else {
      return left;
    }
  }
}

Parsed<ExpressionPtr> Parser::parse_in(ExpressionPtr needle, bool negated) {
  const std::size_t start = needle->location.start;
  auto in = make(ExpressionKind::in);
  take();
  in->flag = negated;
  in->operands.push_back(std::move(needle));
  SQL_TRY_VOID(expect_symbol("("));
  do {
    if (in->operands.size() > sql_in_items_max) return over_limit("arguments of IN", sql_in_items_max);
    SQL_TRY(auto item, parse_expression());
    in->operands.push_back(std::move(item));
  } while (take_symbol(","));
  SQL_TRY_VOID(expect_symbol(")"));
  return finish(std::move(in), start);
}

Parsed<ExpressionPtr> Parser::parse_like(ExpressionPtr text, bool negated) {
  const std::size_t start = text->location.start;
  auto like = make(ExpressionKind::like);
  take();
  like->flag = negated;
  like->operands.push_back(std::move(text));
  SQL_TRY(auto pattern, parse_binary(1));
  like->operands.push_back(std::move(pattern));
  if (take_keyword(Keyword::k_escape)) {
    if (current().kind != TokenKind::string) return unexpected_token();
    const Token& escape = take();
    if (std::ranges::count_if(escape.text, [](char c) { return (c & 0xC0) != 0x80; }) != 1) {
      return std::unexpected(SqlError{escape.location, codes::syntax, "Syntax error, ESCAPE must be one character."});
    }
    like->text = escape.text;
  }
  return finish(std::move(like), start);
}

Parsed<ExpressionPtr> Parser::parse_between(ExpressionPtr value, bool negated) {
  const std::size_t start = value->location.start;
  auto between = make(ExpressionKind::between);
  take();
  between->flag = negated;
  between->operands.push_back(std::move(value));
  SQL_TRY(auto low, parse_binary(1));
  between->operands.push_back(std::move(low));
  if (!take_keyword(Keyword::k_and)) return unexpected_token();
  SQL_TRY(auto high, parse_binary(1));
  between->operands.push_back(std::move(high));
  return finish(std::move(between), start);
}

Parsed<ExpressionPtr> Parser::parse_binary(int precedence_min) {
  const std::size_t start = current().location.start;
  SQL_TRY(auto left, parse_unary());
  while (current().kind == TokenKind::symbol) {
    const auto* found = std::ranges::find(kBinaryOperators, current().raw, &BinaryOperator::symbol);
    if (found == std::end(kBinaryOperators) || found->precedence < precedence_min) break;
    auto binary = make(ExpressionKind::binary);
    binary->op = found->op;
    take();
    SQL_TRY(auto right, parse_binary(found->precedence + 1));
    binary->operands.push_back(std::move(left));
    binary->operands.push_back(std::move(right));
    SQL_TRY(left, finish(std::move(binary), start));
  }
  return left;
}

Parsed<ExpressionPtr> Parser::parse_unary() {
  SqlOperator op = SqlOperator::none;
  if (is_symbol("-")) op = SqlOperator::minus;
  if (is_symbol("+")) op = SqlOperator::plus;
  if (is_symbol("~")) op = SqlOperator::bit_not;
  if (is_keyword(Keyword::k_not)) op = SqlOperator::logical_not;
  if (op == SqlOperator::none) return parse_postfix();
  const Nesting nesting(depth_);
  if (nesting.too_deep()) return over_limit("levels of nesting", sql_nesting_max);
  const std::size_t start = current().location.start;
  auto unary = make(ExpressionKind::unary);
  take();
  unary->op = op;
  SQL_TRY(auto operand, parse_unary());
  unary->operands.push_back(std::move(operand));
  return finish(std::move(unary), start);
}

Parsed<ExpressionPtr> Parser::parse_postfix() {
  const std::size_t start = current().location.start;
  SQL_TRY(auto value, parse_primary());
  while (true) {
    if (take_symbol(".")) {
      if (!is_word(current())) return unexpected_token();
      auto property = make(ExpressionKind::property);
      property->text = take().raw;
      property->operands.push_back(std::move(value));
      SQL_TRY(value, finish(std::move(property), start));
    } else if (take_symbol("[")) {
      if (current().kind == TokenKind::string && ahead(1).kind == TokenKind::symbol && ahead(1).raw == "]") {
        auto property = make(ExpressionKind::property);
        property->flag = true;
        property->text = take().text;
        take();
        property->operands.push_back(std::move(value));
        SQL_TRY(value, finish(std::move(property), start));
        continue;
      }
      auto index = make(ExpressionKind::index);
      SQL_TRY(auto position, parse_expression());
      SQL_TRY_VOID(expect_symbol("]"));
      index->operands.push_back(std::move(value));
      index->operands.push_back(std::move(position));
      SQL_TRY(value, finish(std::move(index), start));
    } else {
      return value;
    }
  }
}

Parsed<ExpressionPtr> Parser::parse_primary() {
  const Token& token = current();
  const std::size_t start = token.location.start;
  switch (token.kind) {
    case TokenKind::number: {
      auto number = make(ExpressionKind::number);
      number->number = take().number;
      return finish(std::move(number), start);
    }
    case TokenKind::string: {
      auto text = make(ExpressionKind::string);
      text->text = take().text;
      return finish(std::move(text), start);
    }
    case TokenKind::parameter: {
      auto parameter = make(ExpressionKind::parameter);
      parameter->text = take().text;
      return finish(std::move(parameter), start);
    }
    case TokenKind::identifier:
      return parse_name();
    case TokenKind::keyword:
      return parse_keyword();
    case TokenKind::symbol:
      break;
    case TokenKind::end:
      return unexpected_token();
  }
  if (is_symbol("[")) return parse_array(make(ExpressionKind::array));
  if (is_symbol("{")) return parse_object(make(ExpressionKind::object));
  if (!is_symbol("(")) return unexpected_token();
  if (ahead(1).keyword == Keyword::k_select) {
    auto subquery = make(ExpressionKind::subquery);
    SQL_TRY(subquery->subquery, parse_subquery());
    return finish(std::move(subquery), start);
  }
  take();
  SQL_TRY(auto inner, parse_expression());
  SQL_TRY_VOID(expect_symbol(")"));
  return inner;
}

Parsed<ExpressionPtr> Parser::parse_array(ExpressionPtr array) {
  const std::size_t start = take().location.start;
  if (!is_symbol("]")) {
    do {
      SQL_TRY(auto item, parse_expression());
      array->operands.push_back(std::move(item));
    } while (take_symbol(","));
  }
  SQL_TRY_VOID(expect_symbol("]"));
  return finish(std::move(array), start);
}

Parsed<ExpressionPtr> Parser::parse_object(ExpressionPtr object) {
  const std::size_t start = take().location.start;
  if (!is_symbol("}")) {
    do {
      if (current().kind == TokenKind::string) {
        object->names.push_back(take().text);
      } else if (is_word(current())) {
        object->names.emplace_back(take().raw);
      } else {
        return unexpected_token();
      }
      SQL_TRY_VOID(expect_symbol(":"));
      SQL_TRY(auto value, parse_expression());
      object->operands.push_back(std::move(value));
    } while (take_symbol(","));
  }
  SQL_TRY_VOID(expect_symbol("}"));
  return finish(std::move(object), start);
}

// The name has been taken, and an opening parenthesis is next.
Parsed<ExpressionPtr> Parser::parse_call(ExpressionPtr call) {
  const std::size_t start = call->location.start;
  SQL_TRY_VOID(expect_symbol("("));
  if (!is_symbol(")")) {
    do {
      SQL_TRY(auto argument, parse_expression());
      call->operands.push_back(std::move(argument));
    } while (take_symbol(","));
  }
  SQL_TRY_VOID(expect_symbol(")"));
  return finish(std::move(call), start);
}

Parsed<ExpressionPtr> Parser::parse_name() {
  const bool is_call = ahead(1).kind == TokenKind::symbol && ahead(1).raw == "(";
  auto name = make(is_call ? ExpressionKind::call : ExpressionKind::identifier);
  const std::size_t start = current().location.start;
  name->text = take().raw;
  if (is_call) return parse_call(std::move(name));
  return finish(std::move(name), start);
}

Parsed<ExpressionPtr> Parser::parse_keyword() {
  const std::size_t start = current().location.start;
  const bool parenthesis = ahead(1).kind == TokenKind::symbol && ahead(1).raw == "(";
  auto expression = make(ExpressionKind::undefined);
  switch (current().keyword) {
    case Keyword::k_undefined:
      break;
    case Keyword::k_null:
      expression->kind = ExpressionKind::null;
      break;
    case Keyword::k_true:
    case Keyword::k_false:
      expression->kind = ExpressionKind::boolean;
      expression->flag = is_keyword(Keyword::k_true);
      break;
    case Keyword::k_left:
    case Keyword::k_right:
      if (!parenthesis) return unexpected_token();
      expression->kind = ExpressionKind::call;
      expression->text = take().raw;
      return parse_call(std::move(expression));
    case Keyword::k_udf: {
      take();
      SQL_TRY_VOID(expect_symbol("."));
      if (!is_word(current())) return unexpected_token();
      expression->kind = ExpressionKind::call;
      expression->flag = true;
      expression->text = take().raw;
      return parse_call(std::move(expression));
    }
    case Keyword::k_exists:
    case Keyword::k_array:
    case Keyword::k_all:
    case Keyword::k_first:
    case Keyword::k_last: {
      if (!parenthesis && is_name(current())) return parse_name();
      if (!parenthesis) return unexpected_token();
      switch (take().keyword) {
        case Keyword::k_exists:
          expression->kind = ExpressionKind::exists;
          break;
        case Keyword::k_array:
          expression->kind = ExpressionKind::array_of;
          break;
        case Keyword::k_all:
          expression->kind = ExpressionKind::all;
          break;
        case Keyword::k_first:
          expression->kind = ExpressionKind::first;
          break;
        default:
          expression->kind = ExpressionKind::last;
          break;
      }
      SQL_TRY(expression->subquery, parse_subquery());
      return finish(std::move(expression), start);
    }
    case Keyword::k_rank:
      return parse_name();
    default:
      return unexpected_token();
  }
  take();
  return finish(std::move(expression), start);
}

#undef SQL_TRY
#undef SQL_TRY_VOID

}  // namespace

std::expected<std::unique_ptr<Query>, SqlError> parse_query(std::string_view text) {
  if (text.size() > sql_text_bytes_max) {
    return std::unexpected(
        SqlError{{0, 0},
                 codes::limit_exceeded,
                 fmt::format("The query exceeds the maximum length of {} bytes.", sql_text_bytes_max)});
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return std::unexpected(SqlError{{0, 0}, codes::invalid_token, "The query is not valid UTF-8."});
  }
  auto tokens = tokenize(text);
  if (!tokens) return std::unexpected(std::move(tokens).error());
  return Parser(*std::move(tokens)).run();
}

}  // namespace octavo::query::sql
