#include "api/http/metrics.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "config/version.h"

namespace octavo::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric counter(std::uint64_t value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  return metric;
}

ClientMetric gauge(double value) {
  ClientMetric metric;
  metric.gauge.value = value;
  return metric;
}

MetricFamily family(std::string name, std::string help, MetricType type, std::vector<ClientMetric> metrics) {
  return MetricFamily{std::move(name), std::move(help), type, std::move(metrics)};
}

MetricFamily counter_family(std::string name, std::string help, std::uint64_t value) {
  return family(std::move(name), std::move(help), MetricType::Counter, {counter(value)});
}

MetricFamily gauge_family(std::string name, std::string help, double value) {
  return family(std::move(name), std::move(help), MetricType::Gauge, {gauge(value)});
}

// 0 if that cannot be read.
double open_descriptors() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count;
}

double descriptors_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<double>(limit.rlim_cur);
}

MetricFamily latency_family(const HttpSnapshot& snapshot) {
  ClientMetric metric;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < snapshot.latency_buckets.size(); ++i) {
    cumulative += snapshot.latency_buckets[i];
    const bool last = i == latency_bounds_us.size();
    metric.histogram.bucket.push_back({cumulative, last ? std::numeric_limits<double>::infinity()
                                                        : static_cast<double>(latency_bounds_us[i].count()) / 1e6});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = static_cast<double>(snapshot.latency_sum_us) / 1e6;
  return family("octavo_http_request_duration_seconds", "Time from the request head to the reply.",
                MetricType::Histogram, {std::move(metric)});
}

void add_http_families(const HttpSnapshot& s, std::vector<MetricFamily>& out) {
  std::vector<ClientMetric> by_method;
  for (std::size_t i = 0; i < s.requests_by_method.size(); ++i) {
    const std::string method{to_string(static_cast<Method>(i))};
    if (s.requests_by_method[i] > 0) by_method.push_back(counter(s.requests_by_method[i], {{"method", method}}));
  }
  std::vector<ClientMetric> by_status;
  for (std::size_t i = 0; i < s.replies_by_status.size(); ++i) {
    if (s.replies_by_status[i] > 0) by_status.push_back(counter(s.replies_by_status[i], {{"code", std::to_string(i)}}));
  }
  std::vector<ClientMetric> timeouts;
  for (std::size_t i = 0; i < s.timeouts.size(); ++i) {
    timeouts.push_back(counter(s.timeouts[i], {{"kind", std::string{to_string(static_cast<TimeoutKind>(i))}}}));
  }
  out.push_back(
      family("octavo_http_requests_total", "Requests answered, by method.", MetricType::Counter, std::move(by_method)));
  out.push_back(
      family("octavo_http_replies_total", "Replies sent, by status code.", MetricType::Counter, std::move(by_status)));
  out.push_back(latency_family(s));
  out.push_back(counter_family("octavo_http_received_bytes_total", "Bytes read from clients.", s.bytes_received));
  out.push_back(counter_family("octavo_http_sent_bytes_total", "Bytes sent to clients.", s.bytes_sent));
  out.push_back(
      gauge_family("octavo_http_connections_open", "Connections open now.", static_cast<double>(s.connections_open)));
  out.push_back(
      counter_family("octavo_http_connections_total", "Connections accepted since start.", s.connections_accepted));
  out.push_back(counter_family("octavo_http_connections_rejected_total",
                               "Connections refused because connections_max was reached.", s.connections_rejected));
  out.push_back(gauge_family("octavo_http_requests_in_flight", "Requests being worked on now, streams not counted.",
                             static_cast<double>(s.requests_in_flight)));
  out.push_back(counter_family("octavo_http_requests_rejected_total",
                               "Requests refused because requests_in_flight_max was reached.", s.requests_rejected));
  out.push_back(gauge_family("octavo_http_streams_open", "Streamed replies running now (feeds, large results).",
                             static_cast<double>(s.streams_open)));
  out.push_back(family("octavo_http_timeouts_total", "Connections given up, by what was waited for.",
                       MetricType::Counter, std::move(timeouts)));
  ClientMetric build = gauge(1);
  build.label.push_back({"version", std::string(config::version())});
  out.push_back(family("octavo_build_info", "1, with the version.", MetricType::Gauge, {std::move(build)}));
  out.push_back(gauge_family("octavo_uptime_seconds", "Seconds since start.", static_cast<double>(s.uptime_s.count())));
  out.push_back(gauge_family("process_open_fds", "Number of open file descriptors.", open_descriptors()));
  out.push_back(gauge_family("process_max_fds", "Maximum number of open file descriptors.", descriptors_max()));
  out.push_back(gauge_family("process_resident_memory_bytes", "Resident memory size in bytes.",
                             static_cast<double>(resident_bytes())));
}

}  // namespace

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string_view to_string(TimeoutKind kind) {
  static constexpr std::array<std::string_view, timeout_kinds> names{"handshake", "head", "body", "idle", "send"};
  return names[static_cast<std::size_t>(kind)];
}

void HttpMetrics::Shard::count_reply(Method method, int status, std::chrono::microseconds latency) {
  requests_by_method[static_cast<std::size_t>(method)].add(1);
  replies_by_status[status > 0 && status < 600 ? static_cast<std::size_t>(status) : 0].add(1);
  const auto bucket = std::lower_bound(latency_bounds_us.begin(), latency_bounds_us.end(), latency);
  latency_buckets[static_cast<std::size_t>(bucket - latency_bounds_us.begin())].add(1);
  latency_sum_us.add(static_cast<std::uint64_t>(latency.count()));
}

HttpMetrics::HttpMetrics(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) shards_.push_back(std::make_unique<Shard>());
}

HttpMetrics::~HttpMetrics() = default;

HttpSnapshot HttpMetrics::snapshot() const {
  HttpSnapshot sum;
  const auto add_all = [](auto& into, const auto& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i].value();
  };
  for (const auto& shard : shards_) {
    add_all(sum.requests_by_method, shard->requests_by_method);
    add_all(sum.replies_by_status, shard->replies_by_status);
    add_all(sum.latency_buckets, shard->latency_buckets);
    add_all(sum.timeouts, shard->timeouts);
    sum.latency_sum_us += shard->latency_sum_us.value();
    sum.bytes_received += shard->bytes_received.value();
    sum.bytes_sent += shard->bytes_sent.value();
    sum.connections_open += shard->connections_open.value();
    sum.connections_accepted += shard->connections_accepted.value();
    sum.connections_rejected += shard->connections_rejected.value();
    sum.requests_in_flight += shard->requests_in_flight.value();
    sum.streams_open += shard->streams_open.value();
    sum.requests_rejected += shard->requests_rejected.value();
  }
  for (const auto n : sum.requests_by_method) sum.requests += n;
  sum.uptime_s = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - started_);
  return sum;
}

void HttpMetrics::add_collector(Collector collector) {
  const std::scoped_lock lock(collectors_mutex_);
  collectors_.push_back(std::move(collector));
}

std::string HttpMetrics::render_prometheus() const {
  std::vector<MetricFamily> families;
  add_http_families(snapshot(), families);
  {
    const std::scoped_lock lock(collectors_mutex_);
    for (const auto& collector : collectors_) collector(families);
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace octavo::api
