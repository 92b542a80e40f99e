#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo::query::views {

/// Estimates how many different keys were added, in bounded space: HyperLogLog with 2^11 registers, as CouchDB's, so
/// the standard error is 2.3 %; small numbers are nearly exact. The estimator is Ertl's, which needs no tables and has
/// no bias in between.
class DistinctEstimate {
 public:
  /// `key`: equal keys have equal bytes.
  void add(std::string_view key);
  void merge(const DistinctEstimate& other);
  std::uint64_t count() const;

  /// state := 00 (register:u16be rank:u8)*  few registers
  ///        | 01 rank:u8 * 2048             many
  void append_to(std::string& state) const;
  /// What makes no sense is left out.
  static DistinctEstimate from(std::string_view state);

 private:
  static constexpr int kPrecision = 11;
  static constexpr std::size_t kRegisters = std::size_t{1} << kPrecision;
  static constexpr int kRankMax = 64 - kPrecision + 1;
  std::array<std::uint8_t, kRegisters> ranks_{};
};

}  // namespace octavo::query::views
