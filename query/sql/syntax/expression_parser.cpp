// Parses expressions, from the operator that binds least to names and constants.

#include <algorithm>
#include <iterator>

#include "query/sql/syntax/query_parser.h"

namespace octavo::query::sql {

Expression::Expression() = default;
Expression::~Expression() = default;

namespace {

struct BinaryOperator {
  std::string_view symbol;
  SqlOperator op;
  int precedence;
};
constexpr BinaryOperator binary_operators[] = {
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

}  // namespace

// Sets location and depth, which are known once all operands are parsed.
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
  OCTAVO_TRY(auto condition, parse_coalesce());
  if (!is_symbol("?")) return condition;
  auto choice = make(ExpressionKind::conditional);
  take();
  choice->operands.push_back(std::move(condition));
  OCTAVO_TRY(auto first, parse_expression());
  choice->operands.push_back(std::move(first));
  OCTAVO_TRY_VOID(expect_symbol(":"));
  OCTAVO_TRY(auto second, parse_expression());
  choice->operands.push_back(std::move(second));
  return finish(std::move(choice), start);
}

Parsed<ExpressionPtr> Parser::parse_coalesce() {
  const std::size_t start = current().location.start;
  OCTAVO_TRY(auto left, parse_disjunction());
  while (is_symbol("??")) {
    auto coalesce = make(ExpressionKind::coalesce);
    take();
    OCTAVO_TRY(auto right, parse_disjunction());
    coalesce->operands.push_back(std::move(left));
    coalesce->operands.push_back(std::move(right));
    OCTAVO_TRY(left, finish(std::move(coalesce), start));
  }
  return left;
}

Parsed<ExpressionPtr> Parser::parse_disjunction() {
  const std::size_t start = current().location.start;
  OCTAVO_TRY(auto first, parse_conjunction());
  if (!is_keyword(Keyword::k_or)) return first;
  auto any = make(ExpressionKind::disjunction);
  any->operands.push_back(std::move(first));
  while (take_keyword(Keyword::k_or)) {
    OCTAVO_TRY(auto next, parse_conjunction());
    any->operands.push_back(std::move(next));
  }
  return finish(std::move(any), start);
}

Parsed<ExpressionPtr> Parser::parse_conjunction() {
  const std::size_t start = current().location.start;
  OCTAVO_TRY(auto first, parse_comparison());
  if (!is_keyword(Keyword::k_and)) return first;
  auto all = make(ExpressionKind::conjunction);
  all->operands.push_back(std::move(first));
  while (take_keyword(Keyword::k_and)) {
    OCTAVO_TRY(auto next, parse_comparison());
    all->operands.push_back(std::move(next));
  }
  return finish(std::move(all), start);
}

Parsed<ExpressionPtr> Parser::parse_comparison() {
  OCTAVO_TRY(auto left, parse_binary(1));
  while (true) {
    bool negated = false;
    if (is_keyword(Keyword::k_not)) {
      const Keyword next = ahead(1).keyword;
      if (next != Keyword::k_in && next != Keyword::k_like && next != Keyword::k_between) return left;
      take();
      negated = true;
    }
    if (is_keyword(Keyword::k_in)) {
      OCTAVO_TRY(left, parse_in(std::move(left), negated));
    } else if (is_keyword(Keyword::k_like)) {
      OCTAVO_TRY(left, parse_like(std::move(left), negated));
    } else if (is_keyword(Keyword::k_between)) {
      OCTAVO_TRY(left, parse_between(std::move(left), negated));
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
  OCTAVO_TRY_VOID(expect_symbol("("));
  do {
    if (in->operands.size() > sql_in_items_max) return over_limit("arguments of IN", sql_in_items_max);
    OCTAVO_TRY(auto item, parse_expression());
    in->operands.push_back(std::move(item));
  } while (take_symbol(","));
  OCTAVO_TRY_VOID(expect_symbol(")"));
  return finish(std::move(in), start);
}

Parsed<ExpressionPtr> Parser::parse_like(ExpressionPtr text, bool negated) {
  const std::size_t start = text->location.start;
  auto like = make(ExpressionKind::like);
  take();
  like->flag = negated;
  like->operands.push_back(std::move(text));
  OCTAVO_TRY(auto pattern, parse_binary(1));
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
  OCTAVO_TRY(auto low, parse_binary(1));
  between->operands.push_back(std::move(low));
  if (!take_keyword(Keyword::k_and)) return unexpected_token();
  OCTAVO_TRY(auto high, parse_binary(1));
  between->operands.push_back(std::move(high));
  return finish(std::move(between), start);
}

Parsed<ExpressionPtr> Parser::parse_binary(int precedence_min) {
  const std::size_t start = current().location.start;
  OCTAVO_TRY(auto left, parse_unary());
  while (current().kind == TokenKind::symbol) {
    const auto* found = std::ranges::find(binary_operators, current().raw, &BinaryOperator::symbol);
    if (found == std::end(binary_operators) || found->precedence < precedence_min) break;
    auto binary = make(ExpressionKind::binary);
    binary->op = found->op;
    take();
    OCTAVO_TRY(auto right, parse_binary(found->precedence + 1));
    binary->operands.push_back(std::move(left));
    binary->operands.push_back(std::move(right));
    OCTAVO_TRY(left, finish(std::move(binary), start));
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
  OCTAVO_TRY(auto operand, parse_unary());
  unary->operands.push_back(std::move(operand));
  return finish(std::move(unary), start);
}

Parsed<ExpressionPtr> Parser::parse_postfix() {
  const std::size_t start = current().location.start;
  OCTAVO_TRY(auto value, parse_primary());
  while (true) {
    if (take_symbol(".")) {
      if (!is_word(current())) return unexpected_token();
      auto property = make(ExpressionKind::property);
      property->text = take().raw;
      property->operands.push_back(std::move(value));
      OCTAVO_TRY(value, finish(std::move(property), start));
    } else if (take_symbol("[")) {
      if (current().kind == TokenKind::string && ahead(1).kind == TokenKind::symbol && ahead(1).raw == "]") {
        auto property = make(ExpressionKind::property);
        property->flag = true;
        property->text = take().text;
        take();
        property->operands.push_back(std::move(value));
        OCTAVO_TRY(value, finish(std::move(property), start));
        continue;
      }
      auto index = make(ExpressionKind::index);
      OCTAVO_TRY(auto position, parse_expression());
      OCTAVO_TRY_VOID(expect_symbol("]"));
      index->operands.push_back(std::move(value));
      index->operands.push_back(std::move(position));
      OCTAVO_TRY(value, finish(std::move(index), start));
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
    OCTAVO_TRY(subquery->subquery, parse_subquery());
    return finish(std::move(subquery), start);
  }
  take();
  OCTAVO_TRY(auto inner, parse_expression());
  OCTAVO_TRY_VOID(expect_symbol(")"));
  return inner;
}

Parsed<ExpressionPtr> Parser::parse_array(ExpressionPtr array) {
  const std::size_t start = take().location.start;
  if (!is_symbol("]")) {
    do {
      OCTAVO_TRY(auto item, parse_expression());
      array->operands.push_back(std::move(item));
    } while (take_symbol(","));
  }
  OCTAVO_TRY_VOID(expect_symbol("]"));
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
      OCTAVO_TRY_VOID(expect_symbol(":"));
      OCTAVO_TRY(auto value, parse_expression());
      object->operands.push_back(std::move(value));
    } while (take_symbol(","));
  }
  OCTAVO_TRY_VOID(expect_symbol("}"));
  return finish(std::move(object), start);
}

// Parses the arguments. The name has been consumed; an opening parenthesis is next.
Parsed<ExpressionPtr> Parser::parse_call(ExpressionPtr call) {
  const std::size_t start = call->location.start;
  OCTAVO_TRY_VOID(expect_symbol("("));
  if (!is_symbol(")")) {
    do {
      OCTAVO_TRY(auto argument, parse_expression());
      call->operands.push_back(std::move(argument));
    } while (take_symbol(","));
  }
  OCTAVO_TRY_VOID(expect_symbol(")"));
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
      OCTAVO_TRY_VOID(expect_symbol("."));
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
      OCTAVO_TRY(expression->subquery, parse_subquery());
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

}  // namespace octavo::query::sql
