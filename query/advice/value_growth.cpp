#include "query/advice/value_growth.h"

#include <algorithm>
#include <vector>

namespace octavo::query::advice {

namespace {

constexpr double gaps_until_quiet = 3;
constexpr double quiet_s_min = 3 * seconds_per_day;  // a weekend is shorter
constexpr double active_s_max = 1 * seconds_per_day;
constexpr double observed_share_min = 0.1;  // of a life, or of the frame: a shorter part says little of the whole

double mean_gap_s(const ValueUse& value) {
  if (!value.has_times() || value.documents < 2) return 0;
  return static_cast<double>(value.last_s - value.first_s) / static_cast<double>(value.documents - 1);
}

double quiet_s(const ValueUse& value, const TimeFrame& frame) {
  return static_cast<double>(frame.newest_s - value.last_s);
}

// Bytes per second while it gets documents. A value that appeared an hour ago has not shown its usual rate.
double rate_of(const ValueUse& value, const ForecastTerms& terms) {
  if (!value.has_times()) return 0;
  const bool closed = is_closed(value, terms.frame);
  const double observed =
      closed ? life_s(value) : static_cast<double>(terms.frame.newest_s - value.first_s) + mean_gap_s(value);
  const double whole = terms.closing_life_s ? *terms.closing_life_s : terms.frame.span_s();
  const double least = std::max(seconds_per_day, observed_share_min * whole);
  return static_cast<double>(value.bytes) / std::max(observed, least);
}

}  // namespace

double life_s(const ValueUse& value) {
  if (!value.has_times()) return 0;
  return static_cast<double>(value.last_s - value.first_s) + mean_gap_s(value);
}

bool is_closed(const ValueUse& value, const TimeFrame& frame) {
  if (!value.has_times()) return false;
  return quiet_s(value, frame) >= std::max({life_s(value), gaps_until_quiet * mean_gap_s(value), quiet_s_min});
}

bool is_active(const ValueUse& value, const TimeFrame& frame) {
  if (!value.has_times()) return false;
  return quiet_s(value, frame) <= std::max(gaps_until_quiet * mean_gap_s(value), active_s_max);
}

std::optional<double> closing_life_s(std::span<const ValueTable::Value> values, const TimeFrame& frame) {
  std::vector<float> lives;
  std::size_t timed = 0;
  for (const ValueUse& value : values) {
    if (!value.has_times()) continue;
    ++timed;
    if (is_closed(value, frame)) lives.push_back(static_cast<float>(life_s(value)));
  }
  if (lives.empty() || 2 * lives.size() < timed) return std::nullopt;
  const auto middle = lives.begin() + static_cast<std::ptrdiff_t>(lives.size() / 2);
  std::ranges::nth_element(lives, middle);
  return *middle;
}

Forecast forecast(const ValueUse& value, const ForecastTerms& terms) {
  Forecast result;
  const auto bytes = static_cast<double>(value.bytes);
  result.final_bytes = bytes;
  if (bytes >= terms.bytes_max) result.full_in_days = 0;
  if (!terms.frame.shows_growth() || !value.has_times()) return result;
  const double per_day = rate_of(value, terms) * seconds_per_day;
  result.bytes_per_day = per_day;
  const double grows_days = terms.closing_life_s ? *terms.closing_life_s / seconds_per_day : terms.horizon_days;
  if (!is_closed(value, terms.frame)) {
    result.final_bytes = terms.closing_life_s ? std::max(bytes, per_day * grows_days) : bytes + per_day * grows_days;
    const bool fills = !terms.closing_life_s || result.final_bytes >= terms.bytes_max;
    if (!result.full_in_days && fills && per_day > 0) result.full_in_days = (terms.bytes_max - bytes) / per_day;
  }
  const bool would_fill = !terms.closing_life_s || std::max(bytes, per_day * grows_days) >= terms.bytes_max;
  if (would_fill && per_day > 0) result.full_after_days = terms.bytes_max / per_day;
  return result;
}

double write_rate(const ValueUse& value, const ForecastTerms& terms) {
  if (!terms.frame.shows_growth()) return static_cast<double>(value.bytes);
  return is_active(value, terms.frame) ? rate_of(value, terms) : 0;
}

}  // namespace octavo::query::advice
