// /{db}/_export: the analytical store of a database as a file.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "analytics/analytics.h"
#include "api/couch/analytics/database_store.h"
#include "api/couch/analytics/routes.h"
#include "api/couch/analytics/rows_reply.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using analytics::Analytics;
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

/// Names of databases may have characters that are none of a file's name, or end the header's value.
std::string file_name(std::string_view database, std::string_view format) {
  std::string name;
  for (const char c : database) {
    const bool is_safe =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    name += is_safe ? c : '_';
  }
  return fmt::format("{}.{}", name, format);
}

/// The sequence that the rows of an export stand for.
Task<Expected<std::uint64_t>> read_checkpoint(Call& call, Analytics& analytics, Analytics::Query& query) {
  while (true) {
    OCTAVO_CO_TRY(const auto frame, co_await analytics.workers().run_blocking([&query] { return query.next(); }));
    if (!frame) {
      if (call.request.client_has_left()) co_return fail(ErrorCode::timeout, "The client has left.");
      continue;
    }
    if (frame->kind != FrameKind::reply) co_return std::unexpected(analytics::error_of_payload(frame->payload));
    OCTAVO_CO_TRY(const auto parsed, query::parse_json(frame->payload));
    co_return parsed.at("checkpoint").to_number<std::uint64_t>();
  }
}

Task<void> send_nothing(BodySink&) {
  co_return;
}

Task<Expected<Reply>> get_export(Call& call) {
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  Analytics& analytics = *call.services.analytics;
  OCTAVO_CO_TRY_VOID(analytics.require_enabled());
  OCTAVO_CO_TRY(const auto format, format_of(call.request));
  auto begin = [&]() -> Expected<Analytics::Query> {
    OCTAVO_TRY(const auto file, store->file());
    return analytics.export_rows(file, json::object{{"sql", "select * from documents"}, {"format", format.name}});
  };
  OCTAVO_CO_TRY(auto query, co_await analytics.workers().run_blocking(std::move(begin)));
  OCTAVO_CO_TRY(const auto checkpoint, co_await read_checkpoint(call, analytics, query));
  Reply reply;
  if (call.request.method == Method::head) {
    // The length is not known, as for a body that is streamed.
    reply.content_type = format.content_type;
    reply.stream = send_nothing;
  } else {
    OCTAVO_CO_TRY(reply, co_await rows_reply(call, std::move(query), format.content_type));
  }
  reply.headers.emplace_back("X-Couch-Update-Seq", call.database->format_sequence(checkpoint));
  reply.headers.emplace_back("Content-Disposition",
                             fmt::format("attachment; filename=\"{}\"", file_name(call.database->name(), format.name)));
  co_return reply;
}

}  // namespace

void add_analytics_export_routes(RouteList& routes) {
  routes.push_back({Method::get, "/{db}/_export", Access::database_member, get_export});
}

}  // namespace octavo::api::couch
