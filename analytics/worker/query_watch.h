#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "analytics/channel/channel.h"
#include "analytics/duckdb/connection.h"

namespace octavo::analytics {

/// Stops a query when its time is over, or when the server has closed the channel because the client has left. Exists
/// while the query runs. A query that does not stop soon after its time ends the process: the server starts it again.
class QueryWatch {
 public:
  /// `is_too_large`: asked some times a second; once true, the query is stopped. Empty: nothing is asked.
  QueryWatch(const duckdb::Connection& connection, const Channel& channel, std::chrono::milliseconds time_max,
             std::function<bool()> is_too_large = {});
  ~QueryWatch();
  QueryWatch(const QueryWatch&) = delete;
  QueryWatch& operator=(const QueryWatch&) = delete;

  bool timed_out() const { return timed_out_.load(std::memory_order_relaxed); }
  bool was_too_large() const { return was_too_large_.load(std::memory_order_relaxed); }

 private:
  void watch();

  const duckdb::Connection& connection_;
  const Channel& channel_;
  const std::chrono::steady_clock::time_point deadline_;
  const std::function<bool()> is_too_large_;
  std::atomic<bool> timed_out_{false};
  std::atomic<bool> was_too_large_{false};
  Descriptor end_;  ///< an eventfd, set when the query is over
  std::thread thread_;
};

}  // namespace octavo::analytics
