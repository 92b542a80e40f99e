#include "api/couch/server/statistics.h"

#include <array>
#include <dirent.h>
#include <fstream>
#include <memory>
#include <sys/resource.h>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/couch/auth/authenticator.h"
#include "api/http/metrics.h"
#include "base/machine/resources.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

// The statuses that CouchDB always shows, so that a rate can be computed from the first one.
constexpr std::array usual_statuses{200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405,
                                    406, 409, 412, 413, 414, 415, 416, 417, 500, 501, 503, 507};

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

json::object method_counts(const HttpSnapshot& snapshot) {
  json::object methods;
  for (std::size_t i = 0; i < method_kinds; ++i) {
    const std::string name(to_string(static_cast<Method>(i)));
    methods[name] = counter(snapshot.requests_by_method[i], "number of HTTP " + name + " requests");
  }
  return methods;
}

json::object status_counts(const HttpSnapshot& snapshot) {
  json::object statuses;
  const auto add = [&](std::size_t status) {
    const std::string name = std::to_string(status);
    statuses[name] = counter(snapshot.replies_by_status[status], "number of HTTP " + name + " responses");
  };
  for (const int status : usual_statuses) add(static_cast<std::size_t>(status));
  for (std::size_t status = 0; status < snapshot.replies_by_status.size(); ++status) {
    if (snapshot.replies_by_status[status] > 0) add(status);
  }
  return statuses;
}

std::uint64_t open_descriptors() {
  struct Close {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(opendir("/proc/self/fd"));
  if (!folder) return 0;
  std::uint64_t count = 0;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count > 0 ? count - 1 : 0;  // one of them reads the folder
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

void append_description(std::string& out, std::string_view name, std::string_view type, std::string_view description) {
  out += fmt::format("# HELP couchdb_{} {}\n# TYPE couchdb_{} {}\n", name, description, name, type);
}

std::string_view text_of(const json::object& leaf, std::string_view name) {
  return leaf.at(name).get_string();
}

// A family with one series for each member of `group`, such as the methods.
void append_labelled(std::string& out, std::string_view name, std::string_view label, std::string_view description,
                     const json::object& group) {
  append_description(out, name, "counter", description);
  for (const auto& [value, leaf] : group) {
    out += fmt::format("couchdb_{}{{{}=\"{}\"}} {}\n", name, label, std::string_view(value),
                       leaf.at("value").to_number<std::uint64_t>());
  }
}

void append_summary(std::string& out, const std::string& name, const json::object& leaf) {
  append_description(out, name + "_seconds", "summary", text_of(leaf, "desc"));
  const json::value& value = leaf.at("value");
  for (const auto& percentile : value.at("percentile").as_array()) {
    const int percent = percentile.at(0).to_number<int>();
    const double fraction = percent == 999 ? 0.999 : percent / 100.0;
    out += fmt::format("couchdb_{}_seconds{{quantile=\"{}\"}} {}\n", name, fraction,
                       percentile.at(1).to_number<double>() / 1000);
  }
  const auto count = value.at("n").to_number<std::uint64_t>();
  const double mean_s = value.at("arithmetic_mean").to_number<double>() / 1000;
  out += fmt::format("couchdb_{}_seconds_sum {}\ncouchdb_{}_seconds_count {}\n", name,
                     mean_s * static_cast<double>(count), name, count);
}

void append_metric(std::string& out, const std::string& path, const json::object& leaf) {
  const std::string_view type = text_of(leaf, "type");
  if (type == "histogram") return append_summary(out, path, leaf);
  const bool gauge_type = type == "gauge";
  const std::string name = gauge_type || path.ends_with("_total") ? path : path + "_total";
  append_description(out, name, type, text_of(leaf, "desc"));
  out += fmt::format("couchdb_{} {}\n", name, leaf.at("value").to_number<std::uint64_t>());
}

// Converts the statistics as CouchDB does: the path becomes the name; some groups become labels.
void append_metrics(std::string& out, const std::string& prefix, const json::object& group) {
  for (const auto& [key, value] : group) {
    const std::string name(key);
    const json::object& members = value.get_object();
    if (name == "httpd_request_methods") {
      append_labelled(out, name, "method", "number of HTTP requests by method", members);
    } else if (name == "httpd_status_codes") {
      append_labelled(out, name, "code", "number of HTTP responses by status code", members);
    } else if (members.contains("type")) {
      append_metric(out, prefix + name, members);
    } else {
      append_metrics(out, prefix + name + "_", members);
    }
  }
}

}  // namespace

json::object server_statistics(const Call& call) {
  const HttpSnapshot snapshot = call.services.metrics.snapshot();
  const auto& activity = call.services.metrics.activity();
  const auto done = [&](Activity kind, std::string_view description) {
    return counter(activity.total(kind), description);
  };
  const UserLookups lookups = call.services.authenticator.user_lookups();
  json::object httpd{{"requests", counter(snapshot.requests, "number of HTTP requests")},
                     {"bulk_requests", done(Activity::bulk_request, "number of bulk requests")},
                     {"view_reads", done(Activity::view_read, "number of view reads")},
                     {"temporary_view_reads", counter(0, "number of temporary view reads")},
                     {"purge_requests", done(Activity::purge_request, "number of purge requests")},
                     {"clients_requesting_changes", gauge(snapshot.streams_open, "number of streamed replies open")},
                     {"requests_in_flight", gauge(snapshot.requests_in_flight, "number of requests being answered")},
                     {"requests_rejected", counter(snapshot.requests_rejected, "number of requests refused, overload")},
                     {"connections_open", gauge(snapshot.connections_open, "number of open connections")}};
  json::object purges{{"total", done(Activity::document_purge, "number of total document purge operations")}};
  json::object couchdb{
      {"auth_cache_hits", counter(lookups.hits, "number of authentication cache hits")},
      {"auth_cache_misses", counter(lookups.misses, "number of authentication cache misses")},
      {"database_reads", done(Activity::document_read, "number of times a document was read from a database")},
      {"database_writes", done(Activity::document_write, "number of times a database was changed")},
      {"document_inserts", done(Activity::document_insert, "number of documents inserted")},
      {"document_purges", std::move(purges)},
      {"document_writes", done(Activity::document_write, "number of document write operations")},
      {"httpd", std::move(httpd)},
      {"httpd_request_methods", method_counts(snapshot)},
      {"httpd_status_codes", status_counts(snapshot)},
      {"local_document_writes", done(Activity::local_document_write, "number of _local document write operations")},
      {"open_databases", gauge(call.services.engine.databases().open_databases().size(), "number of open databases")},
      {"open_os_files", gauge(open_descriptors(), "number of file descriptors that the server has open")},
      {"request_time", latency(snapshot)}};
  return {{"couchdb", std::move(couchdb)}};
}

json::object system_facts(const Call& call) {
  const HttpSnapshot snapshot = call.services.metrics.snapshot();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const std::uint64_t resident = resident_bytes();
  // Erlang's kinds of memory, of which this server has only the last.
  json::object memory{{"resident", resident}, {"atom", 0}, {"atom_used", 0}, {"processes", 0},   {"processes_used", 0},
                      {"binary", 0},          {"code", 0}, {"ets", 0},       {"other", resident}};
  return {{"uptime", snapshot.uptime_s.count()},
          {"memory", std::move(memory)},
          {"run_queue", 0},
          {"ets_table_count", 0},
          {"context_switches", usage.ru_nvcsw + usage.ru_nivcsw},
          {"reductions", 0},
          {"garbage_collection_count", 0},
          {"words_reclaimed", 0},
          {"io_input", snapshot.bytes_received},
          {"io_output", snapshot.bytes_sent},
          {"os_proc_count", 1},
          {"stale_proc_count", 0},
          {"process_count", thread_count()},
          {"cpu_count", available_resources().processors},
          {"message_queues", json::object()},
          {"internal_replication_jobs", 0},
          {"distribution", json::object()}};
}

void append_couchdb_metrics(std::string& out, const Call& call) {
  json::object statistics = server_statistics(call);
  json::object& group = statistics.at("couchdb").get_object();
  const UserLookups lookups = call.services.authenticator.user_lookups();
  group.erase("auth_cache_hits");
  group["auth_cache_requests"] = counter(lookups.hits + lookups.misses, "number of authentication cache requests");
  append_metrics(out, "", group);
  append_description(out, "uptime_seconds", "counter", "couchdb uptime");
  out += fmt::format("couchdb_uptime_seconds {}\n", call.services.metrics.snapshot().uptime_s.count());
}

}  // namespace octavo::api::couch
