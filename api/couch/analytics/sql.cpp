// /_analytics/sql: a SELECT statement over the columns of a database, or of those of a group.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "analytics/analytics.h"
#include "api/couch/analytics/database_store.h"
#include "api/couch/analytics/routes.h"
#include "api/couch/analytics/rows_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "base/ascii_case.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using analytics::Analytics;
using analytics::TablePlace;

constexpr std::size_t sql_bytes_max = 1ULL << 20;
constexpr std::size_t sql_parameters_max = 1'000;

struct SqlRequest {
  std::string database;  ///< empty: a group
  std::string group;
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
  } else if (name == "group") {
    if (!value.is_string() || value.get_string().empty()) return invalid_member(name, "the name of a group");
    request.group = value.get_string();
  } else if (name == "sql") {
    if (!value.is_string() || value.get_string().empty()) return invalid_member(name, "a SELECT statement");
    if (value.get_string().size() > sql_bytes_max) return invalid_member(name, "at most 1 MiB long");
    if (std::string_view(value.get_string()).contains('\0')) return invalid_member(name, "a text without zero bytes");
    request.query["sql"] = value;
  } else if (name == "parameters") {
    if (!value.is_array() || value.get_array().size() > sql_parameters_max) {
      return invalid_member(name, fmt::format("a list of at most {} values", sql_parameters_max));
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
    return fail(ErrorCode::bad_request,
                fmt::format("Unknown member `{}`; the known ones are db, group, sql, parameters and format.",
                            name.substr(0, 64)),
                "invalid_sql");
  }
  return {};
}

Expected<SqlRequest> parse_request(const json::object& body) {
  SqlRequest request;
  for (const auto& [name, value] : body) OCTAVO_TRY_VOID(read_member(request, name, value));
  if (request.database.empty() == request.group.empty()) {
    return fail(ErrorCode::bad_request, "`db` must be the name of a database, or `group` that of a group: one of them.",
                "invalid_sql");
  }
  if (!request.query.contains("sql")) return invalid_member("sql", "a SELECT statement");
  return request;
}

/// Whether the statement may name the table: names have no case.
bool may_name(std::string_view sql, std::string_view as) {
  return std::ranges::search(sql, as, {}, to_lower, to_lower).begin() != sql.end();
}

/// All tables of the group, which the statement may name.
Expected<std::vector<TablePlace>> tables_of(const Call& call, std::vector<ReadableMember>& members,
                                            std::string_view sql) {
  std::vector<TablePlace> tables;
  for (ReadableMember& member : members) {
    auto table = [&]() -> Expected<TablePlace> {
      if (member.unopened) return std::unexpected(*member.unopened);
      OCTAVO_TRY(auto* const store, store_of(call, *member.database));
      return store->table();
    }();
    if (!table && may_name(sql, member.definition.as)) {
      table.error().reason = fmt::format("The table {}: {}", member.definition.as, table.error().reason);
      return std::unexpected(std::move(table).error());
    }
    if (member.database) tables.push_back(analytics::place_of(*member.database, member.definition));
  }
  return tables;
}

Task<Expected<Analytics::Query>> ask_group(Call& call, Analytics& analytics, const SqlRequest& request) {
  OCTAVO_CO_TRY(const auto group, co_await find_group(call, request.group));
  OCTAVO_CO_TRY(auto members, co_await open_readable_group(call, group.key));
  if (members.empty()) {
    co_return fail(ErrorCode::not_found,
                   fmt::format("No database is in the group {}: PUT /{{db}}/_analytics puts it there.", request.group));
  }
  auto begin = [&]() -> Expected<Analytics::Query> {
    OCTAVO_TRY(const auto tables, tables_of(call, members, query::text_member(request.query, "sql")));
    return analytics.ask_group(tables, request.query);
  };
  co_return co_await analytics.workers().run_blocking(std::move(begin));
}

Task<Expected<Analytics::Query>> ask_database(Call& call, Analytics& analytics, const SqlRequest& request) {
  OCTAVO_CO_TRY(call.database, co_await open_readable(call, request.database));
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  OCTAVO_CO_TRY(const auto group, store->group());
  std::vector<ReadableMember> members;
  // A statement can name the other tables, too.
  if (!group.empty()) {
    OCTAVO_CO_TRY(members, co_await open_readable_group(call, group));
  }
  auto begin = [&]() -> Expected<Analytics::Query> {
    OCTAVO_TRY(const auto table, store->table());
    if (table.as.empty()) return analytics.ask(table, request.query);
    OCTAVO_TRY(const auto tables, tables_of(call, members, query::text_member(request.query, "sql")));
    json::object query = request.query;
    query["as"] = table.as;
    return analytics.ask_group(tables, std::move(query));
  };
  co_return co_await analytics.workers().run_blocking(std::move(begin));
}

Task<Expected<Reply>> post_sql(Call& call) {
  Analytics* const analytics = call.services.analytics;
  if (analytics == nullptr) co_return fail(ErrorCode::internal, "The engine was opened without analytics.");
  OCTAVO_CO_TRY_VOID(analytics->require_enabled());
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto request, parse_request(body));
  auto asked = request.group.empty() ? ask_database(call, *analytics, request) : ask_group(call, *analytics, request);
  OCTAVO_CO_TRY(auto query, co_await std::move(asked));
  co_return co_await rows_reply(call, std::move(query), request.content_type);
}

}  // namespace

void add_analytics_sql_routes(RouteList& routes) {
  routes.push_back({Method::post, "/_analytics/sql", Access::anyone, post_sql});
}

}  // namespace octavo::api::couch
