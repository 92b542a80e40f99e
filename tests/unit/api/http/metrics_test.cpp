#include "api/http/metrics.h"

#include <chrono>

#include <catch2/catch.hpp>
#include <prometheus/metric_family.h>

using namespace octavo::api;
using std::chrono::microseconds;

TEST_CASE("a snapshot adds the threads up") {
  HttpMetrics metrics(2);
  metrics.shard(0).count_reply(Method::get, 200, microseconds{10});
  metrics.shard(1).count_reply(Method::get, 404, microseconds{10});
  metrics.shard(1).count_reply(Method::put, 201, microseconds{10});
  const auto snapshot = metrics.snapshot();
  CHECK(snapshot.requests == 3);
  CHECK(snapshot.requests_by_method[static_cast<std::size_t>(Method::get)] == 2);
  CHECK(snapshot.replies_by_status[404] == 1);
}

TEST_CASE("a latency falls into the bucket whose bound it does not exceed") {
  HttpMetrics metrics(1);
  metrics.shard(0).count_reply(Method::get, 200, latency_bounds_us.front());
  metrics.shard(0).count_reply(Method::get, 200, latency_bounds_us.front() + microseconds{1});
  metrics.shard(0).count_reply(Method::get, 200, std::chrono::hours{1});
  const auto snapshot = metrics.snapshot();
  CHECK(snapshot.latency_buckets[0] == 1);
  CHECK(snapshot.latency_buckets[1] == 1);
  CHECK(snapshot.latency_buckets.back() == 1);
}

TEST_CASE("a status out of range is counted and harms nothing") {
  HttpMetrics metrics(1);
  metrics.shard(0).count_reply(Method::get, 9999, microseconds{1});
  CHECK(metrics.snapshot().replies_by_status[0] == 1);
}

TEST_CASE("the Prometheus text has every family, and cumulative buckets") {
  HttpMetrics metrics(1);
  metrics.shard(0).count_reply(Method::get, 200, microseconds{10});
  metrics.shard(0).count_reply(Method::get, 200, microseconds{700});
  const auto text = metrics.render_prometheus();
  CHECK(text.find("octavo_http_requests_total{method=\"GET\"} 2") != std::string::npos);
  CHECK(text.find("octavo_http_replies_total{code=\"200\"} 2") != std::string::npos);
  CHECK(text.find("octavo_http_request_duration_seconds_bucket{le=\"0.001\"} 2") != std::string::npos);
  CHECK(text.find("octavo_http_request_duration_seconds_bucket{le=\"+Inf\"} 2") != std::string::npos);
  CHECK(text.find("octavo_http_timeouts_total{kind=\"idle\"} 0") != std::string::npos);
  CHECK(text.find("octavo_build_info{version=\"") != std::string::npos);
  CHECK(text.find("\nprocess_open_fds ") != std::string::npos);
  CHECK(text.find("\nprocess_max_fds 0\n") == std::string::npos);
}

TEST_CASE("a collector adds families of its own") {
  HttpMetrics metrics(1);
  metrics.add_collector([](std::vector<prometheus::MetricFamily>& families) {
    prometheus::MetricFamily family{"octavo_databases", "Databases.", prometheus::MetricType::Gauge, {{}}};
    family.metric[0].gauge.value = 7;
    families.push_back(family);
  });
  CHECK(metrics.render_prometheus().find("octavo_databases 7") != std::string::npos);
}
