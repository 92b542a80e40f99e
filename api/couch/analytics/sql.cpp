// /_analytics/sql: a SELECT statement over the columns of a database.
#include <memory>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "analytics/analytics.h"
#include "api/couch/analytics/database_store.h"
#include "api/couch/analytics/routes.h"
#include "api/couch/analytics/rows_reply.h"
#include "api/couch/auth/authenticator.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using analytics::Analytics;

constexpr std::size_t sql_bytes_max = 1ULL << 20;
constexpr std::size_t parameters_max = 1'000;

struct SqlRequest {
  std::string database;
  json::object query;  ///< as the process reads it
  std::string_view content_type = "application/json";
};

std::unexpected<Error> invalid_member(std::string_view name, std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("`{}` must be {}.", name, what), "invalid_sql");
}

Expected<void> read_member(SqlRequest& request, std::string_view name, const json::value& value) {
  if (name == "db") {
    if (!value.is_string() || value.get_string().empty()) return invalid_member(name, "the name of a database");
    request.database = value.get_string();
  } else if (name == "sql") {
    if (!value.is_string() || value.get_string().empty()) return invalid_member(name, "a SELECT statement");
    if (value.get_string().size() > sql_bytes_max) return invalid_member(name, "at most 1 MiB long");
    if (std::string_view(value.get_string()).contains('\0')) return invalid_member(name, "a text without zero bytes");
    request.query["sql"] = value;
  } else if (name == "parameters") {
    if (!value.is_array() || value.get_array().size() > parameters_max) {
      return invalid_member(name, fmt::format("a list of at most {} values", parameters_max));
    }
    request.query["parameters"] = value;
  } else if (name == "format") {
    if (value == "csv") {
      request.content_type = "text/csv; charset=utf-8";
    } else if (value == "ndjson") {
      request.content_type = "application/x-ndjson";
    } else if (value == "parquet") {
      request.content_type = "application/vnd.apache.parquet";
    } else if (value != "json") {
      return invalid_member(name, "`json`, `ndjson`, `csv` or `parquet`");
    }
    request.query["format"] = value;
  } else {
    return fail(
        ErrorCode::bad_request,
        fmt::format("Unknown member `{}`; the known ones are db, sql, parameters and format.", name.substr(0, 64)),
        "invalid_sql");
  }
  return {};
}

Expected<SqlRequest> parse_request(const json::object& body) {
  SqlRequest request;
  for (const auto& [name, value] : body) OCTAVO_TRY_VOID(read_member(request, name, value));
  if (request.database.empty()) return invalid_member("db", "the name of a database");
  if (!request.query.contains("sql")) return invalid_member("sql", "a SELECT statement");
  return request;
}

/// The database, if the user may read it.
Task<Expected<std::shared_ptr<partitioning::Database>>> open_readable(Call& call, const std::string& name) {
  auto found = call.services.engine.databases().find(name);
  if (!found) found = co_await call.services.engine.open_in_background(name);
  OCTAVO_CO_TRY(auto database, *std::move(found));
  OCTAVO_CO_TRY_VOID(
      check_access(Access::database_member, call.user, database.get(), call.services.authenticator.has_admins()));
  co_return database;
}

Task<Expected<Reply>> post_sql(Call& call) {
  Analytics* const analytics = call.services.analytics;
  if (analytics == nullptr) co_return fail(ErrorCode::internal, "The engine was opened without analytics.");
  OCTAVO_CO_TRY_VOID(analytics->require_enabled());
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto request, parse_request(body));
  OCTAVO_CO_TRY(call.database, co_await open_readable(call, request.database));
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  auto begin = [&]() -> Expected<Analytics::Query> {
    OCTAVO_TRY(const auto file, store->file());
    return analytics->ask(file, request.query);
  };
  OCTAVO_CO_TRY(auto query, co_await analytics->workers().run_blocking(std::move(begin)));
  co_return co_await rows_reply(call, std::move(query), request.content_type);
}

}  // namespace

void add_analytics_sql_routes(RouteList& routes) {
  routes.push_back({Method::post, "/_analytics/sql", Access::anyone, post_sql});
}

}  // namespace octavo::api::couch
