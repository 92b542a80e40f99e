#pragma once

#include <cstdint>
#include <string>

#include <simdjson.h>

namespace octavo::query::views {

/// A number in the arithmetic of CouchDB's reduce functions: integers stay exact (up to 128 bits); an operation with a
/// fraction yields a fraction.
class ReducedNumber {
 public:
  ReducedNumber() = default;
  static ReducedNumber whole(std::int64_t value);
  /// Precondition: `element` is a number.
  static ReducedNumber of(const simdjson::dom::element& element);

  ReducedNumber operator+(const ReducedNumber& other) const;
  ReducedNumber operator*(const ReducedNumber& other) const;
  bool operator<(const ReducedNumber& other) const;

  /// Formats the number as CouchDB does: a fraction always has a decimal point, `3.0`.
  void append_to(std::string& json) const;

 private:
  __extension__ using Whole = __int128;
  double real() const { return is_whole_ ? static_cast<double>(whole_) : real_; }
  static ReducedNumber fraction(double value);

  bool is_whole_ = true;
  Whole whole_ = 0;
  double real_ = 0;
};

/// Appends a double in CouchDB's format.
void append_json_double(std::string& json, double value);

}  // namespace octavo::query::views
