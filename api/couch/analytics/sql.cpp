// /_analytics/sql: a SELECT statement over the columns of a database.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "analytics/analytics.h"
#include "api/couch/analytics/routes.h"
#include "api/couch/auth/authenticator.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "partitioning/engine.h"
#include "query/database/database_services.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using analytics::Analytics;
using analytics::Frame;
using analytics::FrameKind;

constexpr std::size_t sql_bytes_max = 1ULL << 20;
constexpr std::size_t parameters_max = 1'000;
// A reply of less is sent whole, with its length; and an error in it gets its status.
constexpr std::size_t whole_reply_bytes = 64ULL << 10;

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

/// The rest of an answer when the head of its reply is sent.
struct Rest {
  Analytics& analytics;
  Analytics::Query query;
};

Task<void> send_rest(Rest rest, BodySink& sink) {
  while (true) {
    auto frame = co_await rest.analytics.workers().run_blocking([&rest] { return rest.query.next(); });
    // The head was already sent, so only an incomplete body can show the error. The connection logs it.
    if (!frame) throw std::runtime_error("analytics: " + frame.error().reason);
    if (!*frame) {
      if (sink.closed()) co_return;
      continue;
    }
    if ((*frame)->kind == FrameKind::end) co_return;
    if ((*frame)->kind != FrameKind::rows) {
      throw std::runtime_error("analytics: " + analytics::error_of_payload((*frame)->payload).reason);
    }
    const bool sent = co_await sink.write((*frame)->payload);
    if (!sent) co_return;
  }
}

Task<Expected<Reply>> answer(Call& call, Analytics::Query query, std::string_view content_type) {
  Analytics& analytics = *call.services.analytics;
  Reply reply;
  reply.content_type = content_type;
  while (reply.body.size() < whole_reply_bytes) {
    OCTAVO_CO_TRY(auto frame, co_await analytics.workers().run_blocking([&query] { return query.next(); }));
    if (!frame) {
      if (call.request.client_has_left()) {
        co_return fail(ErrorCode::timeout, "The client has left before the reply was complete.");
      }
      continue;
    }
    if (frame->kind == FrameKind::end) co_return reply;
    if (frame->kind != FrameKind::rows) co_return std::unexpected(analytics::error_of_payload(frame->payload));
    reply.body += frame->payload;
  }
  reply.stream = [rest = std::make_unique<Rest>(Rest{analytics, std::move(query)})](BodySink& sink) mutable {
    return send_rest(std::move(*rest), sink);
  };
  co_return reply;
}

Task<Expected<Reply>> post_sql(Call& call) {
  Analytics* const analytics = call.services.analytics;
  if (analytics == nullptr) co_return fail(ErrorCode::internal, "The engine was opened without analytics.");
  OCTAVO_CO_TRY_VOID(analytics->require_enabled());
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto request, parse_request(body));
  OCTAVO_CO_TRY(call.database, co_await open_readable(call, request.database));
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  auto* const store = Analytics::of(services->attachment());
  if (store == nullptr) co_return fail(ErrorCode::internal, "The engine was opened without analytics.");
  auto begin = [&]() -> Expected<Analytics::Query> {
    OCTAVO_TRY(const auto file, store->file());
    return analytics->ask(file, request.query);
  };
  OCTAVO_CO_TRY(auto query, co_await analytics->workers().run_blocking(std::move(begin)));
  co_return co_await answer(call, std::move(query), request.content_type);
}

}  // namespace

void add_analytics_sql_routes(RouteList& routes) {
  routes.push_back({Method::post, "/_analytics/sql", Access::anyone, post_sql});
}

}  // namespace octavo::api::couch
