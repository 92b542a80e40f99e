#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

#include "analytics/channel/channel.h"
#include "analytics/duckdb/connection.h"

namespace octavo::analytics {

/// How long a query may take, and the setting that says so.
struct TimeLimit {
  std::chrono::milliseconds max;
  std::string_view setting;
};

/// Stops a query when its time is over, or when the server has closed the channel because the client has left. Exists
/// while the query runs. A query that does not stop soon after its time ends the process: the server starts it again.
class QueryWatch {
 public:
  /// `is_too_large`: asked some times a second; once true, the query is stopped. Empty: nothing is asked.
  QueryWatch(const duckdb::Connection& connection, const Channel& channel, TimeLimit limit,
             std::function<bool()> is_too_large = {});
  ~QueryWatch();
  QueryWatch(const QueryWatch&) = delete;
  QueryWatch& operator=(const QueryWatch&) = delete;

  /// Why a query failed, for who has asked it: timeout with the word query_timeout if it was stopped for its time;
  /// bad_request with the word memory_limit (too_large() included) or invalid_sql for what it is to blame for.
  Error explain(Error error) const;
  /// For files that a query has written.
  static Error too_large();

 private:
  void watch();

  const duckdb::Connection& connection_;
  const Channel& channel_;
  const TimeLimit limit_;
  const std::chrono::steady_clock::time_point deadline_;
  const std::function<bool()> is_too_large_;
  std::atomic<bool> timed_out_{false};
  std::atomic<bool> was_too_large_{false};
  Descriptor end_;  ///< an eventfd, set when the query is over
  std::thread thread_;
};

}  // namespace octavo::analytics
