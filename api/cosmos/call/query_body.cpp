#include "api/cosmos/call/query_body.h"

#include <string>
#include <utility>
#include <vector>

#include "query/json/split.h"

namespace octavo::api::cosmos {

Error sql_error(const query::sql::SqlError& error) {
  return {ErrorCode::bad_request, "Message: " + error.to_json(), {}};
}

Expected<query::sql::SqlQuery::Ptr> parse_query(const Request& request, query::sql::ComputedProperties::Ptr computed) {
  std::string text;
  std::vector<query::sql::SqlParameter> parameters;
  const std::size_t start = request.body.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && request.body[start] == '{') {
    auto members = query::split_object(request.body);
    if (!members) return fail(ErrorCode::bad_request, "The request body is not JSON: " + members.error().reason);
    const auto raw = query::member_value(*members, "query");
    if (raw.empty() || raw.front() != '"') return fail(ErrorCode::bad_request, "The body must have a 'query' text.");
    OCTAVO_TRY(text, query::decode_json_string(raw));
    if (const auto list = query::member_value(*members, "parameters"); !list.empty() && list != "null") {
      OCTAVO_TRY(parameters, query::sql::parse_sql_parameters(list));
    }
  } else {
    text = request.body;
  }
  auto parsed = query::sql::SqlQuery::parse(text, parameters, std::move(computed));
  if (!parsed) return std::unexpected(sql_error(parsed.error()));
  return std::move(*parsed);
}

}  // namespace octavo::api::cosmos
