#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/request.h"
#include "base/thread_ordinal.h"

namespace prometheus {
struct MetricFamily;
}

namespace octavo::api {

/// What the server was waiting for when a timeout ended the connection.
enum class TimeoutKind : std::uint8_t { handshake, head, body, idle, send };
inline constexpr std::size_t timeout_kinds = 5;
inline constexpr std::size_t method_kinds = 9;

/// Upper bounds of the latency histogram's buckets; one more bucket counts slower requests.
inline constexpr std::array<std::chrono::microseconds, 17> latency_bounds_us{
    std::chrono::microseconds{50},        std::chrono::microseconds{100},       std::chrono::microseconds{250},
    std::chrono::microseconds{500},       std::chrono::microseconds{1'000},     std::chrono::microseconds{2'500},
    std::chrono::microseconds{5'000},     std::chrono::microseconds{10'000},    std::chrono::microseconds{25'000},
    std::chrono::microseconds{50'000},    std::chrono::microseconds{100'000},   std::chrono::microseconds{250'000},
    std::chrono::microseconds{500'000},   std::chrono::microseconds{1'000'000}, std::chrono::microseconds{2'500'000},
    std::chrono::microseconds{5'000'000}, std::chrono::microseconds{10'000'000}};

/// A number that one thread changes and any thread reads: no locked instruction, no shared cache line.
class OwnedCounter {
 public:
  void add(std::uint64_t n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) - n, std::memory_order_relaxed);
  }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// What requests to the CouchDB API do, as its statistics count it.
enum class Activity : std::uint8_t {
  document_read,
  document_write,   ///< each document, deletions included
  document_insert,  ///< writes of documents that did not exist
  local_document_write,
  document_purge,
  bulk_request,
  view_read,
  purge_request
};
inline constexpr std::size_t activity_kinds = 8;

/// Counts activities on all threads. Threads seldom share a cache line.
class ActivityCounts {
 public:
  void add(Activity kind, std::uint64_t n = 1) noexcept {
    auto& slot = slots_[thread_ordinal() % slots_.size()];
    slot.counts[static_cast<std::size_t>(kind)].fetch_add(n, std::memory_order_relaxed);
  }
  std::uint64_t total(Activity kind) const noexcept {
    std::uint64_t sum = 0;
    for (const auto& slot : slots_) sum += slot.counts[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Slot {
    std::array<std::atomic<std::uint64_t>, activity_kinds> counts{};
  };
  std::array<Slot, 16> slots_;
};

/// The counts, summed over all I/O threads. Each number is exact, but they are not read at one instant.
struct HttpSnapshot {
  std::array<std::uint64_t, method_kinds> requests_by_method{};               ///< index: Method
  std::array<std::uint64_t, 600> replies_by_status{};                         ///< index: status code
  std::array<std::uint64_t, latency_bounds_us.size() + 1> latency_buckets{};  ///< not cumulative
  std::uint64_t requests = 0;
  std::uint64_t latency_sum_us = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_rejected = 0;
  std::uint64_t requests_in_flight = 0;  ///< without streams
  std::uint64_t streams_open = 0;
  std::uint64_t requests_rejected = 0;                  ///< answered 503 because of requests_in_flight_max
  std::array<std::uint64_t, timeout_kinds> timeouts{};  ///< index: TimeoutKind
  std::chrono::seconds uptime_s{0};
};

/// Counters of the HTTP server, in one shard per I/O thread.
///
/// Only I/O thread i writes shard(i). snapshot() and render_prometheus() may be called on any thread at any time.
/// Counting a request costs a few plain stores.
class HttpMetrics {
 public:
  struct alignas(64) Shard {
    std::array<OwnedCounter, method_kinds> requests_by_method;
    std::array<OwnedCounter, 600> replies_by_status;
    std::array<OwnedCounter, latency_bounds_us.size() + 1> latency_buckets;
    OwnedCounter latency_sum_us;
    OwnedCounter bytes_received;
    OwnedCounter bytes_sent;
    OwnedCounter connections_open;
    OwnedCounter connections_accepted;
    OwnedCounter connections_rejected;
    OwnedCounter requests_in_flight;
    OwnedCounter streams_open;
    OwnedCounter requests_rejected;
    std::array<OwnedCounter, timeout_kinds> timeouts;

    /// Counts one finished request. The latency of a stream is the time to its reply head.
    void count_reply(Method method, int status, std::chrono::microseconds latency);
  };

  /// Adds metric families at scrape time. Called on the scraping thread; must be thread-safe.
  using Collector = std::function<void(std::vector<prometheus::MetricFamily>&)>;

  explicit HttpMetrics(std::size_t threads);
  ~HttpMetrics();

  std::size_t threads() const { return shards_.size(); }
  Shard& shard(std::size_t thread) { return *shards_[thread]; }
  const Shard& shard(std::size_t thread) const { return *shards_[thread]; }
  HttpSnapshot snapshot() const;
  ActivityCounts& activity() { return activity_; }

  /// Adds other metrics, such as the engine's. This object keeps the collector until it is destroyed.
  void add_collector(Collector collector);
  /// Everything in the Prometheus text format, version 0.0.4 (content type: prometheus_content_type).
  std::string render_prometheus() const;

 private:
  std::vector<std::unique_ptr<Shard>> shards_;
  ActivityCounts activity_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  mutable std::mutex collectors_mutex_;
  std::vector<Collector> collectors_;
};

/// Bytes of physical memory that this process has now, read from /proc. 0 if that cannot be read.
std::uint64_t resident_bytes();

inline constexpr std::string_view prometheus_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// Name of a timeout in metrics and logs: "handshake", "head", "body", "idle", "send".
std::string_view to_string(TimeoutKind kind);

}  // namespace octavo::api
