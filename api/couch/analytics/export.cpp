// /{db}/_export: the analytical store of a database as a file, or as a folder of files on the server.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analytics/analytics.h"
#include "api/couch/analytics/database_store.h"
#include "api/couch/analytics/routes.h"
#include "api/couch/analytics/rows_reply.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using analytics::Analytics;
using analytics::documents_name;
using analytics::FrameKind;

struct ExportFormat {
  std::string_view name;
  std::string_view content_type;
};
constexpr std::array<ExportFormat, 3> formats{{{"parquet", "application/vnd.apache.parquet"},
                                               {"ndjson", "application/x-ndjson"},
                                               {"csv", "text/csv; charset=utf-8"}}};

Expected<ExportFormat> format_of(const Request& request) {
  const auto wanted = request.parameter("format");
  for (const ExportFormat& format : formats) {
    if (wanted == format.name) return format;
  }
  return fail(ErrorCode::bad_request, "`format` must be `parquet`, `ndjson` or `csv`.", "query_parse_error");
}

/// `wanted`, if it is one of the store's tables.
Expected<std::string> table_of(analytics::DatabaseAnalytics& store, std::string_view wanted, std::string_view word) {
  const auto view = store.view();
  if (!view) return std::string(wanted);  // store.table() says so
  const auto tables = view->definition.tables();
  if (std::ranges::find(tables, wanted) != tables.end()) return std::string(wanted);
  return fail(ErrorCode::bad_request, fmt::format("`table` must be one of the store's: {}.", fmt::join(tables, ", ")),
              word);
}

/// Names of databases may have characters that are none of a file's name, or end the header's value.
std::string file_name(std::string_view database, std::string_view table, std::string_view format) {
  std::string content(database);
  if (table != documents_name) content.append("-").append(table);
  std::string name;
  for (const char c : content) {
    const bool is_safe =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    name += is_safe ? c : '_';
  }
  return fmt::format("{}.{}", name, format);
}

/// What the process says of an export: {checkpoint, …}, the sequence that its rows stand for.
Task<Expected<json::object>> read_report(Call& call, Analytics& analytics, Analytics::Query& query) {
  while (true) {
    OCTAVO_CO_TRY(const auto frame, co_await analytics.workers().run_blocking([&query] { return query.next(); }));
    if (!frame) {
      if (call.request.client_has_left()) co_return fail(ErrorCode::timeout, "The client has left.");
      continue;
    }
    if (frame->kind != FrameKind::reply) co_return std::unexpected(analytics::error_of_payload(frame->payload));
    OCTAVO_CO_TRY(const auto parsed, query::parse_json(frame->payload));
    co_return parsed.as_object();
  }
}

std::string sequence_of(const Call& call, const json::object& report) {
  return call.database->format_sequence(report.at("checkpoint").to_number<std::uint64_t>());
}

Task<void> send_nothing(BodySink&) {
  co_return;
}

Task<Expected<Reply>> get_export(Call& call) {
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  Analytics& analytics = *call.services.analytics;
  OCTAVO_CO_TRY_VOID(analytics.require_enabled());
  OCTAVO_CO_TRY(const auto format, format_of(call.request));
  const std::string wanted(call.request.parameter("table").value_or(documents_name));
  auto begin = [&]() -> Expected<Analytics::Query> {
    OCTAVO_TRY(const auto name, table_of(*store, wanted, "query_parse_error"));
    OCTAVO_TRY(const auto table, store->table());
    return analytics.export_rows(
        table, json::object{{"sql", fmt::format("select * from \"{}\"", name)}, {"format", format.name}});
  };
  OCTAVO_CO_TRY(auto query, co_await analytics.workers().run_blocking(std::move(begin)));
  OCTAVO_CO_TRY(const auto report, co_await read_report(call, analytics, query));
  Reply reply;
  if (call.request.method == Method::head) {
    // The length is not known, as for a body that is streamed.
    reply.content_type = format.content_type;
    reply.stream = send_nothing;
  } else {
    OCTAVO_CO_TRY(reply, co_await rows_reply(call, std::move(query), format.content_type));
  }
  reply.headers.emplace_back("X-Couch-Update-Seq", sequence_of(call, report));
  reply.headers.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}\"",
                                                                file_name(call.database->name(), wanted, format.name)));
  co_return reply;
}

std::unexpected<Error> syntax(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "export_syntax");
}

Expected<std::string> folder_of(const json::value& value) {
  constexpr std::size_t name_bytes_max = 128;
  constexpr std::string_view characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  const auto* const name = value.if_string();
  const bool is_name = name != nullptr && !name->empty() && name->size() <= name_bytes_max && name->front() != '.' &&
                       std::string_view(*name).find_first_not_of(characters) == std::string_view::npos;
  if (is_name) return std::string(*name);
  return syntax(
      fmt::format("`folder` must be a name of at most {} letters, digits and `-_.`, which does not begin with a "
                  "point.",
                  name_bytes_max));
}

Expected<std::vector<std::string>> columns_of(const json::value& value) {
  const auto wrong = [] {
    return syntax(fmt::format("`partition_by` must be a list of at most {} different names of columns.",
                              Analytics::partition_columns_max));
  };
  if (!value.is_array() || value.get_array().size() > Analytics::partition_columns_max) return wrong();
  std::vector<std::string> columns;
  for (const json::value& column : value.get_array()) {
    if (!column.is_string() || std::ranges::find(columns, std::string_view(column.get_string())) != columns.end())
      return wrong();
    columns.emplace_back(column.get_string());
  }
  return columns;
}

Expected<Analytics::FolderRequest> folder_request(const json::object& body) {
  Analytics::FolderRequest request{.folder = {}, .owner = {}, .table = std::string(documents_name), .partition_by = {}};
  for (const auto& [name, value] : body) {
    if (name == "folder") {
      OCTAVO_TRY(request.folder, folder_of(value));
    } else if (name == "table") {
      if (!value.is_string()) return syntax("`table` must be the name of one of the store's tables.");
      request.table = value.get_string();
    } else if (name == "partition_by") {
      OCTAVO_TRY(request.partition_by, columns_of(value));
    } else if (name == "format") {
      if (value != "parquet") return syntax("A folder has Parquet files: `format` must be `parquet`, or left out.");
    } else {
      return syntax(
          fmt::format("`{}` is not known: an export into a folder has `folder`, `table`, `partition_by` and "
                      "`format`.",
                      std::string_view(name)));
    }
  }
  if (request.folder.empty()) return syntax("`folder` is missing: the name of the folder to export into.");
  return request;
}

Task<Expected<Reply>> post_export(Call& call) {
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  Analytics& analytics = *call.services.analytics;
  OCTAVO_CO_TRY_VOID(analytics.require_enabled());
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto request, folder_request(body));
  request.owner = call.database->instance_tag();
  auto begin = [&]() -> Expected<Analytics::Query> {
    OCTAVO_TRY_VOID(table_of(*store, request.table, "export_syntax"));
    OCTAVO_TRY(const auto table, store->table());
    return analytics.export_folder(table, request);
  };
  OCTAVO_CO_TRY(auto query, co_await analytics.workers().run_blocking(std::move(begin)));
  OCTAVO_CO_TRY(const auto report, co_await read_report(call, analytics, query));
  json::object reply{{"ok", true}, {"folder", request.folder}, {"update_seq", sequence_of(call, report)}};
  for (const std::string_view count : {"rows", "partitions", "written", "removed", "bytes"}) {
    reply[count] = report.at(count);
  }
  co_return json_reply(std::move(reply));
}

}  // namespace

void add_analytics_export_routes(RouteList& routes) {
  routes.push_back({Method::post, "/{db}/_export", Access::database_admin, post_export});
  routes.push_back({Method::get, "/{db}/_export", Access::database_member, get_export});
}

}  // namespace octavo::api::couch
