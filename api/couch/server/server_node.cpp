#include <array>

#include <boost/json.hpp>
#include <openssl/crypto.h>
#include <unicode/ucol.h>
#include <unicode/uversion.h>

#include "api/couch/call/json_reply.h"
#include "api/couch/server/server.h"
#include "api/couch/server/statistics.h"
#include "api/http/metrics.h"
#include "config/version.h"
#include "query/javascript/functions.h"
#include "storage/lmdb/store.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

/// Error unless the user is an admin or has `_metrics`, the role of monitoring users.
Expected<void> check_metrics_access(const Call& call) {
  if (call.user.is_server_admin() || call.user.has_role("_metrics")) return check_node(call);
  return fail(ErrorCode::unauthorized, "You are not a server admin.");
}

Task<Expected<Reply>> get_node(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  co_return json_reply(json::object{{"name", node_name}});
}

Task<Expected<Reply>> get_stats(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  co_return json_reply(server_statistics(call));
}

Task<Expected<Reply>> get_stats_below(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  const json::value all = server_statistics(call);
  const json::value* at = &all;
  const std::string& path = call.path("path");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    at = at->is_object() ? at->get_object().if_contains(std::string_view(path).substr(begin, end - begin)) : nullptr;
    if (at == nullptr) co_return fail(ErrorCode::not_found, "");
    begin = end + 1;
  }
  co_return json_reply(*at);
}

Task<Expected<Reply>> get_system(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  co_return json_reply(system_facts(call));
}

Task<Expected<Reply>> get_prometheus(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  Reply reply;
  reply.content_type = prometheus_content_type;
  reply.body = call.services.metrics.render_prometheus();
  append_couchdb_metrics(reply.body, call);
  co_return reply;
}

std::string version_text(const UVersionInfo version) {
  std::array<char, U_MAX_VERSION_STRING_LENGTH> text{};
  u_versionToString(version, text.data());
  return text.data();
}

json::object versions() {
  UVersionInfo library{};
  u_getVersion(library);
  json::object collation{{"name", "libicu"}, {"library_version", version_text(library)}};
  UErrorCode status = U_ZERO_ERROR;
  if (UCollator* root = ucol_open("", &status); root != nullptr) {
    UVersionInfo collator{};
    UVersionInfo algorithm{};
    ucol_getVersion(root, collator);
    ucol_getUCAVersion(root, algorithm);
    ucol_close(root);
    collation["collation_algorithm_version"] = version_text(algorithm);
    collation["collator_version"] = version_text(collator);
  }
  const storage::StorageEngine engine = storage::storage_engine();
  return {
      {"octavo", json::object{{"version", config::version()}, {"compiler", __VERSION__}}},
      {"collation_driver", std::move(collation)},
      {"javascript_engine", json::object{{"name", "spidermonkey"}, {"version", query::javascript::engine_version()}}},
      {"storage_engine", json::object{{"name", engine.name}, {"version", engine.version}}},
      {"tls_library", OpenSSL_version(OPENSSL_VERSION)}};
}

Task<Expected<Reply>> get_versions(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  co_return json_reply(versions());
}

}  // namespace

void add_server_node_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_node/{node}", Access::server_admin, get_node});
  routes.push_back({Method::get, "/_node/{node}/_stats", Access::anyone, get_stats});
  routes.push_back({Method::get, "/_node/{node}/_stats/{path*}", Access::anyone, get_stats_below});
  routes.push_back({Method::get, "/_node/{node}/_system", Access::anyone, get_system});
  routes.push_back({Method::get, "/_node/{node}/_prometheus", Access::anyone, get_prometheus});
  routes.push_back({Method::get, "/_node/{node}/_versions", Access::server_admin, get_versions});
}

}  // namespace octavo::api::couch
