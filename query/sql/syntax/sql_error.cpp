#include "query/sql/syntax/sql_error.h"

#include <fmt/format.h>

#include "base/json_writer.h"

namespace octavo::query::sql {

Error SqlError::to_error() const {
  return Error{ErrorCode::bad_request, fmt::format("{} ({} at {}..{})", message, code, location.start, location.end),
               "invalid_sql"};
}

std::string SqlError::to_json() const {
  std::string out = fmt::format(R"({{"errors":[{{"severity":"Error","location":{{"start":{},"end":{}}},"code":)",
                                location.start, location.end);
  append_json_string(out, code);
  out += ",\"message\":";
  append_json_string(out, message);
  out += "}]}";
  return out;
}

}  // namespace octavo::query::sql
