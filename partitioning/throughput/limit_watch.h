#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "partitioning/throughput/limit_report.h"

namespace octavo::partitioning {

/// Warns in the log of partitions that come near a limit, and counts them for metrics. Physical partitions that grow
/// are split without anybody's help, so there is no warning of their bytes; nor of request units that are not limited.
///
/// Thread-safe.
class LimitWatch {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr double warned_from = 0.8;
  /// A partition that was warned of is warned of again only after it was below this part of its limit.
  static constexpr double armed_below = 0.75;
  static constexpr std::chrono::hours warning_interval{1};  ///< of one partition, at least
  static constexpr std::array<double, 2> counted_from{0.8, 0.95};

  /// The partitions of one kind with one limit.
  struct Count {
    std::array<std::size_t, counted_from.size()> at_least{};  ///< number of partitions by share of the limit
    double largest_share = 0;
  };
  struct Totals {
    Count logical_bytes;
    Count logical_request_units;
    Count physical_bytes;
    Count physical_request_units;
  };

  /// `instance_tag`: of the database. Its former report is replaced.
  void note(const std::string& instance_tag, std::string_view database, const LimitReport& report,
            Clock::time_point now);
  /// Forgets the reports of all other databases, and old warnings.
  void keep_only(const std::set<std::string>& instance_tags, Clock::time_point now);
  /// Of all databases that are kept.
  Totals totals() const;

 private:
  struct Warning {
    Clock::time_point warned_at;
    Clock::time_point noted_at;
    bool is_armed = false;  ///< was below armed_below since
  };
  /// Whether to warn now. `subject` names the partition and the limit.
  bool is_news(const std::string& subject, double share, Clock::time_point now);
  void warn_of(const std::string& instance_tag, std::string_view database, const LimitReport& report,
               Clock::time_point now);

  mutable std::mutex mutex_;  ///< guards all members below
  std::map<std::string, Totals> totals_;
  std::map<std::string, Warning> warnings_;  ///< by subject
};

}  // namespace octavo::partitioning
