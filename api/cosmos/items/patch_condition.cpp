#include "api/cosmos/items/patch_condition.h"

#include <chrono>
#include <string>

#include "base/ascii_case.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/evaluate/program.h"

namespace octavo::api::cosmos {

namespace {

namespace sql = query::sql;

std::unexpected<Error> invalid_condition(std::string_view why) {
  return fail(ErrorCode::bad_request,
              "The condition of the patch is not valid: expected \"from c where …\". " + std::string(why));
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view skip_spaces(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// Removes the first word and returns it.
std::string_view take_word(std::string_view& text) {
  text = skip_spaces(text);
  std::size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

/// For one item: other writes wait for the writer's thread.
constexpr std::chrono::milliseconds condition_time_max{20};

}  // namespace

Expected<sql::SqlQuery::Ptr> parse_patch_condition(std::string_view text, sql::ComputedProperties::Ptr computed) {
  std::string_view rest = text;
  if (!equals_ignoring_case(take_word(rest), "from")) return invalid_condition("");
  std::string_view alias = take_word(rest);
  std::string_view word = take_word(rest);
  if (equals_ignoring_case(word, "as")) {
    alias = take_word(rest);
    word = take_word(rest);
  } else if (!word.empty() && !equals_ignoring_case(word, "where")) {
    alias = word;
    word = take_word(rest);
  }
  if (alias.empty() || !equals_ignoring_case(word, "where")) return invalid_condition("");
  const std::string select = "SELECT VALUE 1 FROM " + std::string(alias) + " WHERE ";
  auto query = sql::SqlQuery::parse(select + std::string(rest), {}, computed);
  if (!query) return invalid_condition(query.error().message);
  // Parses it again in parentheses: nothing may follow the expression, such as ORDER BY.
  const auto inside = sql::SqlQuery::parse(select + "(" + std::string(rest) + "\n)", {}, std::move(computed));
  if (!inside) return invalid_condition(inside.error().message);
  if ((*query)->calls_user_functions()) return invalid_condition("It cannot call user-defined functions.");
  return *std::move(query);
}

Expected<bool> meets_condition(const sql::SqlQuery& condition, const storage::DocumentView& item,
                               const sql::RowShape& shape) {
  const sql::Program& program = condition.program();
  sql::Evaluation evaluation(program.root_names, program.slots, &shape);
  evaluation.set_item_time_max(condition_time_max);
  evaluation.row.bind(item);
  const bool meets = program.where->evaluate(evaluation).is_true();
  if (evaluation.failed()) return std::unexpected(evaluation.error());
  return meets;
}

}  // namespace octavo::api::cosmos
