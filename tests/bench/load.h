#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace octavo::bench {

/// Durations, kept whole: percentiles are exact.
class Latencies {
 public:
  void add(std::chrono::nanoseconds duration) { nanoseconds_.push_back(duration.count()); }
  bool empty() const { return nanoseconds_.empty(); }
  /// In milliseconds; `quantile` in 0…1. O(n).
  double quantile_ms(double quantile) const;

 private:
  std::vector<std::int64_t> nanoseconds_;
};

struct LoadOptions {
  std::uint16_t port = 0;
  unsigned connections = 32;
  int expected_status = 200;
  std::chrono::milliseconds warm_up{300};  ///< sent, not counted
  std::chrono::milliseconds duration{3000};
  std::uint64_t requests_max = UINT64_MAX;  ///< ends the run early; the warm-up counts too
};

struct LoadResult {
  std::uint64_t requests = 0;
  std::uint64_t errors = 0;  ///< other status than expected
  std::string first_error;
  std::uint64_t body_bytes = 0;
  double seconds = 0;
  Latencies latencies;

  double per_second() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
};

/// Appends request number `index` (unique over all connections) as it goes over the wire.
using RequestSource = std::function<void(std::string& out, std::uint64_t index)>;

/// Keeps each connection busy with one request at a time (no pipelining), from one epoll thread: the calling one.
/// Throws std::runtime_error when the server breaks a connection or nothing comes back for 30 s.
LoadResult run_load(const LoadOptions& options, const RequestSource& next_request);

}  // namespace octavo::bench
