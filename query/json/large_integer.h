#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <simdjson.h>

namespace octavo::query {

/// Integers beyond 64 bits: neither JSON library has a number type for them, so their digits are kept beside a value.
///
///   simdjson   the element is the nearest double, and its position on the tape leads to the digits (DocumentParser);
///              readers that know nothing of large integers see the double
///   Boost      a string: FF, which no UTF-8 text contains, then the digits; only what is parsed with
///              LargeIntegers::exact has such strings, and is_text distinguishes them from texts
///
/// The digits have no leading zeros, and a minus sign if negative.
enum class LargeIntegers : std::uint8_t {
  exact,    ///< selectors, and documents compared with them
  rounded,  ///< the nearest double: views, whose keys JavaScript has rounded already, and SQL
};

/// The first byte of a string that stands for a large integer.
inline constexpr char large_integer_mark = '\xFF';

/// The digits of `value` if it is an integer beyond 64 bits, else empty. They live as long as the value.
std::string_view large_integer(const simdjson::dom::element& value);
inline std::string_view large_integer(const boost::json::value& value) {
  if (!value.is_string()) return {};
  const boost::json::string& text = value.get_string();
  if (text.empty() || text.front() != large_integer_mark) return {};
  return {text.data() + 1, text.size() - 1};
}

/// True for strings, but not for large integers.
inline bool is_text(const boost::json::value& value) {
  return value.is_string() && large_integer(value).empty();
}

/// True for the text of a JSON number that is an integer, whatever its size.
inline bool is_integer_token(std::string_view token) {
  return token.find_first_of(".eE") == std::string_view::npos;
}

/// False only if `json` has no integer beyond 64 bits: it has no run of digits that long.
bool may_have_large_integer(std::string_view json);

/// Like boost::json::serialize, but writes large integers as numbers.
std::string serialize_json(const boost::json::value& value);
/// Appends a value as JSON, with large integers as numbers.
void append_json(std::string& out, const simdjson::dom::element& value);

/// Appends how far an integer is from its nearest double, as bytes that sort in the order of the distances.
///
/// Format (residual of a large integer):
///   residual := 0001..FFFE                  the distance + 8000, if it fits
///             | FFFF size:1 magnitude:size  a larger distance; 1 <= size < FF
///             | FFFF FF count:4 digits      an integer of over 309 digits, which is beyond all doubles
///             | 0000 …                      the same below the double, with every later byte complemented
///
/// Integers are big-endian; no residual is a prefix of another. Linear in the digits.
void append_residual(std::string& out, std::int32_t distance);
void append_residual(std::string& out, double nearest, std::string_view digits);

/// The length of the residual at the start of `bytes`, or 0 if they begin otherwise. `flip` (00 or FF) is applied to
/// each byte.
std::size_t residual_length(std::string_view bytes, std::uint8_t flip);

/// Divisors and remainders with more digits would make each document too expensive.
inline constexpr std::size_t divisor_digits_max = 1000;

/// Whether `dividend % divisor == remainder`, given as digits, of any size. The result of `%` has the sign of the
/// dividend. Precondition: the divisor is not 0.
bool has_remainder(std::string_view dividend, std::string_view divisor, std::string_view remainder);

}  // namespace octavo::query
