#include "query/view/sum_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/assert.h"

namespace octavo::query::views {

ReducedNumber ReducedNumber::whole(std::int64_t value) {
  ReducedNumber number;
  number.whole_ = value;
  return number;
}

ReducedNumber ReducedNumber::fraction(double value) {
  ReducedNumber number;
  number.is_whole_ = false;
  number.real_ = value;
  return number;
}

ReducedNumber ReducedNumber::of(const simdjson::dom::element& element) {
  if (element.is<std::int64_t>()) return whole(element.get_int64().value_unsafe());
  if (element.is<std::uint64_t>()) {
    ReducedNumber number;
    number.whole_ = element.get_uint64().value_unsafe();
    return number;
  }
  OCTAVO_ASSERT(element.is<double>());
  return fraction(element.get_double().value_unsafe());
}

ReducedNumber ReducedNumber::operator+(const ReducedNumber& other) const {
  ReducedNumber sum;
  if (is_whole_ && other.is_whole_ && !__builtin_add_overflow(whole_, other.whole_, &sum.whole_)) return sum;
  return fraction(real() + other.real());
}

ReducedNumber ReducedNumber::operator*(const ReducedNumber& other) const {
  ReducedNumber product;
  if (is_whole_ && other.is_whole_ && !__builtin_mul_overflow(whole_, other.whole_, &product.whole_)) return product;
  return fraction(real() * other.real());
}

bool ReducedNumber::operator<(const ReducedNumber& other) const {
  if (is_whole_ && other.is_whole_) return whole_ < other.whole_;
  return real() < other.real();
}

void ReducedNumber::append_to(std::string& json) const {
  if (!is_whole_) return append_json_double(json, real_);
  __extension__ using Unsigned = unsigned __int128;
  auto rest = whole_ < 0 ? -static_cast<Unsigned>(whole_) : static_cast<Unsigned>(whole_);
  std::array<char, 40> digits;
  auto* begin = digits.data() + digits.size();
  do {
    *--begin = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (whole_ < 0) json += '-';
  json.append(begin, digits.data() + digits.size());
}

void append_json_double(std::string& json, double value) {
  // Sums of huge numbers may exceed the range of JSON parsers.
  if (!std::isfinite(value)) value = std::copysign(1.7976931348623157e308, value);
  constexpr double fixed_min = 1e-6;
  constexpr double fixed_end = 1e21;
  const double size = std::abs(value);
  const bool fixed = size == 0 || (size >= fixed_min && size < fixed_end);
  std::array<char, 64> buffer;
  const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const auto exponent = std::min(text.find('e'), text.size());
  json += text.substr(0, exponent);
  if (text.substr(0, exponent).find('.') == std::string_view::npos) json += ".0";
  json += text.substr(exponent);
}

}  // namespace octavo::query::views
