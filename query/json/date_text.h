#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// Dates in documents: texts in UTC, `YYYY-MM-DDThh:mm:ss.fffffffZ`, and the same as ticks of 100 nanoseconds since
/// 1970.
namespace octavo::query::dates {

using Ticks = std::int64_t;

inline constexpr Ticks ticks_per_second = 10'000'000;
inline constexpr Ticks ticks_per_minute = 60 * ticks_per_second;
inline constexpr Ticks ticks_per_hour = 60 * ticks_per_minute;
inline constexpr Ticks ticks_per_day = 24 * ticks_per_hour;
inline constexpr int year_min = 1601;  ///< the Windows epoch: earlier dates are invalid
inline constexpr int year_max = 9999;

/// `in_day`: ticks since the day began. nullopt: there is no such day.
std::optional<Ticks> ticks_from(int year, unsigned month, unsigned day, Ticks in_day);

/// Parses `YYYY-MM-DD`, optionally followed by `Thh:mm:ss` (or a blank for the T), up to seven digits of a second, and
/// `Z`. nullopt: `text` is something else.
std::optional<Ticks> parse_date(std::string_view text);

}  // namespace octavo::query::dates
