#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "query/advice/value_table.h"

/// How the documents of a value of a partition key grow, and whether they end: a device sends for years, a device in a
/// certain month for a month. What a scan sees has no order, so a value's times are the first, the last and the number.
namespace octavo::query::advice {

inline constexpr double seconds_per_day = 86'400;

/// The times of all documents of a scan. The newest one is taken for now.
struct TimeFrame {
  std::uint32_t oldest_s = UINT32_MAX;
  std::uint32_t newest_s = 0;

  void add(std::uint32_t time_s) {
    oldest_s = std::min(oldest_s, time_s);
    newest_s = std::max(newest_s, time_s);
  }
  double span_s() const { return oldest_s <= newest_s ? static_cast<double>(newest_s - oldest_s) : 0; }
  /// In less than a day everything seems to grow: documents that were loaded have the times of the load.
  bool shows_growth() const { return span_s() >= seconds_per_day; }
};

/// How long the value had documents: from the first to the last, and one mean gap between documents.
double life_s(const ValueUse& value);

/// The value probably gets no more documents: it has been quiet for as long as it lived, for three of its mean gaps,
/// and for three days, as nights and weekends are no end.
bool is_closed(const ValueUse& value, const TimeFrame& frame);

/// The value still gets documents: it is not quiet for longer than a day and three of its mean gaps.
bool is_active(const ValueUse& value, const TimeFrame& frame);

/// The median life of the closed values, if at least half of the values are closed: then values of this key close, and
/// grow only that long. O(n).
std::optional<double> closing_life_s(std::span<const ValueTable::Value> values, const TimeFrame& frame);

/// How large a value becomes.
struct Forecast {
  std::optional<double> bytes_per_day;  ///< while it gets documents; nullopt: unknown
  double final_bytes = 0;               ///< when it closes, or at the horizon
  std::optional<double>
      full_in_days;  ///< until it reaches the limit from now on, 0: it has; nullopt: never, or unknown
  std::optional<double> full_after_days;  ///< the same from its first document on
};

struct ForecastTerms {
  TimeFrame frame;
  std::optional<double> closing_life_s;  ///< of closing_life_s()
  double bytes_max = 0;                  ///< the limit
  double horizon_days = 0;
};

Forecast forecast(const ValueUse& value, const ForecastTerms& terms);

/// Bytes that the value gets in a second now; 0: it is not active. While the frame shows no growth: its bytes, so that
/// only shares mean something.
double write_rate(const ValueUse& value, const ForecastTerms& terms);

}  // namespace octavo::query::advice
