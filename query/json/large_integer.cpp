#include "query/json/large_integer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>

#include "base/json_writer.h"
#include "query/json/internal/scan.h"
#include "query/json/internal/tape.h"

namespace octavo::query {

namespace {

using BigInteger = boost::multiprecision::cpp_int;

/// Every integer with more digits is beyond the largest double.
constexpr std::size_t double_digits_max = std::numeric_limits<double>::max_exponent10 + 1;

/// Shortest integer beyond 64 bits: -9223372036854775809.
constexpr std::size_t large_integer_digits_min = 19;

constexpr std::int32_t residual_bias = 0x8000;
constexpr std::int32_t residual_max = 0xFFFE;
constexpr std::uint8_t beyond_doubles = 0xFF;

/// 18 digits at a time fit an integer of 64 bits.
constexpr std::size_t block_digits = 18;

bool is_negative(std::string_view digits) {
  return digits.starts_with('-');
}

std::string_view magnitude_of(std::string_view digits) {
  return is_negative(digits) ? digits.substr(1) : digits;
}

std::uint64_t block_value(std::string_view block) {
  std::uint64_t number = 0;
  for (const char digit : block) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  return number;
}

std::uint64_t power_of_ten(std::size_t exponent) {
  std::uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

/// Calls `use(block, power)` for the digits from the left, `power` being 10 to the number of digits in the block.
template <class Use>
void for_each_block(std::string_view magnitude, const Use& use) {
  while (!magnitude.empty()) {
    const std::string_view block = magnitude.substr(0, block_digits);
    use(block_value(block), power_of_ten(block.size()));
    magnitude.remove_prefix(block.size());
  }
}

BigInteger integer_of(std::string_view digits) {
  BigInteger result = 0;
  for_each_block(magnitude_of(digits), [&](std::uint64_t block, std::uint64_t power) {
    result *= power;
    result += block;
  });
  return is_negative(digits) ? BigInteger(-result) : result;
}

void push(std::string& out, std::uint8_t byte, std::uint8_t flip) {
  out.push_back(static_cast<char>(byte ^ flip));
}

}  // namespace

std::string_view large_integer(const simdjson::dom::element& value) {
  return value.type() == simdjson::dom::element_type::DOUBLE ? tape::digits_of(value) : std::string_view();
}

bool may_have_large_integer(std::string_view json) {
  std::size_t run = 0;
  for (const char c : json) {
    run = scan::is_digit(c) ? run + 1 : 0;
    if (run == large_integer_digits_min) return true;
  }
  return false;
}

std::string serialize_json(const boost::json::value& value) {
  std::string text = boost::json::serialize(value);
  constexpr std::string_view opening("\"\xFF", 2);
  std::size_t from = text.find(opening);
  if (from == std::string::npos) return text;
  std::string out;
  std::size_t copied = 0;
  for (; from != std::string::npos; from = text.find(opening, copied)) {
    out.append(text, copied, from - copied);
    const std::size_t digits = from + opening.size();
    const std::size_t end = text.find('"', digits);
    out.append(text, digits, end - digits);
    copied = end + 1;
  }
  out.append(text, copied);
  return out;
}

void append_json(std::string& out, const simdjson::dom::element& value) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::STRING:
      append_json_string(out, value.get_string().value_unsafe());
      return;
    case Type::ARRAY: {
      const simdjson::dom::array elements = value.get_array().value_unsafe();
      out += '[';
      for (const simdjson::dom::element element : elements) {
        if (out.back() != '[') out += ',';
        append_json(out, element);
      }
      out += ']';
      return;
    }
    case Type::OBJECT: {
      const simdjson::dom::object members = value.get_object().value_unsafe();
      out += '{';
      for (const auto& member : members) {
        append_json_key(out, member.key);
        append_json(out, member.value);
      }
      out += '}';
      return;
    }
    default:
      if (const std::string_view digits = large_integer(value); !digits.empty()) {
        out += digits;
      } else {
        out += simdjson::to_string(value);
      }
  }
}

void append_residual(std::string& out, std::int32_t distance) {
  const auto biased = static_cast<std::uint32_t>(distance + residual_bias);
  out.push_back(static_cast<char>(biased >> 8));
  out.push_back(static_cast<char>(biased));
}

void append_residual(std::string& out, double nearest, std::string_view digits) {
  const std::string_view magnitude = magnitude_of(digits);
  if (magnitude.size() > double_digits_max) {
    const std::uint8_t flip = is_negative(digits) ? 0xFF : 0x00;
    push(out, 0xFF, flip);
    push(out, 0xFF, flip);
    push(out, beyond_doubles, flip);
    const auto count = static_cast<std::uint32_t>(magnitude.size());
    for (int shift = 24; shift >= 0; shift -= 8) push(out, static_cast<std::uint8_t>(count >> shift), flip);
    for (const char digit : magnitude) push(out, static_cast<std::uint8_t>(digit), flip);
    return;
  }
  const BigInteger distance = integer_of(digits) - BigInteger(nearest);
  if (distance > -residual_bias && distance < residual_max - residual_bias + 1) {
    append_residual(out, distance.convert_to<std::int32_t>());
    return;
  }
  const std::uint8_t flip = distance < 0 ? 0xFF : 0x00;
  std::vector<std::uint8_t> bytes;
  export_bits(BigInteger(abs(distance)), std::back_inserter(bytes), 8);
  push(out, 0xFF, flip);
  push(out, 0xFF, flip);
  push(out, static_cast<std::uint8_t>(bytes.size()), flip);
  for (const std::uint8_t byte : bytes) push(out, byte, flip);
}

std::size_t residual_length(std::string_view bytes, std::uint8_t flip) {
  const auto byte_at = [&](std::size_t i) {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(bytes[i]) ^ flip);
  };
  const auto checked = [&](std::size_t size) { return size <= bytes.size() ? size : 0; };
  if (bytes.size() < 2) return 0;
  const int first = byte_at(0) << 8 | byte_at(1);
  if (first != 0x0000 && first != 0xFFFF) return 2;
  if (bytes.size() < 3) return 0;
  if (first == 0x0000) flip = static_cast<std::uint8_t>(flip ^ 0xFF);  // what follows is complemented
  const std::size_t size = byte_at(2);
  if (size != beyond_doubles) return checked(3 + size);
  if (bytes.size() < 7) return 0;
  std::size_t count = 0;
  for (std::size_t i = 3; i < 7; ++i) count = count << 8 | byte_at(i);
  return checked(7 + count);
}

bool has_remainder(std::string_view dividend, std::string_view divisor, std::string_view remainder) {
  const BigInteger modulus = integer_of(magnitude_of(divisor));
  BigInteger rest = 0;
  for_each_block(magnitude_of(dividend), [&](std::uint64_t block, std::uint64_t power) {
    rest *= power;
    rest += block;
    rest %= modulus;
  });
  if (is_negative(dividend)) rest = -rest;
  return rest == integer_of(remainder);
}

}  // namespace octavo::query
