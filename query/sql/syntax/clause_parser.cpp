// Parses SELECT and its clauses.

#include <cmath>
#include <optional>

#include "query/sql/syntax/query_parser.h"

namespace octavo::query::sql {

namespace {

// Computes the depth of evaluation of a query.
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

}  // namespace

Parsed<std::unique_ptr<Query>> Parser::parse_select() {
  const Nesting nesting(depth_);
  if (nesting.too_deep()) return over_limit("levels of nesting", sql_nesting_max);
  auto query = std::make_unique<Query>();
  query->location.start = current().location.start;
  if (!take_keyword(Keyword::k_select)) return unexpected_token();
  query->distinct = take_keyword(Keyword::k_distinct);
  if (take_keyword(Keyword::k_top)) {
    OCTAVO_TRY(query->top, parse_count());
  }
  OCTAVO_TRY_VOID(parse_selection(*query));
  if (take_keyword(Keyword::k_from)) OCTAVO_TRY_VOID(parse_from(*query));
  if (take_keyword(Keyword::k_where)) {
    OCTAVO_TRY(query->where, parse_expression());
  }
  if (take_keyword(Keyword::k_group)) {
    if (!take_keyword(Keyword::k_by)) return unexpected_token();
    do {
      if (query->group_by.size() == sql_group_expressions_max) {
        return over_limit("expressions in GROUP BY", sql_group_expressions_max);
      }
      OCTAVO_TRY(auto expression, parse_expression());
      query->group_by.push_back(std::move(expression));
    } while (take_symbol(","));
  }
  if (take_keyword(Keyword::k_order)) OCTAVO_TRY_VOID(parse_order(*query));
  if (take_keyword(Keyword::k_offset)) {
    OCTAVO_TRY(query->offset, parse_count());
    if (!take_keyword(Keyword::k_limit)) return unexpected_token();
    OCTAVO_TRY(query->limit, parse_count());
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
    OCTAVO_TRY(item.expression, parse_expression());
    query.items.push_back(std::move(item));
    return {};
  }
  query.selection = Query::Selection::list;
  do {
    SelectItem item;
    OCTAVO_TRY(item.expression, parse_expression());
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
    OCTAVO_TRY(auto source, parse_source());
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
    OCTAVO_TRY(source.subquery, parse_subquery());
  } else if (source.iterates && is_name(current()) && ahead(1).kind == TokenKind::symbol && ahead(1).raw == "(") {
    OCTAVO_TRY(source.subquery, parse_called_source());
  } else {
    if (!is_name(current())) return unexpected_token();
    source.root_location = current().location;
    source.root = take().raw;
    OCTAVO_TRY_VOID(parse_path(source));
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

// `x IN f(c)` is short for `x IN (SELECT VALUE f(c))`.
Parsed<std::unique_ptr<Query>> Parser::parse_called_source() {
  auto query = std::make_unique<Query>();
  query->selection = Query::Selection::value;
  query->location.start = current().location.start;
  SelectItem item;
  OCTAVO_TRY(item.expression, parse_name());
  query->items.push_back(std::move(item));
  query->location.end = tokens_[at_ - 1].location.end;
  measure(*query);
  return query;
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
      OCTAVO_TRY_VOID(expect_symbol("]"));
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
    OCTAVO_TRY(item.expression, parse_expression());
    item.direction_given = is_keyword(Keyword::k_asc) || is_keyword(Keyword::k_desc);
    if (item.direction_given) item.descending = take().keyword == Keyword::k_desc;
    query.order_by.push_back(std::move(item));
  } while (take_symbol(","));
  return {};
}

Parsed<std::unique_ptr<Query>> Parser::parse_subquery() {
  OCTAVO_TRY_VOID(expect_symbol("("));
  OCTAVO_TRY(auto query, parse_select());
  OCTAVO_TRY_VOID(expect_symbol(")"));
  return query;
}

}  // namespace octavo::query::sql
