#include "query/sql/syntax/parser.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "query/sql/syntax/query_parser.h"
#include "query/sql/syntax/query_shape.h"

namespace octavo::query::sql {

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
  std::string shape = shape_of(*tokens);
  auto query = Parser(*std::move(tokens)).run();
  if (query) (*query)->shape = std::move(shape);
  return query;
}

}  // namespace octavo::query::sql
