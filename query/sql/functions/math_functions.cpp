#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <random>

#include "query/sql/functions/function_table.h"

namespace octavo::query::sql {

namespace {

using Arguments = std::span<const Value>;

template <auto function>
Value of_one(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_number()) return {};
  return Value::of(static_cast<double>(function(arguments[0].number())));
}

template <auto function>
Value of_two(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_number() || !arguments[1].is_number()) return {};
  return Value::of(static_cast<double>(function(arguments[0].number(), arguments[1].number())));
}

Value logarithm(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_number()) return {};
  if (arguments.size() == 1) return Value::of(std::log(arguments[0].number()));
  if (!arguments[1].is_number()) return {};
  return Value::of(std::log(arguments[0].number()) / std::log(arguments[1].number()));
}

// Rounds halves away from zero.
Value round_number(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_number()) return {};
  const double number = arguments[0].number();
  if (arguments.size() == 1) return Value::of(std::round(number));
  const auto places = arguments[1].integer();
  if (!places || *places < -300 || *places > 300) return {};
  const double scale = std::pow(10.0, static_cast<double>(*places));
  const double rounded = std::round(number * scale) / scale;
  return Value::of(std::isfinite(rounded) ? rounded : number);
}

Value pi(Evaluation&, Arguments) {
  return Value::of(std::numbers::pi);
}

Value random_number(Evaluation&, Arguments) {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return Value::of(std::uniform_real_distribution<double>(0.0, 1.0)(generator));
}

Value number_bin(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_number()) return {};
  double size = 1;
  if (arguments.size() == 2) {
    if (!arguments[1].is_number()) return {};
    size = arguments[1].number();
  }
  if (size == 0) return {};
  return Value::of(std::floor(arguments[0].number() / size) * size);
}

// --- 64-bit integers: overflow wraps around ---

/// `function` computes an integer from two, or nothing.
template <auto function>
Value of_integers(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  const auto b = arguments[1].integer();
  if (!a || !b) return {};
  const std::optional<std::int64_t> result = function(*a, *b);
  return result ? Value::of(static_cast<double>(*result)) : Value();
}

template <auto function>
std::int64_t wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(function(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

Value int_bit_not(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  return a ? Value::of(static_cast<double>(~*a)) : Value();
}

std::optional<std::int64_t> shift_left(std::int64_t value, std::int64_t count) {
  if (count < 0 || count > 63) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << count);
}

std::optional<std::int64_t> shift_right(std::int64_t value, std::int64_t count) {
  if (count < 0 || count > 63) return std::nullopt;
  return value >> count;
}

bool overflows(std::int64_t a, std::int64_t b) {
  return b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min());
}

std::optional<std::int64_t> divide(std::int64_t a, std::int64_t b) {
  if (overflows(a, b)) return std::nullopt;
  return a / b;
}

std::optional<std::int64_t> modulo(std::int64_t a, std::int64_t b) {
  if (overflows(a, b)) return std::nullopt;
  return a % b;
}

constexpr Function math_function_table[] = {
    {"ABS", 1, 1, of_one<[](double x) { return std::abs(x); }>},
    {"ACOS", 1, 1, of_one<[](double x) { return std::acos(x); }>},
    {"ASIN", 1, 1, of_one<[](double x) { return std::asin(x); }>},
    {"ATAN", 1, 1, of_one<[](double x) { return std::atan(x); }>},
    {"ATN2", 2, 2, of_two<[](double y, double x) { return std::atan2(y, x); }>},
    {"CEILING", 1, 1, of_one<[](double x) { return std::ceil(x); }>},
    {"COS", 1, 1, of_one<[](double x) { return std::cos(x); }>},
    {"COT", 1, 1, of_one<[](double x) { return 1.0 / std::tan(x); }>},
    {"DEGREES", 1, 1, of_one<[](double x) { return x * (180.0 / std::numbers::pi); }>},
    {"EXP", 1, 1, of_one<[](double x) { return std::exp(x); }>},
    {"FLOOR", 1, 1, of_one<[](double x) { return std::floor(x); }>},
    {"INTADD", 2, 2, of_integers<wrapping<std::plus<>{}>>},
    {"INTBITAND", 2, 2, of_integers<wrapping<std::bit_and<>{}>>},
    {"INTBITLEFTSHIFT", 2, 2, of_integers<shift_left>},
    {"INTBITNOT", 1, 1, int_bit_not},
    {"INTBITOR", 2, 2, of_integers<wrapping<std::bit_or<>{}>>},
    {"INTBITRIGHTSHIFT", 2, 2, of_integers<shift_right>},
    {"INTBITXOR", 2, 2, of_integers<wrapping<std::bit_xor<>{}>>},
    {"INTDIV", 2, 2, of_integers<divide>},
    {"INTMOD", 2, 2, of_integers<modulo>},
    {"INTMUL", 2, 2, of_integers<wrapping<std::multiplies<>{}>>},
    {"INTSUB", 2, 2, of_integers<wrapping<std::minus<>{}>>},
    {"LOG", 1, 2, logarithm},
    {"LOG10", 1, 1, of_one<[](double x) { return std::log10(x); }>},
    {"NUMBERBIN", 1, 2, number_bin},
    {"PI", 0, 0, pi},
    {"POWER", 2, 2, of_two<[](double x, double y) { return std::pow(x, y); }>},
    {"RADIANS", 1, 1, of_one<[](double x) { return x * (std::numbers::pi / 180.0); }>},
    {"RAND", 0, 0, random_number},
    {"ROUND", 1, 2, round_number},
    {"SIGN", 1, 1, of_one<[](double x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); }>},
    {"SIN", 1, 1, of_one<[](double x) { return std::sin(x); }>},
    {"SQRT", 1, 1, of_one<[](double x) { return std::sqrt(x); }>},
    {"SQUARE", 1, 1, of_one<[](double x) { return x * x; }>},
    {"TAN", 1, 1, of_one<[](double x) { return std::tan(x); }>},
    {"TRUNC", 1, 1, of_one<[](double x) { return std::trunc(x); }>},
};

}  // namespace

std::span<const Function> math_functions() {
  return math_function_table;
}

}  // namespace octavo::query::sql
