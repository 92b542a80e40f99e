#include <algorithm>
#include <limits>

#include <boost/json.hpp>

#include "api/couch/database_info.h"
#include "api/couch/errors.h"
#include "api/couch/query_parameters.h"
#include "api/couch/server.h"
#include "query/json/parsed_document.h"
#include "query/json/writer.h"

namespace octavo::api::couch {

namespace {

constexpr std::size_t dbs_info_keys_max = 100;  // CouchDB's max_db_number_for_dbs_info_req

/// Where a key of any JSON type falls among names: all names are strings, and CouchDB orders types before values.
struct NameBound {
  enum class Side : std::uint8_t { below_all, at_name, above_all };
  Side side = Side::at_name;
  std::string name;
};

struct NameRange {
  std::optional<NameBound> start;
  std::optional<NameBound> end;
  bool descending = false;
  bool inclusive_end = true;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t skip = 0;
};

Expected<std::optional<NameBound>> read_bound(const Request& request, std::string_view name, std::string_view alias) {
  auto text = request.parameter(name);
  if (!text) text = request.parameter(alias);
  if (!text) return std::nullopt;
  OCTAVO_TRY(const auto value, query::parse_json(*text));
  if (value.is_string()) return NameBound{NameBound::Side::at_name, std::string(value.get_string())};
  const bool above = value.is_array() || value.is_object();
  return NameBound{above ? NameBound::Side::above_all : NameBound::Side::below_all, ""};
}

Expected<NameRange> read_range(const Request& request) {
  NameRange range;
  OCTAVO_TRY(range.start, read_bound(request, "startkey", "start_key"));
  OCTAVO_TRY(range.end, read_bound(request, "endkey", "end_key"));
  if (const auto text = request.parameter("descending")) {
    OCTAVO_TRY(range.descending, ParameterValue(*text).as_boolean());
  }
  if (const auto text = request.parameter("inclusive_end")) {
    OCTAVO_TRY(range.inclusive_end, ParameterValue(*text).as_boolean());
  }
  if (const auto text = request.parameter("limit")) {
    OCTAVO_TRY(range.limit, ParameterValue(*text).as_count());
  }
  if (const auto text = request.parameter("skip")) {
    OCTAVO_TRY(range.skip, ParameterValue(*text).as_count());
  }
  return range;
}

/// Negative, zero, positive: `name` is before, at, after the bound in the direction of the listing.
int compare(const std::string& name, const NameBound& bound, bool descending) {
  int order = name.compare(bound.name);
  if (bound.side == NameBound::Side::below_all) order = 1;
  if (bound.side == NameBound::Side::above_all) order = -1;
  return descending ? -order : order;
}

std::vector<std::string> names_in(std::vector<std::string> names, const NameRange& range) {
  if (range.descending) std::ranges::reverse(names);
  std::erase_if(names, [&](const std::string& name) {
    if (range.start && compare(name, *range.start, range.descending) < 0) return true;
    if (!range.end) return false;
    const int order = compare(name, *range.end, range.descending);
    return range.inclusive_end ? order > 0 : order >= 0;
  });
  const std::size_t skipped = std::min<std::uint64_t>(range.skip, names.size());
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(skipped));
  if (names.size() > range.limit) names.resize(range.limit);
  return names;
}

Task<Expected<Reply>> get_all_dbs(Call& call) {
  const auto range = read_range(call.request);
  if (!range) co_return std::unexpected(range.error());
  Reply reply;
  reply.body = "[";
  for (const std::string& name : names_in(call.services.engine.database_names(), *range)) {
    if (reply.body.size() > 1) reply.body += ',';
    query::append_json_string(reply.body, name);
  }
  reply.body += ']';
  co_return reply;
}

/// One element of the reply; nothing for a database that is gone by now, unless it was asked for by name.
std::string info_of(partitioning::Engine& engine, const std::string& name, bool asked_for) {
  std::string out = R"({"key":)";
  query::append_json_string(out, name);
  const auto database = engine.find_database(name);
  if (!database) return asked_for ? out + R"(,"error":"not_found"})" : std::string();
  std::string info;
  if (const auto read = append_database_info(info, *database); !read) {
    query::append_json_key(out, "error");
    query::append_json_string(out, error_word(read.error()));
  } else {
    query::append_json_key(out, "info");
    out += info;
  }
  return out + '}';
}

// Each name may open files, so this runs on a worker and streams: its memory does not grow with the number of
// databases.
Reply stream_infos(partitioning::Engine& engine, std::vector<std::string> names, bool asked_for) {
  Reply reply;
  reply.stream = [&engine, names = std::move(names), asked_for](BodySink& sink) -> Task<void> {
    std::string out = "[";
    bool first = true;
    for (const std::string& name : names) {
      auto read = [&] { return info_of(engine, name, asked_for); };
      const std::string info = co_await engine.run_blocking(std::move(read));
      if (!info.empty()) {
        if (!first) out += ',';
        first = false;
        out += info;
      }
      if (out.size() > 16 * 1024) {
        const bool alive = co_await sink.write(out);
        if (!alive) co_return;
        out.clear();
      }
    }
    out += "]\n";
    co_await sink.write(out);
  };
  return reply;
}

Task<Expected<Reply>> get_dbs_info(Call& call) {
  const auto range = read_range(call.request);
  if (!range) co_return std::unexpected(range.error());
  co_return stream_infos(call.services.engine, names_in(call.services.engine.database_names(), *range), false);
}

Task<Expected<Reply>> post_dbs_info(Call& call) {
  if (auto type = require_json_content_type(call.request); !type) co_return std::unexpected(std::move(type).error());
  const auto body = json_object_body(call.request);
  if (!body) co_return std::unexpected(body.error());
  const auto* keys = body->if_contains("keys");
  if (keys == nullptr) co_return fail(ErrorCode::bad_request, "`keys` member must exist.");
  if (!keys->is_array()) co_return fail(ErrorCode::bad_request, "`keys` member must be an array.");
  if (keys->get_array().size() > dbs_info_keys_max) co_return fail(ErrorCode::bad_request, "too_many_keys");
  std::vector<std::string> names;
  for (const auto& key : keys->get_array()) {
    if (!key.is_string()) co_return fail(ErrorCode::bad_request, "`keys` must be names of databases.");
    names.emplace_back(key.get_string());
  }
  co_return stream_infos(call.services.engine, std::move(names), true);
}

}  // namespace

void add_server_databases_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_all_dbs", Access::server_admin, get_all_dbs});
  routes.push_back({Method::get, "/_dbs_info", Access::server_admin, get_dbs_info});
  routes.push_back({Method::post, "/_dbs_info", Access::server_admin, post_dbs_info});
}

}  // namespace octavo::api::couch
