#pragma once

#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <simdjson.h>

#include "base/assert.h"
#include "query/collation/collation.h"
#include "query/json/large_integer.h"
#include "query/json/number.h"

/// Uniform access to the JSON values of both libraries, so that order and encoding are written once.
namespace octavo::query::json_access {

/// A number as its nearest double and an integer's difference from it. Comparing both orders integers exactly.
struct Number {
  double nearest = 0;
  std::int32_t residual = 0;  ///< of an integer of up to 64 bits: -1024 to 1024
  std::string_view digits{};  ///< of a larger one

  void append_residual(std::string& out) const {
    if (digits.empty()) {
      query::append_residual(out, residual);
    } else {
      query::append_residual(out, nearest, digits);
    }
  }

  std::partial_ordering operator<=>(const Number& other) const {
    if (nearest != other.nearest) return nearest <=> other.nearest;
    if (digits.empty() && other.digits.empty()) return residual <=> other.residual;
    std::string own, others;
    append_residual(own);
    other.append_residual(others);
    return own <=> others;
  }
};

/// From here on, doubles have gaps between integers.
inline constexpr double exact_integers_max = 9007199254740992.0;  // 2^53

/// Integers beyond 64 bits have at least this magnitude.
inline constexpr double large_integers_min = 9223372036854775808.0;  // 2^63

__extension__ using Wide = __int128;

template <class Integer>
Number number_of_integer(Integer value) {
  const auto nearest = static_cast<double>(value);
  return {nearest, static_cast<std::int32_t>(static_cast<Wide>(value) - static_cast<Wide>(nearest)), {}};
}

inline Number number_of_double(double value) {
  constexpr double largest = 1.7976931348623157e308;
  if (value > largest) return {.nearest = largest};  // as DocumentParser reads 1e400
  if (value < -largest) return {.nearest = -largest};
  return {.nearest = value == 0 ? 0.0 : value};  // -0 is 0
}

inline TypeRank rank(const simdjson::dom::element& value) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::NULL_VALUE:
      return TypeRank::null;
    case Type::BOOL:
      return value.get_bool().value_unsafe() ? TypeRank::boolean_true : TypeRank::boolean_false;
    case Type::INT64:
    case Type::UINT64:
    case Type::DOUBLE:
      return TypeRank::number;
    case Type::STRING:
      return TypeRank::string;
    case Type::ARRAY:
      return TypeRank::array;
    case Type::OBJECT:
      return TypeRank::object;
  }
  return TypeRank::null;
}

inline TypeRank rank(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return TypeRank::null;
    case boost::json::kind::bool_:
      return value.get_bool() ? TypeRank::boolean_true : TypeRank::boolean_false;
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
    case boost::json::kind::double_:
      return TypeRank::number;
    case boost::json::kind::string:
      return large_integer(value).empty() ? TypeRank::string : TypeRank::number;
    case boost::json::kind::array:
      return TypeRank::array;
    case boost::json::kind::object:
      return TypeRank::object;
  }
  return TypeRank::null;
}

/// Precondition: `value` is a number.
inline Number number(const simdjson::dom::element& value) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::INT64:
      return number_of_integer(value.get_int64().value_unsafe());
    case Type::UINT64:
      return number_of_integer(value.get_uint64().value_unsafe());
    default: {
      OCTAVO_ASSERT(value.is_double());
      Number number = number_of_double(value.get_double().value_unsafe());
      if (std::abs(number.nearest) >= large_integers_min) number.digits = large_integer(value);
      return number;
    }
  }
}

inline Number number(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::int64:
      return number_of_integer(value.get_int64());
    case boost::json::kind::uint64:
      return number_of_integer(value.get_uint64());
    case boost::json::kind::string: {
      const std::string_view digits = large_integer(value);
      return {.nearest = nearest_double(digits), .digits = digits};
    }
    default:
      return number_of_double(value.get_double());
  }
}

/// Precondition: `value` is a string.
inline std::string_view string(const simdjson::dom::element& value) {
  OCTAVO_ASSERT(value.is_string());
  return value.get_string().value_unsafe();
}
inline std::string_view string(const boost::json::value& value) {
  return {value.get_string().data(), value.get_string().size()};
}

/// Precondition: `value` is an array (of elements) or an object (of members).
inline simdjson::dom::array array(const simdjson::dom::element& value) {
  OCTAVO_ASSERT(value.is_array());
  return value.get_array().value_unsafe();
}
inline const boost::json::array& array(const boost::json::value& value) {
  return value.get_array();
}
inline simdjson::dom::object object(const simdjson::dom::element& value) {
  OCTAVO_ASSERT(value.is_object());
  return value.get_object().value_unsafe();
}
inline const boost::json::object& object(const boost::json::value& value) {
  return value.get_object();
}

inline std::string_view member_name(const simdjson::dom::key_value_pair& member) {
  return member.key;
}
inline std::string_view member_name(const boost::json::key_value_pair& member) {
  return {member.key().data(), member.key().size()};
}
inline const simdjson::dom::element& member_value(const simdjson::dom::key_value_pair& member) {
  return member.value;
}
inline const boost::json::value& member_value(const boost::json::key_value_pair& member) {
  return member.value();
}

}  // namespace octavo::query::json_access
