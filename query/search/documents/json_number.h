#pragma once

#include <charconv>
#include <cmath>
#include <string>

namespace octavo::query::search {

/// Appends a double as JSON: integers without a fraction, others in the shortest form that reads back the same, null
/// if not finite.
inline void append_json_double(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char digits[32];
  constexpr double whole_max = 1e15;
  const bool whole = std::abs(number) < whole_max && number == std::floor(number);
  const auto written = whole ? std::to_chars(digits, digits + sizeof digits, static_cast<long long>(number))
                             : std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, written.ptr);
}

}  // namespace octavo::query::search
