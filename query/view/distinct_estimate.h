#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo::query::views {

/// Estimates the number of different keys added, in bounded space: HyperLogLog with 2^11 registers, like CouchDB's. The
/// standard error is 2.3 %; small numbers are nearly exact. Ertl's estimator needs no tables and has no bias at medium
/// numbers.
class DistinctEstimate {
 public:
  /// Keys are equal if their bytes are.
  void add(std::string_view key);
  void merge(const DistinctEstimate& other);
  std::uint64_t count() const;

  /// Format (state of _approx_count_distinct):
  ///   state := 00 (register:u16be rank:u8)*  few registers
  ///          | 01 rank:u8 * 2048             many
  void append_to(std::string& state) const;
  /// Skips invalid parts of `state`.
  static DistinctEstimate from(std::string_view state);

 private:
  static constexpr int precision_bits = 11;
  static constexpr std::size_t register_count = std::size_t{1} << precision_bits;
  static constexpr int rank_max = 64 - precision_bits + 1;
  std::array<std::uint8_t, register_count> ranks_{};
};

}  // namespace octavo::query::views
