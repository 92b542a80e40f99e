#include "config/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/ascii_case.h"

namespace octavo::config {

namespace {

using Unit = std::pair<std::string_view, std::uint64_t>;

constexpr auto size_units = std::to_array<Unit>({
    {"", 1},
    {"b", 1},
    {"kb", 1'000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
    {"tb", 1'000'000'000'000},
    {"kib", 1ULL << 10},
    {"mib", 1ULL << 20},
    {"gib", 1ULL << 30},
    {"tib", 1ULL << 40},
});
constexpr auto duration_units = std::to_array<Unit>({
    {"", 1},
    {"ms", 1},
    {"s", 1'000},
    {"m", 60'000},
    {"h", 3'600'000},
    {"d", 86'400'000},
});

template <std::size_t n>
std::optional<std::uint64_t> parse_with_unit(std::string_view text, const std::array<Unit, n>& units) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_whole_number(text.substr(0, digits));
  const auto name = lower_case(text.substr(digits));
  const auto unit = std::ranges::find(units, std::string_view(name), &Unit::first);
  if (!number || unit == units.end()) return std::nullopt;
  if (*number > std::numeric_limits<std::uint64_t>::max() / unit->second) return std::nullopt;
  return *number * unit->second;
}

}  // namespace

std::optional<std::uint64_t> parse_whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

std::optional<bool> parse_boolean(std::string_view text) {
  const auto word = lower_case(text);
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  return parse_with_unit(text, size_units);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto value = parse_with_unit(text, duration_units);
  if (!value || *value > static_cast<std::uint64_t>(std::chrono::milliseconds::max().count())) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(*value));
}

std::string format_size(std::uint64_t bytes) {
  constexpr auto units =
      std::to_array<Unit>({{"TiB", 1ULL << 40}, {"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}});
  for (const auto& [name, factor] : units) {
    if (bytes != 0 && bytes % factor == 0) return fmt::format("{}{}", bytes / factor, name);
  }
  return fmt::format("{}", bytes);
}

std::string format_duration(std::chrono::milliseconds duration) {
  constexpr auto units =
      std::to_array<std::pair<std::string_view, std::int64_t>>({{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}});
  const auto count = duration.count();
  for (const auto& [name, factor] : units) {
    if (count != 0 && count % factor == 0) return fmt::format("{}{}", count / factor, name);
  }
  return fmt::format("{}ms", count);
}

std::string over_limit(std::optional<std::uint64_t> bytes, std::uint64_t limit, std::string_view setting) {
  if (!bytes) return fmt::format("is larger than {} ({})", format_size(limit), setting);
  return fmt::format("has {} bytes; the limit is {} ({})", *bytes, format_size(limit), setting);
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace octavo::config
