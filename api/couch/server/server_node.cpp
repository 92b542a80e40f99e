#include <array>
#include <fstream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <boost/json.hpp>
#include <openssl/crypto.h>
#include <unicode/ucol.h>
#include <unicode/uversion.h>

#include "api/couch/call/json_reply.h"
#include "api/couch/server/server.h"
#include "api/http/metrics.h"
#include "config/version.h"
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

json::object counter(std::uint64_t value, std::string_view description) {
  return {{"value", value}, {"type", "counter"}, {"desc", description}};
}

json::object gauge(std::uint64_t value, std::string_view description) {
  return {{"value", value}, {"type", "gauge"}, {"desc", description}};
}

/// The upper bound, in ms, of the bucket that contains the quantile `fraction`. The last bucket has no upper bound, so
/// its lower bound is returned.
double percentile_ms(const HttpSnapshot& snapshot, double fraction) {
  const double wanted = fraction * static_cast<double>(snapshot.requests);
  double seen = 0;
  for (std::size_t i = 0; i < latency_bounds_us.size(); ++i) {
    seen += static_cast<double>(snapshot.latency_buckets[i]);
    if (seen >= wanted) return static_cast<double>(latency_bounds_us[i].count()) / 1000;
  }
  return static_cast<double>(latency_bounds_us.back().count()) / 1000;
}

json::object latency(const HttpSnapshot& snapshot) {
  json::array percentiles;
  for (const int percent : {50, 75, 90, 95, 99}) {
    percentiles.push_back(json::array{percent, percentile_ms(snapshot, percent / 100.0)});
  }
  percentiles.push_back(json::array{999, percentile_ms(snapshot, 0.999)});
  const double mean_ms = snapshot.requests == 0 ? 0.0
                                                : static_cast<double>(snapshot.latency_sum_us) / 1000 /
                                                      static_cast<double>(snapshot.requests);
  return {
      {"value",
       json::object{{"n", snapshot.requests}, {"arithmetic_mean", mean_ms}, {"percentile", std::move(percentiles)}}},
      {"type", "histogram"},
      {"desc", "length of a request inside the server, in milliseconds"}};
}

/// The counters in CouchDB's structure and with its names; only those that exist here.
json::object statistics(const HttpSnapshot& snapshot) {
  json::object methods;
  for (std::size_t i = 0; i < method_kinds; ++i) {
    const std::string name(to_string(static_cast<Method>(i)));
    methods[name] = counter(snapshot.requests_by_method[i], "number of HTTP " + name + " requests");
  }
  json::object statuses;
  for (std::size_t status = 0; status < snapshot.replies_by_status.size(); ++status) {
    const std::uint64_t count = snapshot.replies_by_status[status];
    const std::string name = std::to_string(status);
    if (count > 0) statuses[name] = counter(count, "number of HTTP " + name + " responses");
  }
  json::object httpd{{"requests", counter(snapshot.requests, "number of HTTP requests")},
                     {"clients_requesting_changes", gauge(snapshot.streams_open, "number of streamed replies open")},
                     {"requests_in_flight", gauge(snapshot.requests_in_flight, "number of requests being answered")},
                     {"requests_rejected", counter(snapshot.requests_rejected, "number of requests refused, overload")},
                     {"connections_open", gauge(snapshot.connections_open, "number of open connections")}};
  return {{"couchdb", json::object{{"httpd", std::move(httpd)},
                                   {"httpd_request_methods", std::move(methods)},
                                   {"httpd_status_codes", std::move(statuses)},
                                   {"request_time", latency(snapshot)}}}};
}

Task<Expected<Reply>> get_stats(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  co_return json_reply(statistics(call.services.metrics.snapshot()));
}

Task<Expected<Reply>> get_stats_below(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  const json::value all = statistics(call.services.metrics.snapshot());
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

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t thread_count() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    if (word == "Threads:") {
      std::uint64_t count = 0;
      file >> count;
      return count;
    }
  }
  return 0;
}

json::object system_facts(const HttpSnapshot& snapshot) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"uptime", snapshot.uptime_s.count()},
          {"memory", json::object{{"resident", resident_bytes()}}},
          {"context_switches", usage.ru_nvcsw + usage.ru_nivcsw},
          {"io_input", snapshot.bytes_received},
          {"io_output", snapshot.bytes_sent},
          {"os_proc_count", 1},
          {"process_count", thread_count()},
          {"cpu_count", std::thread::hardware_concurrency()}};
}

Task<Expected<Reply>> get_system(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  co_return json_reply(system_facts(call.services.metrics.snapshot()));
}

Task<Expected<Reply>> get_prometheus(Call& call) {
  OCTAVO_CO_TRY_VOID(check_metrics_access(call));
  Reply reply;
  reply.content_type = prometheus_content_type;
  reply.body = call.services.metrics.render_prometheus();
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
  return {{"octavo", json::object{{"version", config::version()}, {"compiler", __VERSION__}}},
          {"collation_driver", std::move(collation)},
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
