#include "query/json/date_text.h"

#include <chrono>

#include "query/json/internal/scan.h"

namespace octavo::query::dates {

namespace {

// Removes `count` digits from the front of `text` and returns their value; -1 if they are not digits.
int take_digits(std::string_view& text, int count) {
  if (text.size() < static_cast<std::size_t>(count)) return -1;
  int value = 0;
  for (int i = 0; i < count; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    if (!scan::is_digit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(static_cast<std::size_t>(count));
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<Ticks> ticks_from(int year, unsigned month, unsigned day, Ticks in_day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (year < year_min || year > year_max || !date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * ticks_per_day + in_day;
}

std::optional<Ticks> parse_date(std::string_view text) {
  const int year = take_digits(text, 4);
  if (year < 0 || !take(text, '-')) return std::nullopt;
  const int month = take_digits(text, 2);
  if (month < 0 || !take(text, '-')) return std::nullopt;
  const int day = take_digits(text, 2);
  if (day < 0) return std::nullopt;
  Ticks in_day = 0;
  if (take(text, 'T') || take(text, ' ')) {
    const int hour = take_digits(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ':')) return std::nullopt;
    const int minute = take_digits(text, 2);
    if (minute < 0 || minute > 59 || !take(text, ':')) return std::nullopt;
    const int second = take_digits(text, 2);
    if (second < 0 || second > 59) return std::nullopt;
    in_day = hour * ticks_per_hour + minute * ticks_per_minute + second * ticks_per_second;
    if (take(text, '.')) {
      Ticks unit = ticks_per_second;
      if (text.empty() || !scan::is_digit(text[0])) return std::nullopt;
      while (!text.empty() && scan::is_digit(text[0])) {
        unit /= 10;
        if (unit == 0) return std::nullopt;
        in_day += take_digits(text, 1) * unit;
      }
    }
  }
  take(text, 'Z');
  if (!text.empty()) return std::nullopt;
  return ticks_from(year, static_cast<unsigned>(month), static_cast<unsigned>(day), in_day);
}

}  // namespace octavo::query::dates
