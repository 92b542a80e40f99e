#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/advice/key_counter.h"
#include "query/advice/key_queries.h"
#include "query/advice/value_growth.h"

namespace octavo::query::advice {

/// What a candidate is compared with.
struct AdviceLimits {
  double logical_bytes_max = 0;
  double physical_bytes_max = 0;
  double horizon_days = 0;                  ///< a candidate that reaches a limit earlier is rejected
  std::optional<std::uint32_t> throughput;  ///< request units per second that are to be used; nullopt: unknown
  double share_read = 1;                    ///< of the documents; below 1: a random sample of them was counted
};

enum class Verdict : std::uint8_t { recommended, good, rejected };

/// A large value, and what becomes of it.
struct ValueForecast {
  LargeValue value;
  Forecast forecast;
};

/// What the advisor says about one candidate.
struct KeyAdvice {
  KeyCandidate candidate;
  Verdict verdict = Verdict::good;
  std::size_t rank = 0;              ///< from 1
  std::vector<std::string> reasons;  ///< sentences for people

  // Values. Bounds with 95 %; equal if exact.
  std::uint64_t values = 0;
  std::uint64_t values_low = 0;
  std::uint64_t values_high = 0;
  bool values_are_of_sample = false;  ///< the bounds are those of the documents that were read
  std::uint64_t missing = 0;
  bool collisions_possible = false;

  // Storage
  std::vector<double> physical_shares;
  std::vector<ValueForecast> largest;  ///< by final_bytes, the largest first; at least one if there is a document
  Forecast typical;                    ///< of the value in the middle
  std::optional<double> closes_after_days;

  // Throughput
  double hottest_share = 0;  ///< of the present writes, for the value of ten documents or more that gets most
  std::vector<double> physical_write_shares;
  std::optional<double> usable;            ///< request units per second that the hottest value allows; nullopt: unknown
  std::optional<double> usable_as_spread;  ///< the same with the shares of the physical partitions
  std::vector<std::string> over_partition;  ///< values (JSON) that would need more than a physical partition can serve

  std::optional<QueryAdvice> queries;  ///< nullopt: no query is recorded
  std::optional<PointAdvice> points;   ///< nullopt: no point request is recorded
};

/// Judges one candidate by what the scan found. `first_values`: of a hierarchical key, the counter of its first path,
/// which decides the physical partition; else null. O(values).
KeyAdvice judge(const KeyCounter& counter, const KeyCounter* first_values, const TimeFrame& frame,
                const AdviceLimits& limits);

/// Sorts the best first, numbers them, and recommends the first one unless it is rejected. `by_queries`: enough queries
/// are recorded to compare the candidates by those that fan out.
void rank(std::vector<KeyAdvice>& all, bool by_queries);

}  // namespace octavo::query::advice
