#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>

#include "query/sql/functions.h"

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

double absolute(double x) {
  return std::abs(x);
}
double arc_cosine(double x) {
  return std::acos(x);
}
double arc_sine(double x) {
  return std::asin(x);
}
double arc_tangent(double x) {
  return std::atan(x);
}
double arc_tangent_2(double y, double x) {
  return std::atan2(y, x);
}
double ceiling(double x) {
  return std::ceil(x);
}
double cosine(double x) {
  return std::cos(x);
}
double cotangent(double x) {
  return 1.0 / std::tan(x);
}
double degrees(double x) {
  return x * (180.0 / std::numbers::pi);
}
double exponential(double x) {
  return std::exp(x);
}
double floor_of(double x) {
  return std::floor(x);
}
double logarithm_10(double x) {
  return std::log10(x);
}
double power(double x, double y) {
  return std::pow(x, y);
}
double radians(double x) {
  return x * (std::numbers::pi / 180.0);
}
double sign_of(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}
double sine(double x) {
  return std::sin(x);
}
double square_root(double x) {
  return std::sqrt(x);
}
double square(double x) {
  return x * x;
}
double tangent(double x) {
  return std::tan(x);
}
double truncate(double x) {
  return std::trunc(x);
}

Value logarithm(Evaluation&, Arguments arguments) {
  if (!arguments[0].is_number()) return {};
  if (arguments.size() == 1) return Value::of(std::log(arguments[0].number()));
  if (!arguments[1].is_number()) return {};
  return Value::of(std::log(arguments[0].number()) / std::log(arguments[1].number()));
}

// Halves away from zero.
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

std::uint64_t wrap(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

template <auto function>
Value of_integers(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  const auto b = arguments[1].integer();
  if (!a || !b) return {};
  return Value::of(static_cast<double>(static_cast<std::int64_t>(function(wrap(*a), wrap(*b)))));
}

std::uint64_t int_add(std::uint64_t a, std::uint64_t b) {
  return a + b;
}
std::uint64_t int_subtract(std::uint64_t a, std::uint64_t b) {
  return a - b;
}
std::uint64_t int_multiply(std::uint64_t a, std::uint64_t b) {
  return a * b;
}
std::uint64_t int_bit_and(std::uint64_t a, std::uint64_t b) {
  return a & b;
}
std::uint64_t int_bit_or(std::uint64_t a, std::uint64_t b) {
  return a | b;
}
std::uint64_t int_bit_xor(std::uint64_t a, std::uint64_t b) {
  return a ^ b;
}

Value int_bit_not(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  return a ? Value::of(static_cast<double>(~*a)) : Value();
}

Value int_shift_left(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  const auto count = arguments[1].integer();
  if (!a || !count || *count < 0 || *count > 63) return {};
  return Value::of(static_cast<double>(static_cast<std::int64_t>(wrap(*a) << *count)));
}

Value int_shift_right(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  const auto count = arguments[1].integer();
  if (!a || !count || *count < 0 || *count > 63) return {};
  return Value::of(static_cast<double>(*a >> *count));
}

bool overflows(std::int64_t a, std::int64_t b) {
  return b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min());
}

Value int_divide(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  const auto b = arguments[1].integer();
  if (!a || !b || overflows(*a, *b)) return {};
  return Value::of(static_cast<double>(*a / *b));
}

Value int_modulo(Evaluation&, Arguments arguments) {
  const auto a = arguments[0].integer();
  const auto b = arguments[1].integer();
  if (!a || !b || overflows(*a, *b)) return {};
  return Value::of(static_cast<double>(*a % *b));
}

constexpr Function kMathFunctions[] = {
    {"ABS", 1, 1, of_one<absolute>},
    {"ACOS", 1, 1, of_one<arc_cosine>},
    {"ASIN", 1, 1, of_one<arc_sine>},
    {"ATAN", 1, 1, of_one<arc_tangent>},
    {"ATN2", 2, 2, of_two<arc_tangent_2>},
    {"CEILING", 1, 1, of_one<ceiling>},
    {"COS", 1, 1, of_one<cosine>},
    {"COT", 1, 1, of_one<cotangent>},
    {"DEGREES", 1, 1, of_one<degrees>},
    {"EXP", 1, 1, of_one<exponential>},
    {"FLOOR", 1, 1, of_one<floor_of>},
    {"INTADD", 2, 2, of_integers<int_add>},
    {"INTBITAND", 2, 2, of_integers<int_bit_and>},
    {"INTBITLEFTSHIFT", 2, 2, int_shift_left},
    {"INTBITNOT", 1, 1, int_bit_not},
    {"INTBITOR", 2, 2, of_integers<int_bit_or>},
    {"INTBITRIGHTSHIFT", 2, 2, int_shift_right},
    {"INTBITXOR", 2, 2, of_integers<int_bit_xor>},
    {"INTDIV", 2, 2, int_divide},
    {"INTMOD", 2, 2, int_modulo},
    {"INTMUL", 2, 2, of_integers<int_multiply>},
    {"INTSUB", 2, 2, of_integers<int_subtract>},
    {"LOG", 1, 2, logarithm},
    {"LOG10", 1, 1, of_one<logarithm_10>},
    {"NUMBERBIN", 1, 2, number_bin},
    {"PI", 0, 0, pi},
    {"POWER", 2, 2, of_two<power>},
    {"RADIANS", 1, 1, of_one<radians>},
    {"RAND", 0, 0, random_number},
    {"ROUND", 1, 2, round_number},
    {"SIGN", 1, 1, of_one<sign_of>},
    {"SIN", 1, 1, of_one<sine>},
    {"SQRT", 1, 1, of_one<square_root>},
    {"SQUARE", 1, 1, of_one<square>},
    {"TAN", 1, 1, of_one<tangent>},
    {"TRUNC", 1, 1, of_one<truncate>},
};

}  // namespace

std::span<const Function> math_functions() {
  return kMathFunctions;
}

}  // namespace octavo::query::sql
