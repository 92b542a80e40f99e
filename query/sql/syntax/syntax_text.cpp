#include "query/sql/syntax/syntax_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii_case.h"
#include "base/json_writer.h"
#include "query/sql/syntax/lexer.h"

namespace octavo::query::sql {

namespace {

std::string_view symbol_of(SqlOperator op) {
  switch (op) {
    case SqlOperator::add:
    case SqlOperator::plus:
      return "+";
    case SqlOperator::subtract:
    case SqlOperator::minus:
      return "-";
    case SqlOperator::multiply:
      return "*";
    case SqlOperator::divide:
      return "/";
    case SqlOperator::modulo:
      return "%";
    case SqlOperator::bit_and:
      return "&";
    case SqlOperator::bit_or:
      return "|";
    case SqlOperator::bit_xor:
      return "^";
    case SqlOperator::bit_not:
      return "~";
    case SqlOperator::shift_left:
      return "<<";
    case SqlOperator::shift_right:
      return ">>";
    case SqlOperator::shift_right_zero:
      return ">>>";
    case SqlOperator::equal:
      return "=";
    case SqlOperator::not_equal:
      return "!=";
    case SqlOperator::less:
      return "<";
    case SqlOperator::less_equal:
      return "<=";
    case SqlOperator::greater:
      return ">";
    case SqlOperator::greater_equal:
      return ">=";
    case SqlOperator::concat:
      return "||";
    case SqlOperator::logical_not:
      return "NOT ";
    case SqlOperator::none:
      break;
  }
  return "";
}

void append_list(std::string& out, const std::vector<ExpressionPtr>& list, std::size_t from, std::string_view joint) {
  for (std::size_t i = from; i < list.size(); ++i) {
    if (i > from) out += joint;
    append_text(out, *list[i]);
  }
}

void append_subquery(std::string& out, std::string_view word, const Query& query) {
  out += word;
  out += '(';
  out += text_of(query);
  out += ')';
}

void append_count(std::string& out, const Count& count) {
  if (count.parameter.empty()) {
    append_number_text(out, count.number);
  } else {
    out += count.parameter;
  }
}

void append_source(std::string& out, const FromSource& source) {
  if (source.iterates) {
    out += source.alias;
    out += " IN ";
  }
  if (source.subquery) {
    append_subquery(out, "", *source.subquery);
  } else {
    out += source.root;
    for (const PathStep& step : source.path) {
      if (step.index) {
        out += '[';
        append_json_number(out, *step.index);
        out += ']';
      } else {
        append_property_text(out, step.name, step.quoted);
      }
    }
  }
  if (!source.iterates && !source.alias.empty()) {
    out += " AS ";
    out += source.alias;
  }
}

}  // namespace

bool is_same(const Expression& a, const Expression& b) {
  if (a.kind != b.kind || a.depth != b.depth || a.op != b.op || a.number != b.number || a.names != b.names)
    return false;
  const bool is_function = a.kind == ExpressionKind::call && !a.flag;
  if (is_function ? !equals_ignoring_case(a.text, b.text) : a.text != b.text) return false;
  // For a property, the flag only says how the name was written.
  if (a.kind != ExpressionKind::property && a.flag != b.flag) return false;
  if (!a.subquery != !b.subquery || (a.subquery && text_of(*a.subquery) != text_of(*b.subquery))) return false;
  return std::ranges::equal(a.operands, b.operands, [](const auto& x, const auto& y) { return is_same(*x, *y); });
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || keyword_of(name) != Keyword::none) return false;
  if (std::ranges::any_of(no_break_spaces, [&](std::string_view blank) { return name.contains(blank); })) return false;
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  return !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, is_part);
}

void append_number_text(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "NaN";
    return;
  }
  if (std::isinf(number)) {
    out += number < 0 ? "-Infinity" : "Infinity";
    return;
  }
  if (number == 0) {
    out += '0';
    return;
  }
  char digits[32];
  // The fewest digits that reproduce the number, formatted like JavaScript does.
  const auto result = std::to_chars(digits, digits + sizeof digits, std::abs(number), std::chars_format::scientific);
  const std::string_view text(digits, static_cast<std::size_t>(result.ptr - digits));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  std::string mantissa(1, text[0]);
  if (e > 1) mantissa += text.substr(2, e - 2);
  const int size = static_cast<int>(mantissa.size());
  if (number < 0) out += '-';
  if (exponent >= 21 || exponent < -6) {
    out += mantissa[0];
    if (size > 1) out.append(".").append(mantissa, 1);
    out += exponent < 0 ? "e-" : "e+";
    append_json_number(out, std::abs(exponent));
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<std::size_t>(-exponent) - 1, '0').append(mantissa);
  } else if (size <= exponent + 1) {
    out.append(mantissa).append(static_cast<std::size_t>(exponent) + 1 - mantissa.size(), '0');
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    out.append(mantissa, 0, whole).append(".").append(mantissa, whole);
  }
}

void append_property_text(std::string& out, std::string_view name, bool quoted) {
  if (!quoted && is_plain_name(name)) {
    out += '.';
    out += name;
    return;
  }
  out += '[';
  append_json_string(out, name);
  out += ']';
}

void append_text(std::string& out, const Expression& expression) {
  const auto& operands = expression.operands;
  switch (expression.kind) {
    case ExpressionKind::undefined:
      out += "undefined";
      return;
    case ExpressionKind::null:
      out += "null";
      return;
    case ExpressionKind::boolean:
      out += expression.flag ? "true" : "false";
      return;
    case ExpressionKind::number:
      if (std::isinf(expression.number)) {
        out += "1e999";  // `Infinity` would be a name
      } else {
        append_number_text(out, expression.number);
      }
      return;
    case ExpressionKind::string:
      append_json_string(out, expression.text);
      return;
    case ExpressionKind::parameter:
    case ExpressionKind::identifier:
      out += expression.text;
      return;
    case ExpressionKind::property:
      // A dot after digits would belong to the number.
      if (operands[0]->kind == ExpressionKind::number) out += '(';
      append_text(out, *operands[0]);
      if (operands[0]->kind == ExpressionKind::number) out += ')';
      append_property_text(out, expression.text, expression.flag);
      return;
    case ExpressionKind::index:
      append_text(out, *operands[0]);
      out += '[';
      append_text(out, *operands[1]);
      out += ']';
      return;
    case ExpressionKind::array:
      out += '[';
      append_list(out, operands, 0, ", ");
      out += ']';
      return;
    case ExpressionKind::object:
      out += '{';
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i > 0) out += ", ";
        append_json_string(out, expression.names[i]);
        out += ": ";
        append_text(out, *operands[i]);
      }
      out += '}';
      return;
    case ExpressionKind::call:
      if (expression.flag) out += "udf.";
      out += expression.text;
      out += '(';
      append_list(out, operands, 0, ", ");
      out += ')';
      return;
    case ExpressionKind::subquery:
      return append_subquery(out, "", *expression.subquery);
    case ExpressionKind::exists:
      return append_subquery(out, "EXISTS", *expression.subquery);
    case ExpressionKind::all:
      return append_subquery(out, "ALL", *expression.subquery);
    case ExpressionKind::array_of:
      return append_subquery(out, "ARRAY", *expression.subquery);
    case ExpressionKind::first:
      return append_subquery(out, "FIRST", *expression.subquery);
    case ExpressionKind::last:
      return append_subquery(out, "LAST", *expression.subquery);
    default:
      break;
  }
  out += '(';
  switch (expression.kind) {
    case ExpressionKind::unary:
      out += symbol_of(expression.op);
      append_text(out, *operands[0]);
      break;
    case ExpressionKind::binary:
      append_text(out, *operands[0]);
      out.append(" ").append(symbol_of(expression.op)).append(" ");
      append_text(out, *operands[1]);
      break;
    case ExpressionKind::conjunction:
      append_list(out, operands, 0, " AND ");
      break;
    case ExpressionKind::disjunction:
      append_list(out, operands, 0, " OR ");
      break;
    case ExpressionKind::in:
      append_text(out, *operands[0]);
      out += expression.flag ? " NOT IN (" : " IN (";
      append_list(out, operands, 1, ", ");
      out += ')';
      break;
    case ExpressionKind::between:
      append_text(out, *operands[0]);
      out += expression.flag ? " NOT BETWEEN " : " BETWEEN ";
      append_list(out, operands, 1, " AND ");
      break;
    case ExpressionKind::like:
      append_text(out, *operands[0]);
      out += expression.flag ? " NOT LIKE " : " LIKE ";
      append_text(out, *operands[1]);
      if (!expression.text.empty()) {
        out += " ESCAPE ";
        append_json_string(out, expression.text);
      }
      break;
    case ExpressionKind::conditional:
      append_text(out, *operands[0]);
      out += " ? ";
      append_list(out, operands, 1, " : ");
      break;
    case ExpressionKind::coalesce:
      append_list(out, operands, 0, " ?? ");
      break;
    default:
      break;
  }
  out += ')';
}

void append_from_text(std::string& out, const Query& query) {
  for (std::size_t i = 0; i < query.sources.size(); ++i) {
    out += i == 0 ? "\nFROM " : "\nJOIN ";
    append_source(out, query.sources[i]);
  }
}

std::string text_of(const Expression& expression) {
  std::string out;
  append_text(out, expression);
  return out;
}

std::string text_of(const Query& query) {
  std::string out = "SELECT ";
  if (query.distinct) out += "DISTINCT ";
  if (query.top) {
    out += "TOP ";
    append_count(out, *query.top);
    out += ' ';
  }
  if (query.selection == Query::Selection::star) {
    out += '*';
  } else {
    if (query.selection == Query::Selection::value) out += "VALUE ";
    for (std::size_t i = 0; i < query.items.size(); ++i) {
      if (i > 0) out += ", ";
      append_text(out, *query.items[i].expression);
      if (!query.items[i].alias.empty()) out.append(" AS ").append(query.items[i].alias);
    }
  }
  append_from_text(out, query);
  if (query.where) {
    out += "\nWHERE ";
    append_text(out, *query.where);
  }
  for (std::size_t i = 0; i < query.group_by.size(); ++i) {
    out += i == 0 ? "\nGROUP BY " : ", ";
    append_text(out, *query.group_by[i]);
  }
  for (std::size_t i = 0; i < query.order_by.size(); ++i) {
    out += i == 0 ? "\nORDER BY " : ", ";
    append_text(out, *query.order_by[i].expression);
    if (query.order_by[i].direction_given) out += query.order_by[i].descending ? " DESC" : " ASC";
  }
  if (query.offset) {
    out += "\nOFFSET ";
    append_count(out, *query.offset);
    out += " LIMIT ";
    append_count(out, *query.limit);
  }
  return out;
}

}  // namespace octavo::query::sql
