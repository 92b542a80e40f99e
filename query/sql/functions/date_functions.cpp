#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/ascii_case.h"
#include "query/json/date_text.h"
#include "query/sql/functions/function_table.h"

namespace octavo::query::sql {

namespace {

using Arguments = std::span<const Value>;
using namespace dates;

constexpr Ticks ticks_per_microsecond = 10;
constexpr Ticks ticks_per_millisecond = 10'000;

Ticks floor_divide(Ticks value, Ticks by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

enum class Part : std::uint8_t { year, month, day, hour, minute, second, millisecond, microsecond, nanosecond };

struct PartName {
  std::string_view name;
  Part part;
};
constexpr std::array part_names{
    PartName{"year", Part::year},       PartName{"yyyy", Part::year},
    PartName{"yy", Part::year},         PartName{"month", Part::month},
    PartName{"mm", Part::month},        PartName{"m", Part::month},
    PartName{"day", Part::day},         PartName{"dd", Part::day},
    PartName{"d", Part::day},           PartName{"hour", Part::hour},
    PartName{"hh", Part::hour},         PartName{"minute", Part::minute},
    PartName{"mi", Part::minute},       PartName{"n", Part::minute},
    PartName{"second", Part::second},   PartName{"ss", Part::second},
    PartName{"s", Part::second},        PartName{"millisecond", Part::millisecond},
    PartName{"ms", Part::millisecond},  PartName{"microsecond", Part::microsecond},
    PartName{"mcs", Part::microsecond}, PartName{"nanosecond", Part::nanosecond},
    PartName{"ns", Part::nanosecond},
};

std::optional<Part> part_of(const Value& value) {
  if (!value.is_string()) return std::nullopt;
  for (const PartName& known : part_names) {
    if (equals_ignoring_case(value.string(), known.name)) return known.part;
  }
  return std::nullopt;
}

// Ticks of a day, hour, minute, second, millisecond or microsecond.
Ticks ticks_of(Part part) {
  switch (part) {
    case Part::day:
      return ticks_per_day;
    case Part::hour:
      return ticks_per_hour;
    case Part::minute:
      return ticks_per_minute;
    case Part::second:
      return ticks_per_second;
    case Part::millisecond:
      return ticks_per_millisecond;
    case Part::microsecond:
      return ticks_per_microsecond;
    default:
      return 0;
  }
}

struct Calendar {
  int year;
  unsigned month;
  unsigned day;
  Ticks in_day;
};
Calendar calendar_of(Ticks ticks) {
  const Ticks days = floor_divide(ticks, ticks_per_day);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
          ticks - days * ticks_per_day};
}

std::optional<Ticks> date_of(const Value& value) {
  return value.is_string() ? parse_date(value.string()) : std::nullopt;
}

Value format_date(Evaluation& evaluation, std::optional<Ticks> ticks) {
  if (!ticks) return {};
  const Calendar date = calendar_of(*ticks);
  if (date.year < year_min || date.year > year_max) return {};
  return evaluation.text(fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z", date.year, date.month, date.day,
                                     date.in_day / ticks_per_hour, date.in_day / ticks_per_minute % 60,
                                     date.in_day / ticks_per_second % 60, date.in_day % ticks_per_second));
}

// --- now ---

Ticks now() {
  return Evaluation::now_us() * ticks_per_microsecond;
}
Ticks beginning(const Evaluation& evaluation) {
  return evaluation.started_us() * ticks_per_microsecond;
}

Value get_current_date_time(Evaluation& evaluation, Arguments) {
  return format_date(evaluation, now());
}
Value get_current_date_time_static(Evaluation& evaluation, Arguments) {
  return format_date(evaluation, beginning(evaluation));
}
Value get_current_ticks(Evaluation&, Arguments) {
  return Value::of(static_cast<double>(now()));
}
Value get_current_ticks_static(Evaluation& evaluation, Arguments) {
  return Value::of(static_cast<double>(beginning(evaluation)));
}
Value get_current_timestamp(Evaluation&, Arguments) {
  return Value::of(static_cast<double>(floor_divide(now(), ticks_per_millisecond)));
}
Value get_current_timestamp_static(Evaluation& evaluation, Arguments) {
  return Value::of(static_cast<double>(floor_divide(beginning(evaluation), ticks_per_millisecond)));
}

// --- conversions ---

// Numbers of ticks beyond the last year are invalid; this also keeps the arithmetic from overflowing.
constexpr double ticks_max = 2.6e17;

Value date_time_to_ticks(Evaluation&, Arguments arguments) {
  const auto ticks = date_of(arguments[0]);
  return ticks ? Value::of(static_cast<double>(*ticks)) : Value();
}
Value date_time_to_timestamp(Evaluation&, Arguments arguments) {
  const auto ticks = date_of(arguments[0]);
  return ticks ? Value::of(static_cast<double>(floor_divide(*ticks, ticks_per_millisecond))) : Value();
}
Value ticks_to_date_time(Evaluation& evaluation, Arguments arguments) {
  const auto ticks = arguments[0].integer();
  if (!ticks || std::abs(arguments[0].number()) > ticks_max) return {};
  return format_date(evaluation, ticks);
}
Value timestamp_to_date_time(Evaluation& evaluation, Arguments arguments) {
  const auto timestamp = arguments[0].integer();
  if (!timestamp || std::abs(arguments[0].number()) > ticks_max / ticks_per_millisecond) return {};
  return format_date(evaluation, *timestamp * ticks_per_millisecond);
}

// --- arithmetic ---

std::optional<Ticks> add_months(Ticks ticks, std::int64_t months) {
  const Calendar date = calendar_of(ticks);
  const std::int64_t month = date.year * 12LL + (date.month - 1) + months;
  const std::int64_t year = floor_divide(month, 12);
  if (year < year_min || year > year_max) return std::nullopt;
  const auto month_of_year = static_cast<unsigned>(month - year * 12 + 1);
  const std::chrono::year_month_day_last last{std::chrono::year(static_cast<int>(year)),
                                              std::chrono::month_day_last(std::chrono::month(month_of_year))};
  const unsigned day = std::min(date.day, static_cast<unsigned>(last.day()));
  return ticks_from(static_cast<int>(year), month_of_year, day, date.in_day);
}

enum class Direction : std::int8_t { back = -1, forward = 1 };

// The date that is `count` (a number) of `unit` (the name of a part) after or before `ticks`.
std::optional<Ticks> moved_date(const Value& unit, const Value& count, std::optional<Ticks> ticks,
                                Direction direction) {
  const auto part = part_of(unit);
  const auto whole = count.integer();
  if (!part || !whole || !ticks) return std::nullopt;
  const double amount = std::abs(count.number());
  if (amount > ticks_max * 100) return std::nullopt;
  const auto sign = static_cast<std::int64_t>(direction);
  switch (*part) {
    case Part::year:
      if (amount > 20'000) return std::nullopt;
      return add_months(*ticks, sign * *whole * 12);
    case Part::month:
      if (amount > 200'000) return std::nullopt;
      return add_months(*ticks, sign * *whole);
    case Part::nanosecond:
      return *ticks + sign * (*whole / 100);
    default:
      break;
  }
  if (amount * static_cast<double>(ticks_of(*part)) > 2 * ticks_max) return std::nullopt;
  return *ticks + sign * *whole * ticks_of(*part);
}

Value date_time_add(Evaluation& evaluation, Arguments arguments) {
  return format_date(evaluation, moved_date(arguments[0], arguments[1], date_of(arguments[2]), Direction::forward));
}

// NOW(), or NOW(part, number): the current date, or the one that is so much later.
Value now_or_later(Evaluation& evaluation, Arguments arguments) {
  if (arguments.empty()) return format_date(evaluation, now());
  if (arguments.size() == 1) return {};
  return format_date(evaluation, moved_date(arguments[0], arguments[1], now(), Direction::forward));
}

Value ago(Evaluation& evaluation, Arguments arguments) {
  return format_date(evaluation, moved_date(arguments[0], arguments[1], now(), Direction::back));
}

// Counts the boundaries crossed, not the time elapsed.
Value date_time_diff(Evaluation&, Arguments arguments) {
  const auto part = part_of(arguments[0]);
  const auto from = date_of(arguments[1]);
  const auto to = date_of(arguments[2]);
  if (!part || !from || !to) return {};
  if (*part == Part::nanosecond) return Value::of(static_cast<double>(*to - *from) * 100);
  if (*part == Part::year || *part == Part::month) {
    const Calendar a = calendar_of(*from);
    const Calendar b = calendar_of(*to);
    if (*part == Part::year) return Value::of(static_cast<double>(b.year - a.year));
    return Value::of((b.year - a.year) * 12.0 + static_cast<double>(b.month) - static_cast<double>(a.month));
  }
  const Ticks unit = ticks_of(*part);
  return Value::of(static_cast<double>(floor_divide(*to, unit) - floor_divide(*from, unit)));
}

Value part_value(Part part, Ticks ticks) {
  const Calendar date = calendar_of(ticks);
  const Ticks fraction = date.in_day % ticks_per_second;
  const auto whole = [](std::int64_t number) { return Value::of(static_cast<double>(number)); };
  switch (part) {
    case Part::year:
      return whole(date.year);
    case Part::month:
      return whole(date.month);
    case Part::day:
      return whole(date.day);
    case Part::hour:
      return whole(date.in_day / ticks_per_hour);
    case Part::minute:
      return whole(date.in_day / ticks_per_minute % 60);
    case Part::second:
      return whole(date.in_day / ticks_per_second % 60);
    case Part::millisecond:
      return whole(fraction / ticks_per_millisecond);
    case Part::microsecond:
      return whole(fraction / ticks_per_microsecond);
    case Part::nanosecond:
      return whole(fraction * 100);
  }
  return {};
}

Value date_time_part(Evaluation&, Arguments arguments) {
  const auto part = part_of(arguments[0]);
  const auto ticks = date_of(arguments[1]);
  return part && ticks ? part_value(*part, *ticks) : Value();
}

template <Part part>
Value part_of_date(Evaluation&, Arguments arguments) {
  const auto ticks = date_of(arguments[0]);
  return ticks ? part_value(part, *ticks) : Value();
}

Value date_time_bin(Evaluation& evaluation, Arguments arguments) {
  const auto ticks = date_of(arguments[0]);
  const auto part = part_of(arguments[1]);
  if (!ticks || !part || *part == Part::year || *part == Part::month) return {};
  std::int64_t size = 1;
  if (arguments.size() > 2) {
    const auto given = arguments[2].integer();
    if (!given || *given <= 0 || arguments[2].number() > ticks_max) return {};
    size = *given;
  }
  Ticks origin = 0;
  if (arguments.size() > 3) {
    const auto given = date_of(arguments[3]);
    if (!given) return {};
    origin = *given;
  }
  Ticks bin = 0;
  if (*part == Part::nanosecond) {
    bin = size / 100;
  } else {
    if (static_cast<double>(size) * static_cast<double>(ticks_of(*part)) > ticks_max) return {};
    bin = size * ticks_of(*part);
  }
  if (bin <= 1) return format_date(evaluation, ticks);
  return format_date(evaluation, floor_divide(*ticks - origin, bin) * bin + origin);
}

Value date_time_from_parts(Evaluation& evaluation, Arguments arguments) {
  std::array<std::int64_t, 7> parts{0, 0, 0, 0, 0, 0, 0};
  constexpr std::array<std::int64_t, 7> largest{year_max, 12, 31, 23, 59, 59, ticks_per_second - 1};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto part = arguments[i].integer();
    if (!part || *part < 0 || *part > largest[i]) return {};
    parts[i] = *part;
  }
  const Ticks in_day = parts[3] * ticks_per_hour + parts[4] * ticks_per_minute + parts[5] * ticks_per_second + parts[6];
  return format_date(evaluation, ticks_from(static_cast<int>(parts[0]), static_cast<unsigned>(parts[1]),
                                            static_cast<unsigned>(parts[2]), in_day));
}

// Appends what a run of `size` equal letters of a format means; false: it is not a specifier of this length.
bool append_specifier(std::string& out, char letter, std::size_t size, const Calendar& date) {
  const auto append_padded = [&](std::int64_t number) {
    if (size > 2) return false;
    out += fmt::format("{:0{}}", number, size);
    return true;
  };
  switch (letter) {
    case 'y':
      if (size != 4) return size <= 2 && append_padded(date.year % 100);
      out += fmt::format("{:04}", date.year);
      return true;
    case 'M':
      return append_padded(date.month);
    case 'd':
      return append_padded(date.day);
    case 'H':
      return append_padded(date.in_day / ticks_per_hour);
    case 'h':
      return append_padded((date.in_day / ticks_per_hour + 11) % 12 + 1);
    case 'm':
      return append_padded(date.in_day / ticks_per_minute % 60);
    case 's':
      return append_padded(date.in_day / ticks_per_second % 60);
    default:
      break;
  }
  constexpr std::size_t fraction_digits = 7;
  if (size > fraction_digits) return false;
  std::string digits = fmt::format("{:07}", date.in_day % ticks_per_second).substr(0, size);
  while (letter == 'F' && digits.ends_with('0')) digits.pop_back();
  out += digits;
  return true;
}

// In a format, runs of the letters yMdHhmsfF are replaced; a backslash quotes the next character.
Value date_time_format(Evaluation& evaluation, Arguments arguments) {
  const auto ticks = date_of(arguments[0]);
  if (!ticks || !arguments[1].is_string()) return {};
  const std::string_view format = arguments[1].string();
  if (!evaluation.work(format.size())) return {};
  const Calendar date = calendar_of(*ticks);
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    const char letter = format[at];
    if (letter == '\\') {
      if (at + 1 == format.size()) return {};
      out += format[at + 1];
      at += 2;
      continue;
    }
    if (std::string_view("yMdHhmsfF").find(letter) == std::string_view::npos) {
      out += letter;
      ++at;
      continue;
    }
    const std::size_t end = std::min(format.find_first_not_of(letter, at), format.size());
    if (!append_specifier(out, letter, end - at, date)) return {};
    at = end;
  }
  return evaluation.text(out);
}

Value is_date_time(Evaluation&, Arguments arguments) {
  return Value::of(date_of(arguments[0]).has_value());
}

constexpr Function date_function_table[] = {
    {"AGO", 2, 2, ago},
    {"DATETIMEADD", 3, 3, date_time_add},
    {"DATETIMEBIN", 2, 4, date_time_bin},
    {"DATETIMEDIFF", 3, 3, date_time_diff},
    {"DATETIMEFORMAT", 2, 2, date_time_format},
    {"DATETIMEFROMPARTS", 3, 7, date_time_from_parts},
    {"DATETIMEPART", 2, 2, date_time_part},
    {"DATETIMETOTICKS", 1, 1, date_time_to_ticks},
    {"DATETIMETOTIMESTAMP", 1, 1, date_time_to_timestamp},
    {"DAY", 1, 1, part_of_date<Part::day>},
    {"GETCURRENTDATETIME", 0, 0, get_current_date_time},
    {"GETCURRENTDATETIMESTATIC", 0, 0, get_current_date_time_static},
    {"GETCURRENTTICKS", 0, 0, get_current_ticks},
    {"GETCURRENTTICKSSTATIC", 0, 0, get_current_ticks_static},
    {"GETCURRENTTIMESTAMP", 0, 0, get_current_timestamp},
    {"GETCURRENTTIMESTAMPSTATIC", 0, 0, get_current_timestamp_static},
    {"IS_DATETIME", 1, 1, is_date_time, true},
    {"MONTH", 1, 1, part_of_date<Part::month>},
    {"NOW", 0, 2, now_or_later},
    {"TICKSTODATETIME", 1, 1, ticks_to_date_time},
    {"TIMESTAMPTODATETIME", 1, 1, timestamp_to_date_time},
    {"YEAR", 1, 1, part_of_date<Part::year>},
};

}  // namespace

std::span<const Function> date_functions() {
  return date_function_table;
}

}  // namespace octavo::query::sql
